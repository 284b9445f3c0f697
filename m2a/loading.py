"""Loads heavy parts in the background while the page is already up. Callers that need one wait for it."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")


class Loading(Generic[T]):
    """A value that loads in its own thread. After a failure, the next `get` tries again."""

    def __init__(self, name: str, load: Callable[[], T]) -> None:
        self.name = name
        self._load = load
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=f"load {name}")
        self._future: Future[T] | None = None
        self._start_lock = threading.Lock()  # several callers after a failure start one new attempt, not several

    def start(self) -> None:
        """Starts loading unless it has already started."""
        with self._start_lock:
            if self._future is None:
                self._future = self._executor.submit(self._load)

    @property
    def done(self) -> bool:
        return self._future is not None and self._future.done()

    @property
    def error(self) -> BaseException | None:
        """The exception of the last attempt, or None if it succeeded or has not finished."""
        return self._future.exception() if self._future is not None and self._future.done() else None

    def get(self) -> T:
        """Waits for the value and returns it. Raises the exception with which loading failed."""
        with self._start_lock:
            if self._future is None or self.error is not None:
                self._future = self._executor.submit(self._load)
            attempt = self._future
        return attempt.result()

    def close(self) -> None:
        """Waits for a running attempt to finish and starts no new one."""
        self._executor.shutdown(wait=True)
