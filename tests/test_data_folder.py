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

from m2a.data_folder import DataFolder, DataFolderError, DataFolderInUseError, Holder, holder_of, make_folder
from tests.opened_folder import jpeg, opened


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


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
            (tmp_path / name).touch()
            (tmp_path / name).chmod(0o644)
    with opened(tmp_path) as memory:
        memory.bank.record(None, role="user", speaker="You", text="hello", photos=[jpeg("red")])
        memory.bank.index()
        items = list(tmp_path.rglob("*"))
        assert {path.name for path in items} >= {"memory.db", "memory.db-wal", "index.db", "photos"}
        assert {path: mode for path in items if (mode := mode_of(path)) != (0o700 if path.is_dir() else 0o600)} == {}


def test_what_others_could_read_they_can_read_no_longer(tmp_path):
    """Of the folder that an earlier M2A left; what is not ours stays as it is, as does what a link leads to."""
    ours = ["memory.db", "memory.db-wal", "index.db", ".index.db.lock", "m2a.toml", "photos/a/b.jpg", "uploads/c/d.png"]
    for name in [*ours, "letter.txt", "mine/memory.db"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o644)  # whatever the umask is
    (tmp_path / "photos" / "link.jpg").symlink_to(tmp_path / "letter.txt")
    tmp_path.chmod(0o755)
    make_folder(tmp_path)
    assert [name for name in ours if mode_of(tmp_path / name) != 0o600] == []
    folders = [tmp_path, *(tmp_path / name for name in ("photos", "photos/a", "uploads", "uploads/c"))]
    assert [folder for folder in folders if mode_of(folder) != 0o700] == []
    assert mode_of(tmp_path / "letter.txt") == mode_of(tmp_path / "mine/memory.db") == 0o644


def test_a_folder_for_everybody_stays_one(tmp_path):
    tmp_path.chmod(0o1777)
    make_folder(tmp_path)
    assert mode_of(tmp_path) == 0o1777


def test_what_was_uploaded_and_never_sent_is_gone_after_a_crash(tmp_path):
    photo, other = tmp_path / "uploads" / "hash" / "gps.jpg", tmp_path / "other.jpg"
    photo.parent.mkdir(parents=True)
    photo.write_bytes(jpeg("red"))
    other.touch()
    (tmp_path / "uploads" / "link").symlink_to(other)
    folder = DataFolder(tmp_path)
    assert list((tmp_path / "uploads").iterdir()) == [] and other.exists()
    photo.parent.mkdir()
    photo.touch()
    with pytest.raises(DataFolderInUseError):
        DataFolder(tmp_path)
    assert photo.exists()
    folder.release()
    assert not photo.exists()


def test_where_nothing_can_be_written_it_is_a_sentence(tmp_path):
    (tmp_path / "lock").touch()
    code = (
        "import resource, sys; from pathlib import Path; from m2a.data_folder import *\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"  # as a full disk does it, no byte goes into a file
        "try: DataFolder(Path(sys.argv[1]))\n"
        "except DataFolderError as error: print(error)"
    )
    output = subprocess.check_output([sys.executable, "-c", code, str(tmp_path)], text=True)
    assert output == f"The data folder {tmp_path} cannot be used: File too large; set M2A_DATA_DIR to another folder.\n"


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
