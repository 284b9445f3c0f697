"""The one retrieval of the product: three paths, each checked against SQL, fused."""

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from m2a.memory.floor import NO_FLOOR, floor_of
from m2a.memory.milvus import IndexUnavailableError
from m2a.memory.ranking.learned_ranking import on_one_thread
from m2a.memory.search import Scope, Searches, SearchParts
from m2a.types import Hit, Query, RecordKind

if TYPE_CHECKING:
    from PIL.Image import Image


class Retriever:
    """Tri-path retrieval (M2A, section 3.3). Safe to call from threads. `Retrieval.open` creates one.

    Dense: the cosine of the query's words to text and caption. BM25: their finished words. Photo: with query photos, the
    nearest photos; without, the photos that the words describe. A photo stands for the records that contain it, the best
    photo first.

    As published (`fusion = "paper"`), the best ten of each path that SQL confirms (this owner's, this version, alive) are
    fused by reciprocal rank, k = 60. With a `ranking` (`fusion = "best"`), more hits of the two text paths are ordered by it
    and then merged with the photos.

    Without a ranking, the relevance floor applies to each record. With one, it applies to the question: if no record is near
    on any path, and no name of the question is known, nothing is found; otherwise the ranking chooses from all hits. A query
    photo still finds only photos at most 0.1 below the floor, because every photo has nearest neighbours, even one of a
    stranger; with an encoder whose floor was not measured (`floor_of`), every photo has to be above it.
    """

    def __init__(
        self,
        parts: SearchParts,
        *,
        relevance_floor: bool,
        photo_floor: float | None = None,
        photo_words_floor: float | None = None,
    ) -> None:
        self._parts = parts
        self._measured = floor_of(
            parts.text_encoder.encoder_id,
            parts.image_encoder.encoder_id,
            by_question=parts.ranking is not None,
            photo_floor=photo_floor,
            photo_words_floor=photo_words_floor,
        )
        self._floor = self._measured if relevance_floor else NO_FLOOR
        self._is_closed = False

    def search(
        self,
        owner: str,
        query: Query,
        kinds: Collection[RecordKind],
        k: int = 10,
        *,
        relevance_floor: bool = True,
        before: int | None = None,
        within: Collection[int] | None = None,
    ) -> list[Hit]:
        """Returns the k best records of the kinds, best first; fewer or none if no more are near enough.

        If both entries and messages are searched, an entry and its evidence take one place, and messages without content of
        their own take none (`places`). With `before`, only earlier messages are found; with `within`, only these entries.

        Without `relevance_floor`, the nearest records are found however far they are, for callers that judge each hit
        themselves. Equal scores keep the order dense, BM25, photo. Raises `IndexUnavailableError`, so that an outage is never an
        empty list.
        """
        [hits] = self.search_all(
            owner, [query], kinds, k, relevance_floor=relevance_floor, before=before, within=within
        )
        return hits

    def search_all(
        self,
        owner: str,
        queries: Sequence[Query],
        kinds: Collection[RecordKind],
        k: int = 10,
        *,
        relevance_floor: bool = True,
        before: int | None = None,
        within: Collection[int] | None = None,
    ) -> list[list[Hit]]:
        """Returns the hits of `search` for each of the queries, which run side by side."""
        if not kinds or k < 1:
            raise ValueError(f"Ask for at least one kind of record and one hit, not {list(kinds)!r} and {k}.")
        if self._is_closed:
            raise IndexUnavailableError("The index is closed.")
        floor = self._floor if relevance_floor else NO_FLOOR
        scope = Scope(kinds, before, within)
        with on_one_thread(), self._parts.database.read(owner) as unit:
            return Searches(self._parts, unit, queries, scope, floor=floor, measured=self._measured).hits(k)

    def with_unstored(self, photos: "Mapping[str, Image]") -> "Retriever":
        """Returns a retriever that also accepts these photos, by id, which are not stored. Their vectors are not kept either.
        It closes with this one."""
        parts = self._parts

        def vectors(owner: str, photo_ids: Sequence[str]) -> np.ndarray:
            encoded = {key: parts.image_encoder.encode([photos[key]])[0] for key in photo_ids if key in photos}
            if stored := [photo_id for photo_id in photo_ids if photo_id not in encoded]:
                encoded |= dict(zip(stored, parts.photo_vectors(owner, stored), strict=True))
            return np.stack([encoded[photo_id] for photo_id in photo_ids])

        retriever = copy(self)
        retriever._parts = replace(parts, photo_vectors=vectors)
        return retriever

    def close(self) -> None:
        self._is_closed = True
        self._parts.threads.shutdown()
