"""Word lists of everyday English, from the files beside this one: synonyms, kinds and their members, and others.

The rules answer only if a memory matches every content word of a question, so these lists decide how far the wording of a
question may differ from the memory. The head of each list says what belongs in it.
"""

from pathlib import Path

_WORDS = Path(__file__).parent / "words"


def _lines(name: str) -> list[str]:
    """Returns the lines of a list; an indented line continues the one above it."""
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
TOPICS = {topic: words.split() for topic, words in _pairs("topics", ":").items()}
PHRASES = _pairs("phrases", "=")
IRREGULAR = [line.split() for line in _lines("irregular")]
VERBS = _words("verbs")
JOBS = _words("jobs")
RELATIONS = _words("relations")
PETS = _words("pets")
PLACES = _words("places")
FOREIGN = _words("foreign")
# "Forget" as a request in other languages: anywhere in a text, and only at the beginning of a clause.
FORGET_ELSEWHERE, FORGET_AT_FIRST = (
    frozenset(word.replace("_", " ") for line in _lines("forget_elsewhere") for word in line.split("|")[side].split())
    for side in (0, 1)
)
# Words of other languages for a change or an error, for thanks and greetings, and at the beginning of a question.
CHANGE_ELSEWHERE = _words("change_elsewhere")
COURTESY_ELSEWHERE = _words("courtesy_elsewhere")
ASK_ELSEWHERE = _words("ask_elsewhere")
