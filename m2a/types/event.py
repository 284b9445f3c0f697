"""What happens in a turn, in order. Web page, command line, tests and evaluation consume the same events."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from m2a.types.change import Held
from m2a.types.entry import EvidenceRange, MemoryEntry
from m2a.types.hit import Hit, Query
from m2a.types.message import Message


@dataclass(frozen=True, slots=True)
class Source:
    """A memory that an answer rests on, with the original words. `hit` says how it was found."""

    hit: Hit
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class MessageRecorded:
    """The user's message is stored; from here on it is never lost."""

    message: Message


@dataclass(frozen=True, slots=True)
class MemorySearched:
    query: Query
    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class EvidenceOpened:
    ranges: tuple[EvidenceRange, ...]
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next piece of the reply."""

    text: str


@dataclass(frozen=True, slots=True)
class StopRequested:
    """The user wants no more of the reply; what there is of it is kept."""


@dataclass(frozen=True, slots=True)
class ReplyFinished:
    """The reply is stored, with its sources; the next message may be sent. `photo_ids` are shown with the reply."""

    message: Message
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class MemoryChanged:
    """The memory was written.

    `added`: `entry` is new; `rivals` stay beside it, and the user may put it in their place. `corrected`: `entry` corrects a
    part of `previous`, which stays. `replaced`: `entry` took the place of `previous`. `forgotten`: `previous` is no more,
    or, where it is None, words that only a message held. `restored`: `entry` holds again. `pinned`, `unpinned`, `dated` (its
    last day is another) and `returned` (it is used again) are told of `entry`, `withheld` (it is kept and not used) of
    `previous`.
    """

    change: Literal[
        "added", "corrected", "replaced", "forgotten", "restored", "pinned", "unpinned", "dated", "withheld", "returned"
    ]
    entry: MemoryEntry | None
    previous: MemoryEntry | None = None
    rivals: tuple[MemoryEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """A change of the memory as its turn recorded it; by its `number` among those of the turn it can be undone, and
    what it forgot can be erased by its `forgetting_id`. `taken_along` counts the memories that were forgotten, or are no longer
    mentioned, with the one that was named: those that corrected it."""

    number: int
    changed: MemoryChanged
    undone: bool = False
    forgetting_id: int | None = None
    taken_along: int = 0


@dataclass(frozen=True, slots=True)
class NotKept:
    """The user asked for a change of the memory that was not made. `text` says which, `reason` is a sentence.

    `number` is its place among what was refused in this turn, by which the user can have it done anyway; None where nothing
    can be done. `held` is as in `Refusal`.
    """

    text: str
    reason: str
    number: int | None = None
    held: Held = "check"


@dataclass(frozen=True, slots=True)
class UnaskedChanges:
    """So many changes were proposed that nobody had asked for. None was made."""

    count: int


@dataclass(frozen=True, slots=True)
class Usage:
    """Chat model use of the turn so far. Tokens are None where the server does not count them."""

    calls: int
    input_tokens: int | None
    output_tokens: int | None


@dataclass(frozen=True, slots=True)
class Failed:
    """The turn, its search of the memory, or its update could not go on. `reason` is a sentence for the user."""

    stage: Literal["query", "reply", "update"]
    reason: str


TurnEvent = (
    MessageRecorded
    | MemorySearched
    | EvidenceOpened
    | TextDelta
    | StopRequested
    | ReplyFinished
    | MemoryChanged
    | NotKept
    | UnaskedChanges
    | Usage
    | Failed
)

Emit = Callable[[TurnEvent], None]
