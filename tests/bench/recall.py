"""How long a reply's own search of the memory takes before its first call: `python -m tests.bench recall [--size 10000]`.

`MemoryManager.recall` over both layers, a memory for every message, with the encoding of the question by the real encoder: once
for a message that opens a conversation (one search), once for one that follows another (two searches). The texts are made of
people's statements and the questions are people's; the vectors of the records are random. A first round warms up.

Next to the elapsed time is the mean processor time of this process and of Milvus Lite's: on a shared machine the former says
little. Below are the mean times during which anything was encoded, searched in the index or read with SQL, on any thread, and
the rest, during which none of these went on. The first three overlap.
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Engine, event, insert, select, update

from m2a.agents.chat_agent import NEAREST_HITS
from m2a.agents.language_policy import LanguagePolicy
from m2a.agents.memory_manager import MemoryManager
from m2a.agents.state import TurnState
from m2a.memory import conversations
from m2a.memory.attribution import Attribution
from m2a.memory.bank import MemoryBank
from m2a.memory.database import Database
from m2a.memory.index import MemoryIndex
from m2a.memory.index_rows import IndexHit
from m2a.memory.index_schema import IndexEncoders
from m2a.memory.owners import owner_named
from m2a.memory.photo_store import PhotoStore
from m2a.memory.ranking.learned_ranking import LearnedRanking
from m2a.memory.ranking.record_store import RankedRecordStore
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.schema import entry, entry_evidence, message, outbox
from m2a.memory.schema import owner as owner_table
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.stores import Retrieval, Stores
from m2a.types import EntryDraft, EvidenceRange, Message, TurnEvent
from m2a.wiring import cache_dir
from models.load import load_text_encoder
from models.text_encoder import MINILM, TokenEncoder, TokenStates
from tests.bench.corpus import LEARNED_CASES
from tests.bench.retrieval import NOW, KnownVectors
from tests.dialogues import NamingCaptioner
from tests.integrity_cases import read_cases
from tests.obeying_model import ObeyingModel

TURNS_OF_A_CONVERSATION = 30
QUESTIONS = 100


PARTS = ("encoding", "index", "SQL")


class Parts:
    """The start and end of each part of the work, by the clock."""

    def __init__(self) -> None:
        self.spans: dict[str, list[tuple[float, float]]] = {part: [] for part in PARTS}

    @contextmanager
    def at(self, part: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.spans[part].append((began, time.perf_counter()))

    def follow_sql(self) -> None:
        """Records the statements of every database from now on."""
        began: dict[int, float] = {}

        @event.listens_for(Engine, "before_cursor_execute")
        def begin(_connection: Any, cursor: Any, *_others: Any) -> None:
            began[id(cursor)] = time.perf_counter()

        @event.listens_for(Engine, "after_cursor_execute")
        def end(_connection: Any, cursor: Any, *_others: Any) -> None:
            self.spans["SQL"].append((began.pop(id(cursor)), time.perf_counter()))

    def clear(self) -> None:
        for spans in self.spans.values():
            spans.clear()


def milliseconds_of(spans: Iterable[tuple[float, float]]) -> float:
    """Returns the length of the union of the spans."""
    total, until = 0.0, 0.0
    for first, last in sorted(spans):
        total += max(0.0, last - max(first, until))
        until = max(until, last)
    return 1000 * total


class QuestionEncoder(KnownVectors):
    """Encodes a single text, which is a question, with the real encoder; several texts at random."""

    def __init__(self, encoder: TokenEncoder, parts: Parts) -> None:
        super().__init__(encoder.encoder_id, encoder.dimensions)
        self._encoder = encoder
        self._parts = parts

    def encode(self, items: Sequence[object]) -> np.ndarray:
        return self._encoder.encode([str(items[0])]) if len(items) == 1 else super().encode(items)

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenStates]:
        if len(texts) > 1:
            return super().encode_tokens(texts)
        with self._parts.at("encoding"):
            return self._encoder.encode_tokens(texts)


class TimedIndex(MemoryIndex):
    """Records when it is searched."""

    def __init__(self, uri: str, encoders: IndexEncoders, parts: Parts) -> None:
        super().__init__(uri, encoders)
        self._parts = parts

    def search_dense(self, *arguments: Any) -> list[list[IndexHit]]:
        with self._parts.at("index"):
            return super().search_dense(*arguments)

    def search_bm25(self, *arguments: Any) -> list[list[IndexHit]]:
        with self._parts.at("index"):
            return super().search_bm25(*arguments)


def statements_and_questions(count: int) -> tuple[list[str], list[str]]:
    """Returns `count` texts, each made of two statements, and the questions that people asked about the statements."""
    pairs = read_cases(LEARNED_CASES)["pairs"]
    single = list(dict.fromkeys(text for first, second, *_ in pairs for text in (first, second)))
    chooser = np.random.default_rng(5)
    chosen = chooser.integers(len(single), size=(count, 2))
    questions = chooser.choice([question for _, _, question, *_ in pairs], QUESTIONS, replace=False)
    return [f"{single[first]} {single[second]}" for first, second in chosen], [str(question) for question in questions]


@contextmanager
def bank_of(size: int, folder: Path, texts: Sequence[str], parts: Parts) -> Iterator[MemoryBank]:
    """A memory of `size` records: half are messages in conversations, half are entries, each resting on a message."""
    database = Database(f"sqlite:///{folder / 'memory.db'}")
    loaded = load_text_encoder(MINILM, cache_dir())
    assert isinstance(loaded, TokenEncoder)
    encoder = QuestionEncoder(loaded, parts)
    photos = PhotoStore(database, folder / "photos", lambda: NOW)
    photo_encoder = KnownVectors("known-photo", 1280, 384)
    retrieval = Retrieval.open(
        TimedIndex(str(folder / "index.db"), IndexEncoders.of(encoder, photo_encoder), parts),
        database,
        encoder,
        photo_encoder,
        photos.image,
        ranking=LearnedRanking.shipped(RankedRecordStore(), encoder),
    )
    raw, semantic = RawMessageStore(), SemanticMemoryStore()
    owner = owner_named(database, "bench")
    half = size // 2
    with database.write(owner) as unit:
        chat = conversations.start(unit, NOW).conversation_id
        raw.append(unit, chat, role="user", speaker="You", text=texts[0], said_at=NOW)
        draft = EntryDraft(texts[half], (EvidenceRange(1, 1),))
        semantic.add(unit, draft, Attribution("bench", "bench", NOW))
        ids = range(2, half + 1)
        for table, changes in (
            (message, [{"message_id": n, "text": texts[n - 1], "conversation_id": _chat(n, chat)} for n in ids]),
            (entry, [{"memory_id": n, "text": texts[half + n - 1], "folded_hash": f"{n:064x}"} for n in ids]),
            (entry_evidence, [{"memory_id": n, "first_id": n, "last_id": n} for n in ids]),
            (outbox, [{"record": kind, "record_id": str(n)} for n in ids for kind in ("message", "entry")]),
        ):
            row = unit.execute(select(table).where(table.c.owner == owner).limit(1)).mappings().one()
            values = {name: value for name, value in row.items() if name not in ("sequence", "history_id")}
            unit.execute(insert(table), [values | change for change in changes])
        unit.execute(update(owner_table).values(last_memory_id=half, last_message_id=half))
    bank = MemoryBank(owner, Stores(database, raw, semantic, photos, lambda: retrieval), lambda: NOW)
    bank.index()
    yield bank
    retrieval.close()
    database.close()


def _chat(number: int, first: str) -> str:
    conversation = (number - 1) // TURNS_OF_A_CONVERSATION
    return f"{conversation:032x}" if conversation else first


async def recalls(bank: MemoryBank, size: int, questions: Sequence[str], before: str) -> tuple[list[float], float]:
    """Returns the milliseconds of the recall for each question, and the mean number of records found."""
    policy = LanguagePolicy(ObeyingModel("", ()))
    manager = MemoryManager(bank, policy, NamingCaptioner(), max_rounds=1)
    times, hit_count = [], 0
    for question in questions:
        new = Message(size + 2, bank.owner, "now", "user", "You", question, (), NOW)
        recent = (Message(size + 1, bank.owner, "now", "user", "You", before, (), NOW),) if before else ()
        began = time.perf_counter()
        context = await manager.recall(TurnState("query", NOW, new, recent), _unheard, nearest=NEAREST_HITS)
        times.append(1000 * (time.perf_counter() - began))
        hit_count += len(context.hits)
    return times, hit_count / len(questions)


def _unheard(_event: TurnEvent) -> None:
    """Ignores the event."""


def processor_seconds() -> float:
    """Returns the processor time of this process and of its children."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    ticks = 0
    for child in children:
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench recall")
    parser.add_argument("--size", type=int, default=10_000, help="records: half messages, half entries")
    parser.add_argument("--rounds", type=int, default=5, help="how often all questions are asked")
    options = parser.parse_args(list(arguments))
    texts, questions = statements_and_questions(options.size)
    parts = Parts()
    with tempfile.TemporaryDirectory() as folder, bank_of(options.size, Path(folder), texts, parts) as bank:
        parts.follow_sql()
        print(f"\nRecall at {options.size:,} records, {len(questions)} questions, load {os.getloadavg()[0]:.1f}; ms:")
        for title, before in (("opens a conversation", ""), ("follows a message", questions[-1])):
            asyncio.run(recalls(bank, options.size, questions, before))
            rounds = []
            parts.clear()
            for _ in range(options.rounds):
                spent = processor_seconds()
                times, hits = asyncio.run(recalls(bank, options.size, questions, before))
                spent = 1000 * (processor_seconds() - spent) / len(times)
                rounds.append((*np.percentile(times, [50, 95]), min(times), spent, np.mean(times)))
            p50, p95, least, spent, mean = np.median(rounds, axis=0)
            recalls_made = options.rounds * len(questions)
            of_part = [milliseconds_of(parts.spans[part]) / recalls_made for part in PARTS]
            rest = mean - milliseconds_of(span for part in PARTS for span in parts.spans[part]) / recalls_made
            print(
                f"  {title:<21} p50 {p50:.1f}  p95 {p95:.1f}  least {least:.1f}  processor {spent:.1f}  ({hits:.0f} found)",
                flush=True,
            )
            summary = "  ".join(f"{part} {spent:.1f}" for part, spent in zip(PARTS, of_part, strict=True))
            calls = ", ".join(f"{len(parts.spans[part]) / recalls_made:.0f}" for part in PARTS)
            print(f"  {'':<21} {summary}  rest {rest:.1f}  of {mean:.1f} in the mean  (calls: {calls})", flush=True)


if __name__ == "__main__":
    main()
