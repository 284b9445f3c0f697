"""The choice of concept groups: distinct concepts, two or three photos each, everything drawn by the seed."""

import hashlib
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from data_synthesis.group import (
    CONCEPTS_PER_GROUP,
    PHOTOS_PER_CONCEPT,
    ConceptGroup,
    ConceptPhoto,
    PersonalConcept,
    SynthesisError,
)

_TRIES = 200
_WORD = re.compile(r"[^\W\d_]{3,}")


def seed_of(*parts: object) -> int:
    """A seed for one purpose, the same on every machine."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:7])


def distinct(one: PersonalConcept, other: PersonalConcept) -> bool:
    """Whether two concepts can stand in one group: neither a class nor a word of their ids in common."""
    same_class = one.class_name and one.class_name.casefold() == other.class_name.casefold()
    words, others = (set(_WORD.findall(concept.subject.casefold())) for concept in (one, other))
    return not same_class and not words & others


def choose_groups(
    concepts: Sequence[PersonalConcept], count: int, *, seed: int, dialogue_id: str
) -> tuple[ConceptGroup, ...]:
    """Groups for one conversation; no concept is in two of them. Raises SynthesisError if there are too few concepts."""
    drawn = random.Random(seed_of(seed, dialogue_id, "groups"))
    fewest, most = CONCEPTS_PER_GROUP
    for _ in range(_TRIES):
        left = drawn.sample(concepts, len(concepts))
        groups = []
        for number in range(1, count + 1):
            spare = len({concept.name for concept in left}) - fewest * (count - number)
            members = _members(left, min(drawn.randint(fewest, most), spare))
            if members is None:
                break
            called = {member.name for member in members}  # without names of their own two may be called the same
            left = [concept for concept in left if concept.name not in called]
            groups.append(ConceptGroup(number, tuple(_with_photos(concept, drawn) for concept in members)))
        else:
            return tuple(groups)
    raise SynthesisError(
        f"{count} group{'s' * (count != 1)} of {fewest} to {most} distinct concepts cannot be made for {dialogue_id} out of "
        f"{len(concepts)} concepts; add concepts of other classes or lower --groups."
    )


def _members(left: Sequence[PersonalConcept], size: int) -> list[PersonalConcept] | None:
    members: list[PersonalConcept] = []
    for concept in left:
        if len(members) < size and all(distinct(concept, member) for member in members):
            members.append(concept)
    return members if len(members) == size >= CONCEPTS_PER_GROUP[0] else None


def _with_photos(concept: PersonalConcept, drawn: random.Random) -> PersonalConcept:
    """The concept with the photos drawn for it, in the source's order, the questions about them, and the rest as unseen.

    Photos of different settings come first, and one that the concept set asks about is among them if there is any. One
    photo at least stays unseen, if there are more than a concept must show.
    """
    fewest, most = PHOTOS_PER_CONCEPT
    count = max(min(drawn.randint(fewest, most), len(concept.photos) - 1), fewest)
    asked = {question.photo for question in concept.questions}
    order = drawn.sample(concept.photos, len(concept.photos))
    order.sort(key=lambda photo: photo.path not in asked)
    new, again = [order[0]], list[ConceptPhoto]()
    for photo in order[1:]:
        (new if _is_new(photo, new) else again).append(photo)
    chosen = [*new, *again][:count]
    kept = tuple(photo for photo in concept.photos if photo in chosen)
    unseen = tuple(photo for photo in concept.photos if photo not in chosen)
    paths = {photo.path for photo in kept}
    asked_about = tuple(one for one in concept.questions if one.photo in paths)
    return replace(concept, photos=kept, questions=asked_about, unseen=unseen)


def _is_new(photo: ConceptPhoto, chosen: Sequence[ConceptPhoto]) -> bool:
    return not photo.setting or photo.setting not in {other.setting for other in chosen}


def choice_faults(group: ConceptGroup, elsewhere: Sequence[PersonalConcept]) -> Iterator[str]:
    """Where a group is none that `choose_groups` would give, beside the concepts of the other groups."""
    if len(group.concepts) not in CONCEPTS_PER_GROUP:
        yield f"it has {len(group.concepts)} concepts; a group has 3 or 4."
    for kind, among in (("name", ()), ("class_name", ()), ("subject", elsewhere)):
        for value, count in Counter(getattr(concept, kind) for concept in (*group.concepts, *among)).items():
            if value and count > 1 and value in [getattr(concept, kind) for concept in group.concepts]:
                yield f"{count} concepts have the {kind} {value!r}; each has its own."
    for concept in group.concepts:
        if (count := len({photo.path for photo in concept.photos})) not in PHOTOS_PER_CONCEPT:
            yield f"{concept.name} has {count} photos; a concept has 2 or 3."
