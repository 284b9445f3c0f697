"""Everyday English, as word lists beside this file: which words say the same, and what is a kind of what.

The rules answer only where every content word of a question is met in a memory, so these lists decide how far a
question may be worded differently from what was said. Each list says in its head what belongs into it.
"""

from pathlib import Path

_WORDS = Path(__file__).parent / "words"


def _lines(name: str) -> list[str]:
    """The lines of a list; an indented line continues the one above it."""
    lines: list[str] = []
    for line in (_WORDS / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line[0].isspace() and lines:
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
    return lines


def _words(name: str) -> frozenset[str]:
    return frozenset(word.replace("_", " ") for line in _lines(name) for word in line.split())


def _pairs(name: str, mark: str) -> dict[str, str]:
    return {left.strip(): right.strip() for left, _, right in (line.partition(mark) for line in _lines(name))}


SYNONYMS = [line.split() for line in _lines("synonyms")]
KINDS = {kind: members.split() for kind, members in _pairs("kinds", ":").items()}
PHRASES = _pairs("phrases", "=")
IRREGULAR = [line.split() for line in _lines("irregular")]
VERBS = _words("verbs")
JOBS = _words("jobs")
RELATIONS = _words("relations")
PETS = _words("pets")
PLACES = _words("places")
FOREIGN = _words("foreign")
# "Forget" as one bids it in other languages: wherever it stands, and only at the beginning of a clause.
FORGET_ELSEWHERE, FORGET_AT_FIRST = (
    frozenset(word.replace("_", " ") for line in _lines("forget_elsewhere") for word in line.split("|")[side].split())
    for side in (0, 1)
)
# That something changed or was wrong, thanks and greetings, and how a question begins, as they are said in other languages.
CHANGE_ELSEWHERE = _words("change_elsewhere")
COURTESY_ELSEWHERE = _words("courtesy_elsewhere")
ASK_ELSEWHERE = _words("ask_elsewhere")
