"""What M2A itself adds to a turn, how long it takes to start, and how much memory that takes.

The model's time is not measured: a scripted policy decides at once. A turn queries the memory once (one search, its evidence
opened), replies, searches again and adds a memory.
"""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from m2a import Assistant
from m2a.data_folder import holder_of
from m2a.memory.attribution import Attribution
from m2a.memory.embedding_cache import EmbeddingCache
from m2a.settings import load_settings
from m2a.types import (
    AddMemory,
    EntryDraft,
    EvidenceRange,
    Finish,
    QueryMemory,
    ReplyFinished,
    SearchSemanticMemories,
    UpdateMemory,
)
from m2a.wiring import cache_dir
from models.load import load_text_encoder
from tests.scripted_policy import ScriptedPolicy

TURNS = 60
WORDS = "ball dog tea walk lake blue red garden sister train bread summer chair window photo music market river".split()


class _RandomVectors:
    """Fills the embedding cache under the real encoder's name: the encoding of 10,000 rows is not measured."""

    dimensions = 384

    def __init__(self, encoder_id: str) -> None:
        self.encoder_id = encoder_id
        self._random = np.random.default_rng(0)

    def encode(self, texts: list[str]) -> np.ndarray:
        vectors = self._random.normal(size=(len(texts), self.dimensions)).astype(np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def seed(assistant: Assistant, memories: int) -> None:
    """Add this number of memories of the local owner, all resting on one message."""
    from m2a.memory.indexer import entry_text

    bank = assistant.memory(assistant.local_owner)
    message = bank.record(None, role="user", speaker="You", text="These are all my memories.")
    evidence = (EvidenceRange(message.message_id, message.message_id),)
    random = np.random.default_rng(1)
    texts = [f"Memory {n}: " + " ".join(random.choice(WORDS, 8)) for n in range(memories)]
    stores = assistant.stores
    with stores.database.write(bank.owner) as unit:
        entries = [
            stores.semantic.add(unit, EntryDraft(text, evidence), Attribution("bench", "seed", message.said_at))
            for text in texts
        ]
    encoder = _RandomVectors(load_text_encoder("all-MiniLM-L6-v2", cache_dir()).encoder_id)
    EmbeddingCache(stores.database).texts(encoder, [entry_text(entry) for entry in entries])
    bank.index()


async def turn_overhead(memories: int, folder: Path) -> list[float]:
    """Milliseconds from sending a message to its reply being finished, per turn; updates are awaited between turns."""
    policy = ScriptedPolicy()
    took = []
    async with Assistant.open(load_settings(data_dir=folder), policy=policy) as assistant:
        await asyncio.to_thread(seed, assistant, memories)
        for number in range(TURNS + 5):
            text = f"Number {number}: my sister bought a blue chair at the market"
            policy.steps = {
                "query": [QueryMemory(query=text)],
                "manage query": [
                    SearchSemanticMemories(query=text),
                    lambda state: Finish(
                        memory_ids=[hit.record.memory_id for hit in state.steps[0].observation.hits[:5]]
                    ),
                ],
                "update": [UpdateMemory(request=text)],
                "manage update": [
                    SearchSemanticMemories(query=text),
                    lambda state: AddMemory(text=state.message.text, evidence_ids=[(state.message.message_id,) * 2]),
                ],
            }
            started = time.perf_counter()
            async for event in assistant.turn(assistant.local_owner, text):
                if isinstance(event, ReplyFinished):
                    took.append(1000 * (time.perf_counter() - started))
    return took[5:]


def start_up(folder: Path) -> dict[str, float]:
    """Measures a second start: seconds to the first page and to the first answer with a search; memory in MB."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = os.environ | {"M2A_DATA_DIR": str(folder), "M2A_PORT": str(port), "M2A_CHAT_MODEL": "offline"}
    started = time.perf_counter()
    server = subprocess.Popen([sys.executable, "-m", "m2a.cli", "run"], env=environment, start_new_session=True)
    try:
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).read()
                break
            except OSError:
                time.sleep(0.02)
        page = time.perf_counter() - started
        holder = holder_of(folder)
        assert holder is not None
        request = urllib.request.Request(
            f"{holder.address}/local/ask",
            json.dumps({"text": "What do you know about my sister?", "photos": [], "conversation_id": None}).encode(),
            {"Authorization": f"Bearer {holder.token}", "Content-Type": "application/json"},
        )
        answer = urllib.request.urlopen(request, timeout=60).read()
        assert b'"turn"' in answer, answer
        return {"page": page, "answer": time.perf_counter() - started, "memory": _megabytes(server.pid)}
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(30)


def _megabytes(pid: int) -> float:
    """Resident memory of the process and its children (Milvus Lite runs in one)."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    own = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(own.split()[1]) / 1024 + sum(_megabytes(int(child)) for child in children)


def main(_options: Sequence[str] = (), memories: int = 10_000, starts: int = 3) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        took = asyncio.run(turn_overhead(memories, folder))
        p50, p95 = np.percentile(took, [50, 95])
        print(f"\nTurn overhead at {memories:,} memories, {len(took)} turns, without the model's time:")
        print(f"  p50 {p50:.0f} ms, p95 {p95:.0f} ms (to reach: p95 ≤ 100 ms)")
        runs = [start_up(folder) for _ in range(starts)]
        print(f"\nStart on that memory, median of {starts}:")
        for label, unit, bar in (("page", "s", ""), ("answer", "s", " (to reach: ≤ 8 s)"), ("memory", "MB", "")):
            print(f"  {label} {np.median([run[label] for run in runs]):.1f} {unit}{bar}")


if __name__ == "__main__":
    main()
