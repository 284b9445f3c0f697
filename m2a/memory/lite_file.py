"""Checks the file of Milvus Lite, and moves a damaged one aside to make room for a new one."""

import logging
import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

_ASIDE = ".damaged"
_JOURNALS = ("-journal", "-wal", "-shm")

_log = logging.getLogger(__name__)


def is_sound(file: Path) -> bool:
    """Returns whether SQLite can read every page of the file, or there is no file. No other process may have it open."""
    if not file.exists():
        return True
    try:
        with closing(sqlite3.connect(file)) as database:
            return bool(database.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
    except sqlite3.Error:
        return False


def row_count(file: Path, table: str) -> int | None:
    """Returns the number of rows in a collection's table, or None if it cannot be read."""
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as database:
            [(rows,)] = database.execute(f'SELECT COUNT(*) FROM "{table}"')
            return int(rows)
    except sqlite3.Error:
        return None


def put_aside(file: Path) -> Path | None:
    """Moves the file aside, replacing one moved before. Returns its new path, or None if there is no file. Raises `OSError`."""
    if not os.path.lexists(file):
        return None
    aside = _aside(file)
    if _is_folder(aside):  # a file is replaced by the move itself, so that it stays if the move fails
        shutil.rmtree(aside)
    os.replace(file, aside)
    for ending in _JOURNALS:  # SQLite would apply them to the new file of the same name
        Path(f"{file}{ending}").unlink(missing_ok=True)
    _log.warning("The index file %s cannot be read and is moved aside as %s.", file, aside.name)
    return aside


def remove_aside(file: Path) -> None:
    """Deletes the file that was moved aside, which still contains its old data."""
    aside = _aside(file)
    if _is_folder(aside):
        shutil.rmtree(aside)
    else:
        aside.unlink(missing_ok=True)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _aside(file: Path) -> Path:
    return file.with_name(f"{file.stem}{_ASIDE}{file.suffix}")


def bring_back(file: Path, aside: Path) -> None:
    """Undoes `put_aside` as far as possible."""
    with suppress(OSError):
        os.replace(aside, file)
