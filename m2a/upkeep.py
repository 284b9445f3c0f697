"""Maintenance of the data: its size, its consistency and its index."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select

from m2a.agents.in_thread import in_thread
from m2a.memory.audit import repair, verify
from m2a.memory.schema import conversation, entry, message, outbox, photo
from m2a.memory.stores import Stores
from m2a.reindexing import Reindexing
from m2a.settings import Settings
from m2a.types import DataSize


class Upkeep:
    """The maintenance that the page offers. `rebuild` rebuilds the index; `spawn` starts a background task."""

    def __init__(
        self,
        settings: Settings,
        stores: Stores,
        rebuild: Callable[[Callable[[], bool]], int],
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._settings = settings
        self._stores = stores
        self._rebuild = rebuild
        self._spawn = spawn
        self._reindexing: Reindexing | None = None

    def data_size(self, owner: str) -> DataSize:
        """Returns the owner's record counts and the sizes of the whole data folder."""
        settings, folder = self._settings, self._settings.data_dir
        with self._stores.database.read(owner) as unit:
            conversations, messages, photos = (unit.count(table) for table in (conversation, message, photo))
            memories = unit.count(entry, entry.c.alive)
            waiting = _waiting(unit.connection, unit.owns(outbox))
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

    async def verify(self) -> list[str]:
        """Returns a sentence for every fault in the stores and the index. Changes nothing."""
        return await in_thread(verify, self._stores)

    async def repair(self) -> list[str]:
        """Repairs what can be repaired without losing anything. Returns a sentence for each repair."""
        return await in_thread(repair, self._stores)

    def reindex(self) -> Reindexing:
        """Starts a rebuild of the whole index, or returns the one that is already running."""
        if self._reindexing is None or self._reindexing.done:
            self._reindexing = Reindexing()
            self._spawn(self._reindexing.run(self._rebuild, self._index_backlog))
        return self._reindexing

    def _index_backlog(self) -> int:
        """Returns the number of records, of all owners, that are not up to date in the index."""
        with self._stores.database.snapshot() as connection:
            return _waiting(connection)

    @property
    def is_reindexing(self) -> bool:
        return self._reindexing is not None and not self._reindexing.done

    def cancel_reindexing(self) -> None:
        """Ends a running rebuild after its current batch of records."""
        if self._reindexing is not None:
            self._reindexing.cancel()


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
