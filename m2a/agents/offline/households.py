"""What "How many pets do we have?" counts: those of the user's household, not those of others."""

import re

from m2a.agents.offline import lexicon
from m2a.agents.offline.questions import Question
from m2a.agents.offline.text import members, stem, stems

_HAS_ANY = re.compile(r"\b(?:do|have) (?:i|we) (?:have|got|own|keep)\b", re.IGNORECASE)
_ASKS_FOR_ALL = frozenset(
    map(
        stem,
        "total altogether all told count counting every each have got own keep family household home house live here now today "
        "currently".split(),
    )
)
# Relatives that usually live in the user's household.
_HOUSEHOLD = frozenset(
    "boyfriend child daughter fiance fiancee girlfriend husband kid partner son spouse stepdaughter stepson wife".split()
)
_ELSEWHERE = rf" (?:[\w-]+ ){{0,2}}(?:{'|'.join(sorted(lexicon.RELATIONS - _HOUSEHOLD))})s?['’]"  # "my neighbour's dog"
_OURS = (
    rf"\b(?:my|our)\b(?!{_ELSEWHERE})|"
    r"\b(?:us|we|i've|have|has|had|got|adopted|bought|inherited|fostering|rescued|picked up|took in|taken in)\b|"
    r"\b(?-i:[A-Z])\w+,? the \w+"  # "Pickle the tortoise"
)


def counted_kind(question: Question) -> frozenset[str]:
    """Returns the stems of the kind that "How many pets have I got in all?" or "Have I got pets?" asks for, none otherwise."""
    has_any = question.kind.name == "yes or no" and len(question.words) == 1 and _HAS_ANY.search(question.text)
    if question.names or not (question.kind.name == "count" or has_any):
        return frozenset()
    noun = stem(question.words[0] if has_any else question.noun)
    others = {stem(word) for word in question.words} - {noun}
    return members(noun) if others - members(noun) <= _ASKS_FOR_ALL else frozenset()


def has_one(text: str, kind: frozenset[str]) -> bool:
    """Returns whether the text says that the user's household has one of the kind."""
    return not kind.isdisjoint(stems(text)) and bool(re.search(_OURS, text, re.IGNORECASE))


def is_elsewhere(text: str, kind: frozenset[str]) -> bool:
    """Returns whether one of the kind belongs to another household: the neighbour's dog is not one of "our pets"."""
    elsewhere = re.search(rf"\b(?:my|our){_ELSEWHERE}", text, re.IGNORECASE)
    return bool(kind) and elsewhere is not None and not has_one(text, kind)
