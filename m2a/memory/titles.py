"""The titles of conversations: the first words by the user that are left, as long as the user chooses no other."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from sqlalchemy import select, update

from m2a.memory.repetitions import is_code
from m2a.memory.schema import conversation, message, message_photo
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.withheld import FORGOTTEN, is_partly_kept_back, is_readable, masked, withheld_from_owner, without_marks
from m2a.memory.words import finished_words

TITLE_LENGTH = 60
_FEW = 2  # telling words in one title: it is about what they tell


def title_of(text: str, photos: int) -> str:
    """A conversation's title, from its first message by the user."""
    words = " ".join(text.split())
    if not words:
        return "A photo" if photos == 1 else f"{photos} photos"
    return words if len(words) <= TITLE_LENGTH else words[: TITLE_LENGTH - 1].rstrip() + "…"


def titles_by_conversation(unit: UnitOfWork) -> dict[str, str]:
    """The titles of all conversations of the owner."""
    rows = select(conversation.c.conversation_id, conversation.c.title).where(unit.owns(conversation))
    return dict(unit.execute(rows).all())


def automatic_title(unit: UnitOfWork, conversation_id: str) -> str:
    """Of the first message by the user of which its owner is shown anything; "" where there is none: the next one gives it."""
    its = unit.owns(message) & (message.c.conversation_id == conversation_id) & (message.c.role == "user")
    first = (
        select(message.c.message_id, message.c.text)
        .where(its, is_readable() | is_partly_kept_back())
        .order_by(message.c.message_id)
        .limit(1)
    )
    row = unit.execute(first).one_or_none()
    if row is None:
        return ""
    spans, hidden = withheld_from_owner(unit, [row.message_id])
    text = without_marks(masked(row.text, spans.get(row.message_id, ())))
    columns = (message_photo.c.message_id, message_photo.c.photo_id)
    photos = [one for one in unit.rows_among(columns, [row.message_id]) if tuple(one) not in hidden]
    return title_of(text, len(photos)) if photos or any(map(str.isalnum, text)) else ""


def with_automatic_title(unit: UnitOfWork, conversation_ids: Collection[str]) -> set[str]:
    """Those of the conversations that have a title which the user did not choose."""
    titles = titles_by_conversation(unit)
    return {
        one
        for one in conversation_ids
        if FORGOTTEN in titles.get(one, "") or titles.get(one) in ("", automatic_title(unit, one))
    }


@contextmanager
def titles_following(unit: UnitOfWork, message_ids: Collection[int]) -> Iterator[None]:
    """Has the titles tell no more than the messages do after the block, where the user chose no other."""
    rows = unit.rows_among((message.c.message_id, message.c.conversation_id), message_ids)
    automatic = with_automatic_title(unit, {conversation_id for _, conversation_id in rows})
    yield
    retitle(unit, automatic)


def retitle(unit: UnitOfWork, conversation_ids: Collection[str]) -> None:
    """Give the conversations the title that follows from their messages."""
    for one in conversation_ids:
        this = unit.owns(conversation) & (conversation.c.conversation_id == one)
        title = automatic_title(unit, one)
        unit.execute(update(conversation).where(this, conversation.c.title != title).values(title=title))


def retitle_telling(unit: UnitOfWork, telling: Collection[str]) -> None:
    """Take titles away, the user's own too, that tell by several of the words, or by a number among them."""
    wanted = set(telling)
    for conversation_id, title in titles_by_conversation(unit).items() if wanted else ():
        shared = wanted.intersection(finished_words(title))
        if len(shared) >= _FEW or any(map(is_code, shared)):
            retitle(unit, [conversation_id])
