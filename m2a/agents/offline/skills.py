"""Questions for all of a kind that the user speaks, plays or learns: "which languages have I learnt so far?"."""

import re

from m2a.agents.offline.change_words import NOT
from m2a.agents.offline.clauses import find_subject
from m2a.agents.offline.questions import Question
from m2a.agents.offline.text import members, stem, stems

_VERBS = frozenset(
    map(stem, "speak know understand learn study read write play practise practice fluent teach pick_up".split())
)
# With these words, a question still asks for all of the kind.
_OF_ALL = _VERBS | frozenset(map(stem, "total altogether each every keep besides apart far bit little".split()))
_OF_ONESELF = re.compile(
    r"\b(?:i|we)\b|^\W*(?:can |also )*(?:learn\w*|sp(?:eak|oke)|studied|picked up|play(?:ed)?)\b", re.IGNORECASE
)


def listed_kind(question: Question) -> frozenset[str]:
    """Returns the members of the kind, such as languages, of which the question wants all that are the user's; else empty."""
    if question.kind.name != "noun" or question.names or not question.about_self or not question.noun.endswith("s"):
        return frozenset()
    kind, noun = members(stem(question.noun)), stem(question.noun)
    others = {stem(word) for word in question.words} - {noun} - kind
    return kind if others <= _OF_ALL else frozenset()


def has_skill(text: str, kind: frozenset[str]) -> bool:
    """Returns whether the user says that they speak, play or learn one of the kind."""
    subject = find_subject(text)
    is_own = subject.text.lower() in ("i", "we") if subject is not None else bool(_OF_ONESELF.search(text))
    return is_own and not NOT.search(text) and not kind.isdisjoint(stems(text)) and not _VERBS.isdisjoint(stems(text))
