"""The vector index: Milvus Lite in a file, or a Milvus server, through one class.

Each owner has collections of their own, made at the first write, because Milvus counts every row of a collection into
BM25's document frequencies, filters notwithstanding: in a shared one other owners' words would shift rankings.

| collection                        | a row is                  | searched by                    |
| --------------------------------- | ------------------------- | ------------------------------ |
| `text_<owner>_<fingerprint>`      | an entry or a message     | cosine, BM25 of finished words |
| `photo_<owner>_<fingerprint>`     | a photo                   | cosine to a photo              |
| `photo_text_<owner>_<fingerprint>`| a photo, for words        | cosine to words                |

The fingerprint stands for the encoder and the word rules that made the rows. It is part of the name, so that what an
index was built with cannot drift from the index; the collection's description says it in full.

Search is exact (FLAT). Milvus Lite 2.5.1 does not heed `nprobe`: at 100,000 random vectors IVF_FLAT took 1.5 ms where FLAT
took 15, and found one in ten of the nearest.
"""

import fcntl
import hashlib
import json
import logging
import os
import re
import sqlite3
import threading
import time
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from m2a.memory import words as word_rules
from m2a.memory.keys import checked_owner, is_photo_id
from m2a.types import RecordKind
from models.image_encoder import ImageEncoder
from models.text_encoder import TextEncoder

if TYPE_CHECKING:
    from pymilvus import MilvusClient
    from pymilvus.client.search_result import HybridHits

Space = Literal["text", "photo", "photo_text"]
SPACES: tuple[Space, ...] = ("text", "photo", "photo_text")

# The paper names none. Against rank_bm25's 1.5 and 0.75, over six LoCoMo conversations after fusion: recall@10 of turns
# 0.641 and 0.626, of observations 0.640 and 0.642.
BM25_K1 = 1.2
BM25_B = 0.5

_SCHEMA_VERSION = 1
_NAME = re.compile(r"(text|photo|photo_text)_([0-9a-f]{32})_([0-9a-f]{8})")
_LONGEST_WORDS = 60_000  # bytes; Milvus takes 65,535
_LARGEST_LIMIT = 16_384  # Milvus allows no more rows in one answer
_OPEN_ATTEMPTS = 4
_CONNECT_TIMEOUT = 8  # seconds
# Milvus Lite hangs up on a client that pings while it is idle, and gRPC then complains on standard error.
_WITHOUT_PINGS = {"grpc.keepalive_time_ms": 2**31 - 1, "grpc.keepalive_permit_without_calls": False}
_TIMEOUT = 20  # seconds; without one pymilvus tries again for minutes
_SLOW_TIMEOUT = 300  # for making, loading and writing


class IndexMismatchError(Exception):
    """The index was built with other encoders or word rules; the message names the remedy."""


class IndexUnavailableError(Exception):
    """The index cannot be opened or does not answer; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class IndexEncoders:
    """What the vectors come from. `word_dimensions` is None where words and photos share one space."""

    text_id: str
    text_dimensions: int
    photo_id: str
    photo_dimensions: int
    word_dimensions: int | None

    @classmethod
    def of(cls, text_encoder: TextEncoder, image_encoder: ImageEncoder) -> "IndexEncoders":
        return cls(
            text_encoder.encoder_id,
            text_encoder.dimensions,
            image_encoder.encoder_id,
            image_encoder.dimensions,
            image_encoder.word_dimensions,
        )

    def description(self, space: Space) -> dict[str, object]:
        """All that a row of the space depends on."""
        if space == "text":
            return {
                "schema": _SCHEMA_VERSION,
                "encoder": self.text_id,
                "dimensions": self.text_dimensions,
                "words": word_rules.VERSION,
                "bm25": [BM25_K1, BM25_B],
            }
        dimensions = self.photo_dimensions if space == "photo" else self.word_dimensions
        return {"schema": _SCHEMA_VERSION, "encoder": self.photo_id, "dimensions": dimensions}

    def fingerprint(self, space: Space) -> str:
        return hashlib.sha256(json.dumps(self.description(space)).encode()).hexdigest()[:8]


@dataclass(frozen=True, slots=True)
class TextRow:
    """An entry or a message as the index holds it."""

    kind: RecordKind
    record_id: int
    version: int
    vector: np.ndarray
    words: Sequence[str]


@dataclass(frozen=True, slots=True)
class PhotoRow:
    """`word_vector` is None where words are compared with `vector`."""

    photo_id: str
    vector: np.ndarray
    word_vector: np.ndarray | None


class IndexHit(NamedTuple):
    """`score` is the cosine, or BM25's. `matched` is the share of the query's words that the record holds (BM25 alone)."""

    kind: Literal["entry", "message", "photo"]
    record_id: int | str
    version: int
    score: float
    matched: float = 1.0


class MemoryIndex:
    """Every owner's rows. Safe to call from threads; reads see every write that was acknowledged before.

    Opening raises `IndexMismatchError` if anything in it was built otherwise than the encoders say, unless
    `discard_mismatch`, which drops that: only who fills the index again may ask for it. Every call raises
    `IndexUnavailableError` if Milvus does not answer; nothing found is an empty list, as is an owner without rows.

    Results come best first, equal scores by kind and id.
    """

    def __init__(self, uri: str, encoders: IndexEncoders, *, token: str = "", discard_mismatch: bool = False) -> None:
        self.uri = uri
        self.encoders = encoders
        self.is_lite = "://" not in uri
        self._token = token
        self._lock = threading.RLock()  # of writers: Milvus Lite wants the writes to a collection one by one
        self._loaded: dict[tuple[Space, str], str] = {}
        self._drops = 0
        self._file_lock = _FileLock(Path(uri + ".lock")) if self.is_lite else None
        try:
            self._client = self._open()
            self._refuse_mismatch(discard_mismatch)
        except (IndexUnavailableError, IndexMismatchError):
            self._end_lite()
            self._unlock()
            raise

    def close(self) -> None:
        """Also ends Milvus Lite's process and frees its file."""
        with self._lock:
            self._shut()
            self._unlock()

    def _shut(self) -> None:
        self._client.close()
        self._end_lite()

    def _unlock(self) -> None:
        if self._file_lock is not None:
            self._file_lock.release()

    # Writing

    def put(self, owner: str, rows: Sequence[TextRow]) -> None:
        """Insert or replace the rows."""
        self._put(
            "text",
            owner,
            [
                {
                    "key": f"{row.kind}:{row.record_id}",
                    "kind": row.kind,
                    "version": row.version,
                    "vector": row.vector,
                    "words": _shortened(row.words),
                }
                for row in rows
            ],
        )

    def put_photos(self, owner: str, rows: Sequence[PhotoRow]) -> None:
        """Insert or replace the photos."""
        self._put("photo", owner, [_photo_row(row.photo_id, row.vector) for row in rows])
        if self.encoders.word_dimensions is not None:
            self._put(
                "photo_text",
                owner,
                [_photo_row(row.photo_id, row.word_vector) for row in rows if row.word_vector is not None],
            )

    def delete(self, owner: str, records: Collection[tuple[RecordKind, int]]) -> None:
        """What is not there is no error."""
        self._delete("text", owner, [f"{kind}:{record_id}" for kind, record_id in records])

    def delete_photos(self, owner: str, photo_ids: Collection[str]) -> None:
        keys = [photo_id for photo_id in photo_ids if is_photo_id(photo_id)]
        self._delete("photo", owner, keys)
        self._delete("photo_text", owner, keys)

    def drop(self, owner: str | None = None) -> None:
        """Remove all rows of an owner, or of everyone."""
        if owner is not None:
            checked_owner(owner)
        with self._lock, self._service():
            try:
                for name in self._client.list_collections(timeout=_TIMEOUT):
                    found = _NAME.fullmatch(name)
                    if found and owner in (None, found[2]):
                        self._client.drop_collection(name, timeout=_SLOW_TIMEOUT)
                        self._loaded.pop((found[1], found[2]), None)  # type: ignore[arg-type]
            finally:
                self._drops += 1  # last: a search that looked before it tries again

    def purge(self) -> None:
        """Wipe what was deleted from the file: Milvus Lite leaves deleted rows readable in it (a server compacts later)."""
        if not self.is_lite:
            return
        with self._lock:
            self._shut()
            try:
                with closing(sqlite3.connect(self.uri)) as file:
                    file.execute("VACUUM")
            finally:
                self._loaded.clear()
                self._client = self._open()

    # Searching

    def search_dense(self, owner: str, vector: np.ndarray, kinds: Collection[RecordKind], limit: int) -> list[IndexHit]:
        """By cosine."""
        [found] = self._search("text", owner, "vector", [vector], limit, _filter(kinds), ["version"])
        return found

    def search_bm25(
        self, owner: str, words: Sequence[str], kinds: Collection[RecordKind], limit: int
    ) -> list[IndexHit]:
        """By BM25; each different word of the query counts once."""
        wanted = list(dict.fromkeys(words))
        if not wanted:
            return []
        condition, query = _filter(kinds), " ".join(wanted)
        try:
            [found] = self._search("text", owner, "sparse", [query], limit, condition, ["version", "words"])
        except IndexUnavailableError:
            if self._has_words(owner):
                raise
            return []  # Milvus Lite fails where the average length is 0: no rows, or none with a word
        return found

    def search_photos(self, owner: str, vectors: np.ndarray, limit: int) -> list[IndexHit]:
        """Photos by cosine to the nearest of the given photos' vectors."""
        nearest: dict[int | str, IndexHit] = {}
        for hits in self._search("photo", owner, "vector", list(vectors), limit):
            for hit in hits:
                if hit.record_id not in nearest or hit.score > nearest[hit.record_id].score:
                    nearest[hit.record_id] = hit
        return sorted(nearest.values(), key=_order)[:limit]

    def search_photos_by_words(self, owner: str, vector: np.ndarray, limit: int) -> list[IndexHit]:
        """Photos by cosine to words; the vector is of the space in which words find photos."""
        space: Space = "photo" if self.encoders.word_dimensions is None else "photo_text"
        [found] = self._search(space, owner, "vector", [vector], limit)
        return found

    # Looking after it

    def has(self, owner: str, space: Space) -> bool:
        """Whether the owner ever wrote to that collection."""
        with self._service():
            return self._collection(space, owner) is not None

    def has_photos(self, owner: str) -> bool:
        """Whether words can find photos of the owner at all."""
        return self.has(owner, "photo" if self.encoders.word_dimensions is None else "photo_text")

    def versions(self, owner: str, space: Space) -> dict[str, int]:
        """Every row's version by key: `entry:7`, `message:12` or a photo id."""
        with self._service():
            name = self._collection(space, owner)
            if name is None:
                return {}
            pages = self._client.query_iterator(
                name, batch_size=1000, filter="", output_fields=["key", "version"], timeout=_SLOW_TIMEOUT
            )
            found: dict[str, int] = {}
            while page := pages.next():
                found |= {row["key"]: row["version"] for row in page}
            pages.close()
            return found

    def _has_words(self, owner: str) -> bool:
        with self._service():
            name = self._collection("text", owner)
            return name is not None and bool(
                self._client.query(name, filter='words != ""', output_fields=["key"], limit=1, timeout=_TIMEOUT)
            )

    def _open(self) -> "MilvusClient":
        with suppress(ImportError):
            import scipy.sparse  # noqa: F401  # pymilvus imports it in its first search: two threads there can deadlock
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # milvus-lite's use of pkg_resources
            from pymilvus import MilvusClient
            from pymilvus.exceptions import MilvusException

            for name in ("pymilvus", "milvus_lite"):
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # what goes wrong is raised
            if self.is_lite:
                _start_quietly()
                with suppress(OSError):
                    os.chmod(self.uri, 0o600)
        for attempt in range(_OPEN_ATTEMPTS if self.is_lite else 1):
            if attempt:
                time.sleep(attempt / 2)  # a process before us may still be letting go of the file
            try:
                options = _WITHOUT_PINGS if self.is_lite else {}
                return MilvusClient(self.uri, token=self._token, timeout=_CONNECT_TIMEOUT, grpc_options=options)
            except (MilvusException, RuntimeError, OSError) as error:
                failure: Exception = error
                self._end_lite()
        reason = getattr(failure, "message", None) or str(failure)
        remedy = " If it stays so, delete that file: the index is built anew from the database." if self.is_lite else ""
        raise IndexUnavailableError(f"Cannot open the index {self.uri}: {reason.rstrip('.')}.{remedy}") from failure

    def _end_lite(self) -> None:
        """Milvus Lite's process, if there is one."""
        if self.is_lite:
            from milvus_lite.server_manager import server_manager_instance

            if str(Path(self.uri).resolve()) in server_manager_instance._servers:  # else it complains
                server_manager_instance.release_server(self.uri)

    @contextmanager
    def _service(self) -> Iterator[None]:
        """A failure of Milvus, as an error of ours."""
        from grpc import RpcError
        from pymilvus.exceptions import MilvusException

        try:
            yield
        except (MilvusException, RpcError, ValueError) as error:
            if isinstance(error, ValueError) and "channel" not in str(
                error
            ):  # grpc: "Cannot invoke RPC on closed channel!"
                raise
            reason = getattr(error, "message", None) or str(error)
            raise IndexUnavailableError(f"The index {self.uri} does not answer: {reason}") from error

    def _refuse_mismatch(self, discard: bool) -> None:
        with self._service():
            for name in self._client.list_collections(timeout=_TIMEOUT):
                found = _NAME.fullmatch(name)
                if not found or found[3] == self.encoders.fingerprint(found[1]):  # type: ignore[arg-type]
                    continue
                if discard:
                    self._client.drop_collection(name, timeout=_SLOW_TIMEOUT)
                    continue
                built = json.loads(self._client.describe_collection(name, timeout=_TIMEOUT)["description"])
                now = self.encoders.description(found[1])  # type: ignore[arg-type]
                different = next((key for key in now if built.get(key) != now[key]), "encoder")
                self._client.close()
                raise IndexMismatchError(
                    f"The index was built with {different} {built.get(different)!r}, the settings say "
                    f"{now.get(different)!r}; run `m2a reindex` to build it again, or set the former."
                )

    def _name(self, space: Space, owner: str) -> str:
        return f"{space}_{checked_owner(owner)}_{self.encoders.fingerprint(space)}"

    def _collection(self, space: Space, owner: str) -> str | None:
        """The name of the owner's collection, ready to be searched; None before the owner's first write."""
        known = self._loaded.get((space, owner))
        if known is not None:
            return known
        name = self._name(space, owner)
        with self._lock:
            if not self._client.has_collection(name, timeout=_TIMEOUT):
                return None
            self._make_ready(space, owner, name)
            return name

    def _make_ready(self, space: Space, owner: str, name: str) -> None:
        """Indexes, where a crash came before them, and load. Without waiting: pymilvus sleeps half a second for each."""
        fields = ("vector", "sparse") if space == "text" else ("vector",)
        missing = set(fields) - set(self._client.list_indexes(name, timeout=_TIMEOUT))
        if missing:
            indexes = self._client.prepare_index_params()
            if "vector" in missing:
                indexes.add_index("vector", index_name="vector", index_type="FLAT", metric_type="COSINE")
            if "sparse" in missing:
                indexes.add_index(
                    "sparse",
                    index_name="sparse",
                    index_type="SPARSE_INVERTED_INDEX",
                    metric_type="BM25",
                    params={"bm25_k1": BM25_K1, "bm25_b": BM25_B},
                )
            self._client.create_index(name, indexes, timeout=_SLOW_TIMEOUT, sync=False)
        self._client.load_collection(name, timeout=_SLOW_TIMEOUT)
        self._loaded[space, owner] = name

    def _make_collection(self, space: Space, owner: str) -> str:
        from pymilvus import DataType, Function, FunctionType, MilvusClient

        description = self.encoders.description(space)
        schema = MilvusClient.create_schema(
            auto_id=False, enable_dynamic_field=False, description=json.dumps(description)
        )
        schema.add_field("key", DataType.VARCHAR, max_length=64, is_primary=True)
        schema.add_field("version", DataType.INT64)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=description["dimensions"])
        if space == "text":
            schema.add_field("kind", DataType.VARCHAR, max_length=8)
            schema.add_field(
                "words",
                DataType.VARCHAR,
                max_length=65_535,
                enable_analyzer=True,
                analyzer_params={"tokenizer": "whitespace"},
            )
            schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
            schema.add_function(
                Function(
                    name="bm25",
                    function_type=FunctionType.BM25,
                    input_field_names=["words"],
                    output_field_names=["sparse"],
                )
            )
        name = self._name(space, owner)
        self._client.create_collection(name, schema=schema, consistency_level="Strong", timeout=_SLOW_TIMEOUT)
        self._make_ready(space, owner, name)
        return name

    def _put(self, space: Space, owner: str, rows: list[dict[str, Any]]) -> None:
        if not rows:
            return
        with self._lock, self._service():
            name = self._collection(space, owner) or self._make_collection(space, owner)
            if not self.is_lite:
                self._client.upsert(name, rows, timeout=_SLOW_TIMEOUT)
                return
            # Milvus Lite's upsert reads the whole collection (45 ms at 100,000 rows), a look at the keys does not.
            keys = [row["key"] for row in rows]
            known = {row["key"] for row in self._client.get(name, keys, output_fields=["key"], timeout=_TIMEOUT)}
            if new := [row for row in rows if row["key"] not in known]:
                self._client.insert(name, new, timeout=_SLOW_TIMEOUT)
            if old := [row for row in rows if row["key"] in known]:
                self._client.upsert(name, old, timeout=_SLOW_TIMEOUT)

    def _delete(self, space: Space, owner: str, keys: list[str]) -> None:
        if not keys:
            return
        with self._lock, self._service():
            name = self._collection(space, owner)
            if name is not None:
                self._client.delete(name, ids=keys, timeout=_SLOW_TIMEOUT)

    def _search(
        self,
        space: Space,
        owner: str,
        field: str,
        queries: list[Any],
        limit: int,
        condition: str = "",
        output: Sequence[str] = ("version",),
    ) -> list[list[IndexHit]]:
        """A list of hits for each query."""
        client, drops = self._client, self._drops
        try:
            return self._search_once(space, owner, field, queries, limit, condition, output)
        except IndexUnavailableError:
            with self._lock:
                # Milvus Lite now and then fails a BM25 search while a row is written ("negative value"): once more,
                # with no write under way. Or a purge closed the client under us and opened another, or a rebuild dropped
                # the collection.
                unmoved = self._client is client and self._drops == drops
                if unmoved and not (self.is_lite and field == "sparse"):
                    raise
                return self._search_once(space, owner, field, queries, limit, condition, output)

    def _search_once(
        self,
        space: Space,
        owner: str,
        field: str,
        queries: list[Any],
        limit: int,
        condition: str,
        output: Sequence[str],
    ) -> list[list[IndexHit]]:
        with self._service():
            name = self._collection(space, owner)
            if name is None:
                return [[] for _ in queries]
            found = self._client.search(
                name,
                data=queries,
                anns_field=field,
                limit=min(limit, _LARGEST_LIMIT),
                filter=condition,
                output_fields=list(output),
                timeout=_TIMEOUT,
            )
        wanted = frozenset(queries[0].split()) if field == "sparse" else frozenset()
        return [sorted(_hits(rows, wanted), key=_order) for rows in found]


class _FileLock:
    """Held while the index is open; the system lets go of it with the process.

    Milvus Lite has one of its own, but whom it refuses deletes it on the way out, and then the next is let in.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(0o600)
        self._file = path.open("a")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise IndexUnavailableError(
                f"Cannot open the index {path.with_suffix('')}: another process has it open."
            ) from error

    def release(self) -> None:
        self._file.close()


def _start_quietly() -> None:
    """Make Milvus Lite's process keep off our standard output, which is for answers, and out of the way of Ctrl-C."""
    import subprocess
    from types import SimpleNamespace

    import milvus_lite.server

    popen = partial(
        subprocess.Popen,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        umask=0o077,  # the file holds everybody's words
    )
    milvus_lite.server.subprocess = SimpleNamespace(Popen=popen, TimeoutExpired=subprocess.TimeoutExpired)


_FILTERS: Mapping[frozenset[str], str] = {
    frozenset({"entry"}): 'kind == "entry"',
    frozenset({"message"}): 'kind == "message"',
    frozenset({"entry", "message"}): "",
}


def _filter(kinds: Collection[RecordKind]) -> str:
    """The one place that makes filters. Nothing from outside gets into one."""
    try:
        return _FILTERS[frozenset(kinds)]
    except KeyError:
        raise ValueError(f"{sorted(kinds)!r} are not kinds of records; ask for entry, message or both.") from None


def _shortened(words: Sequence[str]) -> str:
    text = " ".join(words)
    if len(text.encode()) <= _LONGEST_WORDS:
        return text
    return text.encode()[:_LONGEST_WORDS].decode(errors="ignore").rpartition(" ")[0]


def _photo_row(photo_id: str, vector: np.ndarray | None) -> dict[str, Any]:
    if not is_photo_id(photo_id):
        raise ValueError(f"{photo_id!r} is not a photo id of 64 hexadecimal digits.")
    return {"key": photo_id, "version": 1, "vector": vector}


def _hits(rows: "HybridHits", wanted: frozenset[str]) -> Iterator[IndexHit]:
    of_photos = rows and ":" not in rows.ids[0]
    for key, distance, row in zip(rows.ids, rows.distances, rows, strict=True):
        # Rounded: equal records differ in the last bits, and equal scores are put in order by id.
        score, entity = round(distance, 5), row["entity"]
        if of_photos:
            yield IndexHit("photo", key, entity["version"], score)
            continue
        kind, _, number = key.partition(":")
        matched = len(wanted.intersection(entity["words"].split())) / len(wanted) if wanted else 1.0
        yield IndexHit(kind, int(number), entity["version"], score, matched)


def _order(hit: IndexHit) -> tuple[float, str, int | str]:
    return -hit.score, hit.kind, hit.record_id
