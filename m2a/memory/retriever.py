"""The one retrieval of the product: three paths, each checked against SQL, fused."""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection

from m2a.memory.database import Database
from m2a.memory.floor import NO_FLOOR, RelevanceFloor, floor_of
from m2a.memory.fusion import reciprocal_rank_fusion
from m2a.memory.index import IndexHit, MemoryIndex
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.words import finished_words
from m2a.types import Hit, MemoryEntry, Message, Path, Query, RecordKind
from models.image_encoder import ImageEncoder
from models.text_encoder import TextEncoder

PATH_DEPTH = 10  # as published: the best ten of each path are fused

# A few more than ten, as some hits may be stale, and ties at the tenth must be seen to be put in order.
_FIRST_LIMIT = 16
_MORE = 8  # times as many where that was not enough
_LAST_LIMIT = 16_384


class _Key(NamedTuple):
    kind: RecordKind
    record_id: int


_Fetch = Callable[[int], list[IndexHit]]


@dataclass(slots=True)
class _PathState:
    """One path's hits so far, and how to get more."""

    fetch: _Fetch
    hits: list[IndexHit] = field(default_factory=list)
    limit: int = 0

    @property
    def has_more(self) -> bool:
        return len(self.hits) >= self.limit and self.limit < _LAST_LIMIT

    def fetch_more(self) -> None:
        self.limit = min(self.limit * _MORE, _LAST_LIMIT) if self.limit else _FIRST_LIMIT
        self.hits = self.fetch(self.limit)


class Retriever:
    """Tri-path retrieval as published (M2A, section 3.3; `fusion = "paper"`). Safe to call from threads.

    Dense: cosine of the query's words to text and caption. BM25: their finished words. Photo: with query photos the
    nearest photos, without the photos that the words describe; photos stand for the records that hold them, the best
    photo first. The best ten of each path that SQL confirms (this owner's, this version, alive) are fused by
    reciprocal rank, k = 60. `photo_vectors(owner, photo_ids)` gives the vectors of query photos.
    """

    def __init__(
        self,
        database: Database,
        raw: RawMessageStore,
        semantic: SemanticMemoryStore,
        index: MemoryIndex,
        text_encoder: TextEncoder,
        image_encoder: ImageEncoder,
        photo_vectors: Callable[[str, Sequence[str]], np.ndarray],
        *,
        relevance_floor: bool,
    ) -> None:
        self._database = database
        self._raw = raw
        self._semantic = semantic
        self._index = index
        self._text_encoder = text_encoder
        self._image_encoder = image_encoder
        self._photo_vectors = photo_vectors
        self._floor = floor_of(text_encoder.encoder_id, image_encoder.encoder_id) if relevance_floor else NO_FLOOR
        self._threads = ThreadPoolExecutor(max_workers=6, thread_name_prefix="retrieval")

    def search(self, owner: str, query: Query, kinds: Collection[RecordKind], k: int = 10) -> list[Hit]:
        """The k best records of the kinds, the best first; fewer, or none, where no more is near enough.

        Equal scores keep the order dense, BM25, photo. Raises `IndexUnavailableError`; an outage is never an empty list.
        """
        if not kinds or k < 1:
            raise ValueError(f"Ask for at least one kind of record and one hit, not {list(kinds)!r} and {k}.")
        found = self._search_paths(owner, query, kinds)
        fused = reciprocal_rank_fusion([list(ranking) for ranking in found.rankings.values()])
        return [
            Hit(
                found.records[key],
                score,
                ranks={p: list(ranking).index(key) + 1 for p, ranking in found.rankings.items() if key in ranking},
                similarity={p: r[key] for p, r in found.rankings.items() if p != "bm25" and key in r},
            )
            for key, score in fused[:k]
        ]

    def close(self) -> None:
        self._threads.shutdown()

    def _search_paths(self, owner: str, query: Query, kinds: Collection[RecordKind]) -> "_Found":
        paths = {path: _PathState(fetch) for path, fetch in self._fetches(owner, query, kinds).items()}
        found = _Found()
        wanting = list(paths.values())
        while wanting:
            list(self._threads.map(_PathState.fetch_more, wanting))
            with self._database.read() as connection:
                candidates = {
                    path: self._candidates(connection, owner, path, state.hits, kinds) for path, state in paths.items()
                }
                self._load(connection, owner, candidates.values(), found)
            wanting = []
            for path, state in paths.items():
                alive = {
                    key: hit for key, hit in candidates[path].items() if self._is_current(found.records.get(key), hit)
                }
                if state.has_more and not _is_settled(list(alive.values()), state.hits):
                    wanting.append(state)
                near = {key: hit.score for key, hit in alive.items() if self._is_near(path, key, hit, query)}
                found.rankings[path] = dict(list(near.items())[:PATH_DEPTH])
        return found

    def _fetches(self, owner: str, query: Query, kinds: Collection[RecordKind]) -> dict[Path, _Fetch]:
        """How each path that the query can use gets its first so many hits. What they share is encoded once."""
        text = query.text.strip()
        fetches: dict[Path, _Fetch] = {}
        if text:
            vector = _Once(lambda: self._text_encoder.encode([text])[0])
            words = finished_words(text)
            fetches["dense"] = lambda limit: self._index.search_dense(owner, vector(), kinds, limit)
            fetches["bm25"] = lambda limit: self._index.search_bm25(owner, words, kinds, limit)
        if query.photo_ids:
            vectors = self._photo_vectors(owner, query.photo_ids)
            fetches["photo"] = lambda limit: self._index.search_photos(owner, vectors, limit)
        elif text:
            word_vector = _Once(lambda: self._image_encoder.encode_words([text])[0])
            fetches["photo"] = partial(self._photos_by_words, owner, word_vector)
        return fetches
