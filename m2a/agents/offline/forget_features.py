"""The features of the learned decision which memory a request to forget means ("forgotten").

The owner and the topic are weighed separately: "Lotte's birthday" is neither Bea's birthday nor Lotte's address.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from m2a.agents.offline.claims import Claim, people_in
from m2a.agents.offline.memory_requests import content_of_request, what_is_named
from m2a.agents.offline.sense import Sense, leads
from m2a.agents.offline.text import FIRST_PERSON, content, has_equivalent, stem, stems, tokens
from m2a.types import MemoryEntry

_MAX_LEAD = 0.15  # with few memories one is far ahead of the others, whatever it is about
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

    `of_a_person_alone`: they share only a person, and the request is not about a number that the memory has.
    `cosine`: between the memory and the words that name what is to be forgotten.
    """

    entry: MemoryEntry
    log_odds: float
    of_a_person_alone: bool
    cosine: float


def rate(request: str, entries: Sequence[MemoryEntry], sense: Sense) -> list[Rated]:
    """Returns the memories, the likeliest first, and the newer first among equals."""
    model = sense.models["forgotten"]
    features_of_texts = forgotten_features(request, [entry.text for entry in entries], sense)
    rated = [
        Rated(
            entry,
            model.score(features),
            bool(features["met and no word"]) and not features["a number named"],
            features["cosine of the words"],
        )
        for entry, features in zip(entries, features_of_texts, strict=True)
    ]
    return sorted(rated, key=lambda each: (each.log_odds, each.entry.memory_id), reverse=True)


def forgotten_features(request: str, texts: Sequence[str], sense: Sense) -> list[dict[str, float]]:
    """Returns the features of how each text agrees with what is to be forgotten, compared with the others."""
    if not texts:
        return []
    frequencies = Counter(word for text in texts for word in content(text))
    topic, words, clauses = _topic(request), _naming_words(request), _naming_clauses(request)
    topic_vector, words_vector, *vectors = sense.vectors([topic, words, *texts])
    clause_vectors = sense.vectors(clauses)
    rows = [
        _agreement(request, clauses, text, frequencies)
        | {
            "cosine": float(vector @ topic_vector),
            "cosine of a clause": float((clause_vectors @ vector).max()),
            "cosine of the words": float(words_vector @ vector),
        }
        for text, vector in zip(texts, vectors, strict=True)
    ]
    for name in _LEADING:
        for features, lead in zip(rows, leads([features[name] for features in rows]), strict=True):
            features[f"{name}: lead"] = max(-1.0, min(lead, _MAX_LEAD)) if len(texts) > 1 else 0.0
    return rows


def _agreement(request: str, clauses: Sequence[str], text: str, frequencies: Mapping[str, int]) -> dict[str, float]:
    """Returns the features of the words; `frequencies` are the numbers of texts that have each word."""
    people, their_people = people_in(request), people_in(text)
    claim, stemmed, text_words = Claim.of(text), stems(text), content(text)
    topic = content_of_request(request) - people
    literal = text_words & topic
    synonyms = {word for word in topic - literal if has_equivalent(word, stemmed)}
    has_word = bool(literal or synonyms)
    people_met = {person for person in people if has_equivalent(person, stemmed)}
    of_oneself = bool(FIRST_PERSON.search(request))
    is_of_others = bool(their_people) and not any(has_equivalent(person, people) for person in their_people)
    asks_number, has_number = bool(_NUMBERED.search(request)), bool(re.search(r"\d", text))
    shares = [
        sum(has_equivalent(word, stemmed) for word in words) / len(words)
        for words in (content_of_request(clause) - people for clause in clauses)
        if words
    ]
    features = {
        "words": min(2.0, sum(1 / frequencies[word] for word in literal)),
        "synonyms": min(2.0, float(len(synonyms))),
        "share of a clause": max(shares, default=0.0),
        "no word": not has_word,
        "no topic": not topic,
        "somebody met": bool(people_met),
        "share of people unmet": 1 - len(people_met) / len(people) if people else 0.0,
        "somebody else's": bool(people) and is_of_others,
        "somebody else's, of oneself": not people and of_oneself and claim.owner not in ("", "I"),
        "of others alone": not people and is_of_others,
        "met and no word": bool(people_met) and not has_word,
        "met and a word": bool(people_met) and has_word,
        "both of oneself": not people and of_oneself and bool(FIRST_PERSON.search(text)),
        "nobody's": not people and not their_people,
        "a number named": asks_number and has_number,
        "no number": asks_number and not has_number,
    }
    return {name: float(value) for name, value in features.items()}


def _topic(request: str) -> str:
    """Returns the topic of the request, or all of it if that only names people: "that gossip about the Harrisons"."""
    topic = what_is_named(request)
    return topic if content_of_request(topic) - people_in(request) else request


def _naming_words(request: str) -> str:
    """Returns the words of the request that name something, without those that only ask."""
    naming_words = content_of_request(request)
    return " ".join(token.text for token in tokens(request) if stem(token.text) in naming_words) or request


def _naming_clauses(request: str) -> list[str]:
    """Returns the clauses of a request that name anything, or the request if none does."""
    clauses = [clause for clause in _CLAUSES.split(what_is_named(request)) if content_of_request(clause)]
    return clauses or [request]


FEATURES = frozenset(
    [
        *_agreement("", [], "", {}),
        *_COSINES,
        *(f"{name}: lead" for name in _LEADING),
    ]
)
