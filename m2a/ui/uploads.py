"""Room for photos that are attached and not sent yet."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from m2a.types.errors import UserError


class NoRoomError(UserError):
    """An upload is not taken; the message is a sentence for the user."""


class Uploads:
    """The folder of uploads, in which there are never more than `quota` bytes: the oldest make room for the newest."""

    def __init__(self, folder: Path, quota: int) -> None:
        self._folder = folder
        self._quota = quota
        self._coming: dict[object, tuple[int, float]] = {}  # bytes, and since when

    @contextmanager
    def room_for(self, size: int) -> Iterator[None]:
        """Keeps that many bytes free while an upload comes in. Raises `NoRoomError`."""
        if size > self._quota:
            raise NoRoomError(
                f"These photos have more than {self._quota // 1_000_000} MB together; attach fewer of them at once."
            )
        if size + sum(coming for coming, _ in self._coming.values()) > self._quota:
            raise NoRoomError("Other photos are being uploaded right now; try again in a moment.")
        key = object()
        self._coming[key] = (size, time.time())
        try:
            self._make_room()
            yield
        finally:
            del self._coming[key]

    def _make_room(self) -> None:
        free = self._quota - sum(coming for coming, _ in self._coming.values())
        begun = min(since for _, since in self._coming.values())
        files = []
        for path in self._folder.rglob("*"):
            with suppress(OSError):
                found = path.lstat()
                if not path.is_dir() and found.st_mtime < begun:  # younger ones may be what is coming in
                    files.append((found.st_mtime, found.st_size, path))
        used = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if used <= free:
                return
            used -= size
            with suppress(OSError):
                path.unlink()
                path.parent.rmdir()  # Gradio makes a folder for each
