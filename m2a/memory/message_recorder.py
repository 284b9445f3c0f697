"""Stores a message together with its photos, or neither."""

import logging
from collections.abc import Sequence
from datetime import datetime
from itertools import zip_longest

from sqlalchemy.exc import SQLAlchemyError

from m2a.memory import conversations
from m2a.memory.photo_decoder import DecodedPhoto, PhotoRefusedError
from m2a.memory.stores import Stores
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import Message, Photo, Role
from m2a.types.errors import UserError

logger = logging.getLogger(__name__)


class MessageRefusedError(UserError, ValueError):
    """A message cannot be accepted. The error's text tells the user why."""


class MessageRecorder:
    """Stores messages, each in one transaction that commits after the files of its photos are on disk."""

    def __init__(self, stores: Stores) -> None:
        self._database = stores.database
        self._raw = stores.raw
        self._photos = stores.photos

    def record(
        self,
        owner: str,
        conversation_id: str | None,
        *,
        role: Role,
        speaker: str,
        text: str,
        photos: Sequence[bytes],
        photo_names: Sequence[str | None],
        stored_photos: Sequence[str],
        said_at: datetime,
        replaces: int | None,
        reference: str | None,
    ) -> Message:
        """See `MemoryBank.record`."""
        if not text.strip() and not photos and not stored_photos:
            raise MessageRefusedError("The message is empty; write something or add a photo.")
        for photo_id in stored_photos:
            self._photos.get(owner, photo_id)
        decoded = self._decoded(photos, photo_names)
        stored: list[Photo] = []
        try:
            # Files are written after the lock is taken, so that a locked database leaves none behind, and before the rows.
            with self._database.write(owner) as unit:
                for photo in decoded:
                    stored.append(self._photos.write_blob(owner, photo))  # noted one by one, as a later one may fail
                if conversation_id is None:
                    conversation_id = conversations.start(unit, said_at).conversation_id
                if replaces is not None:
                    self._check_replaced(unit, conversation_id, role, replaces)
                for item in stored:
                    self._photos.insert(unit, item)
                return self._raw.append(
                    unit,
                    conversation_id,
                    role=role,
                    speaker=speaker,
                    text=text,
                    photos=[*(item.photo_id for item in stored), *stored_photos],
                    said_at=said_at,
                    replaces=replaces,
                    reference=reference,
                )
        except BaseException:
            self._take_back(owner, stored)
            raise

    def _decoded(self, photos: Sequence[bytes], names: Sequence[str | None]) -> list[DecodedPhoto]:
        decoded: list[DecodedPhoto] = []
        for number, (data, name) in enumerate(zip_longest(photos, names[: len(photos)]), start=1):
            try:
                decoded.append(self._photos.decode(data))
            except PhotoRefusedError as error:
                if len(photos) == 1:
                    raise
                which = f"Photo {number} of {len(photos)}{f' ({name})' if name else ''}"
                raise PhotoRefusedError(f"{which}: {error}") from error
        return decoded

    def _check_replaced(self, unit: UnitOfWork, conversation_id: str, role: Role, message_id: int) -> None:
        replaced = self._raw.get(unit, [message_id]).get(message_id)
        if replaced is None or replaced.conversation_id != conversation_id or replaced.role != role:
            raise MessageRefusedError(
                f"Message {message_id} cannot be replaced, because it is not a {role} message in this conversation."
            )

    def _take_back(self, owner: str, photos: Sequence[Photo]) -> None:
        """Deletes the photo files of a failed transaction, unless other rows use them."""
        if not photos:
            return
        try:
            self._photos.remove_files(owner, [photo.photo_id for photo in photos])
        except (SQLAlchemyError, OSError):  # the caller gets the first error; `m2a repair` removes the files
            logger.warning("The photo files of a refused message could not be removed.", exc_info=True)
