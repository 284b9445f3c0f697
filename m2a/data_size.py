"""Measures how much a memory holds and how much disk space it takes."""

from pathlib import Path

from sqlalchemy import ColumnElement, Connection, func, select

from m2a.memory.schema import conversation, entry, message, outbox, photo
from m2a.memory.stores import Stores
from m2a.settings import Settings
from m2a.types import DataSize


def data_size(settings: Settings, stores: Stores, owner: str) -> DataSize:
    """Returns the owner's record counts and the sizes of the whole data folder."""
    folder = settings.data_dir
    with stores.database.read(owner) as unit:
        counts = [unit.count(table) for table in (conversation, message, photo)]
        memories = unit.count(entry, entry.c.alive)
        waiting = _waiting(unit.connection, unit.owns(outbox))
    conversations, messages, photos = counts
    return DataSize(
        str(folder.resolve()),
        conversations,
        messages,
        memories,
        photos,
        _bytes(*folder.glob("memory.db*")) if settings.database_url is None else None,
        _bytes(*folder.glob("index.db*")) if settings.milvus_uri is None else None,
        _bytes(folder / "photos"),
        waiting,
    )


def index_backlog(stores: Stores) -> int:
    """Returns the number of records, of all owners, that are not up to date in the index."""
    with stores.database.snapshot() as connection:
        return _waiting(connection)


def _waiting(connection: Connection, *conditions: ColumnElement[bool]) -> int:
    """Returns the number of queued records, each counted once however often it changed."""
    records = select(outbox.c.owner, outbox.c.record, outbox.c.record_id).where(*conditions).distinct().subquery()
    return connection.scalar(select(func.count()).select_from(records)) or 0


def _bytes(*paths: Path) -> int:
    """Returns the total size of the files, and of all files in the folders; files that disappear meanwhile count as 0."""
    total = 0
    for path in paths:
        for file in path.rglob("*") if path.is_dir() else [path]:
            try:
                total += file.stat().st_size if file.is_file() else 0
            except FileNotFoundError:
                continue
    return total
