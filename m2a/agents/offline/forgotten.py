"""Which memory a request to forget is about: how far each of those that were found agrees with what it names.

Whose thing it is and what of it is to go are weighed apart: "Lotte's birthday" is neither Bea's birthday nor Lotte's address.
The weights are learned ("forgotten").
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from m2a.agents.offline.claims import Claim
from m2a.agents.offline.meant import PEOPLE
from m2a.agents.offline.names import find_names
from m2a.agents.offline.sense import Sense, leads
from m2a.agents.offline.text import content, meets, stem, stems, tokens
from m2a.agents.offline.wishes import all_words, what_is_named
from m2a.types import MemoryEntry

_LONGEST_LEAD = 0.15  # one of few memories leads by much, whatever it is of
_CLAUSES = re.compile(r"[,;:.!?]+\s+|\s-+\s")
_OF_ONESELF = re.compile(r"\b(?:i|i'\w+|me|my|mine|we|us|our)\b", re.IGNORECASE)
_OWNED = re.compile(r"([\w-]+)'s (?=\w)")
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

    `of_a_person_alone`: they share no word but whose thing it is, and no number is named that the memory holds.
    `cosine`: between the words that name what is to be forgotten and the memory.
    """

    entry: MemoryEntry
    log_odds: float
    of_a_person_alone: bool
    cosine: float


def rate(what: str, entries: Sequence[MemoryEntry], sense: Sense) -> list[Rated]:
    """The memories, the likeliest first, and of those alike the newest."""
    decision = sense.models["forgotten"]
    found = forgotten_features(what, [entry.text for entry in entries], sense)
    rated = [
        Rated(
            entry,
            decision.score(features),
            bool(features["met and no word"]) and not features["a number named"],
            features["cosine of the words"],
        )
        for entry, features in zip(entries, found, strict=True)
    ]
    return sorted(rated, key=lambda one: (one.log_odds, one.entry.memory_id), reverse=True)


def forgotten_features(what: str, texts: Sequence[str], sense: Sense) -> list[dict[str, float]]:
    """How each of the texts agrees with what is to be forgotten, beside the others."""
    if not texts:
        return []
    holders = Counter(word for text in texts for word in content(text))
    gist, core, clauses = _gist(what), _words_alone(what), _naming_clauses(what)
    whole, of_words, *vectors = sense.vectors([gist, core, *texts])
    of_clauses = sense.vectors(clauses)
    found = [
        _agreement(what, clauses, text, holders)
        | {
            "cosine": float(vector @ whole),
            "cosine of a clause": float((of_clauses @ vector).max()),
            "cosine of the words": float(of_words @ vector),
        }
        for text, vector in zip(texts, vectors, strict=True)
    ]
    for name in _LEADING:
        for features, lead in zip(found, leads([features[name] for features in found]), strict=True):
            features[f"{name}: lead"] = max(-1.0, min(lead, _LONGEST_LEAD)) if len(texts) > 1 else 0.0
    return found


def people_in(text: str) -> frozenset[str]:
    """The stems of those whom the text names, or calls by what they are to the user."""
    owners = content(" ".join(_OWNED.findall(text)))
    return frozenset(content(" ".join(find_names(text)))) | (content(text) & PEOPLE) | owners


def _agreement(what: str, clauses: Sequence[str], text: str, holders: Mapping[str, int]) -> dict[str, float]:
    """What the words say of it; `holders` is in how many of the texts each word is."""
    people, theirs = people_in(what), people_in(text)
    claim, stemmed, held = Claim.of(text), frozenset(stems(text)), content(text)
    topic = all_words(what) - people
    literal = held & topic
    alike = {word for word in topic - literal if meets(word, stemmed)}
    met = {one for one in people if meets(one, stemmed)}
    of_oneself = bool(_OF_ONESELF.search(what))
    of_others = bool(theirs) and not any(meets(one, people) for one in theirs)
    numbered, has_number = bool(_NUMBERED.search(what)), bool(re.search(r"\d", text))
    shares = [
        sum(meets(word, stemmed) for word in words) / len(words)
        for words in (all_words(clause) - people for clause in clauses)
        if words
    ]
    found = {
        "words": min(2.0, sum(1 / holders[word] for word in literal)),
        "synonyms": min(2.0, float(len(alike))),
        "share of a clause": max(shares, default=0.0),
        "no word": not (literal or alike),
        "no topic": not topic,
        "somebody met": bool(met),
        "share of people unmet": 1 - len(met) / len(people) if people else 0.0,
        "somebody else's": bool(people) and of_others,
        "somebody else's, of oneself": not people and of_oneself and claim.owner not in ("", "I"),
        "of others alone": not people and of_others,
        "met and no word": bool(met) and not (literal or alike),
        "met and a word": bool(met) and bool(literal or alike),
        "both of oneself": not people and of_oneself and bool(_OF_ONESELF.search(text)),
        "nobody's": not people and not theirs,
        "a number named": numbered and has_number,
        "no number": numbered and not has_number,
    }
    return {name: float(value) for name, value in found.items()}


def _gist(what: str) -> str:
    """What the request says that it is about; all of it where that only says of whom: "that gossip about the Harrisons"."""
    gist = what_is_named(what)
    return gist if all_words(gist) - people_in(what) else what


def _words_alone(what: str) -> str:
    """What is named, without the words that only ask."""
    named = all_words(what)
    return " ".join(token.text for token in tokens(what) if stem(token.text) in named) or what


def _naming_clauses(what: str) -> list[str]:
    """The clauses of a request that name anything; the request where none does."""
    clauses = [clause for clause in _CLAUSES.split(what_is_named(what)) if all_words(clause)]
    return clauses or [what]


FEATURES = frozenset(
    [
        *_agreement("", [], "", {}),
        *_COSINES,
        *(f"{name}: lead" for name in _LEADING),
    ]
)
