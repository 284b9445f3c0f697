"""One search: fetch → confirm → floor → rank."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from itertools import islice
from typing import Any

import numpy as np

from m2a.memory.database import Database
from m2a.memory.floor import NO_FLOOR, RelevanceFloor
from m2a.memory.fusion import reciprocal_rank_fusion, with_photos
from m2a.memory.index import MemoryIndex
from m2a.memory.path_search import PATH_DEPTH, Confirmation, Fetched, PathSearch
from m2a.memory.places import Place, Record, different_words, is_echo, only_asks, places
from m2a.memory.ranking.learned_ranking import LearnedRanking, RankedQuestion
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.words import finished_words
from m2a.types import Hit, Message, Path, Query, RecordKey, RecordKind
from models.image_encoder import ImageEncoder
from models.text_encoder import TextEncoder, TokenStates

_PATHS: tuple[Path, ...] = ("dense", "bm25", "photo")  # equal scores keep this order
_ECHOED = 4  # times as many records as there are places may be what an assistant's message repeats
_FEW = 1_000  # entries that the index is told of by name, where only those are wanted; more are picked out of what it finds
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
    """One query to the records of one owner, on its way from the index to a ranking. `hits_of` takes it there.

    The question is encoded and every path is fetched on a thread. As soon as the index has answered one, while the others still
    search, its hits are confirmed by SQL and held to the floor; where stale hits took the places it is fetched again. Then what
    is near is ranked.
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
        within: Collection[int] | None = None,
    ) -> None:
        self._parts = parts
        self._owner = owner
        self._query = query
        self._text = query.text.strip()
        self._kinds = kinds
        self._floor = floor
        self._measured = measured
        self._by_photo = bool(query.photo_ids or query.pictures)
        self._paths: dict[Path, PathSearch] = {}
        self._running: dict[Future[Any], Path | None] = {}
        is_named = within is not None and len(within) <= _FEW and set(kinds) == {"entry"}
        self._named = within if is_named else None
        self._confirmation = Confirmation(parts.raw, parts.semantic, owner, kinds, before, within)
        self._question: RankedQuestion | None = None
        self._is_near = False
        self._near: dict[Path, dict[RecordKey, float]] = {}
        self._records: dict[RecordKey, Record] = {}
        self._looked_for: set[RecordKey] = set()

    def hits(self, k: int) -> list[Hit]:
        """The k best records, the best first; fewer where no more is near enough. Nothing is `waited_for` any more."""
        near = {path: self._near[path] if self._is_near else {} for path in _PATHS if path in self._near}
        ranks = {path: {key: rank for rank, key in enumerate(of_path, start=1)} for path, of_path in near.items()}
        # What words make of a photo is too loose to vouch for a record alone.
        vouching = [path for path in near if path != "photo" or self._by_photo]
        close = {key for path in vouching for key, _ in self._over(self._measured, path)}
        with self._parts.database.read(self._owner) as unit:
            filled = self._fill(unit, self._rank(unit, near), k)
            evidence = self._evidence(unit, [place for place, _ in filled])
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
                evidence=tuple(evidence[number] for number in place.evidence if number in evidence),
                is_near=place.key in close,
            )
            for place, record in filled
        ]

    @property
    def waited_for(self) -> Collection[Future[Any]]:
        """What runs on threads; `proceed` is to be called with each that is done."""
        return self._running.keys()

    def begin(self) -> None:
        """Encode the question, and fetch every path that the query can take; the dense one waits for the question's vector."""
        parts, owner, kinds, text = self._parts, self._owner, self._kinds, self._text
        index, ranking = parts.index, parts.ranking
        if text:
            words = finished_words(text)
            self._running[parts.threads.submit(self._encode)] = None
            self._fetch("bm25", lambda limit: index.search_bm25(owner, words, kinds, limit, self._named))
        if self._by_photo:
            vectors = self._photo_vectors()
            self._fetch("photo", lambda limit: index.search_photos(owner, vectors, limit))
        elif text:
            words_of_photos = cache(lambda: parts.image_encoder.encode_words([text])[0])
            self._fetch(
                "photo",
                lambda limit: (
                    index.search_photos_by_words(owner, words_of_photos(), limit) if index.has_photos(owner) else []
                ),
            )
        if text and ranking is not None:
            with parts.database.read(owner) as unit:
                self._question = ranking.ask(unit, kinds, text)
            self._is_near = self._question.names_what_is_held

    def proceed(self, done: Future[Any]) -> None:
        """Take what a thread brought, and begin what can follow."""
        path = self._running.pop(done)
        brought = done.result()
        if path is None:
            vector = brought if self._question is None else brought.vector
            index, owner, kinds = self._parts.index, self._owner, self._kinds
            self._fetch("dense", lambda limit: index.search_dense(owner, vector, kinds, limit, self._named))
            if self._question is not None:
                self._question.encoded(brought)
        elif not self._confirm(path):
            self._running[self._parts.threads.submit(self._paths[path].fetch_more)] = path

    def _encode(self) -> np.ndarray | TokenStates:
        """The question's vector, or for a ranking all its tokens with it."""
        if self._parts.ranking is None:
            vector: np.ndarray = self._parts.text_encoder.encode([self._text])[0]
            return vector
        return self._parts.ranking.encoder.states(self._text)

    def _photo_vectors(self) -> np.ndarray:
        """Those of the query's photos, one row each."""
        from PIL import Image

        parts, query = self._parts, self._query
        known = parts.photo_vectors(self._owner, query.photo_ids)
        if not query.pictures:
            return known
        images = [Image.open(BytesIO(picture), formats=["JPEG"]).convert("RGB") for picture in query.pictures]
        return np.vstack([known, parts.image_encoder.encode(images)])

    def _fetch(self, path: Path, fetch: Callable[[int], Fetched]) -> None:
        ranking = self._parts.ranking
        depth = PATH_DEPTH if ranking is None or path == "photo" else ranking.depth
        depth *= len(self._kinds)  # so that entries and messages do not crowd each other out
        last_limit = _LAST_PHOTO_LIMIT if path == "photo" else _LAST_LIMIT
        self._paths[path] = PathSearch(fetch, last_limit, depth, has_ties=path == "bm25")
        self._running[self._parts.threads.submit(self._paths[path].fetch_more)] = path

    def _confirm(self, path: Path) -> bool:
        """Whether what SQL confirms of the path's hits is enough. What is near of them is kept, and read for the ranking."""
        path_search, question = self._paths[path], self._question
        if not path_search.hits:
            self._near[path] = {}
            return True
        with self._parts.database.read(self._owner) as unit:
            self._confirmation.confirm(unit, path_search)
            if not path_search.is_settled:
                return False
            is_measured = path != "photo" or self._measured.photos_are_measured
            chooses = question is not None and is_measured  # the ranking, from all that there is
            if chooses and (path != "photo" or not self._by_photo):
                self._is_near = self._is_near or any(self._over(self._floor, path))
                near = dict(self._over(NO_FLOOR, path))
            else:
                near = dict(self._over(self._floor, path))
                self._is_near = self._is_near or bool(near)
                if chooses and near:
                    near = dict(self._over(self._floor.beside_a_near_photo, path))
            if question is not None:
                question.read(unit, near, list(near) if path == "bm25" else ())
            self._near[path] = near
        return True

    def _over(self, floor: RelevanceFloor, path: Path) -> Iterator[tuple[RecordKey, float]]:
        """The first of a path, as deep as it goes, with their scores, without those under the floor."""
        path_search = self._paths[path]
        for key, candidate in islice(path_search.ranking.items(), path_search.depth):
            if floor is NO_FLOOR or floor.admits(
                path, key.kind, candidate.score, candidate.matched, by_photo=self._by_photo
            ):
                yield key, candidate.score

    def _rank(self, unit: UnitOfWork, near: Mapping[Path, Mapping[RecordKey, float]]) -> list[tuple[RecordKey, float]]:
        if self._question is None:
            return reciprocal_rank_fusion([list(of_path) for of_path in near.values()])
        versions = {
            key: version
            for path in _PATHS
            for key in near.get(path, ())
            if (version := self._paths[path].ranking[key].version) is not None
        }
        # The words of a message bring in its neighbours.
        in_order = self._confirmation.within_reach(unit, self._question.order(unit, versions))
        photos, dense = near.get("photo", {}), near["dense"]
        agreed = {key for key, cosine in photos.items() if self._measured.agrees(key.kind, cosine, dense.get(key))}
        return with_photos(in_order, list(photos), as_equals=self._by_photo, near=agreed)

    def _fill(self, unit: UnitOfWork, ranked: Sequence[tuple[RecordKey, float]], k: int) -> list[tuple[Place, Record]]:
        """The first k places with their records."""
        if len(self._kinds) == 1:
            records = self._load(unit, [key for key, _ in ranked[:k]])
            return [(Place(key, score), records[key]) for key, score in ranked[:k] if key in records]
        memory_ids = [key.record_id for key, _ in ranked if key.kind == "entry"]
        found = places(ranked, self._parts.semantic.evidence(unit, memory_ids))
        may_be_echoed = [key for key, _ in ranked[: _ECHOED * k]]
        words_of = cache(different_words)
        filled: list[tuple[Place, Record]] = []
        while some := list(islice(found, k)):
            records = self._load(unit, [place.key for place in some])
            for place in some:
                record = records.get(place.key)
                if record is None or (isinstance(record, Message) and only_asks(record)):
                    continue
                if isinstance(record, Message) and record.role == "assistant":
                    others = self._load(unit, may_be_echoed).values()
                    if is_echo(record, others, words_of):
                        continue
                filled.append((place, record))
                if len(filled) == k:
                    return filled
        return filled

    def _evidence(self, unit: UnitOfWork, filled: Sequence[Place]) -> Mapping[int, Message]:
        """The messages that come with the places."""
        keys = [RecordKey("message", number) for place in filled for number in place.evidence]
        records = self._load(unit, keys)  # less what was erased since it was found
        return {record.message_id: record for key in keys if isinstance(record := records.get(key), Message)}

    def _load(self, unit: UnitOfWork, keys: Collection[RecordKey]) -> Mapping[RecordKey, Record]:
        """All that were asked for until now, as far as they are alive and this owner's."""
        if unread := set(keys) - self._looked_for:
            self._looked_for |= unread
            memory_ids = [key.record_id for key in unread if key.kind == "entry"]
            message_ids = [key.record_id for key in unread if key.kind == "message"]
            entries = self._parts.semantic.get(unit, memory_ids)
            messages = self._parts.raw.get(unit, message_ids)
            self._records |= {RecordKey("entry", number): entry for number, entry in entries.items()}
            self._records |= {RecordKey("message", number): message for number, message in messages.items()}
        return self._records


def hits_of(searches: Sequence[Search], k: int) -> list[list[Hit]]:
    """The k best records of each search, which run side by side.

    What waits for the index or the encoder does so on threads. All else is done here, in turn: it holds Python's lock anyway, and
    who shares that lock waits long for it.
    """
    hits: dict[int, list[Hit]] = {}
    for search in searches:
        search.begin()
    while len(hits) < len(searches):
        for number, search in enumerate(searches):
            for future in [future for future in search.waited_for if future.done()]:
                search.proceed(future)
            if not search.waited_for and number not in hits:
                hits[number] = search.hits(k)
        wait([future for search in searches for future in search.waited_for], return_when=FIRST_COMPLETED)
    return [hits[number] for number in range(len(searches))]
