"""Queries to the memory and what they find."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from m2a.types.entry import MemoryEntry
from m2a.types.message import Message

RecordKind = Literal["entry", "message"]
Path = Literal["dense", "bm25", "photo"]


class RecordKey(NamedTuple):
    """The identity of a record among all that an owner's memory holds, from the index to the hit."""

    kind: RecordKind
    record_id: int


@dataclass(frozen=True, slots=True)
class Query:
    """Words, photos, or both. With photos the photo path compares photos; without, words find photos.

    Photos are stored ones, by id, or `pictures`: JPEGs that are searched by and kept nowhere.
    """

    text: str = ""
    photo_ids: tuple[str, ...] = ()
    pictures: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """One record found. A higher score is better; `ranks` holds its rank (from 1) on each path that found it.

    `similarity` is the cosine on the dense or the photo path, for those paths alone: RRF scores say
    nothing about relevance, similarities do. `evidence` holds, of an entry that was searched together with messages, those
    of its messages that were found above it, best first. `is_near` says whether it alone is near enough to the query by its
    words, or by a photo of the query; a search also finds what is not, where something else is near.
    """

    record: MemoryEntry | Message
    score: float
    ranks: Mapping[Path, int]
    similarity: Mapping[Path, float] = field(default_factory=dict)
    evidence: tuple[Message, ...] = ()
    is_near: bool = True

    @property
    def key(self) -> RecordKey:
        if isinstance(self.record, MemoryEntry):
            return RecordKey("entry", self.record.memory_id)
        return RecordKey("message", self.record.message_id)
