"""How much a memory holds, and what it takes on the disk."""

from pathlib import Path

from sqlalchemy import ColumnElement, Connection, func, select

from m2a.memory.schema import conversation, entry, message, outbox, photo
from m2a.memory.stores import Stores
from m2a.settings import Settings
from m2a.types import DataSize


def data_size(settings: Settings, stores: Stores, owner: str) -> DataSize:
    """The numbers are the owner's, the bytes those of the whole data folder."""
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
    """How many records, of all owners, the index does not have as they are."""
    with stores.database.snapshot() as connection:
        return _waiting(connection)


def _waiting(connection: Connection, *these: ColumnElement[bool]) -> int:
    """A record that changed several times waits once."""
    records = select(outbox.c.owner, outbox.c.record, outbox.c.record_id).where(*these).distinct().subquery()
    return connection.scalar(select(func.count()).select_from(records)) or 0


def _bytes(*paths: Path) -> int:
    """Of the files and of what lies in the folders; a file that goes meanwhile counts nothing."""
    total = 0
    for path in paths:
        for file in path.rglob("*") if path.is_dir() else [path]:
            try:
                total += file.stat().st_size if file.is_file() else 0
            except FileNotFoundError:
                continue
    return total
