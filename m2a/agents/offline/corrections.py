"""Which memory a correction means, and whether anything of that memory still holds.

A missed correction leaves two dated statements, a false one would destroy the first: so a memory is touched only where the
user says that something was wrong or has changed, where the subject agrees and no other name is meant, and where one memory
stands out among those that could be meant. Even then it only goes where the correction tells all of it anew; otherwise the
two are tied, and told together.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from m2a.agents.offline.change_words import LATELY, MOVES, TAKES_BACK, corrects, denied
from m2a.agents.offline.claims import Claim, different_kinds, exclude_each_other, value_words
from m2a.agents.offline.clauses import AUXILIARIES, find_subject, segments
from m2a.agents.offline.relevance import entries_of, rests_on
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.statements import Observation
from m2a.agents.offline.text import content, meets, tokens
from m2a.types import Concept, Hit, MemoryEntry

# What is said to come on top takes nothing's place.
_ADDS = re.compile(
    r"\b(?:also|too(?=\W*(?:$|[,.;!?)]))|(?<!to )(?<!in )another|as well|one more|besides|a second(?![ -]hand))\b",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(r"(?:it|that|this|they|he|she|there|those|these|you)(?:'\w+)?$", re.IGNORECASE)
_THAT_THING = re.compile(r"\b(?:of|for|at|in|on) (?:that|this|the same) [a-z]+", re.IGNORECASE)
_MISSPOKE = re.compile(
    r"^\W*(?:(?:no|oh|sorry|oops|actually|wait|correction|scratch that|well|hmm+|ah)\b\W*)*i(?:'d|'ve)? (?:meant|"
    r"misread|"
    r"misheard|miscounted|mistyped|misspoke|misremembered|swapped|mixed|(?:got|had|wrote|copied|said|"
    r"told).{0,25} wrong|was wrong)\b",
    re.IGNORECASE,
)

# What is not done on Tuesdays may be done on Saturdays.
_WEEKLY = re.compile(r"\b(?:every|\w+days|weekends)\b", re.IGNORECASE)

ENOUGH = 1.2  # rare words shared, counted by how few memories hold them, and signs that this memory is meant
LEAD = 0.3  # over the next memory that could be meant
_REFUTED, _SAME_KIND, _OTHER_SUBJECT = 1.5, 0.5, 0.8
# Words that a correction such as "Scratch that about the boiler key, …" shares with the memory that it names itself, and where
# what was said last may be meant as well.
_NAMED_BY_ITSELF, _NAMED_OVER_THE_LAST = 2, 3
_SYNONYM = 0.4
_COSINE = 0.6


@dataclass(frozen=True, slots=True)
class Correction:
    """The memory that is corrected. `whole`: nothing of it holds that the correction does not tell anew."""

    entry: MemoryEntry
    whole: bool


def find_corrected(
    observation: Observation,
    said: str,
    hits: Sequence[Hit],
    newest: Sequence[int],
    concepts: Sequence[Concept],
    sense: Sense,
) -> Correction | None:
    """The memory that the observation corrects, or None where none, or more than one, could be meant.

    `said` is the sentence or message that it is from, `newest` the ids of the user's messages before it, last first.
    """
    if not corrects(said) or (_ADDS.search(observation.text) and not TAKES_BACK.search(said)):
        return None
    new = replace(Claim.of(observation.text, concepts), refuted=Claim.of(said).refuted)
    known = [
        (entry, Claim.of(entry.text, concepts))
        for entry in entries_of(hits)
        if content(entry.text) != content(observation.text)
    ]
    leans = _leans(said, observation.text)
    last = _of_what_was_said_last(new, known, newest, sense) if leans else None
    least = 0 if not leans else _NAMED_OVER_THE_LAST if last and last.is_alike else _NAMED_BY_ITSELF
    rated = _rated(new, known, said, sense, least)
    if rated and rated[0][0] >= ENOUGH:
        score, entry, old = rated[0]
        if len(rated) > 1 and score - rated[1][0] < LEAD:
            if not exclude_each_other(entry.text, rated[1][1].text):
                return None
            entry, old = max(rated[:2], key=lambda one: one[1].memory_id)[1:]  # of one thing: the newest is meant
        return Correction(entry, not leans and _tells_all_of(new, old, said))
    return Correction(last.entry, False) if last else None


def rivals_of(observation: Observation, hits: Sequence[Hit]) -> tuple[int, ...]:
    """The memories that say another value of the same thing: both stay, and the user may choose."""
    return tuple(entry.memory_id for entry in entries_of(hits) if exclude_each_other(observation.text, entry.text))


def _leans(said: str, text: str) -> bool:
    """Whether the correction means nothing without what was said before it: "No, on Tuesday.".

    `text` is what was said without its fillers.
    """
    words = tokens(text)
    if _MISSPOKE.match(said) or (words and words[0].lower in AUXILIARIES) or _THAT_THING.search(said):
        return True
    first, last = segments(text)[0]
    subject = find_subject(text[first:last])
    return subject is None or bool(_POINTS_BACK.match(subject.text.split()[-1]))


_Known = Sequence[tuple[MemoryEntry, Claim]]


def _rated(new: Claim, known: _Known, said: str, sense: Sense, least: int) -> list[tuple[float, MemoryEntry, Claim]]:
    """The memories that the correction names itself, the likeliest first."""
    holders = Counter(word for _, old in known for word in old.words)
    rated = [
        (_score(new, old, holders, sense), entry, old) for entry, old in known if _may_be_meant(new, old, said, least)
    ]
    return sorted(rated, key=lambda one: (one[0], one[1].memory_id), reverse=True)


def _may_be_meant(new: Claim, old: Claim, said: str, least: int) -> bool:
    """Whether the correction names this memory itself, by at least so many words or a name where it leans on another."""
    known, told = old.words | old.subject_names, new.words | new.subject_names
    if old.subject_names and not old.subject_names & told:
        return False
    if new.subject_names and not new.subject_names & known:
        return False
    if old.possessed and not any(meets(word, told) for word in old.possessed):
        return False  # Anna's mother moved, or Anna herself
    different = different_kinds(new, old)
    shared = (new.words & old.words) - value_words(new, different)
    if len(shared) < least and not shared & old.names:
        return False
    if new.refuted & old.words:
        return True
    if not shared:
        return False
    if TAKES_BACK.search(said) or MOVES.search(said):
        return bool(different) or len(shared) >= 2
    if denied(said):
        return bool(different) and old.subject <= told and not _WEEKLY.search(said)
    # "I weigh 79 kilos now" needs no tie: of values told one after the other the newest answers.
    lately = bool(LATELY.search(said)) and not exclude_each_other(new.text, old.text)
    return lately and bool(different) and old.subject <= told


def _score(new: Claim, old: Claim, holders: Counter[str], sense: Sense) -> float:
    shared = new.words & old.words
    synonyms = [word for word in old.words - shared if meets(word, new.words)]
    unsaid = old.subject - new.words if old.subject & new.words else ()
    return (
        sum(1 / holders[word] for word in shared)
        + _SYNONYM * sum(1 / holders[word] for word in synonyms)
        + _REFUTED * bool(new.refuted & old.words)
        + _SAME_KIND * bool(different_kinds(new, old))
        + _COSINE * sense.cosine(new.text, old.text)
        - _OTHER_SUBJECT * len(unsaid) / max(1, len(old.subject))
    )


@dataclass(frozen=True, slots=True)
class _Last:
    """The memory of what was said last. `is_alike`: it holds another value of a kind that the correction gives."""

    entry: MemoryEntry
    is_alike: bool


def _of_what_was_said_last(new: Claim, known: _Known, newest: Sequence[int], sense: Sense) -> _Last | None:
    """The memory of the message before, of several the nearest; None where the correction names somebody else."""
    last = [(entry, old) for entry, old in known if newest and rests_on(entry, newest[:1])]
    if not last:
        return None
    elsewhere = {name for entry, old in known for name in old.subject_names if (entry, old) not in last}
    named = new.words & elsewhere
    rated = [
        (
            bool(different_kinds(new, old)) + bool(new.refuted & old.words) + sense.cosine(new.text, old.text),
            bool(different_kinds(new, old) or new.refuted & old.words),
            entry,
        )
        for entry, old in last
        if named <= old.words
    ]
    if not rated:
        return None
    _, is_alike, entry = max(rated, key=lambda one: one[0])
    return _Last(entry, is_alike)


def _tells_all_of(new: Claim, old: Claim, said: str) -> bool:
    """Whether everything that the old memory says is said anew, but for the value that no longer holds."""
    different = different_kinds(new, old)
    if (
        len(old.places) > 1
        or not different
        or not (TAKES_BACK.search(said) or MOVES.search(said) or new.refuted & old.words)
    ):
        return False
    return not old.words - new.words - new.refuted - value_words(old, different)
