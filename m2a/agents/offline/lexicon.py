"""Word lists of everyday English, from the files beside this one: synonyms, kinds and their members, and others.

They decide how far the wording of a question may differ from that of a memory. The head of each list says what belongs in it.
"""

from collections.abc import Iterable
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


def _words_in(lines: Iterable[str]) -> frozenset[str]:
    return frozenset(word.replace("_", " ") for line in lines for word in line.split())


def _words(name: str) -> frozenset[str]:
    return _words_in(_lines(name))


def _pairs(name: str, separator: str) -> list[tuple[str, str]]:
    parts = [line.partition(separator) for line in _lines(name)]
    return [(left.strip(), right.strip()) for left, _, right in parts]


SYNONYMS = [line.split() for line in _lines("synonyms")]
KINDS = {kind: members.split() for kind, members in _pairs("kinds", ":")}
TOPICS = {topic: words.split() for topic, words in _pairs("topics", ":")}
PHRASES = dict(_pairs("phrases", "="))
IRREGULAR = [line.split() for line in _lines("irregular")]
VERBS = _words("verbs")
JOBS = _words("jobs")
RELATIONS = _words("relations")
PETS = _words("pets")
PLACES = _words("places")
# Words of other languages.
FOREIGN_FUNCTION_WORDS = _words("foreign_function_words")
# "Forget" as a request: anywhere in a text, and only at the beginning of a clause.
FOREIGN_FORGET, FOREIGN_FORGET_FIRST = map(_words_in, zip(*_pairs("foreign_forget", "|"), strict=True))
FOREIGN_CHANGE = _words("foreign_change")
FOREIGN_COURTESY = _words("foreign_courtesy")
FOREIGN_QUESTIONS = _words("foreign_questions")
