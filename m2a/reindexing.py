"""A running rebuild of the index, whose progress any number of callers can follow."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable

from m2a.agents.in_thread import in_thread
from m2a.sentences import known_sentence, log_unexpected, unexpected_sentence

_POLL_SECONDS = 0.25

logger = logging.getLogger(__name__)


class Reindexing:
    """A rebuild runs whether or not anyone follows it. If it is cut short, even by a crash, the next search finishes it.

    `records` is the number of records to index, and `left` the number not indexed yet; a cancelled rebuild leaves some.
    `failure` says why the rebuild failed.
    """

    def __init__(self) -> None:
        self.done = False
        self.records = 0
        self.left = 0
        self.is_cancelled = False
        self.failure: str | None = None

    def cancel(self) -> None:
        """Ends the rebuild after the current batch of records."""
        self.is_cancelled = True

    async def run(self, rebuild: Callable[[Callable[[], bool]], int], backlog: Callable[[], int]) -> None:
        """Runs `rebuild` to its end; `backlog` returns the number of records still to be indexed."""
        building = asyncio.ensure_future(in_thread(rebuild, lambda: self.is_cancelled))
        try:
            is_done = False
            while not is_done:
                await asyncio.wait({building}, timeout=_POLL_SECONDS)
                is_done = building.done()
                self.left = await in_thread(backlog)
                self.records = max(self.records, self.left)
            self.records = building.result()
        except Exception as error:  # the failure goes to whoever follows the rebuild
            log_unexpected(logger, "Rebuilding the index", error)
            self.failure = known_sentence(error) or unexpected_sentence(error)
        finally:
            if not building.done():
                self.cancel()
            building.cancel()  # waits for its thread, so that nothing is written after M2A has closed
            await asyncio.wait({building})
            self.done = True

    async def follow(self) -> AsyncIterator[tuple[int, int]]:
        """Yields (indexed, total) record counts until the rebuild is done; both are 0 before the first count."""
        while not self.done:
            yield self.records - self.left, self.records
            await asyncio.sleep(_POLL_SECONDS)
