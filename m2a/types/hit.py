"""Queries to the memory, and their hits."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from m2a.types.entry import MemoryEntry
from m2a.types.message import Message

RecordKind = Literal["entry", "message"]
RetrievalPath = Literal["dense", "bm25", "photo"]


class RecordKey(NamedTuple):
    """The identity of a record in an owner's memory."""

    kind: RecordKind
    record_id: int


@dataclass(frozen=True, slots=True)
class Query:
    """Words, photos, or both. With photos, the photo path compares photos; without, it compares the words with photos.

    `photo_ids` are stored photos, and `pictures` are JPEGs that are only used for the search and not stored.
    """

    text: str = ""
    photo_ids: tuple[str, ...] = ()
    pictures: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A record found by a search. A higher score is better.

    `ranks` holds its rank, from 1, on each path that found it. `similarity` holds its cosines on the dense and photo paths,
    which, unlike fused scores, say how relevant it is. When entries and messages are searched together, the `evidence` of an
    entry holds those of its messages that ranked above it, best first. `is_near` is whether the record itself is close enough
    to the query; a search may also return others if one record is.
    """

    record: MemoryEntry | Message
    score: float
    ranks: Mapping[RetrievalPath, int]
    similarity: Mapping[RetrievalPath, float] = field(default_factory=dict)
    evidence: tuple[Message, ...] = ()
    is_near: bool = True

    @property
    def key(self) -> RecordKey:
        if isinstance(self.record, MemoryEntry):
            return RecordKey("entry", self.record.memory_id)
        return RecordKey("message", self.record.message_id)
