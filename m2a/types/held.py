"""Memories that were not written but can still be kept."""

from dataclasses import dataclass
from typing import NamedTuple

from m2a.types.change import Addition, Held, Replacement
from m2a.types.entry import MemoryEntry
from m2a.types.message import Message


class HeldPlace(NamedTuple):
    """The place of a held memory: refusal `number` of a reply's update. `held` says why it was not written."""

    reply_id: int
    number: int
    held: Held


@dataclass(frozen=True, slots=True)
class HeldMemory:
    """A held memory: the change to make, the reason why it was not made, the user's message (`said`), and the memory that it
    would replace (`previous`)."""

    place: HeldPlace
    change: Addition | Replacement
    reason: str
    said: Message | None = None
    previous: MemoryEntry | None = None


@dataclass(frozen=True, slots=True)
class Review:
    """The undecided memories: the numbers of those that wait for review and of those that were refused, and the current one.

    `position` is the place of the current one among all, from 1, or 0 if there is none.
    """

    waiting: int
    refused: int
    position: int = 0
    memory: HeldMemory | None = None
