"""Folders that only one process at a time may write to, and files of JSON, which are written atomically."""

import fcntl
import json
import os
from pathlib import Path
from typing import Any

from m2a.types.errors import UserError


def lock_folder(path: Path, taken: str, error: type[UserError]) -> int:
    """Creates the folder if necessary, and locks it until the returned handle is closed or the process ends, however it ends.

    Raises `error` if the folder cannot be written to, or, with a sentence that begins with `taken`, if another process has it.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        trial = path / ".writable.part"
        trial.touch()
        trial.unlink(missing_ok=True)
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as failure:
        raise error(f"{path} cannot be written to ({failure.strerror}); name another folder with --out.") from failure
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as failure:
        os.close(handle)
        raise error(f"{taken} {path}; wait for it, or name another folder with --out.") from failure
    return handle


def read_object(file: Path, error: type[UserError], remedy: str) -> dict[str, Any]:
    """Returns the object in a JSON file. Raises `error`, with the remedy, if the file does not hold one."""
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as failure:
        raise error(f"{file} is damaged ({failure}): {remedy}.") from failure
    if not isinstance(value, dict):
        raise error(f"{file} is damaged (not an object): {remedy}.")
    return value


def write_json(file: Path, value: object) -> None:
    """Writes the value as JSON with an indent, atomically."""
    write_whole(file, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


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
