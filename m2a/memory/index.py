"""The vector index: Milvus Lite in a file, or a Milvus server, through one class.

Each owner has collections of their own, created at the first write, because Milvus includes every row of a collection in BM25's
document frequencies, even those that a filter excludes: in a shared collection, other owners' words would shift rankings.

| collection                        | a row is                  | searched by                    |
| --------------------------------- | ------------------------- | ------------------------------ |
| `text_<owner>_<fingerprint>`      | an entry or a message     | cosine, BM25 of finished words |
| `photo_<owner>_<fingerprint>`     | a photo                   | cosine to a photo              |
| `photo_text_<owner>_<fingerprint>`| a photo, for words        | cosine to words                |

The fingerprint stands for the encoder and the word rules that made the rows. It is part of the name, so that rows of other
encoders are never searched; the collection's description names them in full.

Search is exact (FLAT). Milvus Lite 2.5.1 ignores `nprobe`: at 100,000 random vectors, IVF_FLAT took 1.5 ms instead of 15, but
found only one in ten of the nearest.

A collection in memory costs Milvus Lite 130 KB for each dimension of its vectors, however few rows it has: an owner with photos
costs 270 MB. So only those used last are kept there. Loading one again takes 40 to 120 ms.
"""

import json
import re
import threading
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from m2a.memory import lite_file
from m2a.memory.index_connection import IndexConnection
from m2a.memory.index_rows import (
    IndexHit,
    PhotoHit,
    PhotoRow,
    TextRow,
    filter_for,
    hits_in,
    photo_entity,
    photo_hits_in,
    photo_order,
    row_key,
    text_entity,
)
from m2a.memory.index_schema import IndexEncoders, Space, collection_schema, fields_of, index_params
from m2a.memory.keys import checked_owner, is_photo_id
from m2a.memory.milvus import SLOW_TIMEOUT, TIMEOUT, IndexUnavailableError, answering
from m2a.types import RecordKey, RecordKind
from m2a.types.errors import UserError

if TYPE_CHECKING:
    from pymilvus import MilvusClient
    from pymilvus.client.search_result import HybridHits

_NAME = re.compile(r"(text|photo|photo_text)_([0-9a-f]{32})_([0-9a-f]{8})")
LARGEST_LIMIT = 16_384  # Milvus allows no more rows in one answer
_MAX_LOADED = 16  # collections that Milvus Lite keeps in memory


class IndexMismatchError(UserError):
    """The index was built with other encoders or word rules; the message names the remedy."""


class MemoryIndex:
    """The rows of every owner. Safe to call from threads; a read sees every write that returned before it.

    Opening raises `IndexMismatchError` if the rows were built with other encoders. With `discard_mismatch` it drops such rows
    instead, so the caller must fill the index again. Every call raises `IndexUnavailableError` if Milvus does not answer. A
    search that finds nothing returns an empty list, also for an owner without rows.

    Results are sorted best first, then by kind and id.
    """

    def __init__(self, uri: str, encoders: IndexEncoders, *, discard_mismatch: bool = False) -> None:
        self.uri = uri
        self.encoders = encoders
        self._lock = threading.RLock()  # for writers: Milvus Lite needs the writes to a collection one after the other
        self._loaded: dict[tuple[Space, str], str] = {}
        self._used: dict[tuple[Space, str], float] = {}  # when each was used last
        self._absent: set[tuple[Space, str]] = set()  # only for Milvus Lite, to whose file nobody else writes
        self._drops = 0
        self._connection = IndexConnection(uri)
        self.is_lite = self._connection.is_lite
        try:
            self._refuse_mismatch(discard_mismatch)
        except (IndexUnavailableError, IndexMismatchError):
            self._connection.close()
            raise

    def close(self) -> None:
        """Closes the connection; for Milvus Lite also ends its process and unlocks its file."""
        with self._lock:
            self._connection.close()

    @property
    def _client(self) -> "MilvusClient":
        return self._connection.client

    # Writing

    def put(self, owner: str, rows: Sequence[TextRow]) -> None:
        """Inserts or replaces the rows."""
        self._put("text", owner, [text_entity(row) for row in rows])

    def put_photos(self, owner: str, rows: Sequence[PhotoRow]) -> None:
        """Inserts or replaces the photos."""
        self._put("photo", owner, [photo_entity(row.photo_id, row.vector) for row in rows])
        if self.encoders.word_dimensions is not None:
            self._put(
                "photo_text",
                owner,
                [photo_entity(row.photo_id, row.word_vector) for row in rows if row.word_vector is not None],
            )

    def delete(self, owner: str, keys: Collection[RecordKey]) -> None:
        """Deletes the rows; missing rows are ignored."""
        self._delete("text", owner, [row_key(key) for key in keys])

    def delete_photos(self, owner: str, photo_ids: Collection[str]) -> None:
        keys = [photo_id for photo_id in photo_ids if is_photo_id(photo_id)]
        self._delete("photo", owner, keys)
        self._delete("photo_text", owner, keys)

    def drop(self, owner: str | None = None) -> None:
        """Removes all rows of an owner, or of everyone."""
        if owner is not None:
            checked_owner(owner)
        with self._lock, answering(self.uri):
            try:
                for name in self._client.list_collections(timeout=TIMEOUT):
                    match = _NAME.fullmatch(name)
                    if match and owner in (None, match[2]):
                        self._client.drop_collection(name, timeout=SLOW_TIMEOUT)
                        self._loaded.pop((match[1], match[2]), None)  # type: ignore[arg-type]
            finally:
                self._drops += 1  # last, so that a search that began earlier tries again

    def purge(self) -> None:
        """Removes deleted rows from the file for good, and a file that was set aside. A server does so when it compacts."""
        with self._lock:
            self._loaded.clear()
            self._connection.compact()

    def recover(self) -> None:
        """Reopens the index. If searches still fail, empties it, so the caller must fill it again.

        On a server, only the collections that cannot be searched are dropped. Raises `IndexUnavailableError`.
        """
        with self._lock:
            try:
                broken = not self._reopen() or bool(self._broken())
            except IndexUnavailableError:
                if not self.is_lite or self._connection.is_closed:
                    raise
                broken = True
            if broken and self.is_lite:
                self._connection.start_empty()
            elif broken:
                for name in self._broken():
                    self._client.drop_collection(name, timeout=SLOW_TIMEOUT)
            self._loaded.clear()
            self._drops += 1

    def faults(self) -> list[str]:
        """Reopens the index and returns a sentence for each fault of its file or of a search in a collection."""
        with self._lock:
            try:
                if not self._reopen():
                    return [f"The file of the index, {self.uri}, is damaged."]
                return [f"The index fails in {name}: {why}" for name, why in self._broken().items()]
            except IndexUnavailableError as error:
                return [str(error)]

    def _reopen(self) -> bool:
        self._loaded.clear()
        return self._connection.reopen()

    def _broken(self) -> dict[str, str]:
        """Returns the collections whose searches fail, with the reasons."""
        broken: dict[str, str] = {}
        with answering(self.uri):
            for name in self._client.list_collections(timeout=TIMEOUT):
                if match := _NAME.fullmatch(name):
                    try:
                        self._probe(match[1], match[2])  # type: ignore[arg-type]
                    except IndexUnavailableError as error:
                        broken[name] = str(error)
        return broken

    def _probe(self, space: Space, owner: str) -> None:
        """Searches a collection on each of its paths. Raises `IndexUnavailableError`."""
        rows = self.count(owner, space)
        name = self._name(space, owner)
        if self.is_lite and lite_file.row_count(Path(self.uri), name) != rows:
            raise IndexUnavailableError("some of its rows cannot be read.")
        if not rows:
            return
        vector = np.zeros(self.encoders.dimensions(space), dtype=np.float32)
        vector[0] = 1
        answers = [self._search_once(space, owner, anns_field="vector", data=[vector], limit=1)]
        if space == "text" and (words := self._some_words(owner)):
            answers.append(self._search_once(space, owner, anns_field="sparse", data=[words], limit=1))
        if not all(map(any, answers)):
            raise IndexUnavailableError("a search in it finds nothing.")

    # Searching

    def search_dense(
        self,
        owner: str,
        vectors: np.ndarray,
        kinds: Collection[RecordKind],
        limit: int,
        memory_ids: Collection[int] | None = None,
    ) -> list[list[IndexHit]]:
        """Searches by cosine, for all vectors at once; with `memory_ids`, only in these entries."""
        answers = self._search(
            "text",
            owner,
            anns_field="vector",
            data=list(vectors),
            limit=limit,
            filter=filter_for(kinds, memory_ids),
            output_fields=["version"],
        )
        return [hits_in(rows) for rows in answers] or [[] for _ in vectors]

    def search_bm25(
        self,
        owner: str,
        queries: Sequence[Sequence[str]],
        kinds: Collection[RecordKind],
        limit: int,
        memory_ids: Collection[int] | None = None,
    ) -> list[list[IndexHit]]:
        """Searches by BM25, for all queries at once; with `memory_ids`, only in these entries. Repeated words count once."""
        condition = filter_for(kinds, memory_ids)
        distinct = [dict.fromkeys(words) for words in queries]
        texts = [" ".join(words) for words in distinct if words]
        answers: list[HybridHits] = []
        try:
            if texts:
                answers = self._search(
                    "text",
                    owner,
                    anns_field="sparse",
                    data=texts,
                    limit=limit,
                    filter=condition,
                    output_fields=["version", "words"],
                )
        except IndexUnavailableError:  # Milvus Lite fails if the average length is 0, that is, without rows or words
            if self._some_words(owner):
                raise
        rows = iter(answers)
        return [hits_in(next(rows), frozenset(words)) if answers and words else [] for words in distinct]

    def search_photos(self, owner: str, vectors: np.ndarray, limit: int) -> list[PhotoHit]:
        """Searches photos by cosine to the nearest of the vectors of photos."""
        nearest: dict[str, PhotoHit] = {}
        for rows in self._search("photo", owner, anns_field="vector", data=list(vectors), limit=limit):
            for hit in photo_hits_in(rows):
                if hit.photo_id not in nearest or hit.score > nearest[hit.photo_id].score:
                    nearest[hit.photo_id] = hit
        return sorted(nearest.values(), key=photo_order)[:limit]

    def search_photos_by_words(self, owner: str, vector: np.ndarray, limit: int) -> list[PhotoHit]:
        """Searches photos by cosine to the vector of words, in the space where words find photos."""
        space: Space = "photo" if self.encoders.word_dimensions is None else "photo_text"
        answers = self._search(space, owner, anns_field="vector", data=[vector], limit=limit)
        return [hit for rows in answers for hit in photo_hits_in(rows)]

    # Maintenance

    def has(self, owner: str, space: Space) -> bool:
        """Returns whether the owner ever wrote to that collection."""
        with answering(self.uri):
            return self._collection(space, owner) is not None

    def has_photos(self, owner: str) -> bool:
        """Returns whether the owner has photos that words can find."""
        return self.has(owner, "photo" if self.encoders.word_dimensions is None else "photo_text")

    def versions(self, owner: str, space: Space) -> dict[str, int]:
        """Returns the version of every row by key: `entry:7`, `message:12` or a photo id."""
        with answering(self.uri):
            name = self._collection(space, owner)
            if name is None:
                return {}
            pages = self._client.query_iterator(
                name, batch_size=1000, filter="", output_fields=["key", "version"], timeout=SLOW_TIMEOUT
            )
            versions: dict[str, int] = {}
            while page := pages.next():
                versions |= {row["key"]: row["version"] for row in page}
            pages.close()
            return versions

    def count(self, owner: str, space: Space) -> int:
        """Returns the number of the owner's rows."""
        with answering(self.uri):
            name = self._collection(space, owner)
            if name is None:
                return 0
            [row] = self._client.query(name, filter="", output_fields=["count(*)"], timeout=TIMEOUT)
            return int(row["count(*)"])

    def _some_words(self, owner: str) -> str:
        """Returns the words of some row, or "" if no row has any."""
        with answering(self.uri):
            name = self._collection("text", owner)
            if name is None:
                return ""
            rows = self._client.query(name, filter='words != ""', output_fields=["words"], limit=1, timeout=TIMEOUT)
            return str(rows[0]["words"]) if rows else ""

    def _refuse_mismatch(self, discard: bool) -> None:
        with answering(self.uri):
            for name in self._client.list_collections(timeout=TIMEOUT):
                match = _NAME.fullmatch(name)
                if not match or match[3] == self.encoders.fingerprint(match[1]):  # type: ignore[arg-type]
                    continue
                if discard:
                    self._client.drop_collection(name, timeout=SLOW_TIMEOUT)
                    continue
                built = json.loads(self._client.describe_collection(name, timeout=TIMEOUT)["description"])
                now = self.encoders.description(match[1])  # type: ignore[arg-type]
                different = next((key for key in now if built.get(key) != now[key]), "encoder")
                raise IndexMismatchError(
                    f"The index was built with {different} {built.get(different)!r}, but the settings say "
                    f"{now.get(different)!r}; run `m2a reindex` to rebuild it, or restore the setting."
                )

    def _name(self, space: Space, owner: str) -> str:
        return f"{space}_{checked_owner(owner)}_{self.encoders.fingerprint(space)}"

    def _collection(self, space: Space, owner: str) -> str | None:
        """Returns the name of the owner's collection, ready for searches, or None before the owner's first write."""
        loaded = self._loaded.get((space, owner))
        if loaded is not None:
            self._used[space, owner] = time.monotonic()
        if loaded is not None or (space, owner) in self._absent:
            return loaded
        name = self._name(space, owner)
        with self._lock:
            if not self._client.has_collection(name, timeout=TIMEOUT):
                if self.is_lite:
                    self._absent.add((space, owner))
                return None
            self._make_ready(space, owner, name)
            return name

    def _make_ready(self, space: Space, owner: str, name: str) -> None:
        """Creates indexes that a crash left out, and loads the collection. Does not wait, since pymilvus would sleep for each."""
        missing = fields_of(space) - set(self._client.list_indexes(name, timeout=TIMEOUT))
        if missing:
            self._client.create_index(name, index_params(missing), timeout=SLOW_TIMEOUT, sync=False)
        self._client.load_collection(name, timeout=SLOW_TIMEOUT)
        self._used[space, owner] = time.monotonic()
        self._loaded[space, owner] = name
        if self.is_lite and len(self._loaded) > _MAX_LOADED:
            # Whoever is about to search it still finds its rows: Milvus Lite loads it again by itself.
            unused = min(self._loaded, key=lambda key: self._used[key])
            self._client.release_collection(self._loaded.pop(unused), timeout=SLOW_TIMEOUT)

    def _make_collection(self, space: Space, owner: str) -> str:
        schema = collection_schema(space, self.encoders)
        name = self._name(space, owner)
        self._client.create_collection(name, schema=schema, consistency_level="Strong", timeout=SLOW_TIMEOUT)
        self._absent.discard((space, owner))
        self._make_ready(space, owner, name)
        return name

    def _put(self, space: Space, owner: str, rows: list[dict[str, Any]]) -> None:
        if not rows:
            return
        with self._lock, answering(self.uri):
            name = self._collection(space, owner) or self._make_collection(space, owner)
            if not self.is_lite:
                self._client.upsert(name, rows, timeout=SLOW_TIMEOUT)
                return
            # Milvus Lite's upsert reads the whole collection (45 ms at 100,000 rows); looking up the keys does not.
            keys = [row["key"] for row in rows]
            existing = {row["key"] for row in self._client.get(name, keys, output_fields=["key"], timeout=TIMEOUT)}
            if new := [row for row in rows if row["key"] not in existing]:
                self._client.insert(name, new, timeout=SLOW_TIMEOUT)
            if old := [row for row in rows if row["key"] in existing]:
                self._client.upsert(name, old, timeout=SLOW_TIMEOUT)

    def _delete(self, space: Space, owner: str, keys: list[str]) -> None:
        if not keys:
            return
        with self._lock, answering(self.uri):
            name = self._collection(space, owner)
            if name is not None:
                self._client.delete(name, ids=keys, timeout=SLOW_TIMEOUT)
                if self.is_lite and not self.count(owner, space):
                    # Milvus Lite's process dies if rows are added to a collection whose rows were all deleted.
                    self._client.drop_collection(name, timeout=SLOW_TIMEOUT)
                    self._loaded.pop((space, owner), None)
                    self._drops += 1

    def _search(self, space: Space, owner: str, **search: Any) -> list["HybridHits"]:
        """Returns Milvus' answer for each query, or an empty list before the owner's first write.

        `search` are arguments of `MilvusClient.search`.
        """
        client, drops = self._client, self._drops
        try:
            return self._search_once(space, owner, **search)
        except IndexUnavailableError:
            with self._lock:
                # Try once more without concurrent writes, if a purge replaced the client or a rebuild dropped the collection, or
                # for BM25, which Milvus Lite sometimes fails during a write ("negative value").
                unchanged = self._client is client and self._drops == drops
                if unchanged and not (self.is_lite and search["anns_field"] == "sparse"):
                    raise
                return self._search_once(space, owner, **search)

    def _search_once(self, space: Space, owner: str, *, limit: int, **search: Any) -> list["HybridHits"]:
        with answering(self.uri):
            name = self._collection(space, owner)
            if name is None:
                return []
            limit = min(limit, LARGEST_LIMIT)
            return self._client.search(name, limit=limit, timeout=TIMEOUT, **search)  # type: ignore[no-any-return]
