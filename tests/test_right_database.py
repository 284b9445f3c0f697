"""A database that the photos beside it do not belong to is refused: it would look like an empty memory."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from m2a.memory.database import Database, DatabaseError
from m2a.memory.owners import owner_named
from m2a.settings import load_settings
from m2a.wiring import open_sql_stores
from tests.opened_folder import jpeg


def open_stores(folder: Path, database_url: str | None = None) -> None:
    settings = load_settings(data_dir=folder, database_url=database_url)
    open_sql_stores(settings, lambda: datetime.now(UTC)).database.close()


@pytest.fixture(scope="module")
def filled_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("told")
    stores = open_sql_stores(load_settings(data_dir=folder), lambda: datetime.now(UTC))
    stores.photos.add(owner_named(stores.database, "anna"), jpeg("red"))
    stores.database.close()
    return folder


def empty(file: Path) -> None:
    file.write_bytes(b"")


def of_no_tables(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as database:
        database.execute("VACUUM")


def of_nobody(file: Path) -> None:
    file.unlink()
    Database(f"sqlite:///{file}").close()


def of_somebody_else(file: Path) -> None:
    file.unlink()
    database = Database(f"sqlite:///{file}")
    owner_named(database, "anna")
    database.close()


def of_another_application(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE message (text)")


def no_database(file: Path) -> None:
    file.write_bytes(b"This is a letter. " * 1000)


@pytest.mark.parametrize(
    ("replace", "sentence"),
    [
        (
            empty,
            "memory.db is empty, but .*photos contains the photos of a memory; put the right database back",
        ),
        (Path.unlink, "memory.db is missing, but .*photos contains the photos of a memory; put the right database"),
        (of_no_tables, "memory.db is empty, but .*photos contains the photos of a memory; put the right database"),
        (of_nobody, "memory.db does not know the owners of the photos in .*photos; put the right database"),
        (of_somebody_else, "memory.db does not know the owners of the photos in .*photos; put the right database"),
        (of_another_application, "memory.db is the database of another application; put the right database"),
        (no_database, r"memory.db is damaged \(file is not a database\); restore it from a backup"),
    ],
)
def test_another_database_is_refused_and_left_as_it_is(
    folder: Path, replace: Callable[[Path], None], sentence: str
) -> None:
    file = folder / "memory.db"
    replace(file)
    before = file.read_bytes() if file.exists() else None
    with pytest.raises(DatabaseError, match=sentence):
        open_stores(folder)
    assert before == (file.read_bytes() if file.exists() else None)


def test_its_own_database_opens_and_a_fresh_folder_begins_one(folder: Path, tmp_path: Path) -> None:
    open_stores(folder)
    fresh = tmp_path / "fresh"
    (fresh / "photos").mkdir(parents=True)
    open_stores(fresh)
    open_stores(fresh)
    assert (fresh / "memory.db").stat().st_size > 0


def test_another_application_s_database_is_refused_without_photos_too(tmp_path: Path) -> None:
    of_no_tables_yet = tmp_path / "memory.db"
    of_no_tables_yet.touch()
    of_another_application(of_no_tables_yet)
    with pytest.raises(DatabaseError, match="of another application"):
        open_stores(tmp_path)


def test_a_server_s_database_is_asked_for_its_owners(folder: Path, postgres_url: str) -> None:
    with pytest.raises(DatabaseError, match="M2A_DATABASE_URL does not know the owners of the photos"):
        open_stores(folder, postgres_url)
