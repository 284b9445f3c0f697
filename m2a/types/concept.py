"""People, pets, places and things that the user named."""

from dataclasses import dataclass
from typing import Literal

ConceptKind = Literal["person", "pet", "place", "thing"]


@dataclass(frozen=True, slots=True)
class Concept:
    """`photo_ids` are the photos that the user linked to the name, oldest first; `denied_photo_ids` those of which they said
    that they do not show it."""

    concept_id: int
    owner: str
    name: str
    aliases: tuple[str, ...]
    kind: ConceptKind
    photo_ids: tuple[str, ...]
    denied_photo_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConceptMention:
    """A name that an entry gives. `photo_ids` are those of its photos that show what is named, or of which the user says that
    they do not (`denied`); None means all of them."""

    name: str
    kind: ConceptKind
    aliases: tuple[str, ...] = ()
    denied: bool = False
    photo_ids: tuple[str, ...] | None = None
