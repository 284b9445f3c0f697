"""Faults planted in database, photos and index: `verify` names each, `repair` mends what can be mended."""

import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from m2a.memory.audit import repair, verify
from m2a.memory.index_rows import PhotoRow, TextRow
from m2a.types import RecordKey
from tests.encoders import ColourImageEncoder
from tests.opened_folder import Opened, jpeg, opened

STRAY = f"{'ab' * 32}.jpg"


@pytest.fixture
def memory(folder: Path) -> Iterator[Opened]:
    with opened(folder) as memory:
        yield memory


def unit(dimensions: int) -> np.ndarray:
    return np.full(dimensions, dimensions**-0.5, dtype=np.float32)


def put(memory: Opened, memory_id: int, version: int) -> None:
    memory.index.put(memory.bank.owner, [TextRow(RecordKey("entry", memory_id), version, unit(64), ["drums"])])


def put_photo(memory: Opened) -> None:
    memory.index.put_photos(memory.bank.owner, [PhotoRow("cd" * 32, unit(3), unit(32))])


def first_photo(memory: Opened) -> str:
    return memory.bank.entries()[0].photo_ids[0]


def second_photo(memory: Opened) -> str:
    return memory.bank.entries()[1].photo_ids[0]


def remove_file(memory: Opened) -> None:
    (memory.photos / f"{first_photo(memory)}.jpg").unlink()


def corrupt_file(memory: Opened) -> None:
    path = memory.photos / f"{second_photo(memory)}.jpg"
    path.write_bytes(path.read_bytes()[:-1])


Plant = Callable[[Opened], object]

MENDED: dict[str, tuple[Plant, str]] = {
    "an entry missing in the index": (
        lambda memory: memory.index.delete(memory.bank.owner, [("entry", 1)]),
        "The index is wrong about entry 1: missing.",
    ),
    "a message missing in the index": (
        lambda memory: memory.index.delete(memory.bank.owner, [("message", 2)]),
        "The index is wrong about message 2: missing.",
    ),
    "a photo missing in the index": (
        lambda memory: memory.index.delete_photos(memory.bank.owner, [first_photo(memory)]),
        "The index is wrong about photo {photo}: missing.",
    ),
    "an entry of another version": (lambda memory: put(memory, 2, 7), "The index is wrong about entry 2: stale."),
    "a deleted entry in the index": (lambda memory: put(memory, 5, 1), "The index is wrong about entry 5: extra."),
    "an entry that never was": (lambda memory: put(memory, 99, 1), "The index is wrong about entry 99: extra."),
    "a photo that never was": (put_photo, f"The index is wrong about photo {'cd' * 32}: extra."),
    "a photo file without a row": (
        lambda memory: (memory.photos / STRAY).write_bytes(jpeg("green")),
        f"No message shows the photo file {STRAY}.",
    ),
}

TOLD_ONLY: dict[str, tuple[Plant, str]] = {
    "a photo file removed": (remove_file, "The file of photo {first} is missing."),
    "a photo file corrupted": (corrupt_file, "The file of photo {second} is damaged."),
    "an entry without evidence": (
        lambda memory: memory.sql("DELETE FROM entry_evidence WHERE memory_id = 3"),
        "Memory 3 has no evidence.",
    ),
    "evidence that does not exist": (
        lambda memory: memory.sql("UPDATE entry_evidence SET last_id = 77 WHERE memory_id = 4"),
        "Memory 4 rests on message 77, which does not exist.",
    ),
    "no history": (
        lambda memory: memory.sql("DELETE FROM entry_history WHERE memory_id = 3"),
        "The history of memory 3 lacks its version 1.",
    ),
    "a change without history": (
        lambda memory: memory.sql("DELETE FROM entry_history WHERE memory_id = 5 AND change = 'deleted'"),
        "The history of memory 5 lacks its version 2.",
    ),
    "a memory's photo that is not stored": (
        lambda memory: memory.sql(f"INSERT INTO entry_photo VALUES ('{memory.bank.owner}', 3, 0, '{'ef' * 32}')"),
        f"Memory 3 holds photo {'ef' * 32}, which is not stored.",
    ),
    "a message's photo that is not stored": (
        lambda memory: memory.sql(f"INSERT INTO message_photo VALUES ('{memory.bank.owner}', 3, 0, '{'ef' * 32}')"),
        f"Message 3 shows photo {'ef' * 32}, which is not stored.",
    ),
    "a concept of no memory": (
        lambda memory: memory.sql(f"INSERT INTO entry_concept VALUES ('{memory.bank.owner}', 88, 1)"),
        "A name belongs to memory 88, which does not exist.",
    ),
    "an update of no message": (
        lambda memory: memory.sql(f"INSERT INTO pending_update (owner, message_id) VALUES ('{memory.bank.owner}', 66)"),
        "An update is pending for message 66, which does not exist.",
    ),
}


def test_each_is_named_and_mended(memory):
    before = memory.found()
    for plant, sentence in MENDED.values():
        plant(memory)
        assert verify(memory.stores) == [sentence.format(photo=first_photo(memory))]
        assert repair(memory.stores) in (
            ["Corrected 1 record in the index."],
            ["Removed 1 photo file that no message shows."],
        )
        assert verify(memory.stores) == []
        assert repair(memory.stores) == []
        assert memory.found() == before


def test_all_at_once_are_named_and_mended_together(memory):
    before = memory.found()
    photo = first_photo(memory)
    for plant, _sentence in MENDED.values():
        plant(memory)
    assert sorted(verify(memory.stores)) == sorted(sentence.format(photo=photo) for _plant, sentence in MENDED.values())
    assert repair(memory.stores) == [
        "Removed 1 photo file that no message shows.",
        f"Corrected {len(MENDED) - 1} records in the index.",
    ]
    assert verify(memory.stores) == []
    assert repair(memory.stores) == []
    assert memory.found() == before


def test_what_is_lost_is_named_and_stays_named_while_the_rest_is_mended(memory):
    shown = {"first": first_photo(memory), "second": second_photo(memory)}
    lost = {sentence.format(**shown) for _plant, sentence in TOLD_ONLY.values()}
    mended = [MENDED["an entry missing in the index"], MENDED["an entry that never was"]]
    for plant, _sentence in [*mended, *TOLD_ONLY.values()]:
        plant(memory)
    faults = verify(memory.stores)
    assert set(faults) == lost | {sentence for _plant, sentence in mended} and len(faults) == len(set(faults))
    assert repair(memory.stores) == ["Corrected 2 records in the index."]
    assert set(verify(memory.stores)) == lost
    assert repair(memory.stores) == []


def test_an_update_that_was_set_aside_is_named_and_tried_again(memory):
    bank = memory.bank
    message = bank.record(None, role="user", speaker="Anna", text="The attic has a new window")
    reply = bank.record_reply(
        message.conversation_id, "Noted.", speaker="M2A", steps={}, answers=message.message_id, update_pending=True
    )
    bank.replies.set_aside_update(reply.message_id)
    bank.index()
    assert bank.replies.pending_updates() == []
    assert verify(memory.stores) == [
        f"The update after message {reply.message_id} failed and was set aside; `m2a repair` retries it."
    ]
    assert repair(memory.stores) == ["1 failed update will be tried again at the next turn."]
    assert bank.replies.pending_updates() == [reply.message_id]
    assert verify(memory.stores) == []


def test_a_deleted_index_file_is_named_and_filled_again(folder):
    with opened(folder) as memory:
        before = memory.found()
    (folder / "index.db").unlink()
    with opened(folder) as memory:
        faults = verify(memory.stores)
        assert len(faults) == 10  # four messages, four memories, two photos
        assert all(fault.endswith(": missing.") for fault in faults)
        assert repair(memory.stores) == ["Corrected 10 records in the index."]
        assert verify(memory.stores) == []
        assert memory.found() == before


def test_what_waits_for_the_index_is_no_fault(memory):
    memory.bank.record(None, role="user", speaker="Anna", text="something new")
    assert verify(memory.stores) == []
    assert memory.stores.retrieval().indexer.backlog() == 1  # verify changes nothing


def test_a_damaged_database_is_named_and_no_photo_is_taken_for_a_stray(folder):
    with closing(sqlite3.connect(folder / "memory.db")) as database:
        [(page,)] = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'photo'")
        [(size,)] = database.execute("PRAGMA page_size")
    with open(folder / "memory.db", "r+b") as file:
        file.seek((page - 1) * size)
        file.write(bytes(size))
    with opened(folder) as memory:
        faults = verify(memory.stores)
        assert faults and all(fault.startswith("The database file is damaged; restore it") for fault in faults)
        assert repair(memory.stores) == []
    assert len(list((folder / "photos").rglob("*.jpg"))) == 4


def test_photos_of_another_database_are_left_alone(folder):
    for file in folder.glob("memory.db*"):
        file.unlink()
    with opened(folder) as memory:
        faults = verify(memory.stores)
        assert faults and all("check that it is the right database" in fault for fault in faults)
        assert repair(memory.stores) == []
        assert len(list((folder / "photos").rglob("*.jpg"))) == 4


class StuckEncoder(ColourImageEncoder):
    """Says that it is the photos' turn, and never answers."""

    def encode(self, photos):
        print("half", flush=True)
        time.sleep(60)
        return super().encode(photos)


def rebuild_until_stuck(folder: str) -> None:
    with opened(Path(folder), None, StuckEncoder("another-colour"), discard_mismatch=True) as memory:
        memory.stores.retrieval().indexer.rebuild()


def test_a_reindex_killed_half_way_is_finished_later(folder):
    command = [
        sys.executable,
        "-c",
        "import sys, tests.test_audit as t; t.rebuild_until_stuck(sys.argv[1])",
        str(folder),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "half"
        process.send_signal(signal.SIGKILL)
    with opened(folder, None, ColourImageEncoder("another-colour")) as memory:
        assert memory.stores.retrieval().indexer.backlog() > 0
        hits = memory.found()
        assert verify(memory.stores) == []
        assert memory.stores.retrieval().indexer.backlog() == 0
        assert memory.stores.retrieval().indexer.rebuild() == 10
        assert memory.found() == hits
