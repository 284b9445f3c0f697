"""The one retrieval of the product: three paths, each checked against SQL, fused."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection

from m2a.memory.database import Database
from m2a.memory.floor import NO_FLOOR, floor_of
from m2a.memory.fusion import reciprocal_rank_fusion, with_photos
from m2a.memory.index import IndexHit, MemoryIndex
from m2a.memory.indexer import MESSAGE_VERSION
from m2a.memory.ranking.learned_ranking import LearnedRanking
from m2a.memory.ranking.record_store import RecordKey
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.words import finished_words
from m2a.types import Hit, MemoryEntry, Message, Path, Query, RecordKind
from models.image_encoder import ImageEncoder
from models.text_encoder import TextEncoder, TokenStates

PATH_DEPTH = 10  # as published: the best ten of each path are fused

# A few more than the depth, as some hits may be stale, and ties at the last must be seen to be put in order.
_SPARE = 6
_MORE = 8  # times as many where that was not enough
_LAST_LIMIT = 16_384
_LAST_PHOTO_LIMIT = 1_024  # most photos may hang on messages alone when entries are asked for


class _Candidate(NamedTuple):
    """A record as a path found it; `version` is None where a photo led to it."""

    score: float
    matched: float
    version: int | None


@dataclass(slots=True)
class _PathSearch:
    """One path's hits so far, and how to get more of them."""

    fetch: Callable[[int], list[IndexHit]]
    last_limit: int
    depth: int = PATH_DEPTH
    limit: int = 0
    hits: list[IndexHit] = field(default_factory=list)
    ranking: dict[RecordKey, _Candidate] = field(default_factory=dict)

    def fetch_more(self) -> None:
        self.limit = min(self.limit * _MORE, self.last_limit) if self.limit else self.depth + _SPARE
        self.hits = self.fetch(self.limit)

    @property
    def is_settled(self) -> bool:
        """Nothing further down can get among the first: enough of them are confirmed, and no tie goes on unseen."""
        if len(self.hits) < self.limit or self.limit >= self.last_limit:
            return True
        confirmed = list(self.ranking.values())
        return len(confirmed) >= self.depth and confirmed[self.depth - 1].score > self.hits[-1].score


class Retriever:
    """Tri-path retrieval (M2A, section 3.3). Safe to call from threads.

    Dense: cosine of the query's words to text and caption. BM25: their finished words. Photo: with query photos the
    nearest photos, without the photos that the words describe; photos stand for the records that hold them, the best
    photo first. `photo_vectors(owner, photo_ids)` gives the vectors of query photos.

    As published (`fusion = "paper"`) the best ten of each path that SQL confirms (this owner's, this version, alive) are
    fused by reciprocal rank, k = 60. With a `ranking` (`fusion = "best"`) it orders what the two text paths find further
    down, and photos keep their third of the places.
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
        ranking: LearnedRanking | None = None,
    ) -> None:
        self._database = database
        self._raw = raw
        self._semantic = semantic
        self._index = index
        self._text_encoder = text_encoder
        self._image_encoder = image_encoder
        self._photo_vectors = photo_vectors
        self._floor = floor_of(text_encoder.encoder_id, image_encoder.encoder_id) if relevance_floor else NO_FLOOR
        self._ranking = ranking
        self._threads = ThreadPoolExecutor(max_workers=6, thread_name_prefix="retrieval")

    def search(self, owner: str, query: Query, kinds: Collection[RecordKind], k: int = 10) -> list[Hit]:
        """The k best records of the kinds, the best first; fewer, or none, where no more is near enough.

        Equal scores keep the order dense, BM25, photo. Raises `IndexUnavailableError`: an outage is never an empty
        list.
        """
        if not kinds or k < 1:
            raise ValueError(f"Ask for at least one kind of record and one hit, not {list(kinds)!r} and {k}.")
        question = _Question(query.text.strip(), self._text_encoder, self._ranking)
        paths = self._paths(owner, query, question, kinds)
        self._search(owner, paths, kinds)
        near = {path: self._near(path, search, by_photo=bool(query.photo_ids)) for path, search in paths.items()}
        ranks = {path: {key: rank for rank, key in enumerate(ranking, start=1)} for path, ranking in near.items()}
        with self._database.read() as connection:
            if self._ranking is None:
                fused = reciprocal_rank_fusion([list(ranking) for ranking in near.values()])
            else:
                ranked = self._ranked(self._ranking, connection, owner, question, kinds, paths, near)
                fused = with_photos(ranked, list(near.get("photo", ())))
            records = self._load(connection, owner, [key for key, _ in fused[:k]])
        return [
            Hit(
                records[key],
                score,
                ranks={path: of_path[key] for path, of_path in ranks.items() if key in of_path},
                similarity={path: near[path][key] for path in near if path != "bm25" and key in near[path]},
            )
            for key, score in fused[:k]
            if key in records
        ]

    def close(self) -> None:
        self._threads.shutdown()

    def _paths(
        self, owner: str, query: Query, question: "_Question", kinds: Collection[RecordKind]
    ) -> dict[Path, _PathSearch]:
        """The paths that this query can take."""
        text, paths = question.text, dict[Path, _PathSearch]()
        if text:
            depth = PATH_DEPTH if self._ranking is None else self._ranking.depth
            words = finished_words(text)
            paths["dense"] = _PathSearch(
                lambda limit: self._index.search_dense(owner, question.vector, kinds, limit), _LAST_LIMIT, depth
            )
            paths["bm25"] = _PathSearch(
                lambda limit: self._index.search_bm25(owner, words, kinds, limit), _LAST_LIMIT, depth
            )
        if query.photo_ids:
            vectors = self._photo_vectors(owner, query.photo_ids)
            paths["photo"] = _PathSearch(
                lambda limit: self._index.search_photos(owner, vectors, limit), _LAST_PHOTO_LIMIT
            )
        elif text and self._index.has_photos(owner):
            word_vector = cache(lambda: self._image_encoder.encode_words([text])[0])
            paths["photo"] = _PathSearch(
                lambda limit: self._index.search_photos_by_words(owner, word_vector(), limit), _LAST_PHOTO_LIMIT
            )
        return paths

    def _search(self, owner: str, paths: Mapping[Path, _PathSearch], kinds: Collection[RecordKind]) -> None:
        """Fill every path's ranking with records that SQL confirms, fetching on where stale hits took the places."""
        versions: dict[RecordKey, int] = {}
        unsettled = list(paths.values())
        while unsettled:
            list(self._threads.map(_PathSearch.fetch_more, unsettled))
            with self._database.read() as connection:
                candidates = [(search, self._candidates(connection, owner, search.hits, kinds)) for search in unsettled]
                wanted = {key for _, found in candidates for key in found}
                versions |= self._versions(connection, owner, wanted - versions.keys())
            for search, found in candidates:
                search.ranking = {
                    key: candidate._replace(version=versions[key])
                    for key, candidate in found.items()
                    if key in versions and candidate.version in (None, versions[key])
                }
            unsettled = [search for search in unsettled if not search.is_settled]

    def _ranked(
        self,
        ranking: LearnedRanking,
        connection: Connection,
        owner: str,
        question: "_Question",
        kinds: Collection[RecordKind],
        paths: Mapping[Path, _PathSearch],
        near: Mapping[Path, Mapping[RecordKey, float]],
    ) -> list[RecordKey]:
        """What the text paths found, in the order of the ranking."""
        found = {
            key: version
            for path in ("dense", "bm25")
            for key in near.get(path, ())
            if (version := paths[path].ranking[key].version) is not None
        }
        if not found:
            return []
        by_words = list(near.get("bm25", ()))
        return ranking.order(connection, owner, kinds, question.text, question.states, found, by_words)

    def _candidates(
        self, connection: Connection, owner: str, hits: Sequence[IndexHit], kinds: Collection[RecordKind]
    ) -> dict[RecordKey, _Candidate]:
        """Records in the order of the hits; a photo stands for all that hold it, oldest first."""
        photo_ids = [str(hit.record_id) for hit in hits if hit.kind == "photo"]
        holders: dict[RecordKind, dict[str, list[int]]] = {}
        if photo_ids and "entry" in kinds:
            holders["entry"] = self._semantic.with_photos(connection, owner, photo_ids)
        if photo_ids and "message" in kinds:
            holders["message"] = self._raw.with_photos(connection, owner, photo_ids)
        found: dict[RecordKey, _Candidate] = {}
        for hit in hits:
            if hit.kind != "photo":
                found[RecordKey(hit.kind, int(hit.record_id))] = _Candidate(hit.score, hit.matched, hit.version)
                continue
            for kind, of_photo in holders.items():
                for record_id in of_photo.get(str(hit.record_id), ()):
                    found.setdefault(RecordKey(kind, record_id), _Candidate(hit.score, hit.matched, None))
        return found

    def _versions(self, connection: Connection, owner: str, keys: Iterable[RecordKey]) -> dict[RecordKey, int]:
        """The versions of those among the keys that are alive and this owner's."""
        keys = list(keys)
        memory_ids = [key.record_id for key in keys if key.kind == "entry"]
        message_ids = [key.record_id for key in keys if key.kind == "message"]
        found: dict[RecordKey, int] = {}
        if memory_ids:
            versions = self._semantic.versions(connection, owner, memory_ids)
            found |= {RecordKey("entry", memory_id): version for memory_id, version in versions.items()}
        if message_ids:
            existing = self._raw.existing(connection, owner, message_ids)
            found |= {RecordKey("message", message_id): MESSAGE_VERSION for message_id in existing}
        return found

    def _load(
        self, connection: Connection, owner: str, keys: Iterable[RecordKey]
    ) -> dict[RecordKey, MemoryEntry | Message]:
        """The records among the keys that are alive and this owner's."""
        memory_ids = [key.record_id for key in keys if key.kind == "entry"]
        message_ids = [key.record_id for key in keys if key.kind == "message"]
        found: dict[RecordKey, MemoryEntry | Message] = {}
        if memory_ids:
            entries = self._semantic.get(connection, owner, memory_ids)
            found |= {RecordKey("entry", memory_id): entry for memory_id, entry in entries.items()}
        if message_ids:
            messages = self._raw.get(connection, owner, message_ids)
            found |= {RecordKey("message", message_id): message for message_id, message in messages.items()}
        return found

    def _near(self, path: Path, search: _PathSearch, *, by_photo: bool) -> dict[RecordKey, float]:
        """The first of a path, as deep as it goes, with their scores, without those under the floor."""
        floor = self._floor
        near: dict[RecordKey, float] = {}
        for key, candidate in list(search.ranking.items())[: search.depth]:
            if path == "dense":
                is_near = candidate.score >= floor.cosine(key.kind)
            elif path == "bm25":
                is_near = candidate.matched >= floor.words(key.kind)
            else:
                is_near = candidate.score >= (floor.photo_cosine if by_photo else floor.photo_to_words_cosine)
            if is_near:
                near[key] = candidate.score
        return near


class _Question:
    """The words of a query, encoded when they are first needed."""

    def __init__(self, text: str, encoder: TextEncoder, ranking: LearnedRanking | None) -> None:
        self.text = text
        self._encoder = encoder
        self._ranking = ranking

    @cached_property
    def vector(self) -> np.ndarray:
        return self._encoder.encode([self.text])[0] if self._ranking is None else self.states.vector

    @cached_property
    def states(self) -> TokenStates:
        """Needs a ranking."""
        assert self._ranking is not None
        return self._ranking.encoder.states(self.text)
