"""Retrieval beside the physical limit, in one run: `python -m tests.bench retrieval [--sizes 1000,10000,100000]`.

Ours is `Retriever.search`: three paths in Milvus, every hit confirmed by SQL, fused, entries loaded. The limit is the same
three rankings over arrays in memory (numpy for vectors, bm25s for words) without storage, owners, versions or SQL. The
query's vector is at hand in both: encoding is measured elsewhere. Beside a question in words stand three bare calls of
`MilvusClient` on three threads, one for each path, as deep as the ranking goes: asked in turns with ours, query by query, so
that a busy machine slows both. Words are drawn by Zipf's law, a fifth of the memories
has a photo, and some evidence; vectors are random. `--fusion best` ranks as that setting does, with the weights that ship;
`--kind message` searches messages, in conversations of thirty, instead of memories.
"""

import argparse
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from sqlalchemy import Table, insert, select, update

from m2a.memory import conversations
from m2a.memory.attribution import Attribution
from m2a.memory.database import Database
from m2a.memory.fusion import reciprocal_rank_fusion
from m2a.memory.index import MemoryIndex
from m2a.memory.index_schema import BM25_B, BM25_K1, IndexEncoders
from m2a.memory.owners import owner_named
from m2a.memory.path_search import PATH_DEPTH
from m2a.memory.ranking.learned_ranking import LearnedRanking
from m2a.memory.ranking.record_store import RankedRecordStore
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.schema import entry, entry_evidence, entry_photo, message, message_photo, outbox, photo
from m2a.memory.schema import owner as owner_table
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.stores import Retrieval
from m2a.memory.words import finished_words
from m2a.settings import load_settings
from m2a.types import EntryDraft, EvidenceRange, Query, RecordKind
from models.text_encoder import TokenStates

SIZES = (1_000, 10_000, 100_000)
QUERIES = 100
BARS = {10_000: 10, 100_000: 30}  # ms, p50
RATIO_TO_MILVUS = 2.5  # p50, at the sizes of BARS
NOW = datetime(2026, 3, 12, 12, 0, tzinfo=UTC)
VOCABULARY = 20_000


class KnownVectors:
    """Replaces both encoders at no cost: the vector of a text is random, but always the same."""

    def __init__(self, encoder_id: str, dimensions: int, word_dimensions: int | None = None) -> None:
        self.encoder_id = encoder_id
        self.dimensions = dimensions
        self.word_dimensions = word_dimensions
        self._pool = unit(np.random.default_rng(7).normal(size=(64, word_dimensions or dimensions)))
        self._random = np.random.default_rng(8)

    def encode(self, items: Sequence[object]) -> np.ndarray:
        return unit(self._random.normal(size=(len(items), self.dimensions)))

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenStates]:
        """A token for each word, without order."""
        result = []
        for text, vector in zip(texts, self.encode(texts), strict=True):
            spans = np.array([match.span() for match in re.finditer(r"\w+", text)], dtype=np.int32)
            states = self._random.normal(size=(len(spans), self.dimensions)).astype(np.float32)
            result.append(TokenStates(vector, states, spans))
        return result

    def encode_for_words(self, photos: Sequence[object]) -> np.ndarray:
        assert self.word_dimensions is not None
        return unit(self._random.normal(size=(len(photos), self.word_dimensions)))

    def encode_words(self, texts: Sequence[str]) -> np.ndarray:
        return self._pool[[len(text) % 64 for text in texts]]


class KnownQueries(KnownVectors):
    """Caches the tokens of a single text, which is a query."""

    def __init__(self, encoder_id: str, dimensions: int) -> None:
        super().__init__(encoder_id, dimensions)
        self._states: dict[str, list[TokenStates]] = {}

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenStates]:
        if len(texts) != 1:
            return super().encode_tokens(texts)
        if texts[0] not in self._states:
            self._states[texts[0]] = super().encode_tokens(texts)
        return self._states[texts[0]]

    def encode(self, items: Sequence[object]) -> np.ndarray:
        return self._pool[[len(str(item)) % 64 for item in items]] if len(items) == 1 else super().encode(items)


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def sentences(count: int, seed: int, words: tuple[int, int]) -> list[str]:
    """Sentences of made-up words, the n-th 1/n as frequent as the first, as in real text."""
    chooser = np.random.default_rng(seed)
    weights = 1 / np.arange(1, VOCABULARY + 1)
    lengths = chooser.integers(*words, size=count)
    drawn = chooser.choice(VOCABULARY, size=int(lengths.sum()), p=weights / weights.sum())
    parts = np.split(drawn, np.cumsum(lengths)[:-1])
    return [" ".join(f"{_SYLLABLES[n % 400]}{_SYLLABLES[n // 400]}o" for n in part) for part in parts]


_SYLLABLES = [a + b + c for a in "bdfgklmnprtvzjwhqxyc" for b in "aeiou" for c in "lnrk"]


def photo_name(number: int) -> str:
    return f"{number:064x}"


@dataclass
class Memory:
    """An owner's memories, in SQL and in the index; `limit` holds the same rows as arrays."""

    owner: str
    database: Database
    retrieval: Retrieval
    ranking: LearnedRanking | None
    texts: list[str]
    photos: list[str]

    def write(self, text: str) -> None:
        """Writes as the memory bank does: SQL, then the index."""
        draft = EntryDraft(text, (EvidenceRange(1, 1),))
        with self.database.write(self.owner) as unit:
            SemanticMemoryStore().add(unit, draft, Attribution("bench", "bench", NOW))
        self.retrieval.indexer.drain(self.owner)


@contextmanager
def memory_of(size: int, folder: Path, fusion: str, kind: RecordKind) -> Iterator[Memory]:
    database = Database(f"sqlite:///{folder / 'memory.db'}")
    text_encoder = KnownQueries("known-text", 384)
    image_encoder = KnownVectors("known-photo", 1280, 384)
    ranking = LearnedRanking.shipped(RankedRecordStore(), text_encoder) if fusion == "best" else None
    retrieval = Retrieval.open(
        MemoryIndex(str(folder / "index.db"), IndexEncoders.of(text_encoder, image_encoder)),
        database,
        text_encoder,
        image_encoder,
        lambda _owner, photo_id: photo_id,  # type: ignore[arg-type,return-value]
        ranking=ranking,
    )
    owner = owner_named(database, "bench")
    texts = sentences(size, 1, (6, 24))
    photos = [photo_name(number) for number in range(size // 5)]
    _fill(database, owner, texts, photos, kind)
    retrieval.indexer.drain()
    yield Memory(owner, database, retrieval, ranking, texts, photos)
    retrieval.close()
    database.close()


def _fill(database: Database, owner: str, texts: Sequence[str], photos: Sequence[str], kind: RecordKind) -> None:
    """One record with a photo written by the stores; the others are copies of its rows, which takes seconds."""
    raw, semantic = RawMessageStore(), SemanticMemoryStore()
    picture = {"media_type": "image/jpeg", "width": 1, "height": 1, "size": 1, "added_at": 0}
    with database.write(owner) as unit:
        unit.execute(insert(photo).values(owner=owner, photo_id=photos[0], **picture))
        unit.execute(insert(outbox).values(owner=owner, record="photo", record_id=photos[0]))
        chat = conversations.start(unit, NOW).conversation_id
        raw.append(unit, chat, role="user", speaker="Anna", text=texts[0], photos=photos[:1], said_at=NOW)
        draft = EntryDraft(texts[0], (EvidenceRange(1, 1),), photo_ids=(photos[0],))
        semantic.add(unit, draft, Attribution("bench", "bench", NOW))

        def copies(table: Table, changes: Iterable[dict[str, object]]) -> None:
            row = unit.execute(select(table).where(table.c.owner == owner).limit(1)).mappings().one()
            row = {name: value for name, value in row.items() if name not in ("sequence", "history_id")}
            unit.execute(insert(table), [row | change for change in changes])

        ids = range(2, len(texts) + 1)
        copies(photo, ({"photo_id": name} for name in photos[1:]))
        copies(outbox, ({"record": kind, "record_id": str(n)} for n in ids))
        copies(outbox, ({"record": "photo", "record_id": name} for name in photos[1:]))
        if kind == "message":
            copies(
                message, ({"message_id": n, "text": texts[n - 1], "conversation_id": f"{n // 30:032x}"} for n in ids)
            )
            numbered = enumerate(photos[1:], start=1)
            copies(message_photo, ({"message_id": 5 * n, "photo_id": name} for n, name in numbered))
            return
        copies(entry, ({"memory_id": n, "text": texts[n - 1], "folded_hash": f"{n:064x}"} for n in ids))
        copies(entry_evidence, ({"memory_id": n} for n in ids))
        copies(entry_photo, ({"memory_id": 5 * n, "photo_id": name} for n, name in enumerate(photos[1:], start=1)))
        unit.execute(update(owner_table).values(last_memory_id=len(texts)))


class Limit:
    """The same three rankings over arrays in memory."""

    def __init__(self, texts: Sequence[str], photos: int) -> None:
        import bm25s

        random = np.random.default_rng(3)
        self.vectors = unit(random.normal(size=(len(texts), 384)))
        self.photo_vectors = unit(random.normal(size=(photos, 1280)))
        self.word_vectors = unit(random.normal(size=(photos, 384)))
        self.bm25 = bm25s.BM25(k1=BM25_K1, b=BM25_B)
        self.bm25.index([finished_words(text) for text in texts], show_progress=False)
        self.text_query, self.photo_query = self.vectors[0], self.photo_vectors[0]

    def by_words(self, text: str) -> object:
        ids, _ = self.bm25.retrieve([finished_words(text)], k=PATH_DEPTH, show_progress=False)
        return reciprocal_rank_fusion(
            [
                _top(self.vectors @ self.text_query),
                ids[0].tolist(),
                [5 * photo for photo in _top(self.word_vectors @ self.text_query)],
            ]
        )

    def by_photo(self, _: str) -> object:
        return reciprocal_rank_fusion([_top(self.photo_vectors @ self.photo_query)])


def _top(scores: np.ndarray) -> list[int]:
    best = np.argpartition(-scores, PATH_DEPTH)[:PATH_DEPTH]
    return best[np.argsort(-scores[best])].tolist()


def milliseconds(call: Callable[[str], object], arguments: Sequence[str]) -> tuple[float, float, float]:
    """Returns p50, p95 and the minimum (least affected by a busy machine), after one warm-up call for each argument."""
    for argument in arguments:
        call(argument)
    times = []
    for argument in arguments:
        start = time.perf_counter()
        call(argument)
        times.append((time.perf_counter() - start) * 1000)
    return float(np.percentile(times, 50)), float(np.percentile(times, 95)), min(times)


class BareMilvus:
    """The three paths of a question in words as three parallel calls of a client; the results are ignored."""

    def __init__(self, memory: Memory) -> None:
        from pymilvus import MilvusClient

        retrieval = memory.retrieval
        self.client = MilvusClient(retrieval.index.uri)
        self.collections = {name.split("_" + memory.owner)[0]: name for name in self.client.list_collections()}
        self.depth = PATH_DEPTH if memory.ranking is None else memory.ranking.depth
        self.vector = unit(np.random.default_rng(3).normal(size=(1, 384)))[0]
        self.threads = ThreadPoolExecutor(3)

    def search(self, text: str) -> None:
        calls = (
            ("text", "vector", self.vector, self.depth),
            ("text", "sparse", " ".join(dict.fromkeys(finished_words(text))), self.depth),
            ("photo_text", "vector", self.vector, PATH_DEPTH),
        )
        for running in [self.threads.submit(self._search, *call) for call in calls]:
            running.result()

    def _search(self, space: str, field: str, query: object, limit: int) -> None:
        self.client.search(self.collections[space], data=[query], anns_field=field, limit=limit)


def in_turns(
    ours: Callable[[str], object], bare: Callable[[str], object], arguments: Sequence[str]
) -> tuple[float, float]:
    """Returns p50 of both in milliseconds."""
    times: tuple[list[float], list[float]] = ([], [])
    for argument in [*arguments, *arguments]:
        for call, of_call in zip((ours, bare), times, strict=True):
            start = time.perf_counter()
            call(argument)
            of_call.append((time.perf_counter() - start) * 1000)
    return float(np.median(times[0])), float(np.median(times[1]))


def measure(size: int, fusion: str, kind: RecordKind) -> None:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        with memory_of(size, Path(folder), fusion, kind) as memory:
            filled = time.perf_counter() - start
            limit = Limit(memory.texts, len(memory.photos))
            owner, retriever = memory.owner, memory.retrieval.retriever
            texts = sentences(QUERIES, 2, (3, 9))
            names = [memory.photos[number % len(memory.photos)] for number in range(QUERIES)]
            rows = {
                "text": (lambda text: retriever.search(owner, Query(text), [kind]), limit.by_words, texts),
                "photo": (lambda name: retriever.search(owner, Query("", (name,)), [kind]), limit.by_photo, names),
                "text and photo": (
                    lambda text: retriever.search(owner, Query(text, (names[0],)), [kind]),
                    lambda text: (limit.by_words(text), limit.by_photo(text)),
                    texts,
                ),
            }
            for title, (ours, floor, arguments) in rows.items():
                p50, p95, least = milliseconds(ours, arguments)
                limit50, limit95, limit_least = milliseconds(floor, arguments)
                bar = f"p50 ≤ {BARS[size]}: {'yes' if p50 <= BARS[size] else 'NO'}" if size in BARS else ""
                print(
                    f"{size:>9,}  {title:<15} {least:>7.1f} {p50:>7.1f} {p95:>7.1f}   "
                    f"{limit_least:>7.2f} {limit50:>7.2f} {limit95:>7.2f}   "
                    f"{p50 / limit50:>6.1f}   {bar}",
                    flush=True,
                )
            p50, bare50 = in_turns(rows["text"][0], BareMilvus(memory).search, texts)
            ratio = p50 / bare50
            bar = f"≤ {RATIO_TO_MILVUS}: {'yes' if ratio <= RATIO_TO_MILVUS else 'NO'}" if size in BARS else ""
            print(
                f"{size:>9,}  text beside three bare calls of Milvus in parallel: {p50:.1f} and {bare50:.1f} ms (p50), "
                f"ratio {ratio:.1f}   {bar}",
                flush=True,
            )
            if kind == "message":
                return
            start = time.perf_counter()
            writes = [f"{text} again" for text in sentences(50, 4, (6, 24))]
            for text in writes:
                memory.write(text)
            one_by_one = len(writes) / (time.perf_counter() - start)
            print(
                f"{size:>9,}  writes a second: {one_by_one:.0f} one by one and each found at once, "
                f"{(size + size // 5) / filled:.0f} in bulk (filled in {filled:.0f} s)",
                flush=True,
            )


def main(arguments: Iterable[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench retrieval")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="memories, such as 1000,10000")
    parser.add_argument("--fusion", choices=("paper", "best"), default=load_settings().fusion)
    parser.add_argument("--kind", choices=("entry", "message"), default="entry")
    chosen = parser.parse_args(list(arguments))
    sizes = [int(size) for size in chosen.sizes.split(",")]
    load = os.getloadavg()[0]
    setup = f"fusion {chosen.fusion}, of each {chosen.kind}"
    print(f"\nRetrieval, ms, {os.cpu_count()} cores, load {load:.1f}; {setup}; without encoding, with the SQL check:")
    columns = f"{'min':>7} {'p50':>7} {'p95':>7}   "
    print(f"{'':>9}  {'':<15} {'ours':>7} {'':>15}   {'limit':>7}")
    print(f"{'memories':>9}  {'query':<15} {columns}{columns}{'ratio':>6} (p50)")
    for size in sizes:
        measure(size, chosen.fusion, chosen.kind)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
