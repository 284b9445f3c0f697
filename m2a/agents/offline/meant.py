"""Which memory a correction is about: how well each memory found agrees with what the correction names.

Among memories that look alike ("Olga's train leaves at 9:25 now" with Piotr's train and Olga's bus), the words that only one
of them shares with the correction decide. The weights are learned ("meant"); the lead of the best over the next counts.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from m2a.agents.offline import lexicon
from m2a.agents.offline.claims import Claim, different_kinds, value_words
from m2a.agents.offline.exclusion import frame_words
from m2a.agents.offline.names import find_names
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.text import content, meets, stems

# Relatives, pets and the like, whose owner must match: "Anna's mother" is not Anna.
PEOPLE = frozenset(
    stems(
        " ".join([*lexicon.RELATIONS, *lexicon.PETS, "friend parents girlfriend boyfriend partner boss children kids"])
    )
)
_OWNED = re.compile(r"([\w-]+)'s (?=\w)")
_LEAD_ALONE = 9.0  # the lead of the only memory


@dataclass(frozen=True, slots=True)
class Candidate:
    """The position of a memory's claim, its score, and its lead over the best of the others."""

    position: int
    score: float
    lead: float


def people_in(text: str) -> frozenset[str]:
    """Returns the stems of the people in the text, by name or by their relation to the user."""
    owners = content(" ".join(_OWNED.findall(text)))
    return frozenset(content(" ".join(find_names(text)))) | (content(text) & PEOPLE) | owners


def rate(new: Claim, claims: Sequence[Claim], sense: Sense) -> list[Candidate]:
    """Returns one candidate for each of the memories' claims, in their order. `new` is the claim of the correction."""
    scores = [sense.models["meant"].score(features) for features in meant_features(new, claims, sense)]
    return [
        Candidate(position, score, lead)
        for position, (score, lead) in enumerate(zip(scores, _leads(scores), strict=True))
    ]


def meant_features(new: Claim, claims: Sequence[Claim], sense: Sense) -> list[dict[str, float]]:
    """Returns the features of how each of the claims agrees with the new one, compared with the others."""
    holders = Counter(word for old in claims for word in old.words)
    vector, *vectors = sense.vectors([new.text, *(old.text for old in claims)])
    return [_features(new, old, holders, float(vector @ v)) for old, v in zip(claims, vectors, strict=True)]


def _features(new: Claim, old: Claim, holders: Counter[str], cosine: float) -> dict[str, float]:
    own_words = new.words | new.subject_names
    shared = new.words & old.words
    different = different_kinds(new, old)
    values = value_words(new, different)
    unmentioned = old.subject - new.words
    numbers, old_numbers = _numbers(new.text), _numbers(old.text)
    missing = bool(old.possessed) and not any(meets(word, own_words) for word in old.possessed)
    features = {
        "rare words shared": sum(1 / holders[word] for word in shared - values),
        "rare words shared in values": sum(1 / holders[word] for word in shared & values),
        "rare synonyms": sum(1 / holders[word] for word in old.words - shared if meets(word, own_words)),
        "share of it said": len(shared) / max(1, len(old.words)),
        "share of its subject unsaid": len(unmentioned) / max(1, len(old.subject)),
        "words of its subject unsaid": min(3, len(unmentioned)),
        "share of the own subject not held": len(new.subject - old.words) / max(1, len(new.subject)),
        "cosine": cosine,
        "same frame": SequenceMatcher(None, frame_words(new.text), frame_words(old.text), autojunk=False).ratio(),
        "another value": bool(different),
        "the same value": bool((new.kinds & old.kinds) - different),
        "refuted": bool(new.refuted & old.words),
        "another's": missing,
        "another person's": missing and bool(old.possessed & PEOPLE),
        "its subject's name unsaid": bool(old.subject_names and not old.subject_names & own_words),
        "names of its subject unsaid": len(old.subject_names - own_words),
        "share of its names unsaid": len(old.names - own_words) / max(1, len(old.names)),
        "another number": bool(numbers and old_numbers and not numbers & old_numbers),
        "the same number": bool(numbers & old_numbers),
        "another letter": bool(new.letters and old.letters and not new.letters & old.letters),
    }
    return {name: float(value) for name, value in features.items()}


def _leads(scores: Sequence[float]) -> list[float]:
    return [
        score - max((other for place, other in enumerate(scores) if place != position), default=score - _LEAD_ALONE)
        for position, score in enumerate(scores)
    ]


def _numbers(text: str) -> frozenset[str]:
    """Returns the numbers that tell two of a kind apart: flat 2, bed 1."""
    return frozenset(re.findall(r"(?<=[a-z] )\d{1,2}\b(?! ?(?:am|pm|kg|mg|cm|km|%|\w+s\b))", text))


FEATURES = frozenset(_features(Claim.of(""), Claim.of(""), Counter(), 0.0))
