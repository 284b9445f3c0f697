"""The choice of concept groups: distinct concepts with two or three photos each, drawn by the seed."""

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
    """Returns a seed for one purpose, the same on every machine."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:7])


def distinct(first: PersonalConcept, second: PersonalConcept) -> bool:
    """Returns whether two concepts can be in one group: they share neither their class nor a word of their ids."""
    same_class = first.class_name and first.class_name.casefold() == second.class_name.casefold()
    first_words, second_words = (set(_WORD.findall(concept.subject.casefold())) for concept in (first, second))
    return not same_class and not first_words & second_words


def choose_groups(
    concepts: Sequence[PersonalConcept], count: int, *, seed: int, dialogue_id: str
) -> tuple[ConceptGroup, ...]:
    """Returns the groups for one conversation, without common concepts. Raises SynthesisError if there are too few concepts."""
    rng = random.Random(seed_of(seed, dialogue_id, "groups"))
    fewest, most = CONCEPTS_PER_GROUP
    for _ in range(_TRIES):
        left = rng.sample(concepts, len(concepts))
        groups = []
        for number in range(1, count + 1):
            spare = len({concept.name for concept in left}) - fewest * (count - number)
            members = _members(left, min(rng.randint(fewest, most), spare))
            if members is None:
                break
            names = {member.name for member in members}  # concepts without a proper name may share one ("the dog")
            left = [concept for concept in left if concept.name not in names]
            groups.append(ConceptGroup(number, tuple(_with_photos(concept, rng) for concept in members)))
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


def _with_photos(concept: PersonalConcept, rng: random.Random) -> PersonalConcept:
    """Returns the concept with the photos drawn for it, in the source's order, the questions about them, and the rest as unseen.

    Photos with different settings come first, and one that the concept set asks about is among them if there is any. At
    least one photo stays unseen, if there are more than a concept must show.
    """
    fewest, most = PHOTOS_PER_CONCEPT
    count = max(min(rng.randint(fewest, most), len(concept.photos) - 1), fewest)
    asked_about = {question.photo for question in concept.questions}
    order = rng.sample(concept.photos, len(concept.photos))
    order.sort(key=lambda photo: photo.path not in asked_about)
    new, repeated = list[ConceptPhoto](), list[ConceptPhoto]()
    for photo in order:
        is_new = not photo.setting or photo.setting not in {other.setting for other in new}
        (new if is_new else repeated).append(photo)
    chosen = [*new, *repeated][:count]
    shown = tuple(photo for photo in concept.photos if photo in chosen)
    unseen = tuple(photo for photo in concept.photos if photo not in chosen)
    paths = {photo.path for photo in shown}
    questions = tuple(question for question in concept.questions if question.photo in paths)
    return replace(concept, photos=shown, questions=questions, unseen=unseen)


def choice_faults(group: ConceptGroup, elsewhere: Sequence[PersonalConcept]) -> Iterator[str]:
    """Yields the reasons why `choose_groups` cannot have chosen a group, given the concepts of the other groups."""
    if len(group.concepts) not in CONCEPTS_PER_GROUP:
        yield f"it has {len(group.concepts)} concepts; a group has 3 or 4."
    for field, others in (("name", ()), ("class_name", ()), ("subject", elsewhere)):
        for value, count in Counter(getattr(concept, field) for concept in (*group.concepts, *others)).items():
            if value and count > 1 and value in [getattr(concept, field) for concept in group.concepts]:
                yield f"{count} concepts have the {field} {value!r}; each has its own."
    for concept in group.concepts:
        if (count := len({photo.path for photo in concept.photos})) not in PHOTOS_PER_CONCEPT:
            yield f"{concept.name} has {count} photos; a concept has 2 or 3."
