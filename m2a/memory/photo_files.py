"""The files of photos: written whole or not at all, for their owner alone to read, and read through no link."""

import errno
import hashlib
import os
import secrets
import stat
from pathlib import Path

UNFINISHED = ".part"

_LARGEST = 20_000_000  # bytes; what is stored stays well below
_SEAL = hashlib.sha256().digest_size


class NotAFileError(OSError):
    """A link, a pipe, a folder, or something too large lies where a photo's file should."""


def read(path: Path) -> bytes:
    """What a plain file holds. Neither it nor its folder may be a link. Raises `OSError`."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        # Without waiting: to open a pipe would, until somebody writes to it.
        file = os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)
    with open(file, "rb") as opened:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            raise NotAFileError(errno.EINVAL, "Not a photo's file", str(path))
        return opened.read(_LARGEST)


def write(path: Path, data: bytes) -> None:
    """All of it or nothing: a temporary file, on disk before it takes its name. Raises `OSError`."""
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
    """Durably, readable to its owner alone."""
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
    """Whether the file holds the photo of that id."""
    try:
        return hashlib.sha256(read(path)).hexdigest() == photo_id
    except OSError:
        return False


def sealed(data: bytes, photo_id: str) -> bytes:
    """A thumbnail as it is stored: an id tells of a photo's bytes, of its thumbnail's this hash after them does."""
    return data + hashlib.sha256(photo_id.encode() + data).digest()


def unsealed(stored: bytes, photo_id: str) -> bytes | None:
    """The thumbnail; None where it is not as it was stored, or of an M2A that sealed none."""
    data = stored[:-_SEAL]
    return data if data and sealed(data, photo_id) == stored else None
