"""Heavy parts load in the background while the page is up; who needs one waits for it."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")


class Loading(Generic[T]):
    """A value that is being made in a thread of its own. A failed attempt is made again when it is next asked for."""

    def __init__(self, name: str, load: Callable[[], T]) -> None:
        self.name = name
        self._load = load
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=f"load {name}")
        self._future: Future[T] | None = None
        self._beginning = threading.Lock()  # several callers that meet a failed attempt begin one new one

    def start(self) -> None:
        """Begin to load, if that has not begun."""
        with self._beginning:
            if self._future is None:
                self._future = self._executor.submit(self._load)

    @property
    def done(self) -> bool:
        return self._future is not None and self._future.done()

    @property
    def error(self) -> BaseException | None:
        """Why the last attempt failed."""
        return self._future.exception() if self._future is not None and self._future.done() else None

    def get(self) -> T:
        """The value; waits for it, and raises what loading it raised."""
        with self._beginning:
            if self._future is None or self.error is not None:
                self._future = self._executor.submit(self._load)
            attempt = self._future
        return attempt.result()

    def close(self) -> None:
        """Wait for an attempt that is under way; no new one begins by itself."""
        self._executor.shutdown(wait=True)
