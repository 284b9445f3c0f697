"""Space for photos that are attached but not sent yet."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from m2a.types.errors import UserError


class NoRoomError(UserError):
    """An upload is refused; the message is a sentence for the user."""


class Uploads:
    """The upload folder, which never holds more than `quota` bytes: the oldest files make room for new ones."""

    def __init__(self, folder: Path, quota: int) -> None:
        self._folder = folder
        self._quota = quota
        self._incoming: dict[object, tuple[int, float]] = {}  # size in bytes, start time

    @contextmanager
    def room_for(self, size: int) -> Iterator[None]:
        """Reserves that many bytes while an upload comes in. Raises `NoRoomError`."""
        if size > self._quota:
            raise NoRoomError(
                f"Together these photos are larger than {self._quota // 1_000_000} MB. Attach fewer of them at once."
            )
        if size + sum(reserved for reserved, _ in self._incoming.values()) > self._quota:
            raise NoRoomError("Other photos are being uploaded right now. Try again in a moment.")
        key = object()
        self._incoming[key] = (size, time.time())
        try:
            self._make_room()
            yield
        finally:
            del self._incoming[key]

    def _make_room(self) -> None:
        free = self._quota - sum(reserved for reserved, _ in self._incoming.values())
        first_start = min(start for _, start in self._incoming.values())
        files = []
        for path in self._folder.rglob("*"):
            with suppress(OSError):
                stat = path.lstat()
                if not path.is_dir() and stat.st_mtime < first_start:  # newer files may be the incoming uploads
                    files.append((stat.st_mtime, stat.st_size, path))
        used = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if used <= free:
                return
            used -= size
            with suppress(OSError):
                path.unlink()
                path.parent.rmdir()  # Gradio creates a folder for each file
