"""What a text claims, in parts that can be compared: its subject, its values and its words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from m2a.agents.offline import lexicon
from m2a.agents.offline.change_words import refuted
from m2a.agents.offline.clauses import find_subject, segments
from m2a.agents.offline.dates import number
from m2a.agents.offline.names import find_names, find_places, mentioned, names_of
from m2a.agents.offline.text import content, stems
from m2a.agents.offline.values import Value, find_values, is_measure, speaks_of_work
from m2a.types import Concept

# Where something is, without a place name: "in the loft", "at Mum's house".
_WHERE = re.compile(
    r"(?:\b(?:is|are|was|lives?|hangs?|sits?|stays?|keep|kept|put|moved)\b|'s\b)[^.,;]{0,25}?\b(?:in|at|on|under|"
    r"behind|inside|above|below|"
    r"next to|to) (?P<where>(?:the|my|our|his|her|their|\w+'s) [\w' -]{2,30}?)(?=$|[.,;]| and | now\b| these\b|"
    r" instead\b)",
    re.IGNORECASE,
)
# The last word of "Anna's mother".
_POSSESSED = re.compile(r"'s (?:[\w-]+ ){0,2}([\w-]+)$")
_OWNER = re.compile(
    r"(?:(?:my|our) (?P<kin>[\w-]+(?: [\w-]+)?)'s\b|(?P<name>[A-Z][\w-]+)'s\b|"
    r"(?:my|our|mine|ours)\b(?! (?:mistake|bad|fault|memory)\b))",
    re.IGNORECASE,
)
_PARTS_OF_AN_HOUR = frozenset("half quarter past to".split())
# Relatives, pets and the like, whose owner must match: "Anna's mother" is not Anna.
PEOPLE = frozenset(
    stems(
        " ".join([*lexicon.RELATIONS, *lexicon.PETS, "friend parents girlfriend boyfriend partner boss children kids"])
    )
)
_OWNED = re.compile(r"([\w-]+)'s (?=\w)")


@dataclass(frozen=True, slots=True)
class Claim:
    """A text and what is read from it; words are the stems of its content words.

    `possessed` is the head of a subject such as "Anna's mother".
    """

    text: str
    words: frozenset[str]
    subject: frozenset[str]
    subject_names: frozenset[str]
    names: frozenset[str]
    possessed: frozenset[str]
    values: tuple[Value, ...]
    places: frozenset[str]
    refuted: frozenset[str]

    @classmethod
    def of(cls, text: str, concepts: Sequence[Concept] = ()) -> "Claim":
        return _claim_of(text, tuple(concepts))

    @property
    def owner(self) -> str:
        """The owner of the subject: "I", a name, a relative ("mother" in "my mother's knee"), or "" if none is named."""
        subjects = (find_subject(self.text[first:last]) for first, last in segments(self.text))
        match = next((m for s in subjects if s and (m := _OWNER.match(s.text))), None)
        if match is None:
            return ""
        other = match["kin"] or match["name"] or next(iter(find_names(match.string)), "")  # "my colleague Petra"
        return other.lower() if other else "I"

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of its values; all amounts but years are one kind here, since units are often left out."""
        return frozenset({_kind(value) for value in self.values} | ({"place"} if self.places else set()))


@lru_cache(maxsize=4096)  # every message that may correct a memory compares it anew
def _claim_of(text: str, concepts: tuple[Concept, ...]) -> Claim:
    other_names = _other_names(text, concepts)
    subject = find_subject(text)
    subject_text = subject.text if subject else ""
    names, values = find_names(text), find_values(text)
    # "The Bath coach is $34 now": a job that is the subject is no value of it.
    in_values = frozenset(word for value in values if value.kind != "job" for word in content(value.text))
    return Claim(
        text,
        frozenset(content(" ".join([text, *other_names]))) | _letters(text),
        frozenset(content(" ".join([subject_text, *_other_names(subject_text, concepts)]))) - in_values,
        frozenset(content(" ".join(name for name in names if name in subject_text))) | _letters(subject_text),
        frozenset(content(" ".join(names))) | _letters(text),
        frozenset(content(match[1])) if (match := _POSSESSED.search(subject_text)) else frozenset(),
        tuple(values),
        frozenset(places_in(text)),
        frozenset(word for old in refuted(text) for word in content(old)),
    )


def places_in(text: str) -> list[str]:
    """Returns the places in the text: "in Graz", "in the loft"."""
    return [*find_places(text), *(match["where"] for match in _WHERE.finditer(text))]


@lru_cache(maxsize=4096)
def people_in(text: str) -> frozenset[str]:
    """Returns the stems of the people in the text, by name or by their relation to the user."""
    owners = content(" ".join(_OWNED.findall(text)))
    return frozenset(content(" ".join(find_names(text)))) | (content(text) & PEOPLE) | owners


def value_words(claim: Claim, kinds: frozenset[str] | None = None) -> frozenset[str]:
    """Returns the stems of the values of a claim, of the given kinds or of all."""
    texts = [value.text for value in claim.values if kinds is None or _kind(value) in kinds]
    texts += [place for place in claim.places if kinds is None or "place" in kinds]
    return frozenset(word for text in texts for word in content(text))


def different_kinds(new: Claim, old: Claim) -> frozenset[str]:
    """Returns the kinds of which the two give different values; "July" and "July 2027" are not different."""
    return frozenset(
        kind
        for kind in new.kinds & old.kinds
        if not (kind == "place" and are_of_work_and_home(new.text, old.text))
        and not any(_may_agree(ours, theirs) for ours in _of_kind(new, kind) for theirs in _of_kind(old, kind))
    )


def _may_agree(value: frozenset[str], other: frozenset[str]) -> bool:
    """Returns whether one value only makes the other more exact: "July 2027" and "July", unlike "half past four" and "four"."""
    return (value <= other or other <= value) and not (value ^ other) & _PARTS_OF_AN_HOUR


def tells_several(claim: Claim, kinds: frozenset[str]) -> bool:
    """Returns whether the claim has more than one value of one of the kinds: "on 12 March she turns 65"."""
    return any(len(_of_kind(claim, kind)) > 1 for kind in kinds)


def asserted_kinds(claim: Claim) -> frozenset[str]:
    """Returns the kinds of its values, apart from values that it denies: "on the 13th, not on the 12th"."""
    denied = {_kind(value) for value in claim.values if content(value.text) <= claim.refuted}
    asserted = {_kind(value) for value in claim.values if not content(value.text) <= claim.refuted}
    return claim.kinds - (denied - asserted)


_HOME = re.compile(r"\b(?:lives?|living|lived|stays?|moved|shifted|relocated|home|house|flat)\b", re.IGNORECASE)


def are_of_work_and_home(new: str, old: str) -> bool:
    """Returns whether one is about home and the other about work, or only the new one about work: both places may hold."""
    new_is_of_home, new_is_of_work, old_is_of_work = _HOME.search(new), speaks_of_work(new), speaks_of_work(old)
    if new_is_of_home:
        return old_is_of_work and not _HOME.search(old)
    return new_is_of_work and not old_is_of_work


def _numbered(text: str) -> frozenset[tuple[str, str]]:
    """Returns the nouns that have a number, each with it: ("flat", "2")."""
    return frozenset((noun.lower(), digits) for noun, digits in re.findall(r"\b([A-Za-z]{3,}) (\d{1,3})\b", text))


def of_another_number(new: Claim, old: Claim) -> bool:
    """Returns whether the claims are about two things told apart by their number: flat 2, flat 1."""
    numbered, subject = _numbered(new.text), find_subject(old.text)
    nouns = {noun for noun, _ in numbered}
    return subject is not None and any(
        noun in nouns and (noun, digits) not in numbered for noun, digits in _numbered(subject.text)
    )


_OPPOSITES = tuple(
    frozenset(pair.split())
    for pair in (
        "left right",
        "front back",
        "front rear",
        "top bottom",
        "upper lower",
        "upstairs downstairs",
        "big little",
        "older younger",
        "inside outside",
    )
)


def of_another_side(new: Claim, old: Claim) -> bool:
    """Returns whether the claims are about two things told apart by opposite words: the left knee, the right knee."""
    new_words, old_words = (frozenset(re.findall(r"[a-z]+", claim.text.lower())) for claim in (new, old))
    return any(
        len(pair & new_words) == 1 == len(pair & old_words) and pair & new_words != pair & old_words
        for pair in _OPPOSITES
    )


def _letters(text: str) -> frozenset[str]:
    """Returns the single letters that serve as names: "batch K"."""
    return frozenset(match.lower() for match in re.findall(r"(?<=\w )(?!I\b)[A-Z](?![\w'])", text))


def _kind(value: Value) -> str:
    return "amount" if is_measure(value.kind) and value.kind != "year" else value.kind


def _of_kind(claim: Claim, kind: str) -> list[frozenset[str]]:
    """Returns the words of each value of one kind, with numbers in digits."""
    texts = list(claim.places) if kind == "place" else [value.text for value in claim.values if _kind(value) == kind]
    return [frozenset(str(number(word) or word) for word in text.casefold().split()) for text in texts]


def _other_names(text: str, concepts: Sequence[Concept]) -> list[str]:
    """Returns all names of the concepts that the text mentions: "Priya" for "my flatmate"."""
    return [name for concept in mentioned(text, concepts) for name in names_of(concept)]
