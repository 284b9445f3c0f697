"""The captions of an owner's photos. Each is made once per photo and indexed with the messages that show it."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from sqlalchemy import select, update

from m2a.memory.schema import message_photo, photo
from m2a.memory.sql import chunks
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.withheld import forgotten_photos
from m2a.memory.words import finished_words
from m2a.types import Message


def captions_of(unit: UnitOfWork, photo_ids: Iterable[str]) -> dict[str, str]:
    """Returns, by photo id, the captions that are not empty, except those of forgotten photos."""
    captions: dict[str, str] = {}
    for chunk in chunks(sorted(set(photo_ids))):
        rows = select(photo.c.photo_id, photo.c.caption).where(
            unit.owns(photo), photo.c.photo_id.in_(chunk), photo.c.caption != ""
        )
        captions |= dict(unit.execute(rows).all())
    for photo_id in forgotten_photos(unit, captions):
        del captions[photo_id]
    return captions


def uncaptioned(unit: UnitOfWork) -> list[str]:
    """Returns the ids of the photos that were never captioned, oldest first, without forgotten ones."""
    rows = select(photo.c.photo_id).where(unit.owns(photo), photo.c.captioned_by == "")
    photo_ids = list(unit.scalars(rows.order_by(photo.c.added_at, photo.c.photo_id)))
    forgotten = forgotten_photos(unit, photo_ids)
    return [photo_id for photo_id in photo_ids if photo_id not in forgotten]


def set_caption(unit: UnitOfWork, photo_id: str, caption: str, captioner_id: str) -> None:
    """Stores the caption, which may be empty, and has the messages that show the photo indexed with it."""
    is_photo = unit.owns(photo) & (photo.c.photo_id == photo_id)
    unit.execute(update(photo).where(is_photo).values(caption=caption, captioned_by=captioner_id))
    shown_in = select(message_photo.c.message_id).where(unit.owns(message_photo), message_photo.c.photo_id == photo_id)
    if caption:
        unit.queue_for_index("message", unit.scalars(shown_in.distinct()))


def with_captions(unit: UnitOfWork, messages: Sequence[Message]) -> list[Message]:
    """Returns the messages as they are indexed, with the captions of their photos appended to their text."""
    captions = captions_of(unit, (photo_id for message in messages for photo_id in message.photos))
    return [
        replace(message, text=" ".join(filter(None, (message.text, *_captions_in(message, captions)))))
        if message.photos
        else message
        for message in messages
    ]


def showing(unit: UnitOfWork, query: str, limit: int) -> list[int]:
    """Returns the ids of messages with photos whose captions contain words of the query, most words first, then newest."""
    query_words = set(finished_words(query))
    captioned = select(photo.c.photo_id, photo.c.caption).where(unit.owns(photo), photo.c.caption != "")
    matches = {
        photo_id: len(words)
        for photo_id, caption in unit.execute(captioned)
        if (words := query_words & set(finished_words(caption)))
    }
    scores: dict[int, int] = {}
    for chunk in chunks(sorted(matches)):
        rows = select(message_photo.c.message_id, message_photo.c.photo_id).where(
            unit.owns(message_photo), message_photo.c.photo_id.in_(chunk)
        )
        for message_id, photo_id in unit.execute(rows):
            scores[message_id] = max(scores.get(message_id, 0), matches[photo_id])
    return sorted(scores, key=lambda message_id: (-scores[message_id], -message_id))[:limit]


def _captions_in(message: Message, captions: dict[str, str]) -> Collection[str]:
    return dict.fromkeys(captions[photo_id] for photo_id in message.photos if photo_id in captions)
