"""Searches: fetch → confirm → floor → rank."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cache, partial
from io import BytesIO
from itertools import islice
from typing import Any

import numpy as np

from m2a.memory.database import Database
from m2a.memory.floor import NO_FLOOR, RelevanceFloor
from m2a.memory.fusion import reciprocal_rank_fusion, with_photos
from m2a.memory.index import LARGEST_LIMIT, MemoryIndex
from m2a.memory.path_search import PATH_DEPTH, Confirmation, Fetched, PathSearch
from m2a.memory.places import Place, Record, different_words, is_echo, only_asks, places
from m2a.memory.ranking.learned_ranking import LearnedRanking, RankedQuestion
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.words import finished_words
from m2a.types import Hit, Message, Query, RecordKey, RecordKind, RetrievalPath
from models.image_encoder import ImageEncoder
from models.text_encoder import TextEncoder, TokenStates

_PATHS: tuple[RetrievalPath, ...] = ("dense", "bm25", "photo")  # equal scores keep this order
_ECHO_SOURCES_PER_PLACE = 4  # hits that are compared with an assistant's message to find out whether it is an echo
_MOST_FILTER_IDS = 1_000  # up to this many entries, the index filters by id; beyond that, its hits are filtered
_MAX_PHOTO_LIMIT = 1_024  # most photos may hang on messages alone when entries are asked for


@dataclass(frozen=True, slots=True)
class SearchParts:
    """What all searches of a retriever share. `photo_vectors(owner, photo_ids)` returns the vectors of query photos."""

    database: Database
    raw: RawMessageStore
    semantic: SemanticMemoryStore
    index: MemoryIndex
    text_encoder: TextEncoder
    image_encoder: ImageEncoder
    photo_vectors: Callable[[str, Sequence[str]], np.ndarray]
    ranking: LearnedRanking | None
    threads: Executor = field(default_factory=lambda: ThreadPoolExecutor(max_workers=6, thread_name_prefix="retrieval"))


@dataclass(frozen=True, slots=True)
class Scope:
    """What a search may find: records of these kinds, only messages before `before`, only entries in `within`."""

    kinds: Collection[RecordKind]
    before: int | None = None
    within: Collection[int] | None = None

    @property
    def filter_ids(self) -> Collection[int] | None:
        """The entries by which the index filters, or None."""
        are_few = self.within is not None and len(self.within) <= _MOST_FILTER_IDS and set(self.kinds) == {"entry"}
        return self.within if are_few else None


@dataclass(slots=True)
class Search:
    """The state of one query: the hits of each path, and those of them that are near."""

    query: Query
    text: str
    question: RankedQuestion | None = None
    vector: np.ndarray | None = None
    is_near: bool = False
    paths: dict[RetrievalPath, PathSearch] = field(default_factory=dict)
    near: dict[RetrievalPath, dict[RecordKey, float]] = field(default_factory=dict)

    @property
    def by_photo(self) -> bool:
        return bool(self.query.photo_ids or self.query.pictures)

    def apply_floor(self, floor: RelevanceFloor, path: RetrievalPath, *, is_measured: bool) -> Collection[RecordKey]:
        """Keeps the near hits of a settled path, from which the ranking will choose, and returns them."""
        ranking_chooses = self.question is not None and is_measured  # among all hits
        self.is_near = self.is_near or any(self.hits_above(floor, path))
        if not ranking_chooses:
            near = dict(self.hits_above(floor, path))
        elif path == "photo" and self.by_photo:
            near = dict(self.hits_above(floor.for_similar_photos, path))
        else:
            near = dict(self.hits_above(NO_FLOOR, path))
        self.near[path] = near
        return near

    def hits_above(self, floor: RelevanceFloor, path: RetrievalPath) -> Iterator[tuple[RecordKey, float]]:
        """Yields the first hits of a path, up to its depth, with their scores, without those under the floor."""
        for key in self.paths[path].first:
            if floor is NO_FLOOR or self.is_above(floor, path, key):
                yield key, self.paths[path].ranking[key].score

    def rank(self, path: RetrievalPath, key: RecordKey) -> int:
        """Returns the rank of the record among the near hits of the path, from 1."""
        return list(self.near[path]).index(key) + 1

    def is_above(self, floor: RelevanceFloor, path: RetrievalPath, key: RecordKey) -> bool:
        candidate = self.paths[path].ranking[key]
        return floor.admits(path, key.kind, candidate.score, candidate.matched, by_photo=self.by_photo)


class Searches:
    """Runs queries on the records of one owner, side by side.

    Threads encode the questions and fetch each path for all of them at once. When the index has answered one path, its hits are
    confirmed by SQL and compared with the floor, while other paths are still being fetched. A path is fetched again if too many
    of its hits were stale. Finally the near hits are ranked. Everything but the waiting runs in the caller's thread, with one
    snapshot of the database, because Python's lock lets one thread compute at a time anyway.
    """

    def __init__(
        self,
        parts: SearchParts,
        unit: UnitOfWork,
        queries: Sequence[Query],
        scope: Scope,
        *,
        floor: RelevanceFloor,
        measured: RelevanceFloor,
    ) -> None:
        self._parts = parts
        self._unit = unit
        self._scope = scope
        self._floor = floor
        self._measured = measured
        self._searches = [Search(query, query.text.strip()) for query in queries]
        self._running: dict[Future[Any], Callable[[Any], None]] = {}
        self._confirmation = Confirmation(parts.raw, parts.semantic, scope.kinds, scope.before, scope.within)
        self._records: dict[RecordKey, Record] = {}
        self._looked_for: set[RecordKey] = set()

    def hits(self, k: int) -> list[list[Hit]]:
        """Returns the k best records for each query, best first; fewer if no more are near enough."""
        self._begin()
        while self._running:
            done, _ = wait(self._running, return_when=FIRST_COMPLETED)
            for future in done:
                self._running.pop(future)(future.result())
        ranked = [self._rank(search) for search in self._searches]
        filled = self._fill(ranked, k)
        evidence = (number for ranking in filled for place, _ in ranking for number in place.evidence)
        self._load([RecordKey("message", number) for number in evidence])
        return [
            [self._hit(search, place, record) for place, record in ranking]
            for search, ranking in zip(self._searches, filled, strict=True)
        ]

    def _submit(self, work: Callable[[], Any], then: Callable[[Any], None]) -> None:
        self._running[self._parts.threads.submit(work)] = then

    def _begin(self) -> None:
        """Starts to encode the questions, and to fetch every path of the queries; the dense path waits for the vectors."""
        index, owner, scope = self._parts.index, self._unit.owner, self._scope
        in_words = [search for search in self._searches if search.text]
        for search in in_words:
            self._submit(partial(self._encode, search.text), partial(self._encoded, search))
        self._fetch(
            "bm25",
            in_words,
            lambda searches, limit: index.search_bm25(
                owner, [finished_words(search.text) for search in searches], scope.kinds, limit, scope.filter_ids
            ),
        )
        self._fetch("photo", [search for search in in_words if not search.by_photo], self._photos_by_words)
        for search in self._searches:
            if search.by_photo:
                vectors = self._photo_vectors(search.query)
                self._fetch("photo", [search], partial(self._photos_by_photo, vectors))
        if in_words and self._parts.ranking is not None:
            questions = self._parts.ranking.ask(self._unit, scope.kinds, [search.text for search in in_words])
            for search, question in zip(in_words, questions, strict=True):
                search.question = question
                search.is_near = question.names_known_subject

    def _encode(self, text: str) -> np.ndarray | TokenStates:
        """Returns the question's vector, or its token states if there is a ranking."""
        if self._parts.ranking is None:
            vector: np.ndarray = self._parts.text_encoder.encode([text])[0]
            return vector
        return self._parts.ranking.encoder.states(text)

    def _encoded(self, search: Search, encoding: np.ndarray | TokenStates) -> None:
        """Stores the encoding of a question, and fetches the dense path once all questions have theirs."""
        if isinstance(encoding, TokenStates):
            assert search.question is not None
            search.question.encoded(encoding)
            search.vector = encoding.vector
        else:
            search.vector = encoding
        in_words = [search for search in self._searches if search.text]
        if all(search.vector is not None for search in in_words):
            index, owner, scope = self._parts.index, self._unit.owner, self._scope
            self._fetch(
                "dense",
                in_words,
                lambda searches, limit: index.search_dense(
                    owner, np.array([search.vector for search in searches]), scope.kinds, limit, scope.filter_ids
                ),
            )

    def _photos_by_words(self, searches: Sequence[Search], limit: int) -> list[Fetched]:
        index, owner = self._parts.index, self._unit.owner
        if not index.has_photos(owner):
            return [[] for _ in searches]
        vectors = [self._parts.image_encoder.encode_words([search.text])[0] for search in searches]
        return [index.search_photos_by_words(owner, vector, limit) for vector in vectors]

    def _photos_by_photo(self, vectors: np.ndarray, _searches: Sequence[Search], limit: int) -> list[Fetched]:
        return [self._parts.index.search_photos(self._unit.owner, vectors, limit)]

    def _photo_vectors(self, query: Query) -> np.ndarray:
        """Returns the vectors of the query's photos, one row each."""
        from PIL import Image

        vectors = self._parts.photo_vectors(self._unit.owner, query.photo_ids)
        if not query.pictures:
            return vectors
        images = [Image.open(BytesIO(picture), formats=["JPEG"]).convert("RGB") for picture in query.pictures]
        return np.vstack([vectors, self._parts.image_encoder.encode(images)])

    def _fetch(
        self,
        path: RetrievalPath,
        searches: Sequence[Search],
        fetch: Callable[[Sequence[Search], int], Sequence[Fetched]],
    ) -> None:
        """Starts to fetch the first hits of a path for all of the searches."""
        if not searches:
            return
        ranking = self._parts.ranking
        depth = PATH_DEPTH if ranking is None or path == "photo" else ranking.depth
        depth *= len(self._scope.kinds)  # so that entries and messages do not crowd each other out
        max_limit = _MAX_PHOTO_LIMIT if path == "photo" else LARGEST_LIMIT
        for search in searches:
            search.paths[path] = PathSearch(max_limit, depth, has_ties=path == "bm25")
        self._fetch_more(path, searches, fetch)

    def _fetch_more(
        self,
        path: RetrievalPath,
        searches: Sequence[Search],
        fetch: Callable[[Sequence[Search], int], Sequence[Fetched]],
    ) -> None:
        [limit] = {search.paths[path].raise_limit() for search in searches}

        def confirm(fetched: Sequence[Fetched]) -> None:
            of_path = [search.paths[path] for search in searches]
            self._confirmation.confirm(self._unit, of_path, fetched)
            for search in searches:
                if search.paths[path].is_settled:
                    self._settle(search, path)
            if unsettled := [search for search in searches if not search.paths[path].is_settled]:
                self._fetch_more(path, unsettled, fetch)

        self._submit(partial(fetch, searches, limit), confirm)

    def _settle(self, search: Search, path: RetrievalPath) -> None:
        """Keeps the near hits of a path, and reads what the ranking needs of them."""
        is_measured = path != "photo" or self._measured.photos_are_measured
        near = search.apply_floor(self._floor, path, is_measured=is_measured)
        if search.question is not None and near:
            search.question.read(self._unit, near, list(near) if path == "bm25" else ())

    def _rank(self, search: Search) -> list[tuple[RecordKey, float]]:
        near = {path: search.near[path] if search.is_near else {} for path in _PATHS if path in search.near}
        if search.question is None:
            return reciprocal_rank_fusion([list(of_path) for of_path in near.values()])
        versions = {key: search.paths[path].ranking[key].version for path in near for key in near[path]}
        # The words of a message bring in its neighbours.
        in_order = self._confirmation.in_scope(self._unit, search.question.order(self._unit, versions))
        photos, dense = near.get("photo", {}), near["dense"]
        agreed = {key for key, cosine in photos.items() if self._measured.agrees(key.kind, cosine, dense.get(key))}
        return with_photos(in_order, list(photos), as_equals=search.by_photo, near=agreed)

    def _fill(self, ranked: Sequence[Sequence[tuple[RecordKey, float]]], k: int) -> list[list[tuple[Place, Record]]]:
        """Returns the first k places of each ranking, with their records."""
        if len(self._scope.kinds) == 1:
            first = [[Place(key, score) for key, score in ranking[:k]] for ranking in ranked]
            records = self._load([place.key for ranking in first for place in ranking])
            return [[(place, records[place.key]) for place in ranking if place.key in records] for ranking in first]
        memory_ids = {key.record_id for ranking in ranked for key, _ in ranking if key.kind == "entry"}
        evidence = self._parts.semantic.evidence(self._unit, memory_ids)
        remaining = [places(ranking, evidence) for ranking in ranked]
        first = [list(islice(ranking, k)) for ranking in remaining]
        self._load([place.key for ranking in first for place in ranking])
        words_of = cache(different_words)
        filled = []
        for ranking, batch, rest in zip(ranked, first, remaining, strict=True):
            may_be_echoed = [key for key, _ in ranking[: _ECHO_SOURCES_PER_PLACE * k]]
            taken: list[tuple[Place, Record]] = []
            while batch and len(taken) < k:
                taken += self._taking_places(batch, may_be_echoed, words_of)
                batch = list(islice(rest, k))
            filled.append(taken[:k])
        return filled

    def _taking_places(
        self, batch: Sequence[Place], may_be_echoed: Sequence[RecordKey], words_of: Callable[[str], frozenset[str]]
    ) -> Iterator[tuple[Place, Record]]:
        """Yields the places with their records, without messages that do not take a place."""
        records = self._load([place.key for place in batch])
        for place in batch:
            record = records.get(place.key)
            if record is None or (isinstance(record, Message) and only_asks(record)):
                continue
            if isinstance(record, Message) and record.role == "assistant":
                loaded = self._load(may_be_echoed)
                if is_echo(record, [loaded[key] for key in may_be_echoed if key in loaded], words_of):
                    continue
            yield place, record

    def _load(self, keys: Collection[RecordKey]) -> Mapping[RecordKey, Record]:
        """Returns all records that were requested so far, if they are live and this owner's."""
        if unread := set(keys) - self._looked_for:
            self._looked_for |= unread
            memory_ids = [key.record_id for key in unread if key.kind == "entry"]
            message_ids = [key.record_id for key in unread if key.kind == "message"]
            entries = self._parts.semantic.get(self._unit, memory_ids)
            messages = self._parts.raw.get(self._unit, message_ids)
            self._records |= {RecordKey("entry", number): entry for number, entry in entries.items()}
            self._records |= {RecordKey("message", number): message for number, message in messages.items()}
        return self._records

    def _hit(self, search: Search, place: Place, record: Record) -> Hit:
        key = place.key
        on = [path for path in _PATHS if key in search.near.get(path, ())]
        # That a photo matches words is too weak a sign to call its record near.
        reliable_paths = [path for path in on if path != "photo" or search.by_photo]
        evidence = [self._records.get(RecordKey("message", number)) for number in place.evidence]
        return Hit(
            record,
            place.score,
            ranks={path: search.rank(path, key) for path in on},
            similarity={path: search.near[path][key] for path in on if path != "bm25"},
            evidence=tuple(message for message in evidence if isinstance(message, Message)),
            is_near=any(search.is_above(self._measured, path, key) for path in reliable_paths),
        )
