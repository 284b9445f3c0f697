"""A folder that one process at a time writes to: a set that is being made, or a run on one."""

import fcntl
import os
from pathlib import Path

from m2a.types.errors import UserError


class FolderTakenError(UserError):
    """Another process is at work in the folder."""


def lock_folder(path: Path) -> int:
    """Make the folder if need be, and keep others out until the handle is closed or the process ends, however it may.

    Raises OSError where the folder cannot be written to, FolderTakenError where another process has it.
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
        raise FolderTakenError(f"Another process is at work in {path}.") from error
    return handle
