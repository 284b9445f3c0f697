"""The file of Milvus Lite: whether it can be read, and how one that cannot is put aside for a new one."""

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
    """Whether SQLite can read every page of it; so can it where there is none. Nobody else may have it open."""
    if not file.exists():
        return True
    try:
        with closing(sqlite3.connect(file)) as database:
            return bool(database.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
    except sqlite3.Error:
        return False


def row_count(file: Path, table: str) -> int | None:
    """How many rows a collection's table holds; None where that cannot be read."""
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as database:
            [(rows,)] = database.execute(f'SELECT COUNT(*) FROM "{table}"')
            return int(rows)
    except sqlite3.Error:
        return None


def put_aside(file: Path) -> Path | None:
    """Give it another name, in place of one put aside before; None where there is nothing. Raises `OSError`."""
    if not os.path.lexists(file):
        return None
    aside = _aside(file)
    if aside.is_dir() and not aside.is_symlink():
        shutil.rmtree(aside)
    os.replace(file, aside)
    for ending in _JOURNALS:  # a new file must not be taken for the one that they belong to
        Path(f"{file}{ending}").unlink(missing_ok=True)
    _log.warning("The index file %s cannot be read; it is put aside as %s.", file, aside.name)
    return aside


def remove_aside(file: Path) -> None:
    """Delete what was put aside: it holds what it held then."""
    aside = _aside(file)
    if aside.is_dir() and not aside.is_symlink():
        shutil.rmtree(aside)
    else:
        aside.unlink(missing_ok=True)


def _aside(file: Path) -> Path:
    return file.with_name(f"{file.stem}{_ASIDE}{file.suffix}")


def bring_back(file: Path, aside: Path) -> None:
    """Undo `put_aside`, as far as that goes."""
    with suppress(OSError):
        os.replace(aside, file)
