"""Which memory a correction means, and whether anything of that memory still holds.

A missed correction leaves two dated statements; a false one would destroy the first. So a memory is touched only if the
correction names nobody else, and if one memory clearly stands out among the candidates (`meant`); otherwise the user chooses.
Whether the user corrects a memory or reports a change is a learned decision ("corrects"). It only links the two, and they are
then quoted together. The memory is replaced only if the user says plainly that it was wrong or has changed, and if the
correction restates all of it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from m2a.agents.offline.change_words import MOVES, TAKES_BACK, corrects
from m2a.agents.offline.claims import (
    Claim,
    are_of_work_and_home,
    asserted_kinds,
    different_kinds,
    of_another_number,
    tells_several,
    value_words,
)
from m2a.agents.offline.correction_features import (
    PRONOUN,
    Memory,
    correcting_claim,
    correction_features,
    has_a_sign,
    may_correct,
    needs_context,
    with_cosine,
)
from m2a.agents.offline.exclusion import exclude_each_other, share_a_frame
from m2a.agents.offline.foreign import corrected_by
from m2a.agents.offline.languages import is_english
from m2a.agents.offline.meant import PEOPLE, Candidate, rate
from m2a.agents.offline.relevance import entries_of, rests_on
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.statements import Observation
from m2a.agents.offline.text import content, meets
from m2a.types import Concept, Hit, MemoryEntry

_OF_ONESELF = re.compile(r"(?:i|we)\b", re.IGNORECASE)
_HOME = re.compile(
    r"(?:i|we)(?:'ve|'m|'re| have| am| are)?(?: (?:now|just|still|both|all|recently|finally|currently|since))* "
    r"(?:liv(?:e|ed|ing)\b|(?:moved|moving|relocated|shifted)(?: house| home| out| away| back| flat)?(?: from [\w ]+?)? "
    r"(?:to|into|in)\b)",
    re.IGNORECASE,
)
_LIVED_ONCE = re.compile(r"\b(?:lived|used to live)\b", re.IGNORECASE)
_MARKS = re.compile(r"\d+|(?<![\w'])[b-hj-z](?![\w'])")  # numbers and letters, which have no stem: "dock b"

# Of a correction. On two sealed sets, 0.6 finds 152 of 200 corrections and takes 40 of 1600 statements for one, 0.5 161 and 52.
_MIN_PROBABILITY = 0.5
_CLEAR_LEAD = 4.0  # the lead needed if the correction shares one word with the memory and gives another value
# The lead in log-odds over the next memory. Of 1344 corrections among look-alikes (cross-validated), a minimum of 0, 1, 2 and
# 2.5 picks the wrong memory in 13, 9, 2 and 0 cases, and the right one in 1018, 1000, 958 and 915.
_MIN_LEAD = 2.5
# The lead needed if the other memories are about something or somebody else; a memory alone with such a value needs none.
_MIN_LEAD_ALONE = 1.0
_MAX_OFFERED = 2
# From this number of shared words on, the correction itself names the memory: "Scratch that about the boiler key, …".
_MIN_WORDS_NAMING = 2


@dataclass(frozen=True, slots=True)
class Correction:
    """The memory that is corrected. `whole`: the correction restates everything in it that still holds.

    `named`: the correction shares a word with it, and does not refer to it only because it came last.
    """

    entry: MemoryEntry
    whole: bool
    named: bool = True


@dataclass(frozen=True, slots=True)
class Choice:
    """The position of the memory that is meant, and the probability that it is corrected."""

    position: int
    probability: float


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
    if not may_correct(observation, sentence):
        return None
    new = correcting_claim(observation.text, sentence, concepts)
    entries, memories = _correctable(observation, hits, newest, concepts)
    choice = choose(new, observation.text, sentence, memories, sense)
    if choice is None:
        return None
    claim, is_last = memories[choice.position].claim, memories[choice.position].is_last
    elliptic, words_shared = needs_context(sentence, observation.text), _words_naming(new, claim) > 0
    means_it = elliptic or words_shared or bool(new.refuted & claim.words) or _says_the_same_of_oneself(new, claim)
    if not means_it and not (is_last and _gives_another_value(new, claim, sentence)):
        return None  # it is complete in itself and says nothing about this memory
    if choice.probability < _MIN_PROBABILITY or not has_a_sign(new, claim, observation.text, sentence):
        return None
    return Correction(entries[choice.position], not elliptic and _tells_all_of(new, claim, sentence), words_shared)


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
    if not rivals and may_correct(observation, sentence) and corrects(sentence):
        new = correcting_claim(observation.text, sentence, concepts)
        entries, memories = _correctable(observation, hits, newest, concepts)
        rivals = [entries[position].memory_id for position in targets(new, observation.text, sentence, memories, sense)]
    return tuple(rivals)


def _gives_another_value(new: Claim, old: Claim, sentence: str) -> bool:
    """Returns whether it gives another value of something that it does not name: "They switched her to room 131".

    Two statements about the user need not be about one thing: "I live in Graz", "We moved the sofa to Linz".
    """
    of_user = _OF_ONESELF.match(new.text) and _OF_ONESELF.match(old.text) and not TAKES_BACK.search(sentence)
    return bool(different_kinds(new, old)) and not of_user and (corrects(sentence) or bool(PRONOUN.search(new.text)))


def _correctable(
    observation: Observation, hits: Sequence[Hit], newest: Sequence[int], concepts: Sequence[Concept]
) -> tuple[list[MemoryEntry], list[Memory]]:
    """Returns the memories that the observation may correct, and what is read from each."""
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


def choose(new: Claim, text: str, sentence: str, memories: Sequence[Memory], sense: Sense) -> Choice | None:
    """Returns the memory that stands out as the one meant, or None. For a correction that needs its context, this may be one
    from the previous message, if the correction names no other."""
    rated = rate(new, [memory.claim for memory in memories], sense)
    elliptic = needs_context(sentence, text)
    shared = [_words_naming(new, memory.claim) for memory in memories]
    candidates = [c for c in rated if _may_be_meant(new, memories[c.position])]
    candidates = [c for c in candidates if not _is_refuted(new, memories[c.position].claim)]
    if not candidates:
        return None
    # "It's 3650, not 4200" cannot be about something that never was 4200.
    candidates = [c for c in candidates if _refutes_its_value(new, memories[c.position].claim)] or candidates
    best = max(candidates, key=lambda c: c.score)
    clear = best.lead >= _CLEAR_LEAD and shared[best.position] and different_kinds(new, memories[best.position].claim)
    if not elliptic or clear or shared[best.position] >= _MIN_WORDS_NAMING:
        needed = _lead_needed(new, best, candidates, memories)
        other_counts = [count for position, count in enumerate(shared) if position != best.position]
        is_named_best = shared[best.position] > max(other_counts, default=-1) - (needed < _MIN_LEAD)
        stands_out = best.lead >= needed and is_named_best
        best_or_newer = best if stands_out else _newer_of_two(rated, memories)
        if best_or_newer in candidates:
            return _choice(new, sentence, memories, best_or_newer, elliptic, sense)
        if elliptic or any(shared):
            return None  # it names a memory, but it is not clear which
    last = [c for c in candidates if memories[c.position].is_last]
    if not last:
        return None
    best = max(last, key=lambda c: c.score)
    claim = memories[best.position].claim
    others_named = any(new.names & memory.claim.names for memory in memories if not memory.is_last)
    if shared[best.position] < max(shared) or (others_named and not new.names & claim.names):
        return None
    if _names_another(new, sentence, claim, memories):
        return None
    return _choice(new, sentence, memories, best, elliptic, sense)


def targets(new: Claim, text: str, sentence: str, memories: Sequence[Memory], sense: Sense) -> list[int]:
    """Returns the positions of the memories that may be meant if none stands out: at most two, the likeliest first."""
    if needs_context(sentence, text):
        return []
    rated = sorted(rate(new, [memory.claim for memory in memories], sense), key=lambda c: c.score, reverse=True)
    near = [
        candidate
        for candidate in rated
        if rated[0].score - candidate.score < _MIN_LEAD
        and _may_be_meant(new, memories[candidate.position])
        and _tells_as_much(new, memories[candidate.position].claim)
        and _words_naming(new, memories[candidate.position].claim)
    ]
    if not near or rated[0].lead >= _MIN_LEAD:
        return []
    near = [near[0], *_rivals(new, near[0], near, memories)][:_MAX_OFFERED]
    is_sure = _choice(new, sentence, memories, near[0], False, sense).probability >= _MIN_PROBABILITY
    return [candidate.position for candidate in near] if is_sure else []


def _choice(
    new: Claim, sentence: str, memories: Sequence[Memory], best: Candidate, elliptic: bool, sense: Sense
) -> Choice:
    old = memories[best.position]
    features = with_cosine(
        correction_features(new, sentence, old, best.lead, elliptic), sense.cosine(new.text, old.text)
    )
    return Choice(best.position, sense.models["corrects"].probability(features, sense.vector(sentence)))


def _say_the_same(left: str, right: str) -> bool:
    return content(left) == content(right) and _MARKS.findall(left.lower()) == _MARKS.findall(right.lower())


def _words_naming(new: Claim, old: Claim) -> int:
    """Returns how many words, apart from the value, the correction shares with the memory; a name counts twice."""
    shared = (new.words & old.words) - value_words(new, different_kinds(new, old))
    return len(shared) + bool(shared & old.names)


def _lead_needed(new: Claim, best: Candidate, rated: Sequence[Candidate], memories: Sequence[Memory]) -> float:
    """Returns the lead that the best needs: none if it alone gives another such value, a small one if it has no rival."""
    if [c for c in rated if different_kinds(new, memories[c.position].claim)] == [best]:
        return 0.0
    return _MIN_LEAD if _rivals(new, best, rated, memories) else _MIN_LEAD_ALONE


def _rivals(new: Claim, best: Candidate, rated: Sequence[Candidate], memories: Sequence[Memory]) -> list[Candidate]:
    """Returns the candidates that could be meant instead of the best: if that shares a word of the predicate, so must they.

    "Tomasz works days now" is not about "Tomasz doesn't eat pork" if another memory says that he works nights.
    """
    others = [c for c in rated if c is not best]
    if _words_told(new, memories[best.position].claim):
        return [c for c in others if _words_told(new, memories[c.position].claim)]
    return others


def _words_told(new: Claim, old: Claim) -> frozenset[str]:
    """Returns the words that the correction shares with the memory, apart from its value, its subject and names."""
    return (
        (new.words & old.words)
        - value_words(new, different_kinds(new, old))
        - new.subject
        - new.subject_names
        - new.names
    )


def _says_the_same_of_oneself(new: Claim, old: Claim) -> bool:
    """Returns whether both say the same of the user, though they may share no word: "I live in Graz", "I moved to Linz"."""
    if not (_OF_ONESELF.match(new.text) and _OF_ONESELF.match(old.text)):
        return False
    if share_a_frame(new.text, old.text):
        return True
    return bool(_HOME.match(new.text) and _HOME.match(old.text)) and not _LIVED_ONCE.search(old.text)


def _may_be_meant(new: Claim, old: Memory) -> bool:
    """Returns whether the correction is about nobody and nothing other than the memory is."""
    places = "place" in new.kinds & old.claim.kinds
    if places and are_of_work_and_home(new.text, old.text) and not new.refuted & old.claim.words:
        return False
    if of_another_number(new, old.claim) or _of_another_owner(new, old.claim) or _of_another_thing(new, old.claim):
        return False
    old_words = old.claim.words | old.claim.subject_names
    words = new.words | new.subject_names
    if old.claim.possessed & PEOPLE and not (new.possessed or any(meets(word, words) for word in old.claim.possessed)):
        return False  # Phil's mum is not Phil
    if not old.claim.subject_names or old.claim.subject_names & words:
        return True
    if new.subject_names <= PEOPLE and PEOPLE & new.subject & old.claim.subject:
        return True  # "granddad's operation" of "granddad Wim's operation"
    if not new.subject_names and _words_told(new, old.claim) and different_kinds(new, old.claim):
        return True  # "They put the metoprolol up to 50 mg" of "Dr Amundson has started me on metoprolol, 25 mg"
    return old.is_last and not (new.subject_names and not new.subject_names & old_words)


def _of_another_owner(new: Claim, old: Claim) -> bool:
    """Returns whether only one is the user's own, or they belong to different relatives: "Mum's", "Dad's"."""
    owners = {new.owner, old.owner}
    if "" in owners or len(owners) < 2:
        return False
    return "I" in owners or (owners <= PEOPLE and not meets(old.owner, new.words))


def _of_another_thing(new: Claim, old: Claim) -> bool:
    """Returns whether the subjects are alike, but each has a word that the other lacks: "Enda's shed", "Enda's dinghy"."""
    new_words = new.words | new.subject_names
    return (
        bool(new.subject & old.subject)
        and not all(meets(word, new_words) for word in old.subject)
        and not all(meets(word, old.words) for word in new.subject)
    )


def _refutes_its_value(new: Claim, old: Claim) -> bool:
    """Returns whether the new claim denies something that the old one says of its subject."""
    return bool(new.refuted & (old.words - old.subject))


def _is_refuted(new: Claim, old: Claim) -> bool:
    """Returns whether the correction says that it is not about the subject of the other: "not the harp, just herself"."""
    return bool(new.refuted & old.subject) and not new.refuted & (old.words - old.subject)


def _tells_as_much(new: Claim, old: Claim) -> bool:
    """Returns whether the old claim gives another value of the same kind, or exactly what the new one denies."""
    return not new.kinds or bool(different_kinds(new, old)) or bool(new.refuted & old.words)


def _newer_of_two(rated: Sequence[Candidate], memories: Sequence[Memory]) -> Candidate | None:
    """Returns the newer of the two likeliest memories if they are values of one thing."""
    best_two = sorted(rated, key=lambda c: c.score, reverse=True)[:2]
    are_values = len(best_two) == 2 and exclude_each_other(*(memories[c.position].text for c in best_two))
    return max(best_two, key=lambda c: memories[c.position].number) if are_values else None


def _names_another(new: Claim, sentence: str, claim: Claim, memories: Sequence[Memory]) -> bool:
    """Returns whether the correction shares a word, apart from its value, with another memory but not with this one."""
    lacking = content(sentence) - value_words(new, different_kinds(new, claim)) - claim.words
    return any(lacking & memory.claim.words for memory in memories)


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
