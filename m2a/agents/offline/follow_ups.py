"""Questions about what the last reply quoted: "where is it?", "and what time?", "what was it before?"."""

import re
from collections.abc import Sequence

from m2a.agents.offline.answer_checks import has_answer_of_kind
from m2a.agents.offline.last_reply import quoted_among
from m2a.agents.offline.names import find_names
from m2a.agents.offline.questions import Question
from m2a.agents.offline.relevance import PERHAPS, Match, correction_groups, entries_of
from m2a.agents.offline.text import has_equivalent, stem, stems
from m2a.agents.state import TurnState
from m2a.types import MemoryEntry

_POINTS = re.compile(
    r"\b(?:he|she|him|hers?|his|they|them|theirs?|its|it|there)\b|\b(?:that|this|these|those)(?: ones?)?\W*$",
    re.IGNORECASE,
)
_OF_THE_PAST = re.compile(
    r"\b(?:before|used to|old|original(?:ly)?|previous(?:ly)?|former(?:ly)?|at first|back then)\b", re.IGNORECASE
)


def asks_further(question: Question) -> bool:
    """Returns whether the question names nothing of its own, so that it is about what was just talked of."""
    points = _POINTS.search(question.context) is not None
    return not find_names(question.context) and (points or not _other_words(question))


def followed_up(question: Question, matches: Sequence[Match], state: TurnState) -> list[MemoryEntry]:
    """Returns the memory that answers a question about the last reply, with its corrections; none if the question is no such.

    It is one that the reply quoted, with an answer of the kind in question and all words that the question has of its own. What
    used to be is told by a memory that something corrects.
    """
    is_of_the_past = _OF_THE_PAST.search(question.text) is not None
    quoted = _quoted_in_last_reply(state)
    for group in quoted if asks_further(question) else ():
        text = " ".join(entry.text for entry in group)
        words = stems(text)
        shared = all(has_equivalent(stem(word), words) for word in _other_words(question))
        if shared and has_answer_of_kind(question, text) and (len(group) > 1 or not is_of_the_past):
            return group
    if is_of_the_past:
        likely = [list(match.group) for match in matches if match.score >= PERHAPS]
        return next((group for group in (*quoted, *likely) if len(group) > 1), [])
    return []


def _other_words(question: Question) -> list[str]:
    """Returns the words of the question that are neither names nor what it asks for: none of "which size is it?"."""
    own = (*question.name_words, question.noun)
    return [word for word in question.words if word not in own and not _OF_THE_PAST.fullmatch(word)]


def _quoted_in_last_reply(state: TurnState) -> list[list[MemoryEntry]]:
    """Returns the memories among the hits that the last reply quoted, with their corrections, in the order of the reply."""
    entries = entries_of(state.hits)
    quoted, groups = quoted_among(entries, state.recent), correction_groups(entries)
    return [group for entry in quoted for group in groups if group[-1] is entry]
