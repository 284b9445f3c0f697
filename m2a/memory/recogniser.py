"""Recognises in photos the things that the owner has named, and pictures that were shown before."""

import logging
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import select

from m2a.memory.database import Database
from m2a.memory.embedding_cache import EmbeddingCache
from m2a.memory.index import MemoryIndex
from m2a.memory.indexer import Indexer
from m2a.memory.photo_store import PhotoDamagedError, PhotoNotFoundError
from m2a.memory.photo_vectors import PhotoVectors
from m2a.memory.recognition import recognise, thresholds_for
from m2a.memory.schema import message, message_photo, withheld_photo
from m2a.memory.sql import from_microseconds, has_row, same_ids
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import Concept, Message, Recognised
from models.image_encoder import ImageEncoder
from models.likeness_encoder import likeness_of

if TYPE_CHECKING:
    from PIL.Image import Image

_NEAREST = 8  # photos that may be the same picture
_NEARLY_SAME = 0.95  # cosine
_SIDE = 24
_SAME_PICTURE = 2.5  # highest mean difference (of 255) at that size; measured: copies up to 1.4, other photos from 6.6

_log = logging.getLogger(__name__)


class Recogniser:
    """Recognises photos of all owners. Thread-safe. The likeness vector of a photo is computed once and cached."""

    def __init__(
        self,
        database: Database,
        photo_image: "Callable[[str, str], Image]",
        photo_vectors: PhotoVectors,
        index: MemoryIndex,
        indexer: Indexer,
        image_encoder: ImageEncoder,
    ) -> None:
        """`photo_image(owner, photo_id)` decodes a photo and raises like `PhotoStore.image`."""
        self._database = database
        self._photo_image = photo_image
        self._index = index
        self._photo_vectors = photo_vectors
        self._indexer = indexer
        self._encoder = likeness_of(image_encoder)
        self._thresholds = thresholds_for(self._encoder.encoder_id)
        self._image_encoder = image_encoder
        self._embeddings = EmbeddingCache(database)
        self._unstored: Mapping[str, Image] = {}

    def with_unstored(self, photos: "Mapping[str, Image]") -> "Recogniser":
        """Returns a recogniser that also knows additional photos, by id, which are not stored, and caches nothing about them."""
        other = copy(self)
        other._unstored = photos
        return other

    def recognise(self, owner: str, photo_id: str, concepts: Sequence[Concept]) -> Recognised | None:
        """Returns which of the owner's concepts the photo shows; see `recognition.recognise`. Damaged photos match nothing."""
        if not any(concept.photo_ids for concept in concepts):
            return None
        photo_ids = {photo_id}
        for concept in concepts:
            photo_ids.update(concept.photo_ids, concept.denied_photo_ids)
        vectors = {other: vector for other in sorted(photo_ids) if (vector := self._likeness(owner, other)) is not None}
        return recognise(photo_id, vectors, concepts, self._thresholds)

    def shown_at(self, owner: str, photo_id: str, shown: Message) -> datetime | None:
        """Returns when the owner first showed this picture, in any encoding, before the message `shown`; None if never.

        If `shown` is an edited message, the message that it replaces does not count.
        """
        with self._database.read(owner) as unit:
            return _first_shown(unit, self._copies(owner, photo_id), shown)

    def _likeness(self, owner: str, photo_id: str) -> np.ndarray | None:
        encoder = self._encoder
        if photo_id in self._unstored:
            unstored: np.ndarray = encoder.encode([self._unstored[photo_id]])[0]
            return unstored

        def encode(_missing: list[int]) -> np.ndarray:
            return encoder.encode([self._photo_image(owner, photo_id)])

        try:
            vector: np.ndarray = self._embeddings.vectors(encoder.encoder_id, encoder.dimensions, [photo_id], encode)[0]
        except (PhotoDamagedError, PhotoNotFoundError, OSError) as error:
            _log.warning("Photo %s cannot be compared: %s", photo_id, error)
            return None
        return vector

    def _copies(self, owner: str, photo_id: str) -> list[str]:
        """Returns the owner's photos that are the same picture, including the photo itself."""
        copies = [photo_id]
        try:
            if photo_id in self._unstored:
                vectors = self._image_encoder.encode([self._unstored[photo_id]])
            else:
                vectors = self._photo_vectors.of(owner, [photo_id])
            hits = self._indexer.when_current(owner, lambda: self._index.search_photos(owner, vectors, _NEAREST))
            others = [hit.photo_id for hit in hits if hit.score >= _NEARLY_SAME and hit.photo_id != photo_id]
            picture = _small(self._image(owner, photo_id)) if others else None
            for other in others:
                if np.abs(_small(self._photo_image(owner, other)) - picture).mean() <= _SAME_PICTURE:
                    copies.append(other)
        except (PhotoDamagedError, PhotoNotFoundError, OSError) as error:
            _log.warning("Photo %s cannot be compared: %s", photo_id, error)
        return copies

    def _image(self, owner: str, photo_id: str) -> "Image":
        return self._unstored[photo_id] if photo_id in self._unstored else self._photo_image(owner, photo_id)


def _small(image: "Image") -> np.ndarray:
    return np.asarray(image.convert("RGB").resize((_SIDE, _SIDE)), dtype=np.float32)


def _first_shown(unit: UnitOfWork, photo_ids: Sequence[str], shown: Message) -> datetime | None:
    row = unit.execute(
        select(message.c.said_at)
        .join(message_photo, same_ids(message_photo, message, "message_id"))
        .where(
            unit.owns(message_photo),
            message_photo.c.photo_id.in_(photo_ids),
            message.c.role == "user",
            message.c.message_id < shown.message_id,
            message.c.message_id != (shown.replaces or 0),
            ~has_row(withheld_photo, message_photo, "message_id", "photo_id"),
        )
        .order_by(message.c.message_id)
        .limit(1)
    ).first()
    return from_microseconds(row.said_at).astimezone(shown.said_at.tzinfo) if row is not None else None
