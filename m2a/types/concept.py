"""People, pets, places and things that the user has named."""

from dataclasses import dataclass
from typing import Literal

ConceptKind = Literal["person", "pet", "place", "thing"]


@dataclass(frozen=True, slots=True)
class Concept:
    """A named person, pet, place or thing.

    `photo_ids` are the photos that the user has linked to it, oldest first, and `denied_photo_ids` those that do not show it
    according to the user.
    """

    concept_id: int
    owner: str
    name: str
    aliases: tuple[str, ...]
    kind: ConceptKind
    photo_ids: tuple[str, ...]
    denied_photo_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConceptMention:
    """The mention of a concept in an entry.

    `photo_ids` are those of the entry's photos that show the concept, or with `denied` those that do not; None means all.
    """

    name: str
    kind: ConceptKind
    aliases: tuple[str, ...] = ()
    denied: bool = False
    photo_ids: tuple[str, ...] | None = None
