"""Which memory a correction means, and whether anything of that memory still holds.

A missed correction leaves two dated statements; a false one would destroy the first. Which memory is corrected, if any, is a
learned decision ("corrects"); if no memory clearly stands out, the user chooses. The decision only links the two, and they are
then quoted together. The memory is replaced only if the user says plainly that it was wrong or has changed, and if the
correction restates all of it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from m2a.agents.offline.change_words import MOVES, TAKES_BACK, corrects
from m2a.agents.offline.claims import Claim, asserted_kinds, different_kinds, tells_several, value_words
from m2a.agents.offline.correction_features import (
    Memory,
    correcting_claim,
    correction_features,
    has_a_sign,
    may_be_meant,
    may_correct,
    needs_context,
    words_told,
)
from m2a.agents.offline.exclusion import exclude_each_other
from m2a.agents.offline.foreign import corrected_by
from m2a.agents.offline.languages import is_english
from m2a.agents.offline.relevance import entries_of, rests_on
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.statements import Observation
from m2a.agents.offline.text import content
from m2a.types import Concept, Hit, MemoryEntry

_MARKS = re.compile(r"\d+|(?<![\w'])[b-hj-z](?![\w'])")  # numbers and letters, which have no stem: "dock b"

_MIN_PROBABILITY = 0.6
# In log-odds, over the next memory. Cross-validated on 1344 corrections among look-alikes, a lead of 1.5, 2.5 and 3.5 picks
# another memory in 14, 8 and 6 cases, and the right one in 1202, 1187 and 1175.
_MIN_LEAD = 2.5
_MAY_BE_MEANT = 0.25
_MAX_OFFERED = 2


@dataclass(frozen=True, slots=True)
class Correction:
    """The memory that is corrected. `whole`: the correction restates everything in it that still holds.

    `named`: the correction shares a word with it, and does not refer to it only because it came last.
    """

    entry: MemoryEntry
    whole: bool
    named: bool = True


def find_corrected(
    observation: Observation,
    sentence: str,
    hits: Sequence[Hit],
    newest: Sequence[int],
    concepts: Sequence[Concept],
    sense: Sense,
) -> Correction | None:
    """Returns the memory that the observation corrects, or None if no single memory is meant.

    `sentence` is the sentence or message that it is from, `newest` the ids of the user's earlier messages, newest first.
    """
    if not is_english(sentence):
        corrected = corrected_by(sentence, entries_of(hits))
        return Correction(corrected, whole=False) if corrected is not None else None
    candidates = _candidates(observation, sentence, hits, newest, concepts, sense)
    if not candidates or not candidates[0].allowed or candidates[0].probability < _MIN_PROBABILITY:
        return None
    best, new = candidates[0], correcting_claim(observation.text, sentence, concepts)
    if len(candidates) > 1 and best.score - candidates[1].score < _MIN_LEAD:
        return None
    whole = not needs_context(sentence, observation.text) and _tells_all_of(new, best.claim, sentence)
    return Correction(best.entry, whole, _words_naming(new, best.claim) > 0)


def without_strays(corrections: Sequence[Correction | None]) -> list[Correction | None]:
    """Returns the corrections of one message; if any names its memory, those that name none and mean another become None."""
    named_ids = {c.entry.memory_id for c in corrections if c and c.named}
    return [c if c and (c.named or not named_ids or c.entry.memory_id in named_ids) else None for c in corrections]


def rivals_of(
    observation: Observation,
    sentence: str,
    hits: Sequence[Hit],
    newest: Sequence[int],
    concepts: Sequence[Concept],
    sense: Sense,
) -> tuple[int, ...]:
    """Returns the ids of the memories that are kept with the observation, one of which the user may replace by it.

    They give another value of the same thing, or are the candidates of a correction if none of them stands out.
    """
    rivals = [entry.memory_id for entry in entries_of(hits) if exclude_each_other(observation.text, entry.text)]
    if not rivals and corrects(sentence):
        candidates = _candidates(observation, sentence, hits, newest, concepts, sense)
        likely = [each for each in candidates if each.allowed and each.probability >= _MAY_BE_MEANT]
        new = correcting_claim(observation.text, sentence, concepts)
        likely = [each for each in likely if words_told(new, each.claim)] or likely  # "Tomasz works days now."
        rivals = [candidate.entry.memory_id for candidate in likely[:_MAX_OFFERED]]
    return tuple(rivals)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A memory that may be corrected, with the probability, and its log-odds as the score.

    `allowed`: it is about the same, and the user corrects something.
    """

    entry: MemoryEntry
    claim: Claim
    score: float
    probability: float
    allowed: bool


def _candidates(
    observation: Observation,
    sentence: str,
    hits: Sequence[Hit],
    newest: Sequence[int],
    concepts: Sequence[Concept],
    sense: Sense,
) -> list[_Candidate]:
    """Returns the memories that the observation may correct, the likeliest first."""
    if not may_correct(observation, sentence):
        return []
    new = correcting_claim(observation.text, sentence, concepts)
    entries, memories = _correctable(observation, hits, newest, concepts)
    rows = correction_features(new, observation.text, sentence, memories, sense) if memories else []
    decision = sense.models["corrects"]
    candidates = [
        _Candidate(
            entry,
            memory.claim,
            decision.score(row),
            decision.probability(row),
            may_be_meant(new, memory) and has_a_sign(new, memory, observation.text, sentence),
        )
        for entry, memory, row in zip(entries, memories, rows, strict=True)
    ]
    return sorted(candidates, key=lambda candidate: candidate.score, reverse=True)


def _correctable(
    observation: Observation, hits: Sequence[Hit], newest: Sequence[int], concepts: Sequence[Concept]
) -> tuple[list[MemoryEntry], list[Memory]]:
    """Returns the memories that say something else than the observation, and what is read from each."""
    entries = [
        entry
        for entry in entries_of(hits)
        if is_english(entry.text) and not _say_the_same(entry.text, observation.text)
    ]
    memories = [
        Memory.of(entry.memory_id, entry.text, bool(newest) and rests_on(entry, newest[:1]), concepts)
        for entry in entries
    ]
    return entries, memories


def _say_the_same(left: str, right: str) -> bool:
    return content(left) == content(right) and _MARKS.findall(left.lower()) == _MARKS.findall(right.lower())


def _words_naming(new: Claim, old: Claim) -> int:
    """Returns how many words, apart from the value, the correction shares with the memory; a name counts twice."""
    shared = (new.words & old.words) - value_words(new, different_kinds(new, old))
    return len(shared) + bool(shared & old.names)


def _tells_all_of(new: Claim, old: Claim, sentence: str) -> bool:
    """Returns whether the correction restates everything in the old memory except the value that no longer holds."""
    different = different_kinds(new, old)
    if (
        not different
        or len(old.places) > 1
        or tells_several(old, different)
        or old.kinds - asserted_kinds(new)  # "on Wednesdays now" says nothing about "at 4"
        or not (TAKES_BACK.search(sentence) or MOVES.search(sentence) or new.refuted & old.words)
    ):
        return False
    return not old.words - new.words - new.refuted - value_words(old, different)
