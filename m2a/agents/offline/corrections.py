"""Which memory a correction means, and whether anything of that memory still holds.

A missed correction leaves two dated statements, a false one would destroy the first: so a memory is touched only where no other
name is meant, and where one memory clearly stands out among those that could be meant (`meant`); else the user is offered them.
That the user corrects it or says that it changed is a learned decision ("corrects"), which only ever ties the two together, to
be told one after the other. The memory goes only where it is said in plain words that it was wrong or has changed, and the
correction tells all of it anew.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from m2a.agents.offline.change_words import (
    LATELY,
    MOVES,
    NEW,
    TAKES_BACK,
    corrects,
    says_what_stays,
    what_changes,
)
from m2a.agents.offline.claims import (
    Claim,
    are_of_work_and_home,
    asserted_kinds,
    different_kinds,
    exclude_each_other,
    frame_words,
    may_have_many,
    of_another_number,
    share_a_frame,
    tells_several,
    value_words,
)
from m2a.agents.offline.clauses import AUXILIARIES, find_subject, is_past, segments
from m2a.agents.offline.foreign import corrected_by
from m2a.agents.offline.languages import is_english
from m2a.agents.offline.meant import PEOPLE, Candidate, rate
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
_BESIDE = re.compile(r"\b(?:other|second|next|another|own|both|besides|ever since|after that|on top)\b", re.IGNORECASE)
_POINTS_BACK = re.compile(r"(?:it|that|this|they|he|she|there|those|these|you)(?:'\w+)?$", re.IGNORECASE)
_PRONOUN = re.compile(r"\b(?:it|they|them|he|him|she|her|his|that|this|there|one)\b(?:'\w+)?", re.IGNORECASE)
_OF_ONESELF = re.compile(r"(?:i|we)\b", re.IGNORECASE)
_HOME = re.compile(
    r"(?:i|we)(?:'ve|'m|'re| have| am| are)?(?: (?:now|just|still|both|all|recently|finally|currently|since))* "
    r"(?:liv(?:e|ed|ing)\b|(?:moved|moving|relocated|shifted)(?: house| home| out| away| back| flat)?(?: from [\w ]+?)? "
    r"(?:to|into|in)\b)",
    re.IGNORECASE,
)
# "They moved my appointment": nobody that was spoken of before.
_IMPERSONAL = re.compile(
    r"they(?:'ve| have|'re| are)?(?: just| now)? \w+(?: \w+)? (?:my|our|the|his|her|[\w-]+'s) (?!\w+ (?:and|or)\b)\w",
    re.IGNORECASE,
)
_MARKS = re.compile(r"\d+|(?<![\w'])[b-hj-z](?![\w'])")  # of which no stem is made: numbers and letters, "dock b"
_THAT_THING = re.compile(r"\b(?:of|for|at|in|on) (?:that|this|the same) [a-z]+", re.IGNORECASE)
_OPENS_SO = re.compile(
    r"\W*(?:(?:oh|hm+|ah|well)\b\W*)*(?:no|nope|nah|naw|oops|sorry|actually|correction|wait|scratch|hang|turns|change)\b",
    re.IGNORECASE,
)
_PERFECT = re.compile(
    r"\b(?:has|have|'s|'ve|had) (?:\w+ly )?(?:been|\w+ed|gone|got|gotten|put|taken|made|left|given|broken|begun|chosen)\b",
    re.IGNORECASE,
)
_NOT = re.compile(r"\b(?:not|never|no longer)\b|n't\b", re.IGNORECASE)
_MISSPOKE = re.compile(
    r"^\W*(?:(?:no|oh|sorry|oops|actually|wait|correction|scratch that|well|hmm+|ah)\b\W*)*i(?:'d|'ve)? (?:meant|"
    r"misread|"
    r"misheard|miscounted|mistyped|misspoke|misremembered|swapped|mixed|(?:got|had|wrote|copied|said|"
    r"told).{0,25} wrong|was wrong)\b",
    re.IGNORECASE,
)

_ENOUGH = 0.6  # the probability from which it is a correction: a missed one leaves two dated facts, a false one hides the first
_CLEAR_LEAD = 4.0  # the same where the correction names the memory by one word, and gives another value
# Of the logarithm of the odds, over the next memory. Among look-alikes, each set judged by what the others teach, 13 of 1344
# hit another from 0 on, 9 from 1, 2 from 2, none from 2.5 on, and 1018, 1000, 958 and 915 the right one.
_LEAD = 2.5
# The same where the others speak of something or somebody else. None is needed where it alone tells such a value.
_LEAD_OF_ONE = 1.0
_OFFERED = 2
# Words that a correction such as "Scratch that about the boiler key, …" shares with the memory that it names itself.
_NAMED_BY_ITSELF = 2
_LONGEST_LEAD = 4.0


@dataclass(frozen=True, slots=True)
class Correction:
    """The memory that is corrected. `whole`: nothing of it holds that the correction does not tell anew.

    `named`: the correction shares a word with it, and does not mean it by its place alone.
    """

    entry: MemoryEntry
    whole: bool
    named: bool = True


@dataclass(frozen=True, slots=True)
class Known:
    """A memory that a correction may mean; `number` grows with time. `is_last`: it is of what the user said directly before."""

    number: int
    text: str
    claim: Claim
    is_last: bool

    @classmethod
    def of(cls, number: int, text: str, is_last: bool, concepts: Sequence[Concept] = ()) -> "Known":
        return cls(number, text, Claim.of(text, concepts), is_last)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The place of the memory that is meant, and how surely it is corrected, from 0 to 1."""

    position: int
    probability: float


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
    if not is_english(said):
        corrected = corrected_by(said, entries_of(hits))
        return Correction(corrected, whole=False) if corrected is not None else None
    if not _may_correct(observation, said):
        return None
    new = correcting_claim(observation.text, said, concepts)
    entries, known = _known(observation, hits, newest, concepts)
    chosen = choose(new, observation.text, said, known, sense)
    if chosen is None:
        return None
    claim, is_last = known[chosen.position].claim, known[chosen.position].is_last
    leaning, named = leans(said, observation.text), _words_naming(new, claim) > 0
    means_it = leaning or named or bool(new.refuted & claim.words) or _says_the_same_of_oneself(new, claim)
    if not means_it and not (is_last and _gives_another_value(new, claim, said)):
        return None  # it stands alone, and of this memory it says nothing
    if chosen.probability < _ENOUGH or not _has_a_sign(new, claim, observation.text, said):
        return None
    return Correction(entries[chosen.position], not leaning and _tells_all_of(new, claim, said), named)


def without_strays(corrections: Sequence[Correction | None]) -> list[Correction | None]:
    """The corrections of one message: where one names its memory, the others mean that one or a memory that they name."""
    named = {one.entry.memory_id for one in corrections if one and one.named}
    return [one if one and (one.named or not named or one.entry.memory_id in named) else None for one in corrections]


def rivals_of(
    observation: Observation,
    said: str,
    hits: Sequence[Hit],
    newest: Sequence[int],
    concepts: Sequence[Concept],
    sense: Sense,
) -> tuple[int, ...]:
    """The memories that stay beside the observation, and of which the user may choose one to put it in the place of.

    They say another value of the same thing, or are those that a correction may mean where none stands out.
    """
    rivals = [entry.memory_id for entry in entries_of(hits) if exclude_each_other(observation.text, entry.text)]
    if not rivals and _may_correct(observation, said) and corrects(said):
        new = correcting_claim(observation.text, said, concepts)
        entries, known = _known(observation, hits, newest, concepts)
        rivals = [entries[position].memory_id for position in doubted(new, observation.text, said, known, sense)]
    return tuple(rivals)


def _may_correct(observation: Observation, said: str) -> bool:
    """Whether it neither says that all stays as it was nor tells what comes on top."""
    return not says_what_stays(said) and (not _ADDS.search(observation.text) or bool(TAKES_BACK.search(said)))


def _gives_another_value(new: Claim, old: Claim, said: str) -> bool:
    """Whether it tells another value of what it does not name: "They switched her to room 131".

    What one says of oneself is of one thing and another: "I live in Graz", "We moved the sofa to Linz".
    """
    of_oneself = _OF_ONESELF.match(new.text) and _OF_ONESELF.match(old.text) and not TAKES_BACK.search(said)
    return bool(different_kinds(new, old)) and not of_oneself and (corrects(said) or bool(_PRONOUN.search(new.text)))


def _known(
    observation: Observation, hits: Sequence[Hit], newest: Sequence[int], concepts: Sequence[Concept]
) -> tuple[list[MemoryEntry], list[Known]]:
    """The memories that the observation may correct, each with what is read from it."""
    entries = [
        entry
        for entry in entries_of(hits)
        if is_english(entry.text) and not _say_the_same(entry.text, observation.text)
    ]
    known = [
        Known.of(entry.memory_id, entry.text, bool(newest) and rests_on(entry, newest[:1]), concepts)
        for entry in entries
    ]
    return entries, known


def correcting_claim(text: str, said: str, concepts: Sequence[Concept] = ()) -> Claim:
    """What a correction claims anew; what it says to stay as it was is no part of it."""
    return replace(Claim.of(what_changes(text), concepts), refuted=Claim.of(said).refuted)


def choose(new: Claim, text: str, said: str, known: Sequence[Known], sense: Sense) -> Chosen | None:
    """The memory that stands out as meant; for what means nothing without what was said before it, one of those said last, where
    no other is named."""
    rated = rate(new, [one.claim for one in known], sense)
    leaning = leans(said, text)
    named = [_words_naming(new, one.claim) for one in known]
    able = [one for one in rated if _may_be_meant(new, known[one.position])]
    able = [one for one in able if not _is_refuted(new, known[one.position].claim)]
    if not able:
        return None
    # "It's 3650, not 4200" is not said of what never was 4200.
    able = [one for one in able if _refutes_a_value(new, known[one.position].claim)] or able
    best = max(able, key=lambda one: one.score)
    is_clear = best.lead >= _CLEAR_LEAD and named[best.position] and different_kinds(new, known[best.position].claim)
    if not leaning or is_clear or named[best.position] >= _NAMED_BY_ITSELF:
        needed = _lead_needed(new, best, able, known)
        others = [words for place, words in enumerate(named) if place != best.position]
        named_best = named[best.position] > max(others, default=-1) - (needed < _LEAD)
        stands_out = best.lead >= needed and named_best
        meant = best if stands_out else _newer_of_two(rated, known)
        if meant in able:
            return _chosen(new, said, known, meant, leaning, sense)
        if leaning or any(named):
            return None  # it names a memory, though not clearly which
    last = [one for one in able if known[one.position].is_last]
    if not last:
        return None
    best = max(last, key=lambda one: one.score)
    mine = known[best.position].claim
    others_named = any(new.names & one.claim.names for one in known if not one.is_last)
    if named[best.position] < max(named) or (others_named and not new.names & mine.names):
        return None
    if _names_another(new, said, mine, known):
        return None
    return _chosen(new, said, known, best, leaning, sense)


def doubted(new: Claim, text: str, said: str, known: Sequence[Known], sense: Sense) -> list[int]:
    """The places of the memories, two at most and the likeliest first, that a correction may mean where none stands out."""
    if leans(said, text):
        return []
    rated = sorted(rate(new, [one.claim for one in known], sense), key=lambda one: one.score, reverse=True)
    near = [
        one
        for one in rated
        if rated[0].score - one.score < _LEAD
        and _may_be_meant(new, known[one.position])
        and _tells_as_much(new, known[one.position].claim)
        and _words_naming(new, known[one.position].claim)
    ]
    if not near or rated[0].lead >= _LEAD:
        return []
    near = [near[0], *_rivals(new, near[0], near, known)][:_OFFERED]
    is_sure = _chosen(new, said, known, near[0], False, sense).probability >= _ENOUGH
    return [one.position for one in near] if is_sure else []


def correction_features(new: Claim, said: str, old: Known, lead: float, leaning: bool) -> dict[str, float]:
    """The signs that the user takes the memory back, or says that it changed; the cosine is added by `with_cosine`."""
    claim = old.claim
    told = new.words | new.subject_names
    shared = new.words & claim.words
    different = different_kinds(new, claim)
    length, its_length = len(tokens(new.text)), len(tokens(old.text))
    subject_said = len(claim.subject & told) / len(claim.subject) if claim.subject else 0.5
    takes_back, moves, lately = (bool(one.search(said)) for one in (TAKES_BACK, MOVES, LATELY))
    refutes = bool(new.refuted & claim.words)
    cue = takes_back or moves or lately or refutes
    opens = bool(_OPENS_SO.match(said))
    adds = bool(_ADDS.search(new.text))
    named = bool(shared - value_words(new, different))
    another_name = bool(new.subject_names and not new.subject_names & (claim.words | claim.subject_names))
    missing = bool(claim.possessed) and not any(meets(word, told) for word in claim.possessed)
    short = length < 6
    many = may_have_many(claim.text)
    framed = share_a_frame(new.text, old.text)
    found = {
        "takes back": takes_back,
        "moves": moves,
        "lately": lately,
        "new": bool(NEW.search(said)),
        "not": bool(_NOT.search(said)),
        "opens so": opens,
        "perfect": bool(_PERFECT.search(said)),
        "refutes it": refutes,
        "refutes another": bool(new.refuted) and not refutes,
        "adds": adds,
        "beside it": bool(_BESIDE.search(new.text)),
        "words shared": math.log1p(len(shared)),
        "share of own words shared": len(shared) / max(1, len(new.words)),
        "share of its words shared": len(shared) / max(1, len(claim.words)),
        "another value": bool(different),
        "the same value": bool((new.kinds & claim.kinds) - different),
        "no value of its kinds": not new.kinds & claim.kinds,
        "its value": bool(shared & value_words(claim)),
        "a name shared": bool(new.names & claim.names),
        "names that it lacks": bool(new.names - claim.names),
        "share of its subject said": subject_said,
        "share of own subject held": len(new.subject & claim.words) / len(new.subject) if new.subject else 0.5,
        "its subject's name unsaid": bool(claim.subject_names and not claim.subject_names & told),
        "another name": another_name,
        "another's": missing,
        "leans": leaning,
        "last": old.is_last,
        "leans on the last": leaning and old.is_last,
        "leans on the last with a value": leaning and old.is_last and bool(different),
        "short": short,
        "short after the last": short and old.is_last,
        "pronoun after the last": old.is_last and bool(_PRONOUN.search(new.text)),
        "same frame": SequenceMatcher(None, frame_words(new.text), frame_words(old.text), autojunk=False).ratio(),
        "excludes it": exclude_each_other(new.text, old.text),
        "framed alike": framed,
        "many": many and may_have_many(new.text),
        "many framed alike": many and framed,
        "longer": math.log((length + 1) / (its_length + 1)),
        "both past": is_past(new.text) and is_past(old.text),
        "cue": cue,
        "cue and value": cue and bool(different),
        "cue and subject": cue * subject_said,
        "cue and words": cue and named,
        "cue after the last": cue and old.is_last,
        "cue and another name": cue and another_name,
        "cue and short": cue and short,
        "cue and adds": cue and adds,
        "takes back the last": takes_back and old.is_last,
        "no cue": not cue and not opens,
        "no cue but a value": not cue and not opens and bool(different),
        "lead": max(0.0, min(lead, _LONGEST_LEAD)) / _LONGEST_LEAD,
    }
    return {name: float(value) for name, value in found.items()}


def with_cosine(features: dict[str, float], cosine: float) -> dict[str, float]:
    return features | {"cosine": cosine, "cue and cosine": features["cue"] * cosine}


def leans(said: str, text: str) -> bool:
    """Whether the correction means nothing without what was said before it: "No, on Tuesday.".

    `text` is what was said without its fillers.
    """
    words = tokens(text)
    if _MISSPOKE.match(said) or (words and words[0].lower in AUXILIARIES) or _THAT_THING.search(said):
        return True
    first, last = segments(text)[0]
    subject = find_subject(text[first:last])
    if _IMPERSONAL.match(text[first:last]):
        return False
    return subject is None or bool(_POINTS_BACK.match(subject.text.split()[-1]))


def _chosen(new: Claim, said: str, known: Sequence[Known], best: Candidate, leaning: bool, sense: Sense) -> Chosen:
    old = known[best.position]
    features = with_cosine(correction_features(new, said, old, best.lead, leaning), sense.cosine(new.text, old.text))
    return Chosen(best.position, sense.models["corrects"].probability(features, sense.vector(said)))


def _has_a_sign(new: Claim, old: Claim, text: str, said: str) -> bool:
    """Whether anything but likeness speaks for a correction: words, another value, or that it leans on what was said before."""
    words = any(one.search(said) for one in (TAKES_BACK, MOVES, LATELY, NEW, _NOT, _PERFECT, _OPENS_SO))
    return words or bool(new.refuted & old.words) or bool(different_kinds(new, old)) or leans(said, text)


def _say_the_same(one: str, other: str) -> bool:
    return content(one) == content(other) and _MARKS.findall(one.lower()) == _MARKS.findall(other.lower())


def _words_naming(new: Claim, old: Claim) -> int:
    """How many words, other than of its value, the correction shares with the memory; a name counts twice."""
    shared = (new.words & old.words) - value_words(new, different_kinds(new, old))
    return len(shared) + bool(shared & old.names)


def _lead_needed(new: Claim, best: Candidate, able: Sequence[Candidate], known: Sequence[Known]) -> float:
    """How far the best must lead: not at all where it alone tells another such value, little where it has no rival."""
    if [one for one in able if different_kinds(new, known[one.position].claim)] == [best]:
        return 0.0
    return _LEAD if _rivals(new, best, able, known) else _LEAD_OF_ONE


def _rivals(new: Claim, best: Candidate, able: Sequence[Candidate], known: Sequence[Known]) -> list[Candidate]:
    """Those that could be meant instead of the best: where that shares a word of what is told, the others that share one, too.

    "Tomasz works days now" is not said of "Tomasz doesn't eat pork" where it is told that he works nights.
    """
    others = [one for one in able if one is not best]
    if _words_told(new, known[best.position].claim):
        return [one for one in others if _words_told(new, known[one.position].claim)]
    return others


def _words_told(new: Claim, old: Claim) -> frozenset[str]:
    """The words, other than of its value, that the correction shares with the memory beside what both are about."""
    return (
        (new.words & old.words)
        - value_words(new, different_kinds(new, old))
        - new.subject
        - new.subject_names
        - new.names
    )


def _says_the_same_of_oneself(new: Claim, old: Claim) -> bool:
    """Whether both say it of the user, who is no word that they share: "I live in Graz", "I moved to Linz"."""
    if not (_OF_ONESELF.match(new.text) and _OF_ONESELF.match(old.text)):
        return False
    return share_a_frame(new.text, old.text) or bool(_HOME.match(new.text) and _HOME.match(old.text))


def _may_be_meant(new: Claim, old: Known) -> bool:
    """Whether the correction speaks of nobody else than the memory does."""
    places = "place" in new.kinds & old.claim.kinds
    if places and are_of_work_and_home(new.text, old.text) and not new.refuted & old.claim.words:
        return False
    if of_another_number(new, old.claim) or _of_another_owner(new, old.claim) or _of_another_thing(new, old.claim):
        return False
    held = old.claim.words | old.claim.subject_names
    told = new.words | new.subject_names
    if old.claim.possessed & PEOPLE and not (new.possessed or any(meets(word, told) for word in old.claim.possessed)):
        return False  # Phil's mum is not Phil
    if not old.claim.subject_names or old.claim.subject_names & told:
        return True
    if new.subject_names <= PEOPLE and PEOPLE & new.subject & old.claim.subject:
        return True  # "granddad's operation" of "granddad Wim's operation"
    if not new.subject_names and _words_told(new, old.claim) and different_kinds(new, old.claim):
        return True  # "They put the metoprolol up to 50 mg" of "Dr Amundson has started me on metoprolol, 25 mg"
    return old.is_last and not (new.subject_names and not new.subject_names & held)


def _of_another_owner(new: Claim, old: Claim) -> bool:
    """Whether one is the user's own and the other somebody else's, or each of somebody else in the family: "Mum's", "Dad's"."""
    owners = {new.owner, old.owner}
    if "" in owners or len(owners) < 2:
        return False
    return "I" in owners or (owners <= PEOPLE and not meets(old.owner, new.words))


def _of_another_thing(new: Claim, old: Claim) -> bool:
    """Whether the subjects are alike, and each names what the other does not: "Enda's shed", "Enda's dinghy"."""
    told = new.words | new.subject_names
    return (
        bool(new.subject & old.subject)
        and not all(meets(word, told) for word in old.subject)
        and not all(meets(word, old.words) for word in new.subject)
    )


def _refutes_a_value(new: Claim, old: Claim) -> bool:
    """Whether what it names as no longer so is told by the other, and is not what that is about."""
    return bool(new.refuted & (old.words - old.subject))


def _is_refuted(new: Claim, old: Claim) -> bool:
    """Whether the correction says that it is not of what the other is about: "not the harp, just herself"."""
    return bool(new.refuted & old.subject) and not new.refuted & (old.words - old.subject)


def _tells_as_much(new: Claim, old: Claim) -> bool:
    """Whether the old claim tells what the new one does: another value of its kind, or just what it denies."""
    return not new.kinds or bool(different_kinds(new, old)) or bool(new.refuted & old.words)


def _newer_of_two(rated: Sequence[Candidate], known: Sequence[Known]) -> Candidate | None:
    """Of the two likeliest memories the newer, where they are values of one thing."""
    two = sorted(rated, key=lambda one: one.score, reverse=True)[:2]
    values = len(two) == 2 and exclude_each_other(*(known[one.position].text for one in two))
    return max(two, key=lambda one: known[one.position].number) if values else None


def _names_another(new: Claim, said: str, mine: Claim, known: Sequence[Known]) -> bool:
    """Whether the correction has a word, other than of its value, of a memory that this one lacks."""
    lacking = content(said) - value_words(new, different_kinds(new, mine)) - mine.words
    return any(lacking & one.claim.words for one in known)


def _tells_all_of(new: Claim, old: Claim, said: str) -> bool:
    """Whether everything that the old memory says is said anew, but for the value that no longer holds."""
    different = different_kinds(new, old)
    if (
        not different
        or len(old.places) > 1
        or tells_several(old, different)
        or old.kinds - asserted_kinds(new)  # "on Wednesdays now" says nothing of "at 4"
        or not (TAKES_BACK.search(said) or MOVES.search(said) or new.refuted & old.words)
    ):
        return False
    return not old.words - new.words - new.refuted - value_words(old, different)


FEATURES = frozenset(
    with_cosine(correction_features(Claim.of(""), "", Known.of(0, "", is_last=False), 0.0, leaning=False), 0.0)
)
