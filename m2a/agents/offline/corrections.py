"""Which memory a correction means, and whether anything of that memory still holds.

A missed correction leaves two dated statements; a false one would destroy the first. Which memory is corrected, if any, is a
learned decision ("corrects"); if no memory clearly stands out, the user chooses. The decision only links the two, and they are
then quoted together. The memory is replaced only if the user says plainly that it was wrong or has changed, and if the
correction restates all of it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from m2a.agents.offline.change_words import MOVES, TAKES_BACK, corrects
from m2a.agents.offline.claims import Claim, asserted_kinds, different_kinds, tells_several, value_words
from m2a.agents.offline.correction_features import (
    Memory,
    correcting_claim,
    correction_features,
    is_of_another,
    may_correct,
    needs_context,
    words_told,
)
from m2a.agents.offline.exclusion import exclude_each_other
from m2a.agents.offline.foreign import corrected_by
from m2a.agents.offline.languages import is_english
from m2a.agents.offline.relevance import TELLER, entries_of
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.statements import Observation
from m2a.agents.offline.text import content
from m2a.types import Concept, Hit, MemoryEntry

_MARKS = re.compile(r"\d+|(?<![\w'])[b-hj-z](?![\w'])")  # numbers and letters, which have no stem: "dock b"

# The lead is in log-odds, over the next memory. On two sets that were not learned from, 206 of 316 corrections and 287 of 408
# among look-alikes find their memory, and 6 and 1 another one; of 1,444 statements that correct nothing, told after others,
# 22 are taken for a correction (25 with a probability of 0.55, for 5 corrections more).
_MIN_PROBABILITY = 0.6
_MIN_LEAD = 2.0
_LEAST_WORDING = -1.0
# So sure that most of what `may_be_meant` says against it, which is one of its features, does not count: on three sets that
# were not learned from, this ties 23 more corrections and 49 among look-alikes, and none wrongly.
_CERTAIN, _CERTAIN_LEAD = 0.85, 3.0
_MAY_BE_MEANT = 0.25
_PERHAPS_CHANGED = 0.5  # the probability from which a later memory is quoted after an answer
_MAX_OFFERED = 2


@dataclass(frozen=True, slots=True)
class Correction:
    """The memory that is corrected. `whole`: the correction restates everything in it that still holds.

    `named`: the correction shares a word with it, and does not refer to it only because it came last.
    """

    entry: MemoryEntry
    whole: bool
    named: bool = True


@dataclass(frozen=True, slots=True)
class Finding:
    """What an observation corrects, if a single memory is meant.

    Otherwise the memories with the ids in `rivals` are kept with it, and the user may replace one of them by it: they give
    another value of the same thing, or are the candidates of a correction.
    """

    corrected: Correction | None = None
    rivals: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A memory with the log-odds and the probability that it is corrected.

    `worded_so`: more than likeness suggests a correction. `allowed`: so it does, and it is about nobody and nothing else.
    """

    entry: MemoryEntry
    claim: Claim
    score: float
    probability: float
    worded_so: bool
    allowed: bool


def find_corrected(
    observation: Observation,
    sentence: str,
    hits: Sequence[Hit],
    newest: Sequence[int],
    concepts: Sequence[Concept],
    sense: Sense,
) -> Finding:
    """Returns what the observation corrects among the memories found.

    `sentence` is the sentence or message that it is from, `newest` the ids of what was told or quoted before, newest first.
    """
    if not is_english(sentence):
        corrected = corrected_by(sentence, entries_of(hits))
        return Finding(Correction(corrected, whole=False) if corrected is not None else None)
    new = correcting_claim(observation.text, sentence, concepts)
    candidates: list[_Candidate] = []
    if may_correct(observation, sentence):
        entries, memories = _correctable(observation.text, hits, newest, concepts)
        candidates = _candidates(new, observation.text, sentence, entries, memories, sense)
    rivals = [entry.memory_id for entry in entries_of(hits) if exclude_each_other(observation.text, entry.text)]
    if not rivals and corrects(sentence):
        likely = [each for each in candidates if each.allowed and each.probability >= _MAY_BE_MEANT]
        likely = [each for each in likely if words_told(new, each.claim)] or likely  # "Tomasz works days now."
        rivals = [candidate.entry.memory_id for candidate in likely[:_MAX_OFFERED]]
    return Finding(_corrected(new, observation, sentence, candidates), tuple(rivals))


def perhaps_changed_by(entry: MemoryEntry, others: Sequence[MemoryEntry], sense: Sense) -> list[MemoryEntry]:
    """Returns the later memories that may correct this one, though not surely enough to be tied to it; oldest first.

    They share a word with it. In a dialogue ("Ana: …") nothing is found.
    """
    if TELLER.match(entry.text):
        return []
    decision = sense.models["corrects"]
    memory, words = Memory.of(entry.memory_id, entry.text, is_last=False), content(entry.text)
    found = []
    for later in sorted(others, key=lambda other: other.memory_id):
        if later.memory_id <= entry.memory_id or later.corrects is not None or not content(later.text) & words:
            continue
        if not is_english(later.text):
            continue
        new = correcting_claim(later.text, later.text)
        [row] = correction_features(new, later.text, later.text, [memory], sense)
        of_others = row["names that it lacks"] and row["share of its names unsaid"] == 1
        if row["leans"] or of_others:  # "that's Jo's dog" is of a photo
            continue
        if row["may be meant"] and _is_worded_so(row) and decision.probability(row) >= _PERHAPS_CHANGED:
            found.append(later)
    return found


def without_strays(findings: Sequence[Finding]) -> list[Finding]:
    """Returns the findings of one message; if any names its memory, those that name none and mean another correct nothing."""
    named_ids = {each.corrected.entry.memory_id for each in findings if each.corrected and each.corrected.named}
    return [replace(each, corrected=None) if _is_stray(each.corrected, named_ids) else each for each in findings]


def _is_stray(correction: Correction | None, named_ids: set[int]) -> bool:
    if correction is None or correction.named or not named_ids:
        return False
    return correction.entry.memory_id not in named_ids


def _corrected(
    new: Claim, observation: Observation, sentence: str, candidates: Sequence[_Candidate]
) -> Correction | None:
    """Returns the likeliest of the candidates if it is allowed, likely enough, and stands out from all others."""
    if not candidates or candidates[0].probability < _MIN_PROBABILITY:
        return None
    best = candidates[0]
    lead = best.score - candidates[1].score if len(candidates) > 1 else _MIN_LEAD
    is_certain = best.worded_so and best.probability >= _CERTAIN and lead >= _CERTAIN_LEAD
    if lead < _MIN_LEAD or not (best.allowed or (is_certain and not is_of_another(new, best.claim, sentence))):
        return None
    whole = not needs_context(sentence, observation.text) and _tells_all_of(new, best.claim, sentence)
    names_it = bool((new.words & best.claim.words) - value_words(new, different_kinds(new, best.claim)))
    return Correction(best.entry, whole, names_it)


def _candidates(
    new: Claim, text: str, sentence: str, entries: Sequence[MemoryEntry], memories: Sequence[Memory], sense: Sense
) -> list[_Candidate]:
    """Returns the memories, the one that is likeliest to be corrected first. `text` is the text of the observation."""
    decision = sense.models["corrects"]
    candidates = [
        _Candidate(
            entry,
            memory.claim,
            decision.score(row),
            decision.probability(row),
            worded_so=bool(row["has a sign"] or row["wording"] > _LEAST_WORDING),
            allowed=bool(row["may be meant"]) and _is_worded_so(row),
        )
        for entry, memory, row in zip(
            entries, memories, correction_features(new, text, sentence, memories, sense), strict=True
        )
    ]
    return sorted(candidates, key=lambda candidate: candidate.score, reverse=True)


def _is_worded_so(row: Mapping[str, float]) -> bool:
    """Returns whether fixed words, or the learned wording and a shared word besides the value, suggest the correction."""
    return bool(row["has a sign"] or (row["wording"] > _LEAST_WORDING and row["words shared beside values"]))


def _correctable(
    text: str, hits: Sequence[Hit], newest: Sequence[int], concepts: Sequence[Concept]
) -> tuple[list[MemoryEntry], list[Memory]]:
    """Returns the memories that say something else than the text, and what is read from each."""
    entries = [entry for entry in entries_of(hits) if is_english(entry.text) and not _say_the_same(entry.text, text)]
    memories = [
        Memory.of(entry.memory_id, entry.text, bool(newest) and entry.rests_on_message(newest[0]), concepts)
        for entry in entries
    ]
    return entries, memories


def _say_the_same(left: str, right: str) -> bool:
    return content(left) == content(right) and _MARKS.findall(left.lower()) == _MARKS.findall(right.lower())


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
