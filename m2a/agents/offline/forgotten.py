"""Which memory a request to forget is about: how well each memory found agrees with what the request names.

The owner and the topic are weighed separately: "Lotte's birthday" is neither Bea's birthday nor Lotte's address.
The weights are learned ("forgotten").
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from m2a.agents.offline.claims import Claim, people_in
from m2a.agents.offline.memory_requests import all_words, what_is_named
from m2a.agents.offline.sense import Sense, leads
from m2a.agents.offline.text import FIRST_PERSON, content, meets, stem, stems, tokens
from m2a.types import MemoryEntry

_MAX_LEAD = 0.15  # among few memories one leads by a lot, whatever it is about
_CLAUSES = re.compile(r"[,;:.!?]+\s+|\s-+\s")
_NUMBERED = re.compile(
    r"\b(?:how (?:much|many|old|heavy|tall|far)|code|number|pin|address|password|date|birthday|age|weight|amount|price|"
    r"plate|phone|figure|cost|salary|earn|income|paid|debt)\b",
    re.IGNORECASE,
)
_COSINES = ("cosine", "cosine of a clause", "cosine of the words")
_LEADING = (*_COSINES, "words")


@dataclass(frozen=True, slots=True)
class Rated:
    """A memory and the logarithm of the odds that a request to forget means it.

    `of_a_person_alone`: they share only a person, and the request does not ask for a number that the memory has.
    `cosine`: between the memory and the words that name what is to be forgotten.
    """

    entry: MemoryEntry
    log_odds: float
    of_a_person_alone: bool
    cosine: float


def rate(target: str, entries: Sequence[MemoryEntry], sense: Sense) -> list[Rated]:
    """Returns the memories, the likeliest first, and the newer first among equals."""
    model = sense.models["forgotten"]
    features_of_texts = forgotten_features(target, [entry.text for entry in entries], sense)
    rated = [
        Rated(
            entry,
            model.score(features),
            bool(features["met and no word"]) and not features["a number named"],
            features["cosine of the words"],
        )
        for entry, features in zip(entries, features_of_texts, strict=True)
    ]
    return sorted(rated, key=lambda r: (r.log_odds, r.entry.memory_id), reverse=True)


def forgotten_features(target: str, texts: Sequence[str], sense: Sense) -> list[dict[str, float]]:
    """Returns the features of how each text agrees with what is to be forgotten, compared with the others."""
    if not texts:
        return []
    holders = Counter(word for text in texts for word in content(text))
    gist, core, clauses = _gist(target), _words_alone(target), _naming_clauses(target)
    gist_vector, core_vector, *vectors = sense.vectors([gist, core, *texts])
    clause_vectors = sense.vectors(clauses)
    rows = [
        _agreement(target, clauses, text, holders)
        | {
            "cosine": float(vector @ gist_vector),
            "cosine of a clause": float((clause_vectors @ vector).max()),
            "cosine of the words": float(core_vector @ vector),
        }
        for text, vector in zip(texts, vectors, strict=True)
    ]
    for name in _LEADING:
        for features, lead in zip(rows, leads([features[name] for features in rows]), strict=True):
            features[f"{name}: lead"] = max(-1.0, min(lead, _MAX_LEAD)) if len(texts) > 1 else 0.0
    return rows


def _agreement(target: str, clauses: Sequence[str], text: str, holders: Mapping[str, int]) -> dict[str, float]:
    """Returns the features of the words; `holders` counts the texts that have each word."""
    people, their_people = people_in(target), people_in(text)
    claim, stemmed, text_words = Claim.of(text), frozenset(stems(text)), content(text)
    topic = all_words(target) - people
    literal = text_words & topic
    synonyms = {word for word in topic - literal if meets(word, stemmed)}
    people_met = {person for person in people if meets(person, stemmed)}
    of_oneself = bool(FIRST_PERSON.search(target))
    is_of_others = bool(their_people) and not any(meets(person, people) for person in their_people)
    asks_number, has_number = bool(_NUMBERED.search(target)), bool(re.search(r"\d", text))
    shares = [
        sum(meets(word, stemmed) for word in words) / len(words)
        for words in (all_words(clause) - people for clause in clauses)
        if words
    ]
    features = {
        "words": min(2.0, sum(1 / holders[word] for word in literal)),
        "synonyms": min(2.0, float(len(synonyms))),
        "share of a clause": max(shares, default=0.0),
        "no word": not (literal or synonyms),
        "no topic": not topic,
        "somebody met": bool(people_met),
        "share of people unmet": 1 - len(people_met) / len(people) if people else 0.0,
        "somebody else's": bool(people) and is_of_others,
        "somebody else's, of oneself": not people and of_oneself and claim.owner not in ("", "I"),
        "of others alone": not people and is_of_others,
        "met and no word": bool(people_met) and not (literal or synonyms),
        "met and a word": bool(people_met) and bool(literal or synonyms),
        "both of oneself": not people and of_oneself and bool(FIRST_PERSON.search(text)),
        "nobody's": not people and not their_people,
        "a number named": asks_number and has_number,
        "no number": asks_number and not has_number,
    }
    return {name: float(value) for name, value in features.items()}


def _gist(target: str) -> str:
    """Returns the topic of the request, or all of it if that only names people: "that gossip about the Harrisons"."""
    gist = what_is_named(target)
    return gist if all_words(gist) - people_in(target) else target


def _words_alone(target: str) -> str:
    """Returns the words that name something, without those that only ask."""
    naming_words = all_words(target)
    return " ".join(token.text for token in tokens(target) if stem(token.text) in naming_words) or target


def _naming_clauses(target: str) -> list[str]:
    """Returns the clauses of a request that name anything, or the request if none does."""
    clauses = [clause for clause in _CLAUSES.split(what_is_named(target)) if all_words(clause)]
    return clauses or [target]


FEATURES = frozenset(
    [
        *_agreement("", [], "", {}),
        *_COSINES,
        *(f"{name}: lead" for name in _LEADING),
    ]
)
