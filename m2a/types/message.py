"""Layer 1: messages and conversations."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Role = Literal["user", "assistant"]

FORGOTTEN = "[forgotten]"  # replaces forgotten words
ERASED = "[erased]"  # replaces erased words in what the owner reads


@dataclass(frozen=True, slots=True)
class Message:
    """One message in the append-only raw log.

    `message_id` rises per owner and is never reused. `said_at` has a time zone. `photos` are photo ids in the order shown. An
    edited message is a new one whose `replaces` is the id of the old one. `partial` marks a reply that was stopped or cut off.
    `reference` is a data set's own id (`D5:3`).
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
        """Whether nothing of the message is left to read."""
        return self.text in (FORGOTTEN, ERASED) and not self.photos


def standing(messages: Sequence[Message]) -> list[tuple[Message, tuple[Message, ...]]]:
    """Returns the current messages of a conversation, in order, each with the messages that it set aside by editing.

    An edited message sets aside the message that it replaces and everything that followed that.
    """
    current: list[tuple[Message, tuple[Message, ...]]] = []
    for message in messages:
        aside: list[Message] = []
        while message.replaces is not None and current and current[-1][0].message_id >= message.replaces:
            older, older_aside = current.pop()
            aside = [*older_aside, older, *aside]
        current.append((message, tuple(aside)))
    return current


@dataclass(frozen=True, slots=True)
class ConversationPart:
    """Which messages of a conversation to read: those with ids from `since` to `up_to` inclusive.

    If given, only the last `newest` or the first `oldest` of them.
    """

    newest: int | None = None
    oldest: int | None = None
    since: int = 0
    up_to: int | None = None

    def of(self, messages: Sequence[Message]) -> list[Message]:
        """Returns this part of a conversation whose messages are all given, in order."""
        within = [
            m for m in messages if self.since <= m.message_id and (self.up_to is None or m.message_id <= self.up_to)
        ]
        return within[: self.oldest] if self.newest is None else within[max(0, len(within) - self.newest) :]


WHOLE = ConversationPart()


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation. Its title is the user's first words unless renamed; `last_said_at` is None while it is empty."""

    conversation_id: str
    owner: str
    title: str
    started_at: datetime
    last_said_at: datetime | None
