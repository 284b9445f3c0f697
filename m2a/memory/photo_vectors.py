"""The vectors of photos, computed once per photo and encoder and cached."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from m2a.memory.database import Database
from m2a.memory.embedding_cache import EmbeddingCache
from m2a.memory.photo_store import PhotoNotFoundError
from m2a.memory.sql import chunks
from m2a.memory.withheld import photos_left
from models.image_encoder import ImageEncoder

if TYPE_CHECKING:
    from PIL.Image import Image

PHOTOS_AT_ONCE = 64  # decoded in memory


class PhotoVectors:
    """Computes and caches the vectors of photos. `photo_image(owner, photo_id)` decodes a photo. Thread-safe."""

    def __init__(self, database: Database, encoder: ImageEncoder, photo_image: "Callable[[str, str], Image]") -> None:
        self._database = database
        self._encoder = encoder
        self._photo_image = photo_image
        self._embeddings = EmbeddingCache(database)

    def of(self, owner: str, photo_ids: Sequence[str]) -> np.ndarray:
        """Returns the vectors of the photos, one row each.

        Raises `PhotoNotFoundError` for a photo of another owner or none, and `PhotoDamagedError`.
        """
        # The cache does not distinguish owners, so check that first.
        with self._database.read(owner) as unit:
            unknown = set(photo_ids) - photos_left(unit, photo_ids)
        if unknown:
            raise PhotoNotFoundError(f"There is no photo {min(unknown)!r}.")
        return self._embeddings.vectors(
            self._encoder.encoder_id,
            self._encoder.dimensions,
            photo_ids,
            lambda missing: self._encode(owner, [photo_ids[position] for position in missing], for_words=False),
        )

    def for_words(self, owner: str, photo_ids: Sequence[str]) -> np.ndarray | None:
        """Returns the vectors of the photos in the space for search by words, or None if that is the space of `of`."""
        if self._encoder.word_dimensions is None:
            return None
        return self._embeddings.vectors(
            f"{self._encoder.encoder_id} for words",
            self._encoder.word_dimensions,
            photo_ids,
            lambda missing: self._encode(owner, [photo_ids[position] for position in missing], for_words=True),
        )

    def missing(self, photo_ids: Sequence[str]) -> set[str]:
        """Returns the photos without a cached vector."""
        return self._embeddings.missing(self._encoder.encoder_id, photo_ids)

    def _encode(self, owner: str, photo_ids: Sequence[str], *, for_words: bool) -> np.ndarray:
        encode = self._encoder.encode_for_words if for_words else self._encoder.encode
        parts = [
            encode([self._photo_image(owner, photo_id) for photo_id in chunk])
            for chunk in chunks(photo_ids, PHOTOS_AT_ONCE)
        ]
        return np.concatenate(parts)
