"""Looks after the data: how much there is, whether its parts agree, and the index built anew."""

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
    """The work on the data as a whole that the page offers. `rebuild` builds the index anew, `spawn` runs beside all else."""

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
        """How much the owner's memory holds, and what the data folder takes."""
        return data_size(self._settings, self._stores, owner)

    async def verify(self) -> list[str]:
        """Every fault found in the stores and the index, a sentence each; changes nothing."""
        return await in_thread(verify, self._stores)

    async def repair(self) -> list[str]:
        """Mend what can be mended without losing anything; what was done, a sentence each."""
        return await in_thread(repair, self._stores)

    def reindex(self) -> Reindexing:
        """Begin to build the whole index anew, or join the building that is under way. It goes on whoever follows it."""
        if self._reindexing is None or self._reindexing.done:
            self._reindexing = Reindexing()
            self._spawn(self._reindexing.run(self._rebuild, lambda: index_backlog(self._stores)))
        return self._reindexing

    @property
    def is_reindexing(self) -> bool:
        return self._reindexing is not None and not self._reindexing.done

    def cancel_reindexing(self) -> None:
        """End the building that is under way, if one is, once the records that are being put in are there."""
        if self._reindexing is not None:
            self._reindexing.cancel()
