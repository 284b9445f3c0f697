"""The folder that holds the memory. One process owns its index at a time; others reach it through that process."""

import fcntl
import json
import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

_ATTEMPTS = 40
_PAUSE = 0.05


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that owns the folder: its number, and its address and token once it serves."""

    pid: int
    address: str | None = None
    token: str | None = None


class DataFolderError(Exception):
    """The folder cannot be used; the message says why and what to do."""


class DataFolderInUseError(DataFolderError):
    """Another process owns the folder. `holder` says how to reach it, where that is known."""

    def __init__(self, folder: Path, holder: Holder | None) -> None:
        process = f"process {holder.pid}" if holder else "another process"
        super().__init__(
            f"The data folder {folder} is in use by {process}; stop it, or set M2A_DATA_DIR to another folder."
        )
        self.holder = holder


class DataFolder:
    """The lock on a data folder. It goes with the process, however that ends."""

    def __init__(self, path: Path) -> None:
        """Make the folder if need be and take it over. Raises `DataFolderError`, `DataFolderInUseError`."""
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
        self._write(Holder(os.getpid()))

    def serve_at(self, address: str) -> str:
        """Tell other commands where this process answers; returns the token that they must show."""
        token = secrets.token_urlsafe(32)
        self._write(Holder(os.getpid(), address, token))
        return token

    def release(self) -> None:
        if not self._file.closed:
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
                time.sleep(_PAUSE)  # it has just ended, has just begun, or somebody looks who holds it
        raise DataFolderInUseError(self.path, None)

    def _write(self, holder: Holder) -> None:
        self._file.seek(0)
        self._file.truncate()
        json.dump({"pid": holder.pid, "address": holder.address, "token": holder.token}, self._file)
        self._file.flush()


def make_folder(path: Path) -> None:
    """Make the data folder, readable to its owner alone, if need be. Raises `DataFolderError`."""
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise _unusable(path, error) from error


def _unusable(path: Path, error: OSError) -> DataFolderError:
    reason = "it is a file" if path.is_file() else error.strerror
    return DataFolderError(f"The data folder {path} cannot be used: {reason}; set M2A_DATA_DIR to another folder.")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def holder_of(path: Path) -> Holder | None:
    """The process that owns the folder, None where none does (or it has only just begun)."""
    try:
        with open(path / "lock", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return None
            except BlockingIOError:
                return Holder(**json.loads(file.read()))
    except (OSError, ValueError, TypeError):
        return None
