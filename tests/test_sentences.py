"""What stops a machine is told in a sentence; what nobody foresaw goes to the log without anybody's words."""

import errno
import sqlite3
from pathlib import Path

import pytest
from pydantic import BaseModel, Field, ValidationError
from sqlalchemy import create_engine
from sqlalchemy.exc import SQLAlchemyError

from m2a.sentences import known_sentence, location_of


def failing(database: Path, statement: str) -> SQLAlchemyError:
    engine = create_engine(f"sqlite:///{database}", connect_args={"timeout": 0})
    with pytest.raises(SQLAlchemyError) as raised, engine.begin() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()
    return raised.value


def test_a_locked_database_says_who_has_to_end(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "memory.db")
    other.execute("CREATE TABLE said (words)")
    other.execute("BEGIN EXCLUSIVE")
    locked = failing(tmp_path / "memory.db", "INSERT INTO said VALUES ('secret')")
    other.close()
    assert "The database is locked because another program writes to it; close that program" in str(
        known_sentence(locked)
    )


def test_a_full_or_damaged_database_says_what_to_do(tmp_path: Path) -> None:
    made = sqlite3.connect(tmp_path / "memory.db")
    made.execute("CREATE TABLE said (words)")
    made.commit()
    made.close()
    engine = create_engine(f"sqlite:///{tmp_path / 'memory.db'}")
    with pytest.raises(SQLAlchemyError) as raised, engine.begin() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 2")
        connection.exec_driver_sql("INSERT INTO said VALUES (zeroblob(100000))")
    engine.dispose()
    assert known_sentence(raised.value) == "The disk is full; free some space and try again."
    (tmp_path / "memory.db").write_bytes(b"no database" * 1000)
    assert "restore it from a backup" in str(known_sentence(failing(tmp_path / "memory.db", "SELECT * FROM said")))


def test_a_full_disk_is_known_whoever_meets_it() -> None:
    assert (
        known_sentence(OSError(errno.ENOSPC, "No space left on device"))
        == "The disk is full; free some space and try again."
    )


@pytest.mark.parametrize(
    "error",
    [KeyError("secret"), ValueError("secret"), OSError("secret"), ConnectionResetError(errno.ECONNRESET, "secret")],
)
def test_what_nobody_foresaw_is_no_sentence(error: Exception) -> None:
    assert known_sentence(error) is None


def test_the_log_names_the_place_and_not_the_words() -> None:
    class Said(BaseModel):
        words: str = Field(max_length=3)

    try:
        try:
            Said(words="my secret")
        except ValidationError as error:
            raise RuntimeError("my secret too") from error
    except RuntimeError as error:
        place = location_of(error)
    assert place.startswith("RuntimeError at ") and "test_sentences.py" in place and "after ValidationError" in place
    assert "secret" not in place
