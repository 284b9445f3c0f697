"""Locks on folders that only one process at a time may write to, and atomic writes of files."""

import fcntl
import os
from pathlib import Path

from m2a.types.errors import UserError


class FolderTakenError(UserError):
    """Another process is writing to the folder."""


def lock_folder(path: Path) -> int:
    """Creates the folder if necessary, and locks it until the returned handle is closed or the process ends, however it ends.

    Raises `OSError` if the folder cannot be written to, and `FolderTakenError` if another process has locked it.
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
    """Replaces the file's content atomically, and returns when it is on the disk. Escapes lone surrogates in a text."""
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    unfinished = file.with_name(file.name + ".part")
    with unfinished.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(unfinished, file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
