"""The photos of a temporary chat. They exist only in this process, in addition to the owner's album."""

import hashlib
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from m2a.memory.photo_album import PhotoAlbum
from m2a.memory.photo_decoder import DecodedPhoto
from m2a.memory.photo_store import PhotoNotFoundError
from m2a.memory.stores import Stores
from m2a.types import Message, Photo, Recognition

if TYPE_CHECKING:
    from PIL.Image import Image


class TemporaryAlbum(PhotoAlbum):
    """The photos that the chat's `messages` show or that are attached to the next one, and captions made in the chat.

    The chat belongs to `chat_owner`; stored photos are those of `owner`, whose memory the chat reads.
    """

    def __init__(
        self,
        owner: str,
        stores: Stores,
        clock: Callable[[], datetime],
        chat_owner: str,
        messages: Mapping[int, Message],
    ) -> None:
        super().__init__(owner, stores)
        self._clock = clock
        self._chat_owner = chat_owner
        self._messages = messages
        self._photos: dict[str, DecodedPhoto] = {}
        self._captions: dict[str, str] = {}
        self._attached: list[str] = []
        self.images: dict[str, Image] = {}  # the pixels, by photo id

    @property
    def attached(self) -> tuple[str, ...]:
        """The ids of the photos attached to the next message."""
        return tuple(self._attached)

    def attach(self, data: bytes) -> str:
        """Attaches a photo to the next message. Returns its id. Raises `PhotoRefusedError`."""
        photo_id = self.hold(data)
        if photo_id not in self._attached:
            self._attached.append(photo_id)
        return photo_id

    def detach(self, photo_id: str) -> None:
        """Removes an attached photo; does nothing if it is not attached."""
        if photo_id in self._attached:
            self._attached.remove(photo_id)
            if not any(photo_id in message.photos for message in self._messages.values()):
                del self._photos[photo_id], self.images[photo_id]

    def take_attached(self) -> list[str]:
        """Returns the attached photos, which now belong to a message."""
        attached, self._attached = self._attached, []
        return attached

    def hold(self, data: bytes) -> str:
        """Holds a photo while the chat is open. Returns its id. Raises `PhotoRefusedError`."""
        from PIL import Image

        decoded = self._store.decode(data)
        image = Image.open(io.BytesIO(decoded.data), formats=["JPEG"])
        image.load()
        photo_id = hashlib.sha256(decoded.data).hexdigest()
        self._photos[photo_id], self.images[photo_id] = decoded, image
        return photo_id

    def holds(self, photo_id: str) -> bool:
        return photo_id in self._photos

    def held_captions(self, photo_ids: Sequence[str]) -> dict[str, str]:
        """Returns, by photo id, the captions made in this chat."""
        return {photo_id: self._captions[photo_id] for photo_id in photo_ids if photo_id in self._captions}

    def get(self, photo_id: str) -> Photo:
        photo = self._photos.get(photo_id)
        if photo is None:
            return super().get(photo_id)
        size = (photo.width, photo.height, len(photo.data))
        return Photo(photo_id, self._chat_owner, "image/jpeg", *size, added_at=self._clock())

    def data(self, photo_id: str) -> bytes:
        photo = self._photos.get(photo_id)
        return super().data(photo_id) if photo is None else photo.data

    def path(self, photo_id: str) -> Path:
        if photo_id in self._photos:
            raise PhotoNotFoundError("A photo of a temporary chat has no file.")
        return super().path(photo_id)

    def thumbnail(self, photo_id: str) -> bytes:
        photo = self._photos.get(photo_id)
        return super().thumbnail(photo_id) if photo is None else photo.thumbnail

    def captions(self, photo_ids: Sequence[str]) -> dict[str, str]:
        own = self.held_captions(photo_ids)
        return super().captions([photo_id for photo_id in photo_ids if photo_id not in own]) | own

    def set_caption(self, photo_id: str, caption: str, *, captioner_id: str = "unknown") -> None:
        """Holds a caption while the chat is open, also for a stored photo."""
        self._captions[photo_id] = caption

    def uncaptioned(self) -> list[str]:
        return []

    def recognition(self, photo_id: str, shown: Message) -> Recognition:
        recognition = super().recognition(photo_id, shown)
        if recognition.shown_at is not None:
            return recognition
        earlier = [m for m in self._messages.values() if m.role == "user" and m.message_id < shown.message_id]
        return replace(recognition, shown_at=next((m.said_at for m in earlier if photo_id in m.photos), None))
