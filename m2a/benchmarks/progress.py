"""Progress on standard error: a bar in a terminal, lines elsewhere."""

import sys
from collections.abc import Callable
from datetime import timedelta
from typing import TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar
from rich.text import Text

_MAX_LINES = 20  # printed if standard error is not a terminal
_SPEED_PERIOD = 24 * 3600.0  # seconds; one question may take minutes


class Progress:
    """The progress of a run with `total` steps, of which an earlier start made `done`. `close` removes the bar.

    `cost` returns the cost so far; the bar polls it, because one step may take long.
    """

    def __init__(
        self, total: int, done: int = 0, *, cost: Callable[[], str] = str, stream: TextIO | None = None
    ) -> None:
        self._stream = stream or sys.stderr
        self._cost = cost
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            _Cost(cost),
            TextColumn("{task.description}", markup=False),
        )
        self._bar = Bar(
            *columns,
            console=Console(file=self._stream),
            transient=True,
            refresh_per_second=2,
            speed_estimate_period=_SPEED_PERIOD,
            disable=not self._stream.isatty(),
        )
        self._bar.add_task("", total=total, completed=done)
        [self._task] = self._bar.tasks
        self._printed = done * _MAX_LINES // max(1, total)
        self._bar.start()

    def step(self, what: str, count: int = 1) -> None:
        """Counts finished steps. `what` describes them."""
        self._bar.update(self._task.id, advance=count, description=what)
        done, total = int(self._task.completed), int(self._task.total or 0)
        part = done * _MAX_LINES // max(1, total)
        if self._bar.disable and part > self._printed:
            self._printed = part
            left = self._task.time_remaining
            time_left = f", {timedelta(seconds=left)} left" if left else ""
            cost = f" ({self._cost()})" if self._cost() else ""
            print(f"[{done:,}/{total:,}{time_left}] {what}{cost}", file=self._stream, flush=True)

    def close(self) -> None:
        self._bar.stop()


class _Cost(ProgressColumn):
    def __init__(self, cost: Callable[[], str]) -> None:
        super().__init__()
        self._cost = cost

    def render(self, task: Task) -> Text:
        return Text(self._cost())
