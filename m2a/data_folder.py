"""The folder that holds the memory. One process owns its index at a time; others reach it through that process."""

import fcntl
import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path


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
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file = open(path / "lock", "a+", encoding="utf-8")
        except OSError as error:
            raise DataFolderError(
                f"The data folder {path} cannot be used: {error.strerror}; set M2A_DATA_DIR."
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            raise DataFolderInUseError(path, holder_of(path)) from error
        os.chmod(path / "lock", 0o600)
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

    def _write(self, holder: Holder) -> None:
        self._file.seek(0)
        self._file.truncate()
        json.dump({"pid": holder.pid, "address": holder.address, "token": holder.token}, self._file)
        self._file.flush()


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
