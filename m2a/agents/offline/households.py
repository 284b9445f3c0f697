"""What "How many pets do we have?" counts: those of the user's household, not those of others."""

import re

from m2a.agents.offline import lexicon
from m2a.agents.offline.clauses import find_subject
from m2a.agents.offline.questions import Question
from m2a.agents.offline.text import FIRST_PERSON, equivalents, members, stem, stems

_HAS_ANY = re.compile(r"\b(?:do|have) (?:i|we) (?:have|got|own|keep)\b", re.IGNORECASE)
_ASKS_FOR_ALL = frozenset(
    map(stem, "total altogether count every each keep own family household home house live".split())
)
# Relatives that usually live in the user's household; "twins" are children, a twin is not.
_HOUSEHOLD = frozenset(
    "baby boy boyfriend child daughter fiance fiancee girl girlfriend husband kid partner son spouse stepdaughter stepson "
    "wife".split()
)
_RELATIVE = rf" (?:[\w-]+ ){{0,2}}(?!twins\b)(?:{'|'.join(sorted(lexicon.RELATIONS - _HOUSEHOLD))})s?"
_ELSEWHERE = rf"{_RELATIVE}['’]"  # "my neighbour's dog"
_RELATIVE_WITH_NAME = re.compile(rf"(?i:(?:my|our){_RELATIVE})(?: [A-Z][\w-]*)*")
_OURS = (
    rf"\b(?:my|our)\b(?!{_ELSEWHERE})|"
    r"\b(?:us|we|i've|have|has|had|got|adopted|bought|inherited|fostering|rescued|picked up|took in|taken in)\b|"
    r"\b(?-i:[A-Z])\w+,? the \w+"  # "Pickle the tortoise"
)


def counted_kind(question: Question) -> frozenset[str]:
    """Returns the stems of the kind that "How many pets have I got in all?" asks for, and "What pets" or "Have I got pets?"."""
    has_any = question.kind.name == "yes or no" and len(question.words) == 1 and _HAS_ANY.search(question.text)
    has_which = question.kind.name == "noun" and question.noun.endswith("s") and _HAS_ANY.search(question.text)
    if question.names or not (question.kind.name == "count" or has_any or has_which):
        return frozenset()
    noun = stem(question.words[0] if has_any else question.noun)
    others = {stem(word) for word in question.words} - {noun}
    kind = members(noun) or equivalents(noun)
    return kind if others - kind <= _ASKS_FOR_ALL else frozenset()


def has_one(text: str, kind: frozenset[str]) -> bool:
    """Returns whether the text says that the user's household has one of the kind; not "My sister has two boys"."""
    return not kind.isdisjoint(stems(text)) and bool(re.search(_OURS, _said_of_us(text), re.IGNORECASE))


def _said_of_us(text: str) -> str:
    """Returns the text, or "" if it tells of a relative elsewhere and not of us, as "My aunt gave me a cat" would."""
    subject = find_subject(text)
    if subject is None or not _RELATIVE_WITH_NAME.fullmatch(subject.text) or FIRST_PERSON.search(subject.rest):
        return text
    return ""


def is_elsewhere(text: str, kind: frozenset[str]) -> bool:
    """Returns whether one of the kind belongs to another household: the neighbour's dog is not one of "our pets"."""
    if not kind or has_one(text, kind):
        return False
    return bool(re.search(rf"\b(?:my|our){_ELSEWHERE}", text, re.IGNORECASE)) or not _said_of_us(text)
