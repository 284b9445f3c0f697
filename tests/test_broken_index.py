"""An index that breaks, while it is open or before, is found by `verify` and built anew from the database by itself."""

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from m2a.memory import lite_file
from m2a.memory.audit import repair, verify
from m2a.memory.milvus import IndexUnavailableError
from tests.opened_folder import Opened
from tests.opened_folder import opened as open_memory

RANDOM = random.Random(20261122)


def overwrite(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.write(RANDOM.randbytes(file.stat().st_size))


def overwrite_places(file: Path) -> None:
    with file.open("r+b") as opened:
        for position in range(0, file.stat().st_size, 8192):
            opened.seek(position)
            opened.write(RANDOM.randbytes(64))


def overwrite_rows(file: Path) -> None:
    """Damages the contents of rows in a file that remains a valid SQLite database."""
    data = file.read_bytes()
    at = -1
    with file.open("r+b") as opened:
        while (at := data.find(b"vector", at + 1)) >= 0:
            opened.seek(at)
            opened.write(RANDOM.randbytes(24))


def empty(file: Path) -> None:
    file.write_bytes(b"")


def replace_by_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


DAMAGES = [overwrite, overwrite_places, overwrite_rows, empty, Path.unlink, replace_by_folder]
Damage = Callable[[Path], None]


def tell(memory: Opened) -> int:
    message = memory.bank.record(None, role="user", speaker="Anna", text="The attic has a new window")
    memory.bank.index()
    return message.message_id


def is_whole(memory: Opened, before: list[list[int]]) -> bool:
    return memory.found() == before and verify(memory.stores) == []


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_broken_before_the_start_is_built_anew(folder: Path, damage: Damage) -> None:
    with open_memory(folder) as memory:
        before = memory.found()
    damage(folder / "index.db")
    with open_memory(folder) as memory:
        assert is_whole(memory, before)


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_breaks_while_it_is_open_is_named_and_mended_and_no_failure_of_a_turn(
    folder: Path, damage: Damage
) -> None:
    with open_memory(folder) as memory:
        before = memory.found()
        damage(folder / "index.db")
        assert verify(memory.stores) != []
        assert repair(memory.stores) != []
        assert is_whole(memory, before)
        damage(folder / "index.db")
        assert memory.stores.retrieval().indexer.rebuild() == 10
        assert is_whole(memory, before)
        damage(folder / "index.db")
        assert memory.found() == before  # a search mends the index as well, so it is damaged last
        tell(memory)
        assert memory.found() == before
    with open_memory(folder) as memory:
        assert is_whole(memory, before)


def test_the_damaged_file_is_put_aside_and_said(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        overwrite(folder / "index.db")
        damaged = (folder / "index.db").read_bytes()
        with open_memory(folder) as memory:
            memory.bank.index()
        assert (folder / "index.damaged.db").read_bytes() == damaged
    assert "cannot be read and is moved aside as index.damaged.db" in caplog.text


def test_one_put_aside_before_stays_where_the_next_cannot_be_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*paths: Path) -> None:
        raise PermissionError

    file, earlier = tmp_path / "index.db", tmp_path / "index.damaged.db"
    file.write_text("second")
    earlier.write_text("first")
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        with pytest.raises(PermissionError):
            lite_file.put_aside(file)
    assert earlier.read_text() == "first"
    assert lite_file.put_aside(file) == earlier and earlier.read_text() == "second"


def test_where_no_file_can_be_opened_the_damaged_one_stays_and_it_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overwrite(folder / "index.db")
    damaged = (folder / "index.db").read_bytes()
    with monkeypatch.context() as patch:
        patch.setenv("BIN_PATH", str(folder))  # where Milvus Lite's program is not
        with pytest.raises(IndexUnavailableError, match="Cannot open the index"), open_memory(folder):
            pass
    assert (folder / "index.db").read_bytes() == damaged


def test_a_search_that_comes_after_the_end_opens_nothing(folder: Path) -> None:
    with open_memory(folder) as memory:
        memory.bank.index()
    with pytest.raises(IndexUnavailableError, match="closed"):
        memory.found()
