"""Reads and writes photo files: written completely or not at all, private to their owner, and never read through links."""

import errno
import hashlib
import os
import secrets
import stat
from pathlib import Path

UNFINISHED = ".part"

_LARGEST = 20_000_000  # bytes; stored photos are much smaller
_SEAL = hashlib.sha256().digest_size


class NotAFileError(OSError):
    """A link, a pipe, a folder or a file that is too large is in the place of a photo's file."""


def read(path: Path) -> bytes:
    """Returns the bytes of a plain file. Neither it nor its folder may be a link. Raises `OSError`."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        # Non-blocking, since opening a pipe waits for a writer.
        file = os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)
    with open(file, "rb") as opened:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            raise NotAFileError(errno.EINVAL, "Not a photo's file", str(path))
        return opened.read(_LARGEST)


def write(path: Path, data: bytes) -> None:
    """Writes the file completely or not at all, through a temporary file that is renamed once on disk. Raises `OSError`."""
    unfinished = path.with_name(secrets.token_hex(8) + UNFINISHED)
    try:
        file = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(file, "wb") as opened:
            opened.write(data)
            opened.flush()
            os.fsync(file)
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def make_folder(folder: Path) -> None:
    """Creates a private folder durably, with its parents."""
    if not folder.exists():
        make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
        sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_intact(path: Path, photo_id: str) -> bool:
    """Returns whether the file contains the photo with that id."""
    try:
        return hashlib.sha256(read(path)).hexdigest() == photo_id
    except OSError:
        return False


def sealed(data: bytes, photo_id: str) -> bytes:
    """Returns a thumbnail as stored, followed by a hash, since the photo's id only verifies the photo itself."""
    return data + hashlib.sha256(photo_id.encode() + data).digest()


def unsealed(stored: bytes, photo_id: str) -> bytes | None:
    """Returns the thumbnail, or None if it was changed, or written by an older version of M2A, which added no hash."""
    data = stored[:-_SEAL]
    return data if data and sealed(data, photo_id) == stored else None
