"""The captions of an owner's photos: made once per photo, and found with the messages that show it."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from sqlalchemy import Connection, insert, select, update

from m2a.memory.database import chunks
from m2a.memory.schema import message_photo, outbox, photo
from m2a.memory.withheld import forgotten_photos
from m2a.memory.words import finished_words
from m2a.types import Message


def captions_of(connection: Connection, owner: str, photo_ids: Iterable[str]) -> dict[str, str]:
    """The captions that were made of the photos and say something; none of a photo that was forgotten."""
    found: dict[str, str] = {}
    for some in chunks(sorted(set(photo_ids))):
        rows = select(photo.c.photo_id, photo.c.caption).where(
            photo.c.owner == owner, photo.c.photo_id.in_(some), photo.c.caption != ""
        )
        found |= dict(connection.execute(rows).all())
    for photo_id in forgotten_photos(connection, owner, found):
        del found[photo_id]
    return found


def uncaptioned(connection: Connection, owner: str) -> list[str]:
    """The photos that nobody has looked at for a caption yet, the oldest first; none that was forgotten."""
    rows = select(photo.c.photo_id).where(photo.c.owner == owner, photo.c.captioned_by == "")
    found = list(connection.scalars(rows.order_by(photo.c.added_at, photo.c.photo_id)))
    gone = forgotten_photos(connection, owner, found)
    return [photo_id for photo_id in found if photo_id not in gone]


def owners_with_uncaptioned_photos(connection: Connection) -> list[str]:
    return list(connection.scalars(select(photo.c.owner).where(photo.c.captioned_by == "").distinct()))


def set_caption(connection: Connection, owner: str, photo_id: str, caption: str, captioner_id: str) -> None:
    """Keep the caption, "" where there is nothing to say, and have the messages that show the photo indexed with it."""
    this = (photo.c.owner == owner) & (photo.c.photo_id == photo_id)
    connection.execute(update(photo).where(this).values(caption=caption, captioned_by=captioner_id))
    shown_in = select(message_photo.c.message_id).where(
        message_photo.c.owner == owner, message_photo.c.photo_id == photo_id
    )
    rows = [
        {"owner": owner, "record": "message", "record_id": str(message_id)}
        for message_id in connection.scalars(shown_in.distinct())
    ]
    if caption and rows:
        connection.execute(insert(outbox), rows)


def with_captions(connection: Connection, owner: str, messages: Sequence[Message]) -> list[Message]:
    """The messages as they are found: the captions of their photos stand behind their words."""
    captions = captions_of(connection, owner, (photo_id for one in messages for photo_id in one.photos))
    return [
        replace(one, text=" ".join(filter(None, (one.text, *_said_of(one, captions))))) if one.photos else one
        for one in messages
    ]


def showing(connection: Connection, owner: str, query: str, limit: int) -> list[int]:
    """The messages of the user whose photos' captions hold words of the query, most words first, then the newest."""
    wanted = set(finished_words(query))
    captioned = select(photo.c.photo_id, photo.c.caption).where(photo.c.owner == owner, photo.c.caption != "")
    met = {
        photo_id: len(words)
        for photo_id, caption in connection.execute(captioned)
        if (words := wanted & set(finished_words(caption)))
    }
    found: dict[int, int] = {}
    for some in chunks(sorted(met)):
        rows = select(message_photo.c.message_id, message_photo.c.photo_id).where(
            message_photo.c.owner == owner, message_photo.c.photo_id.in_(some)
        )
        for message_id, photo_id in connection.execute(rows):
            found[message_id] = max(found.get(message_id, 0), met[photo_id])
    return sorted(found, key=lambda message_id: (-found[message_id], -message_id))[:limit]


def _said_of(message: Message, captions: dict[str, str]) -> Collection[str]:
    return dict.fromkeys(captions[photo_id] for photo_id in message.photos if photo_id in captions)
