"""The owners of memories. M2A generates their keys (32 hex digits); their names come from the login."""

from uuid import uuid4

from sqlalchemy import insert, select

from m2a.memory.database import Database
from m2a.memory.schema import owner, pending_update, photo


def owner_named(database: Database, name: str) -> str:
    """Returns the key of the owner with that name, who is created if necessary."""
    with database.transaction() as connection:
        key = connection.scalar(select(owner.c.owner).where(owner.c.name == name))
        if key is None:
            key = uuid4().hex
            connection.execute(insert(owner).values(owner=key, name=name))
        return key


def all_owners(database: Database) -> list[str]:
    """Returns the keys of all owners, ordered by name."""
    with database.snapshot() as connection:
        return list(connection.scalars(select(owner.c.owner).order_by(owner.c.name)))


def owners_with_pending_updates(database: Database) -> list[str]:
    """Returns the owners with pending updates, not counting updates that were set aside."""
    pending = select(pending_update.c.owner).where(~pending_update.c.set_aside).distinct()
    with database.snapshot() as connection:
        return list(connection.scalars(pending))


def owners_with_uncaptioned_photos(database: Database) -> list[str]:
    """Returns the owners of photos that were never captioned."""
    with database.snapshot() as connection:
        return list(connection.scalars(select(photo.c.owner).where(photo.c.captioned_by == "").distinct()))
