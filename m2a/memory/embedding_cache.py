"""Caches computed vectors in SQL, so that rebuilds, repeated writes and evaluations encode nothing twice."""

import hashlib
from collections.abc import Callable, Collection, Sequence

import numpy as np
from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from m2a.memory.database import Database
from m2a.memory.schema import embedding
from m2a.memory.sql import chunks
from models.text_encoder import TextEncoder


def content_hash(text: str) -> str:
    """Returns the cache key of a text. The key of a photo is its photo id."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class EmbeddingCache:
    """The `embedding` table. Vectors of deleted content stay until `forget_vectors`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def texts(self, encoder: TextEncoder, texts: Sequence[str]) -> np.ndarray:
        """Returns the vectors of the texts, one row each, in order."""
        return self.vectors(
            encoder.encoder_id,
            encoder.dimensions,
            [content_hash(text) for text in texts],
            lambda missing: encoder.encode([texts[position] for position in missing]),
        )

    def vectors(
        self,
        encoder_id: str,
        dimensions: int,
        hashes: Sequence[str],
        compute: Callable[[list[int]], np.ndarray],
    ) -> np.ndarray:
        """Returns one row per hash. Calls `compute` at most once, with the positions of the hashes that are not cached."""
        cached = self._read(encoder_id, hashes)
        first_position: dict[str, int] = {}
        for position, key in enumerate(hashes):
            if key not in cached:
                first_position.setdefault(key, position)
        if first_position:
            computed = np.asarray(compute(list(first_position.values())), dtype=np.float32)
            if computed.shape != (len(first_position), dimensions):
                raise ValueError(
                    f"Encoder {encoder_id!r} returned vectors of shape {computed.shape}, "
                    f"expected {(len(first_position), dimensions)}."
                )
            new = dict(zip(first_position, computed, strict=True))
            self._write(encoder_id, new)
            cached |= new
        vectors = np.empty((len(hashes), dimensions), dtype=np.float32)
        for position, key in enumerate(hashes):
            vectors[position] = cached[key]
        return vectors

    def missing(self, encoder_id: str, hashes: Sequence[str]) -> set[str]:
        """Returns the hashes that have no cached vector."""
        return set(hashes) - self._read(encoder_id, hashes).keys()

    def _read(self, encoder_id: str, hashes: Sequence[str]) -> dict[str, np.ndarray]:
        vectors: dict[str, np.ndarray] = {}
        with self._database.snapshot() as connection:
            for chunk in chunks(sorted(set(hashes))):
                rows = connection.execute(
                    select(embedding.c.content_hash, embedding.c.vector).where(
                        embedding.c.encoder_id == encoder_id, embedding.c.content_hash.in_(chunk)
                    )
                )
                vectors |= {key: np.frombuffer(vector, dtype="<f4") for key, vector in rows}
        return vectors

    def _write(self, encoder_id: str, vectors: dict[str, np.ndarray]) -> None:
        dialect = sqlite if self._database.is_sqlite else postgresql
        rows = [
            {"content_hash": key, "encoder_id": encoder_id, "vector": vector.astype("<f4").tobytes()}
            for key, vector in vectors.items()
        ]
        with self._database.transaction() as connection:
            connection.execute(dialect.insert(embedding).on_conflict_do_nothing(), rows)


def forget_vectors(connection: Connection, hashes: Collection[str]) -> None:
    """Deletes the vectors of erased content, for all encoders."""
    for chunk in chunks(sorted(set(hashes))):
        connection.execute(delete(embedding).where(embedding.c.content_hash.in_(chunk)))


def keep_only_vectors(connection: Connection, hashes: Collection[str]) -> None:
    """Deletes the vectors of all other content, of all owners."""
    cached = set(connection.scalars(select(embedding.c.content_hash).distinct()))
    forget_vectors(connection, cached.difference(hashes))
