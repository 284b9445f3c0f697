"""Progress on standard error: a bar with the cost so far in a terminal, a line per group elsewhere."""

import sys
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TimeElapsedColumn
from rich.text import Text


class GroupProgress:
    """Counts groups as they are done or set aside. A context manager: the bar is gone when it closes.

    `cost` says what has been spent so far; the bar asks it again and again, for a group may be long under way.
    """

    def __init__(self, total: int, *, cost: Callable[[], str] = str, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._total = total
        self._cost = cost
        self._done = 0
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        if self._stream.isatty():
            columns = ("groups", BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), _Cost(self._cost))
            self._bar = Progress(*columns, console=Console(file=self._stream), transient=True)
            self._bar.add_task("groups", total=self._total)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def done(self, what: str) -> None:
        """One more group is at its end."""
        self._done += 1
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self._done)
        else:
            cost = self._cost()
            print(f"[{self._done}/{self._total}] {what}" + f" ({cost})" * bool(cost), file=self._stream, flush=True)


class _Cost(ProgressColumn):
    def __init__(self, cost: Callable[[], str]) -> None:
        super().__init__()
        self._cost = cost

    def render(self, task: Task) -> Text:
        return Text(self._cost())
