"""The features of the learned decision which memory a sentence corrects, if any ("corrects")."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from m2a.agents.offline.change_words import (
    ADDS,
    CHANGES,
    LATELY,
    NEW,
    NO,
    NOT,
    TAKES_BACK,
    corrects,
    says_what_stays,
    what_changes,
)
from m2a.agents.offline.claims import (
    PEOPLE,
    Claim,
    are_of_work_and_home,
    different_kinds,
    of_another_number,
    of_another_side,
    value_words,
)
from m2a.agents.offline.clauses import AUXILIARIES, IMPERSONAL, find_subject, is_past, past_forms, segments
from m2a.agents.offline.exclusion import frame_words, may_have_many, share_a_frame
from m2a.agents.offline.names import find_namings
from m2a.agents.offline.sense import Sense, leads
from m2a.agents.offline.text import content, has_equivalent, stems, tokens
from m2a.types import Concept

_BESIDE = re.compile(r"\b(?:other|second|next|another|own|both|besides|ever since|after that|on top)\b", re.IGNORECASE)
_POINTS_BACK = re.compile(r"(?:it|that|this|they|he|she|there|those|these|you)(?:'\w+)?$", re.IGNORECASE)
_PRONOUN = re.compile(r"\b(?:it|they|them|he|him|she|her|his|that|this|there|one)\b(?:'\w+)?", re.IGNORECASE)
# "They moved my appointment": this "they" refers to nobody who was mentioned before.
_NOBODY_IN_PARTICULAR = re.compile(
    r"they(?:'ve| have|'re| are)?(?: just| now)? \w+(?: \w+)? (?:my|our|the|his|her|[\w-]+'s) (?!\w+ (?:and|or)\b)\w",
    re.IGNORECASE,
)
_THERE_IS = re.compile(r"there(?:'s|'re| is| are| was| were)\b", re.IGNORECASE)
_THAT_THING = re.compile(r"\b(?:of|for|at|in|on) (?:that|this|the same) [a-z]+", re.IGNORECASE)
_OPENING = re.compile(
    rf"^\W*(?:(?:oh|hm+|ah|well)\b\W*)*(?:{NO}|nope|nah|naw|oops|sorry|actually|correction|wait|scratch|hang|turns|change)\b",
    re.IGNORECASE,
)
_PRESENT_PERFECT = re.compile(
    r"\b(?:has|have|'s|'ve|had) (?:\w+ly )?(?:been|\w+ed|gone|got|gotten|put|taken|made|left|given|broken|begun|chosen)\b",
    re.IGNORECASE,
)
_MISSPOKE = re.compile(
    r"^\W*(?:(?:no|oh|sorry|oops|actually|wait|correction|scratch that|well|hmm+|ah)\b\W*)*i(?:'d|'ve)? "
    r"(?:meant|misread|misheard|miscounted|mistyped|misspoke|misremembered|swapped|mixed|"
    r"(?:got|had|wrote|copied|said|told).{0,25} wrong|was wrong)\b",
    re.IGNORECASE,
)

_FIRST_PERSON = re.compile(r"(?:i|we)\b", re.IGNORECASE)
_LIVES_OR_MOVED = re.compile(
    r"(?:i|we)(?:'ve|'m|'re| have| am| are)?(?: (?:now|just|still|both|all|recently|finally|currently|since))* "
    r"(?:liv(?:e|ed|ing)\b|(?:moved|moving|relocated|shifted)(?: house| home| out| away| back| flat)?(?: from [\w ]+?)? "
    r"(?:to|into|in)\b)",
    re.IGNORECASE,
)
_LIVED_ONCE = re.compile(r"\b(?:lived|used to live)\b", re.IGNORECASE)

_OPENS_WITH_A_DAY = re.compile(r"\W*(?:[\w'-]+ ){0,2}(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b", re.IGNORECASE)
# Words for a change or an error.
_SIGNS = (TAKES_BACK, CHANGES, LATELY, NEW, NOT, _PRESENT_PERFECT, _OPENING)

# Each of these features also counts by how far a memory is ahead of the others.
_COMPARED = ("cosine", "same frame", "words shared beside values", "rare words shared", "share of its words shared")


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory that may be corrected. `is_last`: it is from the user's previous message."""

    claim: Claim
    is_last: bool

    @classmethod
    def of(cls, text: str, is_last: bool, concepts: Sequence[Concept] = ()) -> "Memory":
        return cls(Claim.of(text, concepts), is_last)


_INTRODUCES = re.compile(r"\W*(?:(?:and|so|ok|oh|hey|look)\b\W*)*(?:this|that|here)(?:'s| is)\b", re.IGNORECASE)


def may_correct(text: str, sentence: str) -> bool:
    """Returns whether the sentence may correct something, and does not only add, introduce, keep, or speak of the weather.

    `text` is the text of the observation made from it. "This is Pixel, our dog" introduces.
    """
    introduces = _INTRODUCES.match(sentence) is not None and bool(find_namings(text))
    if (introduces or IMPERSONAL.match(text)) and not corrects(sentence):
        return False
    return not says_what_stays(sentence) and (not ADDS.search(text) or bool(TAKES_BACK.search(sentence)))


def _has_a_sign(new: Claim, old: Memory, text: str, sentence: str) -> bool:
    """Returns whether more than likeness suggests that the memory is corrected.

    The sentence mentions a change or an error, needs its context, denies a word of the memory, or gives another value of "it"
    right after the memory. It also has to do with this memory: it needs its context, shares a word with the memory besides the
    value, denies one, tells the same about the user, or gives another value right after the memory.
    """
    claim, different = old.claim, different_kinds(new, old.claim)
    is_incomplete, refutes = needs_context(sentence, text), bool(new.refuted & claim.words)
    gives_another_value_next = old.is_last and bool(different)
    says_so = any(pattern.search(sentence) for pattern in _SIGNS)
    if not (says_so or is_incomplete or refutes or (gives_another_value_next and _PRONOUN.search(new.text))):
        return False
    shared = (new.words & claim.words) - value_words(new, different)
    if is_incomplete or shared or refutes or _say_the_same_of_the_user(new, claim):
        return True
    return gives_another_value_next and not _are_in_first_person(new, claim)


# What a memory of it may not say: "They moved the appointment to Friday" after "Dentist on Tuesday".
_ANY_EVENT = frozenset(
    stems("appointment meeting date time day session slot booking class lesson shift delivery trip event")
)
# "Gemma cancelled" is about when she comes, and not about what she weighs.
_ONLY_CANCELS = re.compile(r"\bcancell?ed\W*(?:(?:on me|again|today|sorry)\W*)*$", re.IGNORECASE)


def _may_be_meant(new: Claim, old: Memory) -> bool:
    """Returns whether the correction is about the same people and things as the memory."""
    claim = old.claim
    if _rules_out(new, claim) or (_ONLY_CANCELS.search(new.text) and not claim.kinds & {"day", "time"}):
        return False
    changed = _changed_thing(new.text) - _ANY_EVENT
    if changed and not any(has_equivalent(word, claim.words) for word in changed):
        return False  # "Kirsty moved the viewing to Sunday" is not about Leanne on Tuesdays
    are_two_places = "place" in new.kinds & claim.kinds and are_of_work_and_home(new.text, claim.text)
    if are_two_places and not new.refuted & claim.words:
        return False
    if _are_in_first_person(new, claim) and not (new.words & claim.words or TAKES_BACK.search(new.text)):
        return _say_the_same_of_the_user(new, claim)  # "I live in Graz", "We moved the sofa to Linz"
    if of_another_side(new, claim) and not (new.refuted & claim.words or TAKES_BACK.search(new.text)):
        return False
    if of_another_number(new, claim) or _have_two_owners(new, claim) or _are_about_two_things(new, claim):
        return False
    if claim.possessed & PEOPLE and not (
        new.possessed or any(has_equivalent(word, new.words) for word in claim.possessed)
    ):
        return False  # Phil's mum is not Phil
    if not claim.subject_names or claim.subject_names & new.words:
        return True
    names = new.subject_names - (claim.words - claim.names)  # "Ballet" at the beginning, and "ballet" in the memory
    if new.subject_names <= PEOPLE and PEOPLE & new.subject & claim.subject:
        return True  # "granddad's operation" of "granddad Wim's operation"
    if not names and different_kinds(new, claim) and (shared_topic(new, claim) or new.subject & claim.words):
        return True  # "They put the metoprolol up to 50 mg" of "Dr Amundson has started me on metoprolol, 25 mg"
    return old.is_last and not (names and not names & claim.words)


_REPORTS = re.compile(
    r"(?P<who>[\w' .-]{2,40}?) (?:just |has |have )?(?:(?:tells|told) (?:me|us)|says|said|reckons|rang|called|phoned|"
    r"telephoned|texted|emailed|messaged|wrote)\b",
    re.IGNORECASE,
)


def is_about_another(new: Claim, old: Claim, sentence: str) -> bool:
    """Returns whether each names somebody or a day of its own, or the correction says that the memory is not meant.

    It is not about the person who only reports the change: "Maud tells me …".
    """
    report = _REPORTS.match(new.text)
    reporter = content(report["who"]) if report is not None else set()
    each_names_its_own = bool(new.subject_names - reporter - old.words and old.subject_names - new.words)
    return each_names_its_own or _rules_out(new, old) or _are_about_two_days(new, old, sentence)


def _rules_out(new: Claim, old: Claim) -> bool:
    """Returns whether the correction says that it is not about the subject of the memory: "not the harp, just herself"."""
    return bool(new.refuted & old.subject and not new.refuted & (old.words - old.subject))


def _are_about_two_days(new: Claim, old: Claim, sentence: str) -> bool:
    """Returns whether each is about a day of its own, and no change is mentioned: "Monday's talk is at 7:45"."""
    different = different_kinds(new, old)
    is_day_alone = len(tokens(sentence)) < 3  # "Thursday." corrects what was said just before
    if "day" not in different or is_day_alone or new.refuted or any(pattern.search(sentence) for pattern in _SIGNS):
        return False
    return len(different) > 1 or bool(_OPENS_WITH_A_DAY.match(new.text) and _OPENS_WITH_A_DAY.match(old.text))


def shared_topic(new: Claim, old: Claim) -> frozenset[str]:
    """Returns the words that the correction shares with the memory, without its values, its subject and names."""
    shared = (new.words & old.words) - value_words(new, different_kinds(new, old))
    return shared - new.subject - new.subject_names - new.names


def _have_two_owners(new: Claim, old: Claim) -> bool:
    """Returns whether only one is the user's own, or they belong to different relatives: "Mum's", "Dad's"."""
    owners = {new.owner, old.owner}
    if "" in owners or len(owners) < 2:
        return False
    return "I" in owners or (owners <= PEOPLE and not has_equivalent(old.owner, new.words))


_CHANGES_A_THING = re.compile(
    r"(?:[\w'-]+ ){1,3}?(?:(?:has|have|had|'ve|just) )*(?:changed|moved|switched|reset|raised|lowered|increased|reduced|updated) "
    r"(?:the|my|our) (?P<what>[\w-]+(?: [\w-]+)?)(?= (?:to|from|on|for|again)\b|[,.;!]|$)",
    re.IGNORECASE,
)


def _changed_thing(text: str) -> frozenset[str]:
    """Returns the stems of the thing that somebody has changed, none if the text does not say so."""
    match = _CHANGES_A_THING.match(text)
    return frozenset(content(match["what"])) if match is not None else frozenset()


def correcting_claim(text: str, sentence: str, concepts: Sequence[Concept] = ()) -> Claim:
    """Returns what the correction newly claims, without the parts that it says are unchanged.

    It is about what somebody has changed: "The landlord changed the code to 8020".
    """
    claim = Claim.of(what_changes(text), concepts)
    if changed := _changed_thing(claim.text):
        claim = replace(claim, subject=changed)
    return replace(claim, refuted=Claim.of(sentence).refuted)


def correction_features(
    new: Claim, text: str, sentence: str, memories: Sequence[Memory], sense: Sense
) -> list[dict[str, float]]:
    """Returns, for each memory, the features of its correction by the sentence.

    Some are of the sentence alone, some of the two together, and some say by how far the memory is ahead of the others.
    """
    if not memories:
        return []
    wording = sense.models["takes back"].score({}, sense.vector(sentence))
    sentence_features = _sentence_features(new, text, sentence, len(memories), wording)
    frequencies = Counter(word for memory in memories for word in memory.claim.words)
    vector, *vectors = sense.vectors([new.text, *(memory.claim.text for memory in memories)])
    rows = [
        sentence_features
        | _pair_features(new, memory, frequencies, float(vector @ other))
        | {"may be meant": float(_may_be_meant(new, memory) and not _are_about_two_days(new, memory.claim, sentence))}
        | {"has a sign": float(_has_a_sign(new, memory, text, sentence))}
        for memory, other in zip(memories, vectors, strict=True)
    ]
    for name in _COMPARED:
        values = [row[name] for row in rows]
        for row, lead in zip(rows, leads(values), strict=True):
            row[f"ahead: {name}"] = lead
    return rows


def _sentence_features(new: Claim, text: str, sentence: str, memories: int, wording: float) -> dict[str, float]:
    features = {
        "wording": wording,
        "memories": math.log(max(1, memories)),
        "takes back": bool(TAKES_BACK.search(sentence)),
        "moves": bool(CHANGES.search(sentence)),
        "lately": bool(LATELY.search(sentence)),
        "new": bool(NEW.search(sentence)),
        "not": bool(NOT.search(sentence)),
        "opens so": bool(_OPENING.match(sentence)),
        "perfect": bool(_PRESENT_PERFECT.search(sentence)),
        "refutes": bool(new.refuted),
        "adds": bool(ADDS.search(new.text)),
        "pronoun": bool(_PRONOUN.search(new.text)),
        "leans": needs_context(sentence, text),
        "length": math.log1p(len(tokens(new.text))),
        "words beside values": math.log1p(len(new.words - value_words(new))),
    }
    return {name: float(value) for name, value in features.items()}


def _pair_features(new: Claim, old: Memory, frequencies: Counter[str], cosine: float) -> dict[str, float]:
    claim = old.claim
    shared = new.words & claim.words
    different = different_kinds(new, claim)
    values = value_words(new, different)
    unmentioned = claim.subject - new.words
    numbers, its_numbers = _numbers(new.text), _numbers(claim.text)
    missing = bool(claim.possessed) and not any(has_equivalent(word, new.words) for word in claim.possessed)
    features = {
        "cosine": cosine,
        "last": old.is_last,
        "same frame": SequenceMatcher(None, frame_words(new.text), frame_words(claim.text), autojunk=False).ratio(),
        "framed alike": share_a_frame(new.text, claim.text),
        "many": may_have_many(claim.text) and may_have_many(new.text),
        "both past": is_past(new.text) and is_past(claim.text),
        "beside it": bool(_BESIDE.search(new.text)),
        "longer": math.log((len(tokens(new.text)) + 1) / (len(tokens(claim.text)) + 1)),
        "words shared": math.log1p(len(shared)),
        "words shared beside values": len(shared - values),
        "rare words shared": sum(1 / frequencies[word] for word in shared - values),
        "rare words shared in values": sum(1 / frequencies[word] for word in shared & values),
        "rare synonyms": sum(1 / frequencies[word] for word in claim.words - shared if has_equivalent(word, new.words)),
        "share of own words shared": len(shared) / max(1, len(new.words)),
        "share of its words shared": len(shared) / max(1, len(claim.words)),
        "another value": bool(different),
        "the same value": bool((new.kinds & claim.kinds) - different),
        "no value of its kinds": not new.kinds & claim.kinds,
        "its value": bool(shared & value_words(claim)),
        "refutes it": bool(new.refuted & claim.words),
        "refutes its value": bool(new.refuted & (claim.words - claim.subject)),
        "a name shared": bool(new.names & claim.names),
        "names that it lacks": bool(new.names - claim.names),
        "another name": bool(new.subject_names and not new.subject_names & claim.words),
        "its subject's name unsaid": bool(claim.subject_names and not claim.subject_names & new.words),
        "names of its subject unsaid": len(claim.subject_names - new.words),
        "share of its names unsaid": len(claim.names - new.words) / max(1, len(claim.names)),
        "share of its subject said": len(claim.subject & new.words) / len(claim.subject) if claim.subject else 0.5,
        "words of its subject unsaid": min(3, len(unmentioned)),
        "share of own subject held": len(new.subject & claim.words) / len(new.subject) if new.subject else 0.5,
        "another's": missing,
        "another person's": missing and bool(claim.possessed & PEOPLE),
        "another number": bool(numbers and its_numbers and not numbers & its_numbers),
        "the same number": bool(numbers & its_numbers),
        "the same of oneself": _say_the_same_of_the_user(new, claim),
    }
    return {name: float(value) for name, value in features.items()}


def _numbers(text: str) -> frozenset[str]:
    """Returns the numbers that tell two of a kind apart: "flat 2", "bed 1"."""
    return frozenset(re.findall(r"(?<=[a-z] )\d{1,2}\b(?! ?(?:am|pm|kg|mg|cm|km|%|\w+s\b))", text))


def _are_about_two_things(new: Claim, old: Claim) -> bool:
    """Returns whether the subjects are alike, but each has a word that the other lacks: "Enda's shed", "Enda's dinghy"."""
    return (
        bool(new.subject & old.words or new.words & old.subject)
        and not all(has_equivalent(word, new.words) for word in old.subject)
        and not all(has_equivalent(word, old.words) for word in new.subject)
    )


def _are_in_first_person(new: Claim, old: Claim) -> bool:
    return bool(_FIRST_PERSON.match(new.text) and _FIRST_PERSON.match(old.text))


def _say_the_same_of_the_user(new: Claim, old: Claim) -> bool:
    """Returns whether both tell the same about the user, even without a shared word: "I live in Graz", "I moved to Linz"."""
    if not _are_in_first_person(new, old):
        return False
    if share_a_frame(new.text, old.text):
        return True
    both_homes = bool(_LIVES_OR_MOVED.match(new.text) and _LIVES_OR_MOVED.match(old.text))
    return both_homes and not _LIVED_ONCE.search(old.text)


def needs_context(sentence: str, text: str) -> bool:
    """Returns whether the sentence means nothing without what was said before it: "No, on Tuesday.".

    `text` is the sentence without its fillers.
    """
    words = tokens(text)
    if _MISSPOKE.match(sentence) or (words and words[0].lower in AUXILIARIES) or _THAT_THING.search(sentence):
        return True
    first, last = segments(text)[0]
    subject = find_subject(text[first:last])
    if _NOBODY_IN_PARTICULAR.match(text[first:last]) or _THERE_IS.match(text[first:last]):
        return False
    if subject is None and words and words[0].lower in past_forms() and not corrects(sentence):
        return len(words) == 1  # "Booked Mallorca!" leaves out "I" and needs nothing else
    return subject is None or bool(_POINTS_BACK.match(subject.text.split()[-1]))


_EMPTY = Memory.of("", is_last=False)
FEATURES = frozenset(
    [
        *_sentence_features(_EMPTY.claim, "", "", 0, 0.0),
        *_pair_features(_EMPTY.claim, _EMPTY, Counter(), 0.0),
        *(f"ahead: {name}" for name in _COMPARED),
        "may be meant",
        "has a sign",
    ]
)
