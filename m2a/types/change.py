"""What an update does to the memory: a list of these is written together or not at all."""

from dataclasses import dataclass
from datetime import date
from typing import Literal, NamedTuple

from m2a.types.entry import EntryDraft

# Why a memory changes, as its history says. It holds nobody's words: they might repeat what is to be forgotten.
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
    """Adds an entry. `rivals` are living entries that may say the same of the same thing: they stay, and the user is
    offered to put the new one in their place."""

    draft: EntryDraft
    why: Reason
    rivals: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Replacement:
    """Adds an entry in the place of an older one, which stays as history."""

    memory_id: int
    draft: EntryDraft
    why: Reason


@dataclass(frozen=True, slots=True)
class Supersession:
    """Puts a living entry in the place of another living one, which stays as history."""

    memory_id: int
    successor_id: int
    why: Reason


@dataclass(frozen=True, slots=True)
class Forgetting:
    """Takes entries out of the memory, and words out of the messages: neither is found, shown or used again.

    The words of the entries in their evidence, their photos and the assistant's repetitions are withheld with them; `spans`
    are the words that no entry holds, such as the request to forget. `rest` is the part of an entry that is not to be
    forgotten: it is kept as an entry of its own, with the words and photos that it rests on.
    """

    memory_ids: tuple[int, ...]
    why: Reason
    spans: tuple[MessageSpan, ...] = ()
    rest: EntryDraft | None = None


@dataclass(frozen=True, slots=True)
class Restoration:
    """Brings a superseded entry back beside the one that took its place: both are true."""

    memory_id: int
    why: Reason


Change = Addition | Replacement | Supersession | Forgetting | Restoration


Held = Literal["check", "review", "category"]


@dataclass(frozen=True, slots=True)
class Pinning:
    """Pins a living entry, or unpins it: it comes first where memories are listed, and goes with every prompt."""

    memory_id: int
    is_pinned: bool
    why: Reason


@dataclass(frozen=True, slots=True)
class Dating:
    """Gives a living entry a last day, or none: after it the entry is kept back as expired."""

    memory_id: int
    used_until: date | None
    why: Reason


@dataclass(frozen=True, slots=True)
class KeepingBack:
    """Keeps a living entry and uses it no more: nothing but its owner's page finds or shows it or its words."""

    memory_id: int
    why: Reason


@dataclass(frozen=True, slots=True)
class Return:
    """Lets an entry be used again that was kept back; one that had expired has no last day any more."""

    memory_id: int
    why: Reason


# What only the user does, by hand.
Keeping = Pinning | Dating | KeepingBack | Return


@dataclass(frozen=True, slots=True)
class Refusal:
    """A change that the user asked for and that was not made.

    `text` says which, `reason` is a sentence; `change` is what to write if the user insists, None where nothing can be done.
    `held` is by whom: the check refused it, it waits for the user's review, or it is of a category that is not remembered;
    `text` is that of the memory then.
    """

    text: str
    reason: str
    change: Change | None
    held: Held = "check"


@dataclass(frozen=True, slots=True)
class Update:
    """What one exchange does to the memory: the changes to write, what the user asked for and is not done, and how many
    further changes were proposed that nobody had asked for."""

    changes: tuple[Change, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    unasked: int = 0
