"""Whose memory it is. Keys are made by us (32 hex digits); names come from the login."""

from uuid import uuid4

from sqlalchemy import insert, select

from m2a.memory import photo_captions
from m2a.memory.database import Database
from m2a.memory.schema import owner, pending_update


def owner_named(database: Database, name: str) -> str:
    """The key of the owner of that name, who is made if there is none."""
    with database.transaction() as connection:
        key = connection.scalar(select(owner.c.owner).where(owner.c.name == name))
        if key is None:
            key = uuid4().hex
            connection.execute(insert(owner).values(owner=key, name=name))
        return key


def all_owners(database: Database) -> list[str]:
    """Every owner's key, in the order of the names."""
    with database.snapshot() as connection:
        return list(connection.scalars(select(owner.c.owner).order_by(owner.c.name)))


def owners_with_pending_updates(database: Database) -> list[str]:
    """The owners of whom updates are to be done; those that were set aside do not count."""
    waiting = select(pending_update.c.owner).where(~pending_update.c.set_aside).distinct()
    with database.snapshot() as connection:
        return list(connection.scalars(waiting))


def owners_with_uncaptioned_photos(database: Database) -> list[str]:
    """The owners of photos that nobody has looked at for a caption yet."""
    with database.snapshot() as connection:
        return photo_captions.owners_with_uncaptioned_photos(connection)
