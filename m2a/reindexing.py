"""The index being built anew, with its progress, for any number of followers."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable

from m2a.agents.in_thread import in_thread
from m2a.sentences import failure_sentence, log_unforeseen

_LOOK_EVERY = 0.25  # seconds

logger = logging.getLogger(__name__)


class Reindexing:
    """Runs whether anybody follows it or not. Ended half-way, by a crash too, the next search finishes it.

    `records` is how many records the index is to hold, and `left` how many of them are not in it yet; once it is `done`, some
    are left where it was cancelled. `failure` says why it could not be built.
    """

    def __init__(self) -> None:
        self.done = False
        self.records = 0
        self.left = 0
        self.is_cancelled = False
        self.failure: str | None = None

    def cancel(self) -> None:
        """End it, once the records that are being put in are there."""
        self.is_cancelled = True

    async def run(self, rebuild: Callable[[Callable[[], bool]], int], backlog: Callable[[], int]) -> None:
        """Build it: `backlog` tells how many records are still to be done."""
        building = asyncio.ensure_future(in_thread(rebuild, lambda: self.is_cancelled))
        try:
            is_done = False
            while not is_done:
                await asyncio.wait({building}, timeout=_LOOK_EVERY)
                is_done = building.done()
                self.left = await in_thread(backlog)
                self.records = max(self.records, self.left)
            self.records = building.result()
        except Exception as error:  # the index stays as it was, and who asked for it is told why
            log_unforeseen(logger, "Building the index anew", error)
            self.failure = failure_sentence(error)
        finally:
            if not building.done():
                self.cancel()
            building.cancel()  # it ends with its thread: nothing is written after M2A was closed
            await asyncio.wait({building})
            self.done = True

    async def follow(self) -> AsyncIterator[tuple[int, int]]:
        """How many records are done, of how many, as it goes on; nothing is known before the first are."""
        while not self.done:
            yield self.records - self.left, self.records
            await asyncio.sleep(_LOOK_EVERY)
