"""Which memory an observation corrects, and whether anything of that memory still holds.

A missed correction leaves two dated statements; a false one would destroy the first. Which memory is corrected, if any, is a
learned decision ("corrects"); if no memory clearly stands out, the user chooses. The decision only links the two, and they are
then quoted together. The memory is replaced only if the user says plainly that it was wrong or has changed, and if the
correction restates all of it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from m2a.agents.offline.change_words import CHANGES, TAKES_BACK, corrects, only_tells_of_past
from m2a.agents.offline.claims import Claim, asserted_kinds, different_kinds, people_in, tells_several, value_words
from m2a.agents.offline.clauses import find_subject
from m2a.agents.offline.correction_features import (
    Memory,
    correcting_claim,
    correction_features,
    is_about_another,
    may_correct,
    needs_context,
    shared_topic,
)
from m2a.agents.offline.dialogues import teller_of
from m2a.agents.offline.exclusion import exclude_each_other
from m2a.agents.offline.foreign import corrected_by
from m2a.agents.offline.languages import is_english
from m2a.agents.offline.names import find_namings, is_named
from m2a.agents.offline.observations import Observation
from m2a.agents.offline.relevance import entries_of, share_evidence
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.text import content
from m2a.types import Concept, Hit, MemoryEntry

# The lead is the difference in log-odds to the next memory. In the stories of fifteen writers, of whom three at a time were left
# out of the training, 107 of 183 corrections find their memory and 9 another one; of 458 statements that correct nothing, 19
# are taken for a correction (14 with a probability of 0.7, which finds one correction fewer).
_MIN_PROBABILITY = 0.6
_MIN_OF_A_VALUE = 0.3  # of a value alone, of which the user's previous message gave another: "Thursday."
_MIN_LEAD = 2.0
_MIN_WORDING = -1.0  # the least log-odds of the learned wording of corrections ("takes back")
# From here on the decision is so sure that most of what its feature "may be meant" says against the memory does not count:
# on three sets that were not trained on, this links 23 more corrections and 49 among look-alikes, and none wrongly.
_CERTAIN, _CERTAIN_LEAD = 0.85, 3.0
_MIN_OFFERED = 0.25  # the least probability of a memory that is offered to be replaced
_PERHAPS_CHANGED = 0.5  # the probability from which a later memory is quoted after an answer,
_BY_A_NAME = 0.9  # and if the two share only a name: "I paid Chloé back" changes what she is owed, not where she lives
_MAX_OFFERED = 2
_OWES = re.compile(r"\b(?:owe[sd]?|due|fine|bill|invoice|deposit|rent|fee)\b", re.IGNORECASE)
_PAYS = re.compile(r"\b(?:paid|pays|paying|settled|squared up|gave .* back)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Correction:
    """The memory that is corrected. `whole`: the correction restates everything in it that still holds."""

    entry: MemoryEntry
    whole: bool


@dataclass(frozen=True, slots=True)
class CorrectionChoice:
    """What an observation corrects, if a single memory is meant.

    Otherwise the user may choose one of the memories with the ids in `rivals` to be replaced by it: they give another value of
    the same thing, or may be what the observation corrects.
    """

    corrected: Correction | None = None
    rivals: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A memory with the log-odds (`score`) and the probability that it is corrected.

    `has_wording`: the wording is that of a correction. `allowed`: it is clearly worded as a correction, and is not about
    anybody or anything else. `by_a_value`: the correction is a value alone, right after another value of its kind.
    """

    entry: MemoryEntry
    claim: Claim
    score: float
    probability: float
    has_wording: bool
    allowed: bool
    by_a_value: bool


def find_corrected(
    observation: Observation, hits: Sequence[Hit], previous: int | None, concepts: Sequence[Concept], sense: Sense
) -> CorrectionChoice:
    """Returns which of the memories in `hits` the observation corrects. `previous` is the id of the message before it."""
    text, sentence = observation.text, observation.said
    if not is_english(sentence):
        corrected = corrected_by(sentence, entries_of(hits))
        return CorrectionChoice(Correction(corrected, whole=False) if corrected is not None else None)
    new = correcting_claim(text, sentence, concepts)
    candidates: list[_Candidate] = []
    if may_correct(text, sentence):
        entries = [entry for entry in entries_of(hits) if is_english(entry.text) and _may_change(entry.text, text)]
        memories = [
            Memory.of(entry.text, previous is not None and entry.rests_on_message(previous), concepts)
            for entry in entries
        ]
        candidates = _candidates(new, observation, entries, memories, sense)
    rivals = [entry.memory_id for entry in entries_of(hits) if exclude_each_other(text, entry.text)]
    if not rivals and corrects(sentence):
        likely = [each for each in candidates if each.allowed and each.probability >= _MIN_OFFERED]
        # "Tomasz works days now." is more likely about his shifts than about what he eats.
        likely = [each for each in likely if shared_topic(new, each.claim)] or [
            each for each in likely if different_kinds(new, each.claim)
        ]
        rivals = [candidate.entry.memory_id for candidate in likely[:_MAX_OFFERED]]
    return CorrectionChoice(_corrected(new, observation, candidates), tuple(rivals))


def perhaps_changed_by(entry: MemoryEntry, others: Sequence[MemoryEntry], sense: Sense) -> list[MemoryEntry]:
    """Returns the later memories that may correct this one, though not surely enough to be linked to it; oldest first.

    They share a word with it, and are of other messages. A memory of a conversation between several people ("Ana: …") has none.
    """
    if teller_of(entry.text) is not None:
        return []
    decision = sense.models["corrects"]
    memory, words = Memory.of(entry.text, is_last=False), content(entry.text)
    changes = []
    for later in sorted(others, key=lambda other: other.memory_id):
        is_later = later.memory_id > entry.memory_id and not share_evidence(later, entry)
        is_candidate = is_later and later.corrects is None and is_english(later.text)
        if not (
            is_candidate and any(not word.isdigit() for word in content(later.text) & words)
        ):  # a number is no word
            continue
        if _OWES.search(entry.text) and _PAYS.search(later.text):
            payers = people_in(later.text)
            changes += [later] if not payers or payers & (people_in(entry.text) | words) else []
            continue
        new = correcting_claim(later.text, later.text)
        [row] = correction_features(new, later.text, later.text, [memory], sense)
        is_of_others = row["names that it lacks"] and row["share of its names unsaid"] == 1
        points = row["leans"] and find_subject(later.text) is not None  # "that's Jo's dog" is about a photo
        if points or is_of_others:
            continue
        only_by_a_name = new.words & memory.claim.words <= new.names and not (row["another value"] or row["has a sign"])
        min_probability = _BY_A_NAME if only_by_a_name else _CERTAIN if row["leans"] else _PERHAPS_CHANGED
        if row["may be meant"] and _is_worded_as_correction(row) and decision.probability(row) >= min_probability:
            changes.append(later)
    return changes


def _corrected(new: Claim, observation: Observation, candidates: Sequence[_Candidate]) -> Correction | None:
    """Returns the likeliest of the candidates if it is allowed, likely enough, and stands out from all others."""
    if not candidates:
        return None
    best = candidates[0]
    if best.probability < (_MIN_OF_A_VALUE if best.by_a_value else _MIN_PROBABILITY):
        return None
    # What one message tells of several things: "My dentist is Dr Aasen. My GP is Dr Rahman." The likelier of them is meant.
    is_surely_one = best.probability >= _CERTAIN
    rivals = [each for each in candidates[1:] if not (is_surely_one and share_evidence(each.entry, best.entry))]
    lead = best.score - rivals[0].score if rivals else _MIN_LEAD
    is_certain = best.has_wording and best.probability >= _CERTAIN and lead >= _CERTAIN_LEAD
    if lead < _MIN_LEAD or not (
        best.allowed or (is_certain and not is_about_another(new, best.claim, observation.said))
    ):
        return None
    is_complete = not needs_context(observation.said, observation.text)
    whole = is_complete and _restates(best.claim, new, observation.said)
    return Correction(best.entry, whole)


def _candidates(
    new: Claim, observation: Observation, entries: Sequence[MemoryEntry], memories: Sequence[Memory], sense: Sense
) -> list[_Candidate]:
    """Returns the memories that the observation may correct, the likeliest first."""
    decision = sense.models["corrects"]
    rows = correction_features(new, observation.text, observation.said, memories, sense)
    candidates = [
        _Candidate(
            entry,
            memory.claim,
            decision.score(row),
            decision.probability(row),
            has_wording=bool(row["has a sign"] or row["wording"] > _MIN_WORDING),
            allowed=bool(row["may be meant"])
            and _is_worded_as_correction(row)
            and not _names_another(new, memory.claim),
            by_a_value=bool(row["last"] and row["another value"] and not row["words beside values"]),
        )
        for entry, memory, row in zip(entries, memories, rows, strict=True)
    ]
    return sorted(candidates, key=lambda candidate: candidate.score, reverse=True)


def _names_another(new: Claim, old: Claim) -> bool:
    """Returns whether they are about two of a kind, by other names and with other values: "my sister Anna", "my sister Lena"."""
    ours, theirs = (
        {alias: naming.name for naming in find_namings(claim.text) for alias in naming.aliases} for claim in (new, old)
    )
    renamed = any(ours[alias] != theirs[alias] for alias in ours.keys() & theirs.keys())
    return renamed and bool(different_kinds(new, old))


def _is_worded_as_correction(row: Mapping[str, float]) -> bool:
    """Returns whether a sign, or the learned wording and a shared word besides the value, suggest the correction."""
    return bool(row["has a sign"] or (row["wording"] > _MIN_WORDING and row["words shared beside values"]))


def _may_change(old: str, new: str) -> bool:
    """Returns whether the new text says something else than the old, and not only what was before it.

    "Tom used to play the drums" changes "Tom plays the drums", but not "Tom plays the cello".
    """
    if only_tells_of_past(new):
        return content(old) <= content(new)
    return content(old) != content(new) or _numbers_and_letters(old) != _numbers_and_letters(new)


def _numbers_and_letters(text: str) -> list[str]:
    """Returns what has no stem: "dock b"."""
    return re.findall(r"\d+|(?<![\w'])[b-hj-z](?![\w'])", text.lower())


def _restates(old: Claim, new: Claim, sentence: str) -> bool:
    """Returns whether the correction plainly says that the old claim is wrong or has changed, and restates the rest of it."""
    different = different_kinds(new, old)
    if (
        not different
        or len(old.places) > 1
        or tells_several(old, different)
        or old.kinds - asserted_kinds(new)  # "on Wednesdays now" says nothing about "at 4"
        or not (TAKES_BACK.search(sentence) or CHANGES.search(sentence) or new.refuted & old.words)
    ):
        return False
    # "Piotr's boat is in Hel now" does not say "a boat called Mewa" again, though the boat is known by that name.
    given = {name for naming in find_namings(old.text) for name in (naming.name, *naming.aliases)}
    if not all(is_named(name, new.text) for name in given):
        return False
    return not old.words - new.words - new.refuted - value_words(old, different)
