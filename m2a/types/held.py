"""Memories that were not written and can be kept after all."""

from dataclasses import dataclass
from typing import NamedTuple

from m2a.types.change import Addition, Held, Replacement
from m2a.types.entry import MemoryEntry
from m2a.types.message import Message


class HeldPlace(NamedTuple):
    """Where one is to be found: refusal `number` of a reply's update. `held` is by whom."""

    reply_id: int
    number: int
    held: Held


@dataclass(frozen=True, slots=True)
class HeldMemory:
    """One of them: what is to be kept, why it was not, what the user said, and which memory it is to take the place of."""

    place: HeldPlace
    change: Addition | Replacement
    reason: str
    said: Message | None = None
    previous: MemoryEntry | None = None


@dataclass(frozen=True, slots=True)
class Review:
    """The memories that are to be decided on: how many `wait` and how many were `refused`, and the one that is up.

    `position` is its place among all, from 1; 0 where there is none.
    """

    waiting: int
    refused: int
    position: int = 0
    memory: HeldMemory | None = None
