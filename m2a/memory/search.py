"""One search: fetch → confirm → floor → rank."""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from functools import cache
from itertools import islice

import numpy as np
from sqlalchemy import Connection

from m2a.memory.database import Database
from m2a.memory.floor import NO_FLOOR, RelevanceFloor
from m2a.memory.fusion import reciprocal_rank_fusion, with_photos
from m2a.memory.index import MemoryIndex
from m2a.memory.path_search import PATH_DEPTH, Confirmation, Fetched, PathSearch
from m2a.memory.places import Place, Record, is_echo, only_asks, places
from m2a.memory.ranking.learned_ranking import LearnedRanking, RankedQuestion
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.words import finished_words
from m2a.types import Hit, Message, Path, Query, RecordKey, RecordKind
from models.image_encoder import ImageEncoder
from models.text_encoder import TextEncoder

_PATHS: tuple[Path, ...] = ("dense", "bm25", "photo")  # equal scores keep this order
_LOADED = 4  # times as many records as there are places are loaded at once
_LAST_LIMIT = 16_384
_LAST_PHOTO_LIMIT = 1_024  # most photos may hang on messages alone when entries are asked for


@dataclass(frozen=True, slots=True)
class SearchParts:
    """What every search of a retriever works with. `photo_vectors(owner, photo_ids)` gives the vectors of query photos."""

    database: Database
    raw: RawMessageStore
    semantic: SemanticMemoryStore
    index: MemoryIndex
    text_encoder: TextEncoder
    image_encoder: ImageEncoder
    photo_vectors: Callable[[str, Sequence[str]], np.ndarray]
    ranking: LearnedRanking | None
    threads: Executor


class Search:
    """One query to the records of one owner, on its way from the index to a ranking.

    Every path is fetched on a thread. As soon as the index has answered it, while the others still search, its hits are
    confirmed by SQL and held to the floor; where stale hits took the places it is fetched again. Then what is near is ranked.
    """

    def __init__(
        self,
        parts: SearchParts,
        owner: str,
        query: Query,
        kinds: Collection[RecordKind],
        *,
        floor: RelevanceFloor,
        measured: RelevanceFloor,
        before: int | None,
    ) -> None:
        self._parts = parts
        self._owner = owner
        self._query = query
        self._text = query.text.strip()
        self._kinds = kinds
        self._before = before
        self._floor = floor
        self._measured = measured
        self._by_photo = bool(query.photo_ids)
        self._paths: dict[Path, PathSearch] = {}
        self._confirmation = Confirmation(parts.raw, parts.semantic, owner, kinds, before)
        self._question: RankedQuestion | None = None
        self._is_near = False
        self._near: dict[Path, dict[RecordKey, float]] = {}

    def hits(self, k: int) -> list[Hit]:
        """The k best records, the best first; fewer where no more is near enough."""
        running = self._fetch()
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                path = running.pop(future)
                future.result()
                if not self._confirm(path):
                    running[self._parts.threads.submit(self._paths[path].fetch_more)] = path
        near = {path: self._near[path] if self._is_near else {} for path in _PATHS if path in self._near}
        ranks = {path: {key: rank for rank, key in enumerate(of_path, start=1)} for path, of_path in near.items()}
        with self._parts.database.read() as connection:
            filled = self._fill(connection, self._rank(connection, near), k)
            evidence = self._parts.raw.get(connection, self._owner, {m for place, _ in filled for m in place.evidence})
        return [
            Hit(
                record,
                place.score,
                ranks={path: of_path[place.key] for path, of_path in ranks.items() if place.key in of_path},
                similarity={
                    path: of_path[place.key]
                    for path, of_path in near.items()
                    if path != "bm25" and place.key in of_path
                },
                evidence=tuple(evidence[message_id] for message_id in place.evidence),
            )
            for place, record in filled
        ]

    def _fetch(self) -> dict[Future[None], Path]:
        """Begin with every path that the query can take; the dense one waits for the question's vector."""
        parts, owner, kinds, text = self._parts, self._owner, self._kinds, self._text
        index, ranking = parts.index, parts.ranking
        running: dict[Future[None], Path] = {}

        def begin(path: Path, fetch: Callable[[int], Fetched], last_limit: int, depth: int) -> None:
            self._paths[path] = PathSearch(fetch, last_limit, depth)
            running[parts.threads.submit(self._paths[path].fetch_more)] = path

        photo_depth = PATH_DEPTH * len(kinds)  # so that entries and messages do not crowd each other out
        depth = photo_depth if ranking is None else ranking.depth * len(kinds)
        if text:
            words = finished_words(text)
            begin("bm25", lambda limit: index.search_bm25(owner, words, kinds, limit), _LAST_LIMIT, depth)
        if self._by_photo:
            vectors = parts.photo_vectors(owner, self._query.photo_ids)
            begin("photo", lambda limit: index.search_photos(owner, vectors, limit), _LAST_PHOTO_LIMIT, photo_depth)
        elif text and index.has_photos(owner):
            words_of_photos = cache(lambda: parts.image_encoder.encode_words([text])[0])
            begin(
                "photo",
                lambda limit: index.search_photos_by_words(owner, words_of_photos(), limit),
                _LAST_PHOTO_LIMIT,
                photo_depth,
            )
        if text and ranking is None:
            vector = parts.text_encoder.encode([text])[0]
            begin("dense", lambda limit: index.search_dense(owner, vector, kinds, limit), _LAST_LIMIT, depth)
        elif text and ranking is not None:
            states = ranking.encoder.states(text)
            begin("dense", lambda limit: index.search_dense(owner, states.vector, kinds, limit), _LAST_LIMIT, depth)
            with parts.database.read() as connection:
                self._question = ranking.ask(connection, owner, kinds, text, states)
            self._is_near = self._question.names_what_is_held
        return running

    def _confirm(self, path: Path) -> bool:
        """Whether what SQL confirms of the path's hits is enough. What is near of them is kept, and read for the ranking."""
        path_search, question = self._paths[path], self._question
        with self._parts.database.read() as connection:
            self._confirmation.confirm(connection, path_search)
            if not path_search.is_settled:
                return False
            near = self._over(self._floor, path)
            self._is_near = self._is_near or bool(near)
            is_measured = path != "photo" or self._measured.photos_are_measured
            if question is not None and is_measured:  # the ranking has all to choose from
                if path != "photo" or not self._by_photo:
                    near = self._over(NO_FLOOR, path)
                elif near:
                    near = self._over(self._floor.beside_a_near_photo, path)
            if question is not None:
                question.read(connection, near, list(near) if path == "bm25" else ())
            self._near[path] = near
        return True

    def _over(self, floor: RelevanceFloor, path: Path) -> dict[RecordKey, float]:
        """The first of a path, as deep as it goes, with their scores, without those under the floor."""
        path_search = self._paths[path]
        return {
            key: candidate.score
            for key, candidate in islice(path_search.ranking.items(), path_search.depth)
            if floor.admits(path, key.kind, candidate.score, candidate.matched, by_photo=self._by_photo)
        }

    def _rank(
        self, connection: Connection, near: Mapping[Path, Mapping[RecordKey, float]]
    ) -> list[tuple[RecordKey, float]]:
        if self._question is None:
            return reciprocal_rank_fusion([list(of_path) for of_path in near.values()])
        versions = {
            key: version
            for path in _PATHS
            for key in near.get(path, ())
            if (version := self._paths[path].ranking[key].version) is not None
        }
        in_order = self._question.order(connection, versions, list(near["bm25"]))
        if self._before is not None:  # the words of a message bring in its neighbours
            in_order = [key for key in in_order if key.kind == "entry" or key.record_id < self._before]
        photos, dense = near.get("photo", {}), near["dense"]
        agreed = {key for key, cosine in photos.items() if self._measured.agrees(key.kind, cosine, dense.get(key))}
        return with_photos(in_order, list(photos), as_equals=self._by_photo, near=agreed)

    def _fill(
        self, connection: Connection, ranked: Sequence[tuple[RecordKey, float]], k: int
    ) -> list[tuple[Place, Record]]:
        """The first k places with their records."""
        if len(self._kinds) == 1:
            records = self._load(connection, [key for key, _ in ranked[:k]])
            return [(Place(key, score), records[key]) for key, score in ranked[:k] if key in records]
        memory_ids = [key.record_id for key, _ in ranked if key.kind == "entry"]
        found = places(ranked, self._parts.semantic.evidence(connection, self._owner, memory_ids))
        records = self._load(connection, [key for key, _ in ranked[: _LOADED * k]])
        filled: list[tuple[Place, Record]] = []
        for start in range(0, len(found), k):
            some = found[start : start + k]
            records |= self._load(connection, [place.key for place in some if place.key not in records])
            for place in some:
                record = records.get(place.key)
                if record is None or (isinstance(record, Message) and _shows_nothing(record, records.values())):
                    continue
                filled.append((place, record))
                if len(filled) == k:
                    return filled
        return filled

    def _load(self, connection: Connection, keys: Collection[RecordKey]) -> dict[RecordKey, Record]:
        """The records among the keys that are alive and this owner's."""
        memory_ids = [key.record_id for key in keys if key.kind == "entry"]
        message_ids = [key.record_id for key in keys if key.kind == "message"]
        entries = self._parts.semantic.get(connection, self._owner, memory_ids)
        messages = self._parts.raw.get(connection, self._owner, message_ids)
        return {RecordKey("entry", number): entry for number, entry in entries.items()} | {
            RecordKey("message", number): message for number, message in messages.items()
        }


def _shows_nothing(message: Message, others: Collection[Record]) -> bool:
    return only_asks(message) or is_echo(message, others)
