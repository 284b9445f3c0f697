"""Which memory a correction is about: how well each of those that were found agrees with what it names.

A correction among memories that look alike ("Olga's train leaves at 9:25 now" beside Piotr's train and Olga's bus) is known by
what only one of them shares with it. The weights are learned ("meant"): what counts is by how much one stands above the next.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from m2a.agents.offline import lexicon
from m2a.agents.offline.claims import Claim, different_kinds, frame_words, value_words
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.text import meets, stems

# Whose thing it is decides: "Anna's mother" is not Anna.
PEOPLE = frozenset(
    stems(
        " ".join([*lexicon.RELATIONS, *lexicon.PETS, "friend parents girlfriend boyfriend partner boss children kids"])
    )
)
_ALONE = 9.0  # the lead of a memory beside which there is no other


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory's claim with its score, and by how much that is above the best of the others."""

    position: int
    score: float
    lead: float


def rate(new: Claim, known: Sequence[Claim], sense: Sense) -> list[Candidate]:
    """One candidate for each known claim, in their order. `new` is the claim of the correction."""
    scores = [sense.models["meant"].score(found) for found in meant_features(new, known, sense)]
    return [
        Candidate(position, score, lead)
        for position, (score, lead) in enumerate(zip(scores, _leads(scores), strict=True))
    ]


def meant_features(new: Claim, known: Sequence[Claim], sense: Sense) -> list[dict[str, float]]:
    """How each known claim agrees with the new one, beside the others."""
    holders = Counter(word for old in known for word in old.words)
    vector, *vectors = sense.vectors([new.text, *(old.text for old in known)])
    return [_features(new, old, holders, float(vector @ of_old)) for old, of_old in zip(known, vectors, strict=True)]


def _features(new: Claim, old: Claim, holders: Counter[str], cosine: float) -> dict[str, float]:
    told = new.words | new.subject_names
    shared = new.words & old.words
    different = different_kinds(new, old)
    values = value_words(new, different)
    unsaid = old.subject - new.words
    numbers, their_numbers = _numbers(new.text), _numbers(old.text)
    missing = bool(old.possessed) and not any(meets(word, told) for word in old.possessed)
    found = {
        "rare words shared": sum(1 / holders[word] for word in shared - values),
        "rare words shared in values": sum(1 / holders[word] for word in shared & values),
        "rare synonyms": sum(1 / holders[word] for word in old.words - shared if meets(word, told)),
        "share of it said": len(shared) / max(1, len(old.words)),
        "share of its subject unsaid": len(unsaid) / max(1, len(old.subject)),
        "words of its subject unsaid": min(3, len(unsaid)),
        "share of the own subject not held": len(new.subject - old.words) / max(1, len(new.subject)),
        "cosine": cosine,
        "same frame": SequenceMatcher(None, frame_words(new.text), frame_words(old.text), autojunk=False).ratio(),
        "another value": bool(different),
        "the same value": bool((new.kinds & old.kinds) - different),
        "refuted": bool(new.refuted & old.words),
        "another's": missing,
        "another person's": missing and bool(old.possessed & PEOPLE),
        "its subject's name unsaid": bool(old.subject_names and not old.subject_names & told),
        "names of its subject unsaid": len(old.subject_names - told),
        "share of its names unsaid": len(old.names - told) / max(1, len(old.names)),
        "another number": bool(numbers and their_numbers and not numbers & their_numbers),
        "the same number": bool(numbers & their_numbers),
        "another letter": bool(new.letters and old.letters and not new.letters & old.letters),
    }
    return {name: float(value) for name, value in found.items()}


def _leads(scores: Sequence[float]) -> list[float]:
    return [
        score - max((other for place, other in enumerate(scores) if place != position), default=score - _ALONE)
        for position, score in enumerate(scores)
    ]


def _numbers(text: str) -> frozenset[str]:
    """Numbers that tell one of a kind from another: flat 2, bed 1."""
    return frozenset(re.findall(r"(?<=[a-z] )\d{1,2}\b(?! ?(?:am|pm|kg|mg|cm|km|%|\w+s\b))", text))


FEATURES = frozenset(_features(Claim.of(""), Claim.of(""), Counter(), 0.0))
