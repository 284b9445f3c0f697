"""The one retrieval of the product: three paths, each checked against SQL, fused."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import cache
from itertools import islice

import numpy as np
from sqlalchemy import Connection

from m2a.memory.database import Database
from m2a.memory.floor import NO_FLOOR, RelevanceFloor, floor_of
from m2a.memory.fusion import reciprocal_rank_fusion, with_photos
from m2a.memory.index import MemoryIndex
from m2a.memory.path_search import PATH_DEPTH, Confirmation, PathSearch
from m2a.memory.ranking.learned_ranking import LearnedRanking, RankedQuestion
from m2a.memory.ranking.record_store import RecordKey
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.words import finished_words
from m2a.types import Hit, MemoryEntry, Message, Path, Query, RecordKind
from models.image_encoder import ImageEncoder
from models.text_encoder import TextEncoder, TokenStates

_LAST_LIMIT = 16_384
_LAST_PHOTO_LIMIT = 1_024  # most photos may hang on messages alone when entries are asked for


class Retriever:
    """Tri-path retrieval (M2A, section 3.3). Safe to call from threads.

    Dense: cosine of the query's words to text and caption. BM25: their finished words. Photo: with query photos the
    nearest photos, without the photos that the words describe; photos stand for the records that hold them, the best
    photo first. `photo_vectors(owner, photo_ids)` gives the vectors of query photos.

    As published (`fusion = "paper"`) the best ten of each path that SQL confirms (this owner's, this version, alive) are
    fused by reciprocal rank, k = 60. With a `ranking` (`fusion = "best"`) it orders what the two text paths find further
    down, and photos are merged with that.

    The relevance floor is asked of each record as published. With a ranking it is asked of the question: where no record is
    near on any path, nothing is found, else the ranking has them all to choose from. Photos beside a shown photo have to be
    near themselves: the nearest of a stranger's would name somebody.
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
        self._measured = floor_of(text_encoder.encoder_id, image_encoder.encoder_id, by_question=ranking is not None)
        self._floor = self._measured if relevance_floor else NO_FLOOR
        self._ranking = ranking
        self._threads = ThreadPoolExecutor(max_workers=6, thread_name_prefix="retrieval")

    def search(
        self, owner: str, query: Query, kinds: Collection[RecordKind], k: int = 10, *, relevance_floor: bool = True
    ) -> list[Hit]:
        """The k best records of the kinds, the best first; fewer, or none, where no more is near enough.

        Without `relevance_floor` whatever is nearest is found, for who decides what is near. Equal scores keep the order
        dense, BM25, photo. Raises `IndexUnavailableError`: an outage is never an empty list.
        """
        if not kinds or k < 1:
            raise ValueError(f"Ask for at least one kind of record and one hit, not {list(kinds)!r} and {k}.")
        floor = self._floor if relevance_floor else NO_FLOOR
        question = _Question(query.text.strip(), self._text_encoder, self._ranking)
        paths = self._paths(owner, query, question, kinds)
        by_photo = bool(query.photo_ids)
        near, ranked = self._search(owner, question, paths, kinds, floor, by_photo=by_photo)
        ranks = {path: {key: rank for rank, key in enumerate(ranking, start=1)} for path, ranking in near.items()}
        with self._database.read() as connection:
            if ranked is None:
                fused = reciprocal_rank_fusion([list(ranking) for ranking in near.values()])
            else:
                in_order = ranked.order(connection, _found(paths, near), list(near["bm25"]))
                photos = near.get("photo", {})
                agreed = {key for key in photos if _is_near(key, photos[key], near["dense"].get(key), self._measured)}
                fused = with_photos(in_order, list(photos), as_equals=by_photo, near=agreed)
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
    ) -> dict[Path, PathSearch]:
        """The paths that this query can take."""
        text, paths = question.text, dict[Path, PathSearch]()
        if text:
            depth = PATH_DEPTH if self._ranking is None else self._ranking.depth
            words = finished_words(text)
            paths["dense"] = PathSearch(
                lambda limit: self._index.search_dense(owner, question.vector, kinds, limit), _LAST_LIMIT, depth
            )
            paths["bm25"] = PathSearch(
                lambda limit: self._index.search_bm25(owner, words, kinds, limit), _LAST_LIMIT, depth
            )
        if query.photo_ids:
            vectors = self._photo_vectors(owner, query.photo_ids)
            paths["photo"] = PathSearch(
                lambda limit: self._index.search_photos(owner, vectors, limit), _LAST_PHOTO_LIMIT
            )
        elif text and self._index.has_photos(owner):
            word_vector = cache(lambda: self._image_encoder.encode_words([text])[0])
            paths["photo"] = PathSearch(
                lambda limit: self._index.search_photos_by_words(owner, word_vector(), limit), _LAST_PHOTO_LIMIT
            )
        return paths

    def _search(
        self,
        owner: str,
        question: "_Question",
        paths: Mapping[Path, PathSearch],
        kinds: Collection[RecordKind],
        floor: RelevanceFloor,
        *,
        by_photo: bool,
    ) -> tuple[dict[Path, dict[RecordKey, float]], RankedQuestion | None]:
        """What is near on each path, and the question to rank it by, where there is a ranking and the question has words.

        Each path is looked into as soon as the index has answered it, while it still searches the others, and goes on
        where stale hits took the places.
        """
        running: dict[Future[None], Path] = {}
        for path, search in paths.items():
            if path != "dense":  # these first: the dense path waits for the question's vector
                running[self._threads.submit(search.fetch_more)] = path
        if "dense" in paths:
            question.encode()
            running[self._threads.submit(paths["dense"].fetch_more)] = "dense"
        ranked: RankedQuestion | None = None
        if self._ranking is not None and question.text:
            with self._database.read() as connection:
                ranked = self._ranking.ask(connection, owner, kinds, question.text, question.states)
        confirmation = Confirmation(self._raw, self._semantic, owner, kinds)
        near: dict[Path, dict[RecordKey, float]] = {}
        is_near = False
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                path = running.pop(future)
                future.result()
                search = paths[path]
                with self._database.read() as connection:
                    confirmation.confirm(connection, search)
                    if not search.is_settled:
                        running[self._threads.submit(search.fetch_more)] = path
                        continue
                    near[path] = _near(path, search, floor, by_photo=by_photo)
                    is_near = is_near or bool(near[path])
                    if ranked is not None and not (path == "photo" and by_photo):
                        near[path] = _near(path, search, NO_FLOOR, by_photo=by_photo)
                    if ranked is not None and path != "photo":
                        ranked.read(connection, near[path], list(near[path]) if path == "bm25" else ())
        return {path: near[path] if is_near else {} for path in paths}, ranked

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


def _near(path: Path, search: PathSearch, floor: RelevanceFloor, *, by_photo: bool) -> dict[RecordKey, float]:
    """The first of a path, as deep as it goes, with their scores, without those under the floor."""
    near: dict[RecordKey, float] = {}
    for key, candidate in islice(search.ranking.items(), search.depth):
        if path == "dense":
            is_near = candidate.score >= floor.cosine(key.kind)
        elif path == "bm25":
            is_near = candidate.matched >= floor.words(key.kind)
        else:
            is_near = candidate.score >= (floor.photo_cosine if by_photo else floor.photo_to_words_cosine)
        if is_near:
            near[key] = candidate.score
    return near


def _is_near(key: RecordKey, photo: float, words: float | None, floor: RelevanceFloor) -> bool:
    """Whether the words are near to what a photo shows, or to what is said beside it."""
    return photo >= floor.photo_to_words_cosine or (words is not None and words >= floor.cosine(key.kind))


def _found(paths: Mapping[Path, PathSearch], near: Mapping[Path, Mapping[RecordKey, float]]) -> dict[RecordKey, int]:
    """What is near on the text paths, in its version."""
    return {
        key: version
        for path in ("dense", "bm25")
        for key in near[path]
        if (version := paths[path].ranking[key].version) is not None
    }


class _Question:
    """The words of a query, encoded once."""

    vector: np.ndarray
    states: TokenStates

    def __init__(self, text: str, encoder: TextEncoder, ranking: LearnedRanking | None) -> None:
        self.text = text
        self._encoder = encoder
        self._ranking = ranking

    def encode(self) -> None:
        """Make `vector`, and with a ranking `states`."""
        if self._ranking is None:
            self.vector = self._encoder.encode([self.text])[0]
        else:
            self.states = self._ranking.encoder.states(self.text)
            self.vector = self.states.vector
