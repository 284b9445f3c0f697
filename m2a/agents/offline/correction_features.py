"""Whether the user corrects a memory or says that it changed: the features and conditions of the learned decision."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from m2a.agents.offline.change_words import LATELY, MOVES, NEW, TAKES_BACK, says_what_stays, what_changes
from m2a.agents.offline.claims import Claim, different_kinds, value_words
from m2a.agents.offline.clauses import AUXILIARIES, find_subject, is_past, segments
from m2a.agents.offline.exclusion import exclude_each_other, frame_words, may_have_many, share_a_frame
from m2a.agents.offline.statements import Observation
from m2a.agents.offline.text import meets, tokens
from m2a.types import Concept

# Something additional replaces nothing.
_ADDS = re.compile(
    r"\b(?:also|too(?=\W*(?:$|[,.;!?)]))|(?<!to )(?<!in )another|as well|one more|besides|a second(?![ -]hand))\b",
    re.IGNORECASE,
)
_BESIDE = re.compile(r"\b(?:other|second|next|another|own|both|besides|ever since|after that|on top)\b", re.IGNORECASE)
_POINTS_BACK = re.compile(r"(?:it|that|this|they|he|she|there|those|these|you)(?:'\w+)?$", re.IGNORECASE)
PRONOUN = re.compile(r"\b(?:it|they|them|he|him|she|her|his|that|this|there|one)\b(?:'\w+)?", re.IGNORECASE)
# "They moved my appointment": this "they" refers to nobody mentioned before.
_IMPERSONAL = re.compile(
    r"they(?:'ve| have|'re| are)?(?: just| now)? \w+(?: \w+)? (?:my|our|the|his|her|[\w-]+'s) (?!\w+ (?:and|or)\b)\w",
    re.IGNORECASE,
)
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

_MAX_LEAD = 4.0


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory that may be corrected; newer ones have a higher `number`. `is_last`: it is from the user's previous message."""

    number: int
    text: str
    claim: Claim
    is_last: bool

    @classmethod
    def of(cls, number: int, text: str, is_last: bool, concepts: Sequence[Concept] = ()) -> "Memory":
        return cls(number, text, Claim.of(text, concepts), is_last)


def may_correct(observation: Observation, sentence: str) -> bool:
    """Returns whether it neither says that everything stays as it was nor only adds something."""
    return not says_what_stays(sentence) and (not _ADDS.search(observation.text) or bool(TAKES_BACK.search(sentence)))


def correcting_claim(text: str, sentence: str, concepts: Sequence[Concept] = ()) -> Claim:
    """Returns what the correction newly claims, without the parts that it says are unchanged."""
    return replace(Claim.of(what_changes(text), concepts), refuted=Claim.of(sentence).refuted)


def correction_features(new: Claim, sentence: str, old: Memory, lead: float, elliptic: bool) -> dict[str, float]:
    """Returns the signs that the user retracts the memory or says that it changed; `with_cosine` adds the cosine."""
    claim = old.claim
    own_words = new.words | new.subject_names
    shared = new.words & claim.words
    different = different_kinds(new, claim)
    length, its_length = len(tokens(new.text)), len(tokens(old.text))
    subject_said = len(claim.subject & own_words) / len(claim.subject) if claim.subject else 0.5
    takes_back, moves, lately = (bool(pattern.search(sentence)) for pattern in (TAKES_BACK, MOVES, LATELY))
    refutes = bool(new.refuted & claim.words)
    cue = takes_back or moves or lately or refutes
    opens = bool(_OPENS_SO.match(sentence))
    adds = bool(_ADDS.search(new.text))
    names_memory = bool(shared - value_words(new, different))
    another_name = bool(new.subject_names and not new.subject_names & (claim.words | claim.subject_names))
    missing = bool(claim.possessed) and not any(meets(word, own_words) for word in claim.possessed)
    short = length < 6
    many = may_have_many(claim.text)
    framed = share_a_frame(new.text, old.text)
    features = {
        "takes back": takes_back,
        "moves": moves,
        "lately": lately,
        "new": bool(NEW.search(sentence)),
        "not": bool(_NOT.search(sentence)),
        "opens so": opens,
        "perfect": bool(_PERFECT.search(sentence)),
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
        "its subject's name unsaid": bool(claim.subject_names and not claim.subject_names & own_words),
        "another name": another_name,
        "another's": missing,
        "leans": elliptic,
        "last": old.is_last,
        "leans on the last": elliptic and old.is_last,
        "leans on the last with a value": elliptic and old.is_last and bool(different),
        "short": short,
        "short after the last": short and old.is_last,
        "pronoun after the last": old.is_last and bool(PRONOUN.search(new.text)),
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
        "cue and words": cue and names_memory,
        "cue after the last": cue and old.is_last,
        "cue and another name": cue and another_name,
        "cue and short": cue and short,
        "cue and adds": cue and adds,
        "takes back the last": takes_back and old.is_last,
        "no cue": not cue and not opens,
        "no cue but a value": not cue and not opens and bool(different),
        "lead": max(0.0, min(lead, _MAX_LEAD)) / _MAX_LEAD,
    }
    return {name: float(value) for name, value in features.items()}


def with_cosine(features: dict[str, float], cosine: float) -> dict[str, float]:
    return features | {"cosine": cosine, "cue and cosine": features["cue"] * cosine}


def needs_context(sentence: str, text: str) -> bool:
    """Returns whether the correction means nothing without what was said before it: "No, on Tuesday.".

    `text` is the sentence without its fillers.
    """
    words = tokens(text)
    if _MISSPOKE.match(sentence) or (words and words[0].lower in AUXILIARIES) or _THAT_THING.search(sentence):
        return True
    first, last = segments(text)[0]
    subject = find_subject(text[first:last])
    if _IMPERSONAL.match(text[first:last]):
        return False
    return subject is None or bool(_POINTS_BACK.match(subject.text.split()[-1]))


def has_a_sign(new: Claim, old: Claim, text: str, sentence: str) -> bool:
    """Returns whether more than likeness suggests a correction: its words, another value, or that it needs context."""
    words = any(pattern.search(sentence) for pattern in (TAKES_BACK, MOVES, LATELY, NEW, _NOT, _PERFECT, _OPENS_SO))
    return words or bool(new.refuted & old.words) or bool(different_kinds(new, old)) or needs_context(sentence, text)


FEATURES = frozenset(
    with_cosine(correction_features(Claim.of(""), "", Memory.of(0, "", is_last=False), 0.0, elliptic=False), 0.0)
)
