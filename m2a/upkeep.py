"""Maintenance of the data: its size, its consistency and its index."""

from collections.abc import Callable, Coroutine
from typing import Any

from m2a.agents.in_thread import in_thread
from m2a.data_size import data_size, index_backlog
from m2a.memory.audit import repair, verify
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
        """Returns the owner's record counts and the sizes of the data folder."""
        return data_size(self._settings, self._stores, owner)

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
            self._spawn(self._reindexing.run(self._rebuild, lambda: index_backlog(self._stores)))
        return self._reindexing

    @property
    def is_reindexing(self) -> bool:
        return self._reindexing is not None and not self._reindexing.done

    def cancel_reindexing(self) -> None:
        """Ends a running rebuild after its current batch of records."""
        if self._reindexing is not None:
            self._reindexing.cancel()
