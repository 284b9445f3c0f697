"""The changes of an update to the memory. A list of changes is written in one transaction."""

from dataclasses import dataclass
from datetime import date
from typing import Literal, NamedTuple

from m2a.types.entry import EntryDraft

# The reason for a change, as the history shows it. Reasons never quote anyone, since a quote might repeat something forgotten.
Reason = Literal[
    "",
    "its last day is past",
    "m2a memory delete",
    "taken back",
    "the user agreed to it",
    "the user asked to forget another part",
    "the user asked to forget it",
    "the user brought it back",
    "the user chose it in the memory",
    "the user chose the newer one",
    "the user edited it",
    "the user edited it in the review",
    "the user edited what it came from",
    "the user keeps one of them",
    "the user said so",
    "the user said that both are true",
    "the user said that it changed",
    "the user showed it",
]


class MessageSpan(NamedTuple):
    """`text[first:last]` of a raw message."""

    message_id: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Addition:
    """Adds an entry.

    `rivals` are live entries that may state the same about the same thing. They stay, and the user is offered to replace them.
    """

    draft: EntryDraft
    why: Reason
    rivals: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Replacement:
    """Adds an entry that replaces an older one, which stays as history."""

    memory_id: int
    draft: EntryDraft
    why: Reason


@dataclass(frozen=True, slots=True)
class Supersession:
    """Replaces a live entry with another live one; the replaced entry stays as history."""

    memory_id: int
    successor_id: int
    why: Reason


@dataclass(frozen=True, slots=True)
class Forgetting:
    """Removes entries from the memory and words from messages, so that they are no longer found, shown or used.

    With an entry go its words in its evidence, its photos and the assistant's repetitions. `spans` are further words, such as
    the request to forget. `rest` is a part of an entry that stays, as an entry of its own with its words and photos.
    """

    memory_ids: tuple[int, ...]
    why: Reason
    spans: tuple[MessageSpan, ...] = ()
    rest: EntryDraft | None = None


@dataclass(frozen=True, slots=True)
class Restoration:
    """Restores a superseded entry beside the one that replaced it, because both are true."""

    memory_id: int
    why: Reason


# Why a memory was not written: the check refused it, it waits for review, or its category is never remembered.
Held = Literal["check", "review", "category"]


@dataclass(frozen=True, slots=True)
class Pinning:
    """Pins or unpins a live entry. Pinned entries come first in lists and are part of every prompt."""

    memory_id: int
    is_pinned: bool
    why: Reason


@dataclass(frozen=True, slots=True)
class Expiry:
    """Sets or removes the last day of a live entry, after which it is kept back as expired."""

    memory_id: int
    used_until: date | None
    why: Reason


@dataclass(frozen=True, slots=True)
class KeepingBack:
    """Keeps a live entry but no longer uses it: only its owner's page still shows it and its words.

    With `asks`, the user may have asked to forget it: those kept back at the same time stay so until the user forgets one of
    them or lets them be used again. `spans` are the words of the request.
    """

    memory_id: int
    why: Reason
    asks: bool = False
    spans: tuple[MessageSpan, ...] = ()


@dataclass(frozen=True, slots=True)
class Return:
    """Allows a kept-back entry to be used again. An expired entry loses its last day."""

    memory_id: int
    why: Reason


# How an entry is kept, which the user changes by hand.
Keeping = Pinning | Expiry | KeepingBack | Return
Change = Addition | Replacement | Supersession | Forgetting | Restoration | KeepingBack | Return


@dataclass(frozen=True, slots=True)
class Refusal:
    """A change that the user requested and that was not made.

    `text` describes it, and `reason` is a sentence that says why. `change` is what to write if the user insists, or None if
    nothing can be done. Unless `held` is "check", `text` is the text of the memory that was held.
    """

    text: str
    reason: str
    change: Change | None
    held: Held = "check"


@dataclass(frozen=True, slots=True)
class Update:
    """The result of an update for one exchange.

    `changes` are to be written, `refusals` were requested by the user and not made, and `unasked` is the number of further
    proposed changes that nobody had requested.
    """

    changes: tuple[Change, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    unasked: int = 0
