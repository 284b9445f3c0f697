"""Writes files that other processes may read or write at the same time."""

import os
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Has `write` fill a temporary file, then moves it to `path`. Creates the folder if necessary.

    Two processes may write the same file at once: each moves a complete one, and readers see one or the other.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}-{uuid4().hex}{path.suffix}")
    try:
        write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
