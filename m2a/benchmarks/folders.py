"""Folders that one process at a time writes to, and files in them that are written as a whole."""

import fcntl
import os
from pathlib import Path

from m2a.types.errors import UserError


class FolderTakenError(UserError):
    """Another process is writing to the folder."""


def lock_folder(path: Path) -> int:
    """Make the folder if need be, and keep others out until the handle is closed or the process ends, however it ends.

    Raises OSError if the folder cannot be written to, FolderTakenError if another process has it.
    """
    path.mkdir(parents=True, exist_ok=True)
    trial = path / ".writable.part"
    trial.touch()
    trial.unlink(missing_ok=True)
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise FolderTakenError(f"Another process is writing to {path}.") from error
    return handle


def write_whole(file: Path, content: str | bytes) -> None:
    """Replace the file's content, all or nothing; it is on the disk on return. A lone surrogate in a text is escaped."""
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    unfinished = file.with_name(file.name + ".part")
    with unfinished.open("wb") as opened:
        opened.write(data)
        opened.flush()
        os.fsync(opened.fileno())
    os.replace(unfinished, file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
