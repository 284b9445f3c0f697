"""The events of a turn. The web page, the command line, the tests and the evaluation all use the same ones."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from m2a.types.change import Held
from m2a.types.entry import EvidenceRange, MemoryEntry
from m2a.types.hit import Hit, Query
from m2a.types.message import Message


@dataclass(frozen=True, slots=True)
class Source:
    """A record that an answer rests on, with the original messages. `hit` says how it was found."""

    hit: Hit
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class MessageRecorded:
    """The user's message is stored and cannot be lost any more."""

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
    """The user has stopped the reply. What there is of it is kept."""


@dataclass(frozen=True, slots=True)
class ReplyFinished:
    """The reply is stored, with its sources. The next message may be sent."""

    message: Message
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class MemoryChanged:
    """A change to the memory was written.

    - `added`: `entry` is new. `rivals` stay beside it, and the user may replace them with it.
    - `corrected`: `entry` corrects a part of `previous`, which stays.
    - `replaced`: `entry` replaced `previous`.
    - `forgotten`: `previous` was forgotten, or, if it is None, words that only a message contained.
    - `restored`: `entry` is live again.
    - `pinned`, `unpinned`, `dated` (it has another last day) and `returned` (it is used again) concern `entry`.
    - `withheld` (it is kept but not used) and `asked` (the same, until the user says whether to forget it) concern `previous`.
    """

    change: Literal[
        "added",
        "corrected",
        "replaced",
        "forgotten",
        "restored",
        "pinned",
        "unpinned",
        "dated",
        "withheld",
        "asked",
        "returned",
    ]
    entry: MemoryEntry | None
    previous: MemoryEntry | None = None
    rivals: tuple[MemoryEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """A change to the memory as recorded with its turn.

    Its `number` among the changes of the turn is used to undo it, and its `forgetting_id` to erase what it forgot.
    `taken_along` is the number of memories that were forgotten, or are no longer mentioned, together with the named one, because
    they correct it.
    """

    number: int
    changed: MemoryChanged
    undone: bool = False
    forgetting_id: int | None = None
    taken_along: int = 0


@dataclass(frozen=True, slots=True)
class NotKept:
    """The user requested a change to the memory that was not made. `text` describes it, and `reason` says why.

    `number` is its place among the refusals of this turn, with which the user can insist; None if nothing can be done. `held` is
    the same as in `Refusal`. `said_in` is the id of the user's message.
    """

    text: str
    reason: str
    number: int | None = None
    held: Held = "check"
    said_in: int | None = None


@dataclass(frozen=True, slots=True)
class UnaskedChanges:
    """`count` changes were proposed that nobody had requested. None of them was made."""

    count: int


@dataclass(frozen=True, slots=True)
class Usage:
    """The use of the chat model in the turn so far. Tokens are None if the server does not count them."""

    calls: int
    input_tokens: int | None
    output_tokens: int | None


@dataclass(frozen=True, slots=True)
class Failed:
    """The reply, its search of the memory, or the update failed. `reason` is a sentence for the user."""

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
