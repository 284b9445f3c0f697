"""What the user has erased: what is named, what goes with it, and what is kept of the act."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from m2a.types.entry import MemoryEntry
from m2a.types.message import Conversation, Message

ErasureKind = Literal["message", "memory", "photo", "conversation", "forgotten", "everything"]

# What may be erased while the memories that rest on it are kept.
KEEPING: tuple[ErasureKind, ...] = ("message", "conversation")


@dataclass(frozen=True, slots=True)
class Erasure:
    """What is to be erased: a message or a memory by its number, a photo or a conversation by its id.

    `forgotten` is what was forgotten in talk and is still on the disk: one act of it by its number, all without one.
    `everything` takes no `id`. With `keep_memories` the memories stay that would go with a message or a conversation.
    """

    kind: ErasureKind
    id: int | str | None = None
    keep_memories: bool = False

    def __post_init__(self) -> None:
        if self.keep_memories and self.kind not in KEEPING:
            raise ValueError(f"Memories can be kept of {' or '.join(KEEPING)}, and not of {self.kind}; leave it out.")


@dataclass(frozen=True, slots=True)
class RewrittenMessage:
    """A message that stays, and the words that it loses. It may lose photos alone."""

    message: Message
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ErasurePreview:
    """All that an erasure takes, with its words.

    `messages` go whole: those named with their earlier versions, and the replies to them. `memories` are those that nothing
    else supports, with what they had taken the place of; `kept_memories` stay, because the user says the same elsewhere, and
    lose the message or the photo; `retained_memories` stay because the user keeps them: each rests from then on on a message
    of that day which says so. `names` are not known any more, `unshown_names` no longer by any photo. `records` counts
    what goes from the index.
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

    @property
    def counts(self) -> dict[str, int]:
        """How much of each kind goes; what is 0 is left out."""
        counts = {
            "messages": len(self.messages),
            "rewritten messages": len(self.rewritten),
            "memories": len(self.memories),
            "photos": len(self.photo_ids),
            "captions": len(self.captions),
            "names": len(self.names),
            "conversations": len(self.conversations),
            "index records": self.records,
        }
        return {kind: number for kind, number in counts.items() if number}


@dataclass(frozen=True, slots=True)
class Receipt:
    """What is kept of an erasure: numbers and times, no content. `purged_at` is None until its bytes are off the disk.

    A photo's id is the hash of what it showed: photos are counted alone.
    """

    receipt_id: int
    kind: ErasureKind
    erased_at: datetime
    counts: Mapping[str, int] = field(default_factory=dict)
    message_ids: tuple[int, ...] = ()
    memory_ids: tuple[int, ...] = ()
    purged_at: datetime | None = None
