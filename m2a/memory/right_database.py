"""Checks that a database belongs to the photos beside it, because a wrong database would look like an empty memory."""

import sqlite3
from contextlib import closing
from pathlib import Path

from m2a.memory.database import Database, DatabaseError
from m2a.memory.keys import is_owner_key
from m2a.memory.owners import all_owners

_TABLES = {"setting", "owner", "message"}  # in every schema version
_REMEDY = "put the right database back, or set M2A_DATA_DIR to another folder."


def check_file(file: Path, photos: Path) -> None:
    """Checks the file before it is opened, which would create the tables in an empty one. Raises `DatabaseError`."""
    tables = _tables(file)
    if tables is None:
        raise DatabaseError(
            f"The database {file} is damaged (file is not a database); restore it from a backup, or set M2A_DATA_DIR "
            "to another folder."
        )
    if tables and not tables >= _TABLES:
        raise DatabaseError(f"{file} is the database of another application; {_REMEDY}")
    if not tables and _owners_of(photos):
        fault = "is empty" if file.exists() else "is missing"
        raise DatabaseError(f"{file} {fault}, but {photos} contains the photos of a memory; {_REMEDY}")


def check_owners(database: Database, photos: Path, name: str) -> None:
    """Checks that the database knows the owners of all photos. `name` names it in errors. Raises `DatabaseError`."""
    if _owners_of(photos) - set(all_owners(database)):
        raise DatabaseError(f"{name} does not know the owners of the photos in {photos}; {_REMEDY}")


def _owners_of(photos: Path) -> set[str]:
    """Returns the keys of the owners with photos in the folder."""
    try:
        return {folder.name for folder in photos.iterdir() if is_owner_key(folder.name) and any(folder.iterdir())}
    except OSError:
        return set()


def _tables(file: Path) -> set[str] | None:
    """Returns the table names, or None if the file is not a database.

    A damaged or unreadable database passes here, because opening it reports the fault.
    """
    if not file.is_file() or not file.stat().st_size:
        return set()
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as database:
            return {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.OperationalError:
        return set(_TABLES)
    except sqlite3.DatabaseError as error:
        return None if "not a database" in str(error) else set(_TABLES)
