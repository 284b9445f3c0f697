"""The folder that holds the memory. One process at a time owns its index; others go through that process."""

import fcntl
import json
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from m2a.types.errors import UserError

_ATTEMPTS = 40
_PAUSE = 0.05
# The parts of a data folder that M2A writes and that hold text, photos or a key.
_FILES = ("lock", "m2a.toml", "memory.db*", "index.db*", "index.damaged.db", ".index.db.lock")
_FOLDERS = ("photos", "uploads")


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that owns the folder: its id, and its address and token once it serves requests."""

    pid: int
    address: str | None = None
    token: str | None = None


class DataFolderError(UserError):
    """The folder cannot be used. The message says why and what to do."""


class DataFolderInUseError(DataFolderError):
    """Another process owns the folder. `holder` says how to reach it, if known."""

    def __init__(self, folder: Path, holder: Holder | None) -> None:
        process = f"process {holder.pid}" if holder else "another process"
        super().__init__(
            f"The data folder {folder} is in use by {process}; stop it, or set M2A_DATA_DIR to another folder."
        )
        self.holder = holder


class DataFolder:
    """The lock on a data folder. It is released when the process ends, however that happens.

    Uploads that were never sent are deleted on release, or at the next opening if the process was killed.
    """

    def __init__(self, path: Path) -> None:
        """Creates the folder if necessary and locks it. Raises `DataFolderError` and `DataFolderInUseError`."""
        self.path = path
        make_folder(path)
        try:
            self._file = open(path / "lock", "a+", encoding="utf-8", opener=_private)  # noqa: SIM115
            os.chmod(path / "lock", 0o600)
        except OSError as error:
            raise _unusable(path, error) from error
        try:
            self._lock()
        except DataFolderInUseError:
            self._file.close()
            raise
        try:
            self._write(Holder(os.getpid()))
        except OSError as error:
            with suppress(OSError):  # closing tries to write again
                self._file.close()
            raise _unusable(path, error) from error
        self.empty_uploads()

    @property
    def uploads(self) -> Path:
        """The folder of photos that are attached and not sent yet."""
        return self.path / "uploads"

    def serve_at(self, address: str) -> str:
        """Publishes the address of this process for other commands. Returns the token that they must present."""
        token = secrets.token_urlsafe(32)
        self._write(Holder(os.getpid(), address, token))
        return token

    def release(self) -> None:
        if not self._file.closed:
            self.empty_uploads()
            self._file.seek(0)
            self._file.truncate()
            self._file.close()

    def _lock(self) -> None:
        for _attempt in range(_ATTEMPTS):
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError as error:
                holder = holder_of(self.path)
                if holder is not None:
                    raise DataFolderInUseError(self.path, holder) from error
                time.sleep(_PAUSE)  # the holder has just ended or just begun, or another process checks the lock
        raise DataFolderInUseError(self.path, None)

    def empty_uploads(self) -> None:
        """Deletes all attached photos. Those that were not sent yet must be attached again."""
        uploads = self.uploads
        with suppress(OSError):
            if uploads.is_symlink() or uploads.is_file():
                uploads.unlink()
            for item in uploads.iterdir() if uploads.exists() else ():
                if item.is_dir() and not item.is_symlink():
                    shutil.rmtree(item, ignore_errors=True)
                else:
                    item.unlink(missing_ok=True)

    def _write(self, holder: Holder) -> None:
        self._file.seek(0)
        self._file.truncate()
        json.dump(asdict(holder), self._file)
        self._file.flush()


def make_folder(path: Path) -> None:
    """Creates the data folder if necessary and makes it and M2A's files in it private. Raises `DataFolderError`."""
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise _unusable(path, error) from error
    if not path.stat().st_mode & stat.S_ISVTX:  # a shared folder, such as /tmp, stays shared
        _narrow(path, 0o700)
    for item in _ours(path):
        _narrow(item, 0o700 if item.is_dir() else 0o600)


def _ours(folder: Path) -> Iterator[Path]:
    """Yields M2A's own files and folders, without links; the user may keep other things in the data folder."""
    for pattern in _FILES:
        yield from (path for path in folder.glob(pattern) if not path.is_symlink())
    for name in _FOLDERS:
        for parent, _folders, files in os.walk(folder / name):
            yield Path(parent)
            yield from (path for file in files if not (path := Path(parent, file)).is_symlink())


def _narrow(path: Path, mode: int) -> None:
    """Restricts a path that an earlier version, a copy or an unpacked archive left readable to others."""
    with suppress(OSError):
        if stat.S_IMODE(path.stat().st_mode) != mode:
            path.chmod(mode)


def _unusable(path: Path, error: OSError) -> DataFolderError:
    reason = "it is a file" if path.is_file() else error.strerror
    return DataFolderError(f"The data folder {path} cannot be used: {reason}; set M2A_DATA_DIR to another folder.")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def holder_of(path: Path) -> Holder | None:
    """Returns the process that owns the folder, or None if none does or it has only just begun."""
    try:
        with open(path / "lock", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return None
            except BlockingIOError:
                return Holder(**json.loads(file.read()))
    except (OSError, ValueError, TypeError):
        return None
