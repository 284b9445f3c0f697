"""The conversations in the raw log. A conversation is removed together with its last message."""

from collections.abc import Collection
from datetime import datetime
from uuid import uuid4

from sqlalchemy import delete, func, insert, select, update

from m2a.memory.schema import conversation, message
from m2a.memory.sql import from_microseconds, to_microseconds
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import Conversation
from m2a.types.errors import UserError


class UnknownConversationError(UserError, LookupError):
    """The conversation does not exist or belongs to another owner."""


def start(unit: UnitOfWork, started_at: datetime, *, title: str = "") -> Conversation:
    """Begins a conversation. Without a title, the user's first message provides it."""
    conversation_id = uuid4().hex
    unit.execute(
        insert(conversation).values(
            owner=unit.owner, conversation_id=conversation_id, title=title, started_at=to_microseconds(started_at)
        )
    )
    return Conversation(conversation_id, unit.owner, title, started_at, None)


def rename(unit: UnitOfWork, conversation_id: str, title: str) -> None:
    """Renames a conversation. Raises `UnknownConversationError`."""
    is_conversation = (unit.owns(conversation), conversation.c.conversation_id == conversation_id)
    if not unit.execute(update(conversation).where(*is_conversation).values(title=title)).rowcount:
        raise UnknownConversationError(f"There is no conversation {conversation_id!r}.")


def titled(unit: UnitOfWork, title: str) -> str | None:
    """Returns the id of the newest conversation with that title, if there is one."""
    conversation_id: str | None = unit.scalar(
        select(conversation.c.conversation_id)
        .where(unit.owns(conversation), conversation.c.title == title)
        .order_by(conversation.c.started_at.desc())
        .limit(1)
    )
    return conversation_id


def listed(unit: UnitOfWork) -> list[Conversation]:
    """Returns the owner's conversations that have a message, most recently used first."""
    last = func.max(message.c.said_at).label("last")
    rows = unit.execute(
        select(conversation, last)
        .join(message, message.c.conversation_id == conversation.c.conversation_id)
        .where(unit.owns(conversation), unit.owns(message))
        .group_by(conversation.c.conversation_id)
        .order_by(last.desc())
    )
    return [
        Conversation(
            row.conversation_id,
            unit.owner,
            row.title,
            from_microseconds(row.started_at),
            from_microseconds(row.last),
        )
        for row in rows
    ]


def exists(unit: UnitOfWork, conversation_id: str) -> bool:
    return unit.count(conversation, conversation.c.conversation_id == conversation_id) > 0


def remove_empty(unit: UnitOfWork, conversation_ids: Collection[str]) -> set[str]:
    """Removes those of the conversations that have no messages left. Returns their ids."""
    emptied = set()
    for conversation_id in conversation_ids:
        remaining = unit.owns(message) & (message.c.conversation_id == conversation_id)
        if unit.scalar(select(func.min(message.c.message_id)).where(remaining)) is None:
            is_conversation = unit.owns(conversation) & (conversation.c.conversation_id == conversation_id)
            unit.execute(delete(conversation).where(is_conversation))
            emptied.add(conversation_id)
    return emptied
