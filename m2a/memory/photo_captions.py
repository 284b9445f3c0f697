"""The captions of an owner's photos: made once per photo, and found with the messages that show it."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from sqlalchemy import Connection, select, update

from m2a.memory.schema import message_photo, photo
from m2a.memory.sql import chunks
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.withheld import forgotten_photos
from m2a.memory.words import finished_words
from m2a.types import Message


def captions_of(unit: UnitOfWork, photo_ids: Iterable[str]) -> dict[str, str]:
    """The captions that were made of the photos and say something; none of a photo that was forgotten."""
    found: dict[str, str] = {}
    for some in chunks(sorted(set(photo_ids))):
        rows = select(photo.c.photo_id, photo.c.caption).where(
            unit.owns(photo), photo.c.photo_id.in_(some), photo.c.caption != ""
        )
        found |= dict(unit.execute(rows).all())
    for photo_id in forgotten_photos(unit, found):
        del found[photo_id]
    return found


def uncaptioned(unit: UnitOfWork) -> list[str]:
    """The photos that nobody has looked at for a caption yet, the oldest first; none that was forgotten."""
    rows = select(photo.c.photo_id).where(unit.owns(photo), photo.c.captioned_by == "")
    found = list(unit.scalars(rows.order_by(photo.c.added_at, photo.c.photo_id)))
    gone = forgotten_photos(unit, found)
    return [photo_id for photo_id in found if photo_id not in gone]


def owners_with_uncaptioned_photos(connection: Connection) -> list[str]:
    return list(connection.scalars(select(photo.c.owner).where(photo.c.captioned_by == "").distinct()))


def set_caption(unit: UnitOfWork, photo_id: str, caption: str, captioner_id: str) -> None:
    """Keep the caption, "" where there is nothing to say, and have the messages that show the photo indexed with it."""
    this = unit.owns(photo) & (photo.c.photo_id == photo_id)
    unit.execute(update(photo).where(this).values(caption=caption, captioned_by=captioner_id))
    shown_in = select(message_photo.c.message_id).where(unit.owns(message_photo), message_photo.c.photo_id == photo_id)
    if caption:
        unit.tell_index("message", unit.scalars(shown_in.distinct()))


def with_captions(unit: UnitOfWork, messages: Sequence[Message]) -> list[Message]:
    """The messages as they are found: the captions of their photos stand behind their words."""
    captions = captions_of(unit, (photo_id for one in messages for photo_id in one.photos))
    return [
        replace(one, text=" ".join(filter(None, (one.text, *_said_of(one, captions))))) if one.photos else one
        for one in messages
    ]


def showing(unit: UnitOfWork, query: str, limit: int) -> list[int]:
    """The messages of the user whose photos' captions hold words of the query, most words first, then the newest."""
    wanted = set(finished_words(query))
    captioned = select(photo.c.photo_id, photo.c.caption).where(unit.owns(photo), photo.c.caption != "")
    met = {
        photo_id: len(words)
        for photo_id, caption in unit.execute(captioned)
        if (words := wanted & set(finished_words(caption)))
    }
    found: dict[int, int] = {}
    for some in chunks(sorted(met)):
        rows = select(message_photo.c.message_id, message_photo.c.photo_id).where(
            unit.owns(message_photo), message_photo.c.photo_id.in_(some)
        )
        for message_id, photo_id in unit.execute(rows):
            found[message_id] = max(found.get(message_id, 0), met[photo_id])
    return sorted(found, key=lambda message_id: (-found[message_id], -message_id))[:limit]


def _said_of(message: Message, captions: dict[str, str]) -> Collection[str]:
    return dict.fromkeys(captions[photo_id] for photo_id in message.photos if photo_id in captions)
