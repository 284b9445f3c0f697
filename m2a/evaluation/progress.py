"""A bar on standard error: what is done, of how much, and how long the rest will take at this pace."""

import sys
import time
from typing import TextIO

_WIDTH = 24
_SECONDS_BETWEEN = 0.2
_LINES = 20  # where nobody watches: so many lines in a run


class Progress:
    """`total` counts messages to take in and questions to ask, `done` those that an earlier start did."""

    def __init__(self, total: int, done: int = 0, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._is_watched = self._stream.isatty()
        self._total = total
        self._done = done
        self._first = done
        self._began = time.monotonic()
        self._shown_at = 0.0
        self._shown = done * _LINES // max(1, total)

    def step(self, what: str, count: int = 1) -> None:
        """So many more are done."""
        self._done += count
        now = time.monotonic()
        part = self._done * _LINES // max(1, self._total)
        is_due = now - self._shown_at >= _SECONDS_BETWEEN if self._is_watched else part > self._shown
        if is_due or self._done >= self._total:
            self._shown_at, self._shown = now, part
            self._write(f"{self._bar()}: {what}")

    def close(self) -> None:
        if self._is_watched:
            print(file=self._stream, flush=True)

    @property
    def seconds_left(self) -> float | None:
        """At the pace so far; None before anything is measured."""
        measured = self._done - self._first
        if measured <= 0:
            return None
        return (time.monotonic() - self._began) / measured * max(0, self._total - self._done)

    def _bar(self) -> str:
        share = self._done / max(1, self._total)
        filled = round(share * _WIDTH)
        left = self.seconds_left
        time_left = "" if left is None else f", {in_words(left)} left"
        return f"[{'=' * filled}{' ' * (_WIDTH - filled)}] {self._done:,} of {self._total:,}{time_left}"

    def _write(self, text: str) -> None:
        if self._is_watched:
            print(f"\r\033[K{text}", end="", file=self._stream, flush=True)
        else:
            print(text, file=self._stream, flush=True)


def in_words(seconds: float) -> str:
    """A span of time as a person says it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
