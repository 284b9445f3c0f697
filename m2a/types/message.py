"""Layer 1: what was said."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Role = Literal["user", "assistant"]

FORGOTTEN = "[forgotten]"  # what is read in the place of words that were forgotten
ERASED = "[erased]"  # what their owner reads in the place of words that were erased


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the append-only raw log.

    `message_id` rises per owner and is never reused. `said_at` is aware. `photos` are photo ids in the
    order in which they were shown. An edited message is a new one that names the old in `replaces`.
    `partial` marks a reply that was stopped or cut off. `reference` is a data set's own id (`D5:3`).
    """

    message_id: int
    owner: str
    conversation_id: str
    role: Role
    speaker: str
    text: str
    photos: tuple[str, ...]
    said_at: datetime
    replaces: int | None = None
    reference: str | None = None
    partial: bool = False

    @property
    def is_gone(self) -> bool:
        """Whether nothing of it stays to be read."""
        return self.text in (FORGOTTEN, ERASED) and not self.photos


def standing(messages: Sequence[Message]) -> list[tuple[Message, tuple[Message, ...]]]:
    """The messages of a conversation that stand, in order, each with those that it set aside: what it replaced, and what had
    followed that."""
    found: list[tuple[Message, tuple[Message, ...]]] = []
    for message in messages:
        aside: list[Message] = []
        while message.replaces is not None and found and found[-1][0].message_id >= message.replaces:
            older, before = found.pop()
            aside = [*before, older, *aside]
        found.append((message, tuple(aside)))
    return found


@dataclass(frozen=True, slots=True)
class Conversation:
    """A run of messages. The title is the user's first words; `last_said_at` is None while it is empty."""

    conversation_id: str
    owner: str
    title: str
    started_at: datetime
    last_said_at: datetime | None
