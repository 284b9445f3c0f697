"""Erasures: what the user wants erased, everything that this removes, and the receipt."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from m2a.types.entry import MemoryEntry
from m2a.types.message import Conversation, Message

ErasureKind = Literal["message", "memory", "photo", "conversation", "forgotten", "everything"]

# An erasure of these can keep the memories that rest on what it erases.
CAN_KEEP_MEMORIES: tuple[ErasureKind, ...] = ("message", "conversation")


@dataclass(frozen=True, slots=True)
class Erasure:
    """What to erase: a message or a memory by its number, or a photo or a conversation by its id.

    `forgotten` is content that was forgotten but is still on the disk: one forgetting by its number, or all without an `id`.
    `everything` has no `id`. With `keep_memories`, the memories from a message or a conversation are kept.
    """

    kind: ErasureKind
    id: int | str | None = None
    keep_memories: bool = False

    def __post_init__(self) -> None:
        if self.keep_memories and self.kind not in CAN_KEEP_MEMORIES:
            raise ValueError(
                f"keep_memories only works for {' or '.join(CAN_KEEP_MEMORIES)}, not for {self.kind}; leave it out."
            )


@dataclass(frozen=True, slots=True)
class RewrittenMessage:
    """A message that stays, with the words that it loses; none if it only loses photos."""

    message: Message
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ErasurePreview:
    """Everything that an erasure removes, with its text.

    - `messages` are removed entirely: those that were named, their earlier versions, and the replies to them.
    - `rewritten` messages stay but lose words or photos.
    - `memories` are removed, because they have no other evidence, and so are the entries that they had superseded.
    - `kept_memories` stay, because the user says the same elsewhere, but lose the message or the photo.
    - `retained_memories` stay, because the user keeps them; each gets a new message as evidence that says so.
    - `names` are no longer known, and `unshown_names` no longer recognised in any photo.
    - `waiting` are the texts of memories that wait for a decision and can then no longer be kept.
    - `records` is the number of records that are removed from the index.
    """

    erasure: Erasure
    messages: tuple[Message, ...] = ()
    rewritten: tuple[RewrittenMessage, ...] = ()
    memories: tuple[MemoryEntry, ...] = ()
    kept_memories: tuple[MemoryEntry, ...] = ()
    photo_ids: tuple[str, ...] = ()
    captions: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    unshown_names: tuple[str, ...] = ()
    conversations: tuple[Conversation, ...] = ()
    records: int = 0
    retained_memories: tuple[MemoryEntry, ...] = ()
    waiting: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """The number of removed items of each kind, without zeros."""
        counts = {
            "messages": len(self.messages),
            "rewritten messages": len(self.rewritten),
            "memories": len(self.memories),
            "memories to review": len(self.waiting),
            "photos": len(self.photo_ids),
            "captions": len(self.captions),
            "names": len(self.names),
            "conversations": len(self.conversations),
            "index records": self.records,
        }
        return {kind: number for kind, number in counts.items() if number}


@dataclass(frozen=True, slots=True)
class Receipt:
    """The record of an erasure: ids and times, but no content. `purged_at` is None until its bytes are removed from the disk.

    It only counts photos, because a photo's id is a hash of its content.
    """

    receipt_id: int
    kind: ErasureKind
    erased_at: datetime
    counts: Mapping[str, int] = field(default_factory=dict)
    message_ids: tuple[int, ...] = ()
    memory_ids: tuple[int, ...] = ()
    purged_at: datetime | None = None
