"""The photos of each owner: re-encoded JPEGs named by their content hash, each with a thumbnail and a row.

A file is on disk, complete and under its final name, before its row is written. So a crash can leave a file without a row,
which `remove_unreferenced` deletes, but never a row without its file. Files are deleted and rows written only under the
database's write lock, so that a repair cannot delete a file whose row another process is about to commit.
"""

import hashlib
import io
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import insert, select

from m2a.memory import photo_files
from m2a.memory.database import Database
from m2a.memory.keys import checked_owner, is_owner_key, is_photo_id
from m2a.memory.photo_decoder import DecodedPhoto, PhotoDecoder, bare_jpeg_size
from m2a.memory.photo_decoder_child import thumbnail_of
from m2a.memory.schema import photo as photo_table
from m2a.memory.sql import from_microseconds, to_microseconds
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import Photo
from m2a.types.errors import UserError

if TYPE_CHECKING:
    from PIL.Image import Image

_THUMBNAIL = ".thumbnail.jpg"
_UNFINISHED_AFTER_SECONDS = 600


class PhotoNotFoundError(UserError, LookupError):
    """This owner has no such photo."""


class PhotoDamagedError(UserError, LookupError):
    """The file of a stored photo is missing or was changed, so the photo cannot be read."""


@dataclass(frozen=True, slots=True)
class PhotoAudit:
    """The faults of photos for `m2a verify`: files without a row, and (owner, photo id) pairs with a wrong file."""

    files_without_row: tuple[Path, ...]
    rows_without_file: tuple[tuple[str, str], ...]
    rows_with_damaged_file: tuple[tuple[str, str], ...]
    rows_with_damaged_thumbnail: tuple[tuple[str, str], ...]


class PhotoStore:
    """The photos of all owners, in `folder/<owner>/`. May be used from any thread. `add` is slow (≈ 1 s)."""

    def __init__(
        self, database: Database, folder: Path, clock: Callable[[], datetime], decoder: PhotoDecoder | None = None
    ) -> None:
        self._database = database
        self._folder = folder
        self._clock = clock
        self._decoder = decoder or PhotoDecoder()

    def add(self, owner: str, data: bytes) -> Photo:
        """Stores an untrusted photo; one that is already stored is returned as it is. Raises `PhotoRefusedError`."""
        photo = self.write_blob(owner, data)
        with self._database.write(owner) as unit:
            return self.insert(unit, photo)

    def decode(self, data: bytes) -> DecodedPhoto:
        """Re-encodes a photo as for storage, without storing it. Raises `PhotoRefusedError`."""
        return self._decoder.decode(data)

    def write_blob(self, owner: str, data: bytes | DecodedPhoto) -> Photo:
        """Decodes and re-encodes a photo and writes its files; `insert` then adds its row. Raises `PhotoRefusedError`."""
        folder = self._owner_folder(owner)
        decoded = data if isinstance(data, DecodedPhoto) else self.decode(data)
        photo_id = hashlib.sha256(decoded.data).hexdigest()
        photo_files.make_folder(folder)
        if not photo_files.is_intact(folder / _file_name(photo_id), photo_id):
            photo_files.write(folder / _file_name(photo_id), decoded.data)
        photo_files.write(folder / (photo_id + _THUMBNAIL), photo_files.sealed(decoded.thumbnail, photo_id))
        photo_files.sync_folder(folder)
        return Photo(
            photo_id, owner, "image/jpeg", decoded.width, decoded.height, len(decoded.data), added_at=self._clock()
        )

    def insert(self, unit: UnitOfWork, photo: Photo) -> Photo:
        """Adds the photo's row if there is none, and queues it for the index. Returns the photo as recorded."""
        existing = self._find(unit, photo.photo_id)
        if existing is not None:
            return existing
        if not self._file(photo.owner, photo.photo_id).exists():
            raise PhotoDamagedError(f"The file of photo {photo.photo_id} was removed meanwhile; add the photo again.")
        unit.execute(
            insert(photo_table).values(
                owner=unit.owner,
                photo_id=photo.photo_id,
                media_type=photo.media_type,
                width=photo.width,
                height=photo.height,
                size=photo.size,
                added_at=to_microseconds(photo.added_at),
            )
        )
        unit.queue_for_index("photo", [photo.photo_id])
        return photo

    def get(self, owner: str, photo_id: str) -> Photo:
        """Returns a photo. Raises `PhotoNotFoundError`, also for another owner's photo."""
        with self._database.read(owner) as unit:
            photo = self._find(unit, photo_id)
        if photo is None:
            raise PhotoNotFoundError(f"There is no photo {photo_id!r}.")
        return photo

    def path(self, owner: str, photo_id: str) -> Path:
        """Returns the path of the stored JPEG. To read it, use `data`, which verifies it."""
        path = self._file(owner, self.get(owner, photo_id).photo_id)
        try:
            if stat.S_ISREG(path.lstat().st_mode):
                return path
        except OSError:
            raise _missing(photo_id) from None
        raise _changed(photo_id)

    def data(self, owner: str, photo_id: str) -> bytes:
        """Returns the bytes of the stored JPEG, verified against its id."""
        path = self._file(owner, self.get(owner, photo_id).photo_id)
        try:
            data = photo_files.read(path)
        except FileNotFoundError:
            raise _missing(photo_id) from None
        except OSError as error:
            raise _changed(photo_id) from error
        if hashlib.sha256(data).hexdigest() != photo_id:
            raise _changed(photo_id)
        return data

    def image(self, owner: str, photo_id: str) -> "Image":
        """Returns the pixels in RGB. Decoding in this process is safe, because M2A encoded the bytes and their hash matches."""
        from PIL import Image

        image = Image.open(io.BytesIO(self.data(owner, photo_id)), formats=["JPEG"])
        image.load()
        return image

    def thumbnail(self, owner: str, photo_id: str) -> bytes:
        """Returns a small JPEG of the photo, which is made again if its file is missing or was changed."""
        path = self._thumbnail_file(owner, self.get(owner, photo_id).photo_id)
        with suppress(OSError):
            if (stored := photo_files.unsealed(photo_files.read(path), photo_id)) is not None:
                return stored
        thumbnail = thumbnail_of(self.image(owner, photo_id))
        with suppress(OSError):  # a full disk must not keep anyone from seeing it
            photo_files.write(path, photo_files.sealed(thumbnail, photo_id))
        return thumbnail

    def remove_files(self, owner: str, photo_ids: Iterable[str]) -> None:
        """Deletes the files of those photos that have no row any more. Call it after the transaction that deleted the rows."""
        folder = self._owner_folder(owner)
        with self._database.write(owner) as unit:
            gone = [photo_id for photo_id in photo_ids if self._find(unit, photo_id) is None]
            for photo_id in filter(is_photo_id, gone):
                for name in (_file_name(photo_id), photo_id + _THUMBNAIL):
                    (folder / name).unlink(missing_ok=True)
        if folder.exists():
            photo_files.sync_folder(folder)

    def audit(self) -> PhotoAudit:
        """Compares all files with all rows, reading every photo. May report a photo that is being added right now."""
        files = list(self._files())
        with self._database.snapshot() as connection:
            rows = {tuple(row) for row in connection.execute(select(photo_table.c.owner, photo_table.c.photo_id))}
        missing, damaged, damaged_thumbnails = [], [], []
        for owner, photo_id in sorted(rows):
            path = self._file(owner, photo_id)
            if not os.path.lexists(path):
                missing.append((owner, photo_id))
            elif not photo_files.is_intact(path, photo_id):
                damaged.append((owner, photo_id))
            if not _is_good_thumbnail(self._thumbnail_file(owner, photo_id), photo_id):
                damaged_thumbnails.append((owner, photo_id))
        unreferenced = sorted(path for path in files if (path.parent.name, path.name.partition(".")[0]) not in rows)
        return PhotoAudit(tuple(unreferenced), tuple(missing), tuple(damaged), tuple(damaged_thumbnails))

    def remove_unreferenced(self) -> int:
        """Deletes files without a row, left by crashes. Returns their number. Safe while an app is running."""
        unreferenced = self.audit().files_without_row
        for path in unreferenced:
            if path.name.endswith(photo_files.UNFINISHED):
                path.unlink(missing_ok=True)
            else:
                self.remove_files(path.parent.name, [path.name.partition(".")[0]])
        return sum(not path.exists() for path in unreferenced)

    def remove_damaged_thumbnails(self) -> int:
        """Deletes thumbnails that were changed; they are made again on demand. Returns their number."""
        damaged = self.audit().rows_with_damaged_thumbnail
        for owner, photo_id in damaged:
            self._thumbnail_file(owner, photo_id).unlink(missing_ok=True)
        return len(damaged)

    def _files(self) -> Iterator[Path]:
        """Yields all files except those that are still being written."""
        for folder in self._folder.iterdir() if self._folder.exists() else ():
            if not is_owner_key(folder.name) or folder.is_symlink() or not folder.is_dir():
                continue
            for path in folder.iterdir():
                if not (path.name.endswith(photo_files.UNFINISHED) and _is_fresh(path)):
                    yield path

    def _owner_folder(self, owner: str) -> Path:
        return self._folder / checked_owner(owner)

    def _file(self, owner: str, photo_id: str) -> Path:
        if not is_photo_id(photo_id):
            raise PhotoNotFoundError(f"There is no photo {photo_id!r}.")
        return self._owner_folder(owner) / _file_name(photo_id)

    def _thumbnail_file(self, owner: str, photo_id: str) -> Path:
        return self._file(owner, photo_id).with_name(photo_id + _THUMBNAIL)

    @staticmethod
    def _find(unit: UnitOfWork, photo_id: str) -> Photo | None:
        columns = photo_table.c
        row = unit.execute(
            select(photo_table).where(columns.owner == unit.owner, columns.photo_id == photo_id)
        ).one_or_none()
        if row is None:
            return None
        return Photo(
            row.photo_id, row.owner, row.media_type, row.width, row.height, row.size, from_microseconds(row.added_at)
        )


def _file_name(photo_id: str) -> str:
    return f"{photo_id}.jpg"


def _missing(photo_id: str) -> PhotoDamagedError:
    return PhotoDamagedError(f"The file of photo {photo_id} is missing; send the photo again.")


def _changed(photo_id: str) -> PhotoDamagedError:
    return PhotoDamagedError(f"The file of photo {photo_id} has changed since it was stored; send the photo again.")


def _is_good_thumbnail(path: Path, photo_id: str) -> bool:
    """Returns whether the thumbnail is unchanged, is from an older version of M2A, which added no hash, or does not exist yet."""
    try:
        stored = photo_files.read(path)
        return photo_files.unsealed(stored, photo_id) is not None or bare_jpeg_size(stored) is not None
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False


def _is_fresh(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime < _UNFINISHED_AFTER_SECONDS
    except FileNotFoundError:
        return True
