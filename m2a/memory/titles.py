"""The titles of conversations: the user's first remaining words without a secret, unless the user has chosen a title."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from sqlalchemy import Row, select, update

from m2a.memory.repetitions import reveals
from m2a.memory.schema import conversation, message, message_photo
from m2a.memory.sensitive import category_of
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.withheld import FORGOTTEN, is_partly_kept_back, is_readable, masked, withheld_from_owner, without_marks
from m2a.memory.words import finished_words
from m2a.types import Category

TITLE_LENGTH = 60
# A title stands open in the list beside the chat.
_SECRET: frozenset[Category] = frozenset(("cards", "secrets", "accounts"))
_FIRST = 20  # messages that are tried for a title


def title_of(text: str, photos: int) -> str:
    """Returns a title from a message of the user, or "" if it contains a secret or nothing to read."""
    words = " ".join(text.split())
    if not words and photos:
        return "A photo" if photos == 1 else f"{photos} photos"
    if not (photos or any(map(str.isalnum, words))) or category_of(words, _SECRET):
        return ""
    return words if len(words) <= TITLE_LENGTH else words[: TITLE_LENGTH - 1].rstrip() + "…"


def titles_by_conversation(unit: UnitOfWork) -> dict[str, str]:
    """Returns, by conversation id, the titles of the owner's conversations."""
    rows = select(conversation.c.conversation_id, conversation.c.title).where(unit.owns(conversation))
    return dict(unit.execute(rows).all())


def automatic_title(unit: UnitOfWork, conversation_id: str) -> str:
    """Returns the title from the user's first readable message that has one, or "" if there is none yet."""
    from_user = unit.owns(message) & (message.c.conversation_id == conversation_id) & (message.c.role == "user")
    first = (
        select(message.c.message_id, message.c.text)
        .where(from_user, is_readable() | is_partly_kept_back())
        .order_by(message.c.message_id)
        .limit(_FIRST)
    )
    return next((title for row in unit.execute(first).all() if (title := _title(unit, row))), "")


def _title(unit: UnitOfWork, row: Row[int, str]) -> str:
    spans, hidden = withheld_from_owner(unit, row.message_id)
    text = without_marks(masked(row.text, spans))
    columns = (message_photo.c.message_id, message_photo.c.photo_id)
    photos = [photo_id for _, photo_id in unit.rows_among(columns, [row.message_id]) if photo_id not in hidden]
    return title_of(text, len(photos))


def with_automatic_title(unit: UnitOfWork, conversation_ids: Collection[str]) -> set[str]:
    """Returns those of the conversations whose title was not chosen by the user, or contains a secret."""
    titles = titles_by_conversation(unit)
    return {
        conversation_id
        for conversation_id in conversation_ids
        if FORGOTTEN in (title := titles.get(conversation_id, ""))
        or category_of(title, _SECRET)
        or title in ("", automatic_title(unit, conversation_id))
    }


@contextmanager
def titles_following(unit: UnitOfWork, message_ids: Collection[int]) -> Iterator[None]:
    """Updates the automatic titles after the block has changed what is readable of the messages."""
    rows = unit.rows_among((message.c.message_id, message.c.conversation_id), message_ids)
    automatic = with_automatic_title(unit, {conversation_id for _, conversation_id in rows})
    yield
    retitle(unit, automatic)


def retitle(unit: UnitOfWork, conversation_ids: Collection[str]) -> None:
    """Gives the conversations their automatic titles."""
    for conversation_id in conversation_ids:
        is_conversation = unit.owns(conversation) & (conversation.c.conversation_id == conversation_id)
        title = automatic_title(unit, conversation_id)
        unit.execute(update(conversation).where(is_conversation, conversation.c.title != title).values(title=title))


def retitle_revealing(unit: UnitOfWork, revealing_words: Collection[str]) -> None:
    """Replaces titles, even those chosen by the user, that contain several of the revealing words or a code among them."""
    revealing = set(revealing_words)
    for conversation_id, title in titles_by_conversation(unit).items() if revealing else ():
        if reveals(revealing.intersection(finished_words(title))):
            retitle(unit, [conversation_id])
