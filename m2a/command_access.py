"""Gives commands access to the memory: in this process, through the running app that owns the data folder, or by SQL alone."""

import asyncio
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from m2a.settings import load_settings
from m2a.types.errors import UserError

if TYPE_CHECKING:
    from m2a.assistant import Assistant
    from m2a.memory.bank import MemoryBank

# How long a command waits for another that uses the data folder, or for an app that is starting.
_WAIT_SECONDS = 15

Pieces = Generator[dict[str, Any], None, None]


class CommandError(UserError):
    """The command failed. The message says why."""


def run_command(name: str, **arguments: Any) -> Iterator[dict[str, Any]]:
    """Yields the pieces of one command. If it failed, raises `CommandError` after the last piece."""
    with command_executor() as execute, closing(execute(name, **arguments)) as pieces:
        yield from pieces


@contextmanager
def command_executor() -> Iterator[Callable[..., Pieces]]:
    """Yields a function that executes commands, in this process or in the running app that owns the data folder.

    The function takes a command's name and arguments and yields its pieces. If the command failed, it raises `CommandError`
    after the last piece.
    """
    from m2a.data_folder import DataFolderInUseError
    from m2a.local_api import call

    try:
        assistant = _open_assistant()
    except DataFolderInUseError as error:
        holder = error.holder
        if holder is None or holder.address is None:
            raise
        yield lambda name, **arguments: _raising_failure(call(holder, name, arguments))
        return
    with asyncio.Runner() as runner:
        try:
            yield lambda name, **arguments: _raising_failure(_execute_here(runner, assistant, name, arguments))
        finally:
            runner.run(assistant.close())


def _raising_failure(pieces: Pieces) -> Pieces:
    failure = None
    with closing(pieces):
        for piece in pieces:
            if "error" in piece:
                failure = piece["error"]
            else:
                yield piece
    if failure is not None:
        raise CommandError(failure)


def _open_assistant() -> "Assistant":
    """Returns the assistant once no other command uses the data folder.

    Raises `DataFolderInUseError` at once if an app uses the folder, and after 15 seconds if a command still does.
    """
    from m2a.assistant import Assistant
    from m2a.data_folder import DataFolderInUseError

    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            return Assistant.open(load_settings())
        except DataFolderInUseError as error:
            if (error.holder is not None and error.holder.address is not None) or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _execute_here(runner: asyncio.Runner, assistant: "Assistant", name: str, arguments: dict[str, Any]) -> Pieces:
    """Executes a command without `Assistant.start`: pending updates wait for the next turn, so that `verify` changes nothing."""
    from m2a.commands import COMMANDS

    async def next_piece() -> dict[str, Any] | None:
        return await anext(pieces, None)

    pieces = COMMANDS[name](assistant, **arguments)
    try:
        while (piece := runner.run(next_piece())) is not None:
            yield piece
    finally:
        runner.run(pieces.aclose())


def sql_bank() -> "MemoryBank":
    """Returns the memory without its index, which also works while the app is running."""
    from datetime import datetime

    from m2a.assistant import LOCAL_OWNER
    from m2a.data_folder import make_folder
    from m2a.memory.bank import MemoryBank
    from m2a.memory.owners import owner_named
    from m2a.wiring import open_sql_stores

    settings = load_settings()
    make_folder(settings.data_dir)
    stores = open_sql_stores(settings, lambda: datetime.now().astimezone())
    return MemoryBank(owner_named(stores.database, LOCAL_OWNER), stores, lambda: datetime.now().astimezone())
