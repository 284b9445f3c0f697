"""One process owns a data folder, and others learn how to reach it."""

import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from m2a.data_folder import DataFolder, DataFolderError, DataFolderInUseError, Holder, holder_of
from tests.test_audit import jpeg, opened

HOLD = """
import sys, time
from pathlib import Path
from m2a.data_folder import DataFolder
folder = DataFolder(Path(sys.argv[1]))
print(folder.serve_at("http://127.0.0.1:1"), flush=True)
time.sleep(60)
"""


def test_a_folder_is_made_for_its_owner_alone(tmp_path):
    path = tmp_path / "a" / "b"
    DataFolder(path).release()
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert stat.S_IMODE((path / "lock").stat().st_mode) == 0o600


@pytest.mark.parametrize("before", [False, True])
def test_the_memory_is_readable_to_its_owner_alone_where_the_folder_is_not(tmp_path, before):
    tmp_path.chmod(0o755)
    if before:  # an M2A that did not see to it left them so
        for name in ("memory.db", "index.db"):
            (tmp_path / name).touch(0o644)
    with opened(tmp_path) as memory:
        memory.bank.record(None, role="user", speaker="You", text="hello", photos=[jpeg("red")])
        memory.bank.index()
        files = [path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size]
        assert {path.name for path in files} >= {"memory.db", "memory.db-wal", "index.db"}
        shown = [path for path in files if "photos" not in path.parts and stat.S_IMODE(path.stat().st_mode) != 0o600]
        assert shown == []
    assert stat.S_IMODE((tmp_path / "photos").stat().st_mode) == 0o700


def test_the_token_is_readable_to_its_owner_alone_even_where_the_lock_file_was_not(tmp_path):
    (tmp_path / "lock").touch(0o666)
    folder = DataFolder(tmp_path)
    token = folder.serve_at("http://127.0.0.1:7860")
    assert stat.S_IMODE((tmp_path / "lock").stat().st_mode) == 0o600
    assert json.loads((tmp_path / "lock").read_text())["token"] == token
    assert len(token) >= 32
    folder.release()


def test_a_second_opening_learns_who_has_it_and_how_to_reach_it(tmp_path):
    folder = DataFolder(tmp_path)
    with pytest.raises(DataFolderInUseError) as refused:
        DataFolder(tmp_path)
    assert refused.value.holder == Holder(os.getpid())
    token = folder.serve_at("http://127.0.0.1:7860")
    with pytest.raises(DataFolderInUseError, match=f"in use by process {os.getpid()}") as refused:
        DataFolder(tmp_path)
    assert refused.value.holder == Holder(os.getpid(), "http://127.0.0.1:7860", token)
    assert holder_of(tmp_path) == refused.value.holder


def test_a_released_folder_is_free_and_tells_no_token(tmp_path):
    folder = DataFolder(tmp_path)
    token = folder.serve_at("http://127.0.0.1:7860")
    folder.release()
    folder.release()
    assert token not in (tmp_path / "lock").read_text()
    assert holder_of(tmp_path) is None
    DataFolder(tmp_path).release()


def test_the_lock_goes_with_the_process_however_it_ends(tmp_path):
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        token = process.stdout.readline().strip()
        assert holder_of(tmp_path) == Holder(process.pid, "http://127.0.0.1:1", token)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert holder_of(tmp_path) is None
    DataFolder(tmp_path).release()


def test_looking_who_has_a_free_folder_does_not_keep_it_from_being_opened(tmp_path):
    (tmp_path / "lock").touch()
    with open(tmp_path / "lock") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        threading.Timer(0.1, fcntl.flock, (looking, fcntl.LOCK_UN)).start()
        folder = DataFolder(tmp_path)
        assert holder_of(tmp_path) == Holder(os.getpid())
        folder.release()


@pytest.mark.parametrize("inside", [False, True])
def test_a_file_in_the_folders_place_is_named(tmp_path, inside):
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "data" if inside else tmp_path / "file"
    with pytest.raises(DataFolderError, match=f"{path} cannot be used: .*; set M2A_DATA_DIR"):
        DataFolder(path)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a place where nobody may write")
def test_an_unwritable_place_is_named():
    with pytest.raises(DataFolderError, match="/proc/self/data cannot be used"):
        DataFolder(Path("/proc/self/data"))


def test_nobody_has_a_folder_that_does_not_exist(tmp_path):
    assert holder_of(tmp_path / "nowhere") is None
