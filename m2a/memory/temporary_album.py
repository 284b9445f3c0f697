"""The photos of a temporary chat: held in this process, on top of the owner's album, and nowhere else."""

import hashlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
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
    """The photos that `said`, the messages of the chat, show, and those that wait for the next message; captions of any photo.

    `speaks_for` is the owner who sees them; the album below is that of `owner`.
    """

    def __init__(
        self, owner: str, stores: Stores, clock: Callable[[], datetime], speaks_for: str, said: Mapping[int, Message]
    ) -> None:
        super().__init__(owner, stores)
        self._clock = clock
        self._speaks_for = speaks_for
        self._said = said
        self._photos: dict[str, DecodedPhoto] = {}
        self._captions: dict[str, str] = {}
        self._attached: list[str] = []
        self.images: Mapping[str, Image] = _Images(self._photos)

    @property
    def attached(self) -> tuple[str, ...]:
        """The photos that go with the next message."""
        return tuple(self._attached)

    def attach(self, data: bytes) -> str:
        """Take a photo for the next message; its id. Raises `PhotoRefusedError`."""
        photo_id = self.hold(data)
        if photo_id not in self._attached:
            self._attached.append(photo_id)
        return photo_id

    def detach(self, photo_id: str) -> None:
        """Let go of a photo that was attached; nothing where there is no such."""
        if photo_id in self._attached:
            self._attached.remove(photo_id)
            if not any(photo_id in message.photos for message in self._said.values()):
                del self._photos[photo_id]

    def take_attached(self) -> list[str]:
        """The photos that were attached, which go with a message now."""
        taken, self._attached = self._attached, []
        return taken

    def hold(self, data: bytes) -> str:
        """Keep a photo for as long as the chat is open; its id. Raises `PhotoRefusedError`."""
        decoded = self._store.decode(data)
        photo_id = hashlib.sha256(decoded.data).hexdigest()
        self._photos[photo_id] = decoded
        return photo_id

    def holds(self, photo_id: str) -> bool:
        return photo_id in self._photos

    def held_captions(self, photo_ids: Sequence[str]) -> dict[str, str]:
        """The captions that were made in this chat."""
        return {one: self._captions[one] for one in photo_ids if one in self._captions}

    def get(self, photo_id: str) -> Photo:
        held = self._photos.get(photo_id)
        if held is None:
            return super().get(photo_id)
        return Photo(
            photo_id, self._speaks_for, "image/jpeg", held.width, held.height, len(held.data), added_at=self._clock()
        )

    def data(self, photo_id: str) -> bytes:
        held = self._photos.get(photo_id)
        return super().data(photo_id) if held is None else held.data

    def path(self, photo_id: str) -> Path:
        if photo_id in self._photos:
            raise PhotoNotFoundError("A photo of a temporary chat has no file.")
        return super().path(photo_id)

    def thumbnail(self, photo_id: str) -> bytes:
        held = self._photos.get(photo_id)
        return super().thumbnail(photo_id) if held is None else held.thumbnail

    def captions(self, photo_ids: Sequence[str]) -> dict[str, str]:
        here = self.held_captions(photo_ids)
        return super().captions([one for one in photo_ids if one not in here]) | here

    def set_caption(self, photo_id: str, caption: str, *, captioner_id: str = "unknown") -> None:
        """Hold a caption for as long as the chat is open, of a photo of the memory too."""
        self._captions[photo_id] = caption

    def uncaptioned(self) -> list[str]:
        return []

    def recognition(self, photo_id: str, shown: Message) -> Recognition:
        known = super().recognition(photo_id, shown)
        if known.shown_at is not None:
            return known
        earlier = [one for one in self._said.values() if one.role == "user" and one.message_id < shown.message_id]
        return replace(known, shown_at=next((one.said_at for one in earlier if photo_id in one.photos), None))


class _Images(Mapping[str, "Image"]):
    """The photos' pixels, decoded when they are asked for."""

    def __init__(self, photos: Mapping[str, DecodedPhoto]) -> None:
        self._photos = photos
        self._decoded = cache(self._decode)

    def __getitem__(self, photo_id: str) -> "Image":
        return self._decoded(photo_id)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._photos))

    def __len__(self) -> int:
        return len(self._photos)

    def __contains__(self, photo_id: object) -> bool:
        return photo_id in self._photos

    def _decode(self, photo_id: str) -> "Image":
        from PIL import Image

        image = Image.open(io.BytesIO(self._photos[photo_id].data), formats=["JPEG"])
        image.load()
        return image
