"""Evidence recall@10 through the search of the memory manager, over both layers: `python -m tests.bench layers`.

Three memories of each of LoCoMo's conversations: the raw log alone, with the entries that the offline rules write, and with the
observations that LoCoMo ships as entries. A hit counts for its message, an entry for the messages that it rests on; there are
ten hits at most. Each conversation is left out in turn, as by `m2a tune --leave-one-out`: its ranking is learned from the raw
turns of the others alone. The relevance floor is on, as in the product; `paper` is the published fusion of the same records.

`--cache FOLDER` keeps what takes long: the entries of the rules (by the hash of their code and the data) and the token heads.
"""

import argparse
import asyncio
import hashlib
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np

from m2a.agents import offline
from m2a.agents.memory_search import BOTH_LAYERS
from m2a.agents.state import SEARCH_HITS
from m2a.benchmarks.dialogue import Dialogue
from m2a.benchmarks.locomo import read_locomo, read_samples
from m2a.evaluation.provenance import hash_of_data
from m2a.evaluation.rows import words_of
from m2a.evaluation.tune import Fold, NoPhotos, Tables, TuningMemory, folds, no_photo, unseen_sets
from m2a.memory import conversations
from m2a.memory.attribution import Attribution
from m2a.memory.bank import MemoryBank
from m2a.memory.database import Database
from m2a.memory.index import MemoryIndex
from m2a.memory.index_schema import IndexEncoders
from m2a.memory.owners import owner_named
from m2a.memory.photo_store import PhotoStore
from m2a.memory.ranking.encoding import RecordEncoder
from m2a.memory.ranking.learned_ranking import LearnedRanking
from m2a.memory.ranking.record_store import RankedRecordStore
from m2a.memory.ranking.token_head import TokenHead
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.stores import Retrieval, Stores
from m2a.systems import registry
from m2a.systems.shared import Parts, SharedStores, Utterance
from m2a.types import DateInterval, EntryDraft, EvidenceRange, MemoryEntry, Query
from m2a.wiring import cache_dir, offline_rules
from models.load import load_text_encoder
from models.text_encoder import MINILM, TokenEncoder, TokenStates

DATA = Path(__file__).parents[3] / "shared" / "data" / "locomo" / "locomo_dev6.json"
LATER = 2**62  # the id of a question's message: it comes after all others


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry before it has an id; `evidence` are references of turns, `happened` is two days in ISO format."""

    text: str
    recorded_at: str
    evidence: tuple[str, ...]
    happened: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """The recall of one question, and the share of entries among its hits."""

    recall: float
    entries: float


class RememberingEncoder:
    """Encodes each text once: the three memories of a conversation hold the same messages."""

    def __init__(self, encoder: TokenEncoder) -> None:
        self.encoder_id = encoder.encoder_id
        self.dimensions = encoder.dimensions
        self._encoder = encoder
        self._vectors: dict[str, np.ndarray] = {}
        self._states: dict[str, TokenStates] = {}

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        if new := [text for text in dict.fromkeys(texts) if text not in self._vectors]:
            self._vectors |= zip(new, self._encoder.encode(new), strict=True)
        return np.array([self._vectors[text] for text in texts])

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenStates]:
        if new := [text for text in dict.fromkeys(texts) if text not in self._states]:
            self._states |= zip(new, self._encoder.encode_tokens(new), strict=True)
        return [self._states[text] for text in texts]


def observations(samples: Sequence[Mapping[str, object]], dialogues: Sequence[Dialogue]) -> list[list[Entry]]:
    """Returns LoCoMo's own observations of each conversation."""
    by_dialogue = []
    for sample, dialogue in zip(samples, dialogues, strict=True):
        started = {session.reference: session.started_at for session in dialogue.sessions}
        spoken = {turn.reference for session in dialogue.sessions for turn in session.turns}
        entries = []
        for name, by_speaker in sample["observation"].items():  # type: ignore[attr-defined]
            recorded_at = started[f"D{re.findall(r'[0-9]+', name)[0]}"].isoformat()
            for text, evidence in (item for items in by_speaker.values() for item in items):
                references = [r for r in re.findall(r"D\d+:\d+", json.dumps(evidence)) if r in spoken]
                if references:
                    entries.append(Entry(text, recorded_at, tuple(dict.fromkeys(references))))
        by_dialogue.append(entries)
    return by_dialogue


async def written_by_rules(dialogue: Dialogue, encoder: TokenEncoder) -> list[Entry]:
    """Returns what the system `m2a` without a language model remembers of the conversation."""
    with tempfile.TemporaryDirectory() as folder:
        stores = SharedStores(Path(folder), lambda: encoder, NoPhotos)
        memory = stores.fresh_memory("m2a")
        system = await registry.open_system(
            "m2a", memory, Parts(stores, None, False, lambda _: _NoCaptioner(), offline_rules, 1)
        )
        references: dict[int, str] = {}
        for session in dialogue.sessions:
            utterances = [Utterance(t.reference, t.role, t.speaker, words_of(t), t.said_at) for t in session.turns]
            messages = memory.record(utterances)
            references |= {message.message_id: message.reference or "" for message in messages}
            await system.observe(messages)
        with stores.database.read(memory.owner) as unit:
            entries = stores.semantic.all(unit)
        stores.close()
    return [
        Entry(
            entry.text,
            entry.recorded_at.isoformat(),
            tuple(references[message_id] for message_id in _evidence(entry)),
            (entry.happened.first.isoformat(), entry.happened.last.isoformat()) if entry.happened else None,
        )
        for entry in entries
    ]


def rules_entries(data: Path, dialogues: Sequence[Dialogue], encoder: TokenEncoder, cache: Path) -> list[list[Entry]]:
    """Returns the entries of the rules for each conversation, from the cache if they are in it."""
    code = b"".join(file.read_bytes() for file in sorted(Path(offline.__file__).parent.glob("*")) if file.is_file())
    key = hashlib.sha256(code + hash_of_data(data).encode()).hexdigest()[:12]
    by_dialogue = []
    for dialogue in dialogues:
        file = cache / f"rules-{key}-{dialogue.dialogue_id}.json"
        if not file.exists():
            entries = asyncio.run(written_by_rules(dialogue, encoder))
            file.write_text(json.dumps([asdict(entry) for entry in entries], ensure_ascii=False), encoding="utf-8")
        by_dialogue.append(
            [
                Entry(
                    row["text"], row["recorded_at"], tuple(row["evidence"]), row["happened"] and tuple(row["happened"])
                )
                for row in json.loads(file.read_text(encoding="utf-8"))
            ]
        )
        print(f"{dialogue.dialogue_id}: the rules write {len(by_dialogue[-1])} entries.", flush=True)
    return by_dialogue


def learned_folds(dialogues: Sequence[Dialogue], encoder: TokenEncoder, cache: Path) -> list[Fold]:
    with tempfile.TemporaryDirectory() as folder:
        memory = TuningMemory(Path(folder), dialogues, encoder)
        heads = {}
        for unseen in unseen_sets(len(dialogues), leave_one_out=True):
            names = "-".join(dialogues[number].dialogue_id for number in sorted(unseen))
            file = cache / f"head-without-{names}.npz"
            if not file.exists():
                memory.head(unseen).save(file)
            heads[unseen] = TokenHead.load(file)
        print(f"{len(heads)} token heads are learned.", flush=True)
        result = list(folds(Tables(memory, heads)))
        memory.close()
    return result


def search_memory(
    dialogue: Dialogue, entries: Sequence[Entry], encoder: TokenEncoder, fold: Fold
) -> dict[str, list[Result]]:
    """Returns by fusion the results of the manager's search for each question, in a memory with these entries."""
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{folder}/memory.db")
        ranking = LearnedRanking(
            RankedRecordStore(), RecordEncoder(encoder, fold.head), fold.ranker, depth=fold.choice.depth
        )
        index = MemoryIndex(f"{folder}/index.db", IndexEncoders.of(encoder, NoPhotos()))
        best = Retrieval.open(index, database, encoder, NoPhotos(), no_photo, ranking=ranking)
        paper = Retrieval.open(index, database, encoder, NoPhotos(), no_photo)
        raw, semantic = RawMessageStore(), SemanticMemoryStore()
        photos = PhotoStore(database, Path(folder) / "photos", lambda: datetime.now(UTC))
        owner = owner_named(database, dialogue.dialogue_id)
        ids: dict[str, int] = {}
        with database.write(owner) as unit:
            for session in dialogue.sessions:
                chat = conversations.start(unit, session.started_at).conversation_id
                for turn in session.turns:
                    ids[turn.reference] = raw.append(
                        unit, chat, role=turn.role, speaker=turn.speaker, text=words_of(turn),
                        said_at=turn.said_at, reference=turn.reference
                    ).message_id  # fmt: skip
            for entry in entries:
                ranges = tuple(EvidenceRange(ids[reference], ids[reference]) for reference in entry.evidence)
                happened = DateInterval(*map(date.fromisoformat, entry.happened)) if entry.happened else None
                draft = EntryDraft(entry.text, ranges, happened=happened)
                now = datetime.fromisoformat(entry.recorded_at)
                semantic.add(unit, draft, Attribution("bench", "bench", now))
        best.indexer.drain(owner)
        by_fusion: dict[str, list[Result]] = {}
        for fusion, retrieval in (("best", best), ("paper", paper)):
            stores = Stores(database, raw, semantic, photos, lambda retrieval=retrieval: retrieval)  # type: ignore[misc]
            bank = MemoryBank(owner, stores, lambda: datetime.now(UTC))
            by_fusion[fusion] = [
                search(bank, question.text, {ids[reference] for reference in question.evidence})
                for question in dialogue.questions
                if question.answerable and question.evidence
            ]
        paper.retriever.close()
        best.close()
        database.close()
    return by_fusion


def search(bank: MemoryBank, question: str, gold: set[int]) -> Result:
    """Searches as `MemoryManager` does for a language model."""
    hits = bank.search(Query(question), BOTH_LAYERS, k=SEARCH_HITS, before=LATER)
    entries = [hit.record for hit in hits if isinstance(hit.record, MemoryEntry)]
    covered = {hit.key.record_id for hit in hits if hit.key.kind == "message"}
    covered |= {message_id for entry in entries for message_id in _evidence(entry)}
    return Result(len(gold & covered) / len(gold), len(entries) / max(len(hits), 1))


def _evidence(entry: MemoryEntry) -> Iterator[int]:
    for first, last in entry.evidence_ids:
        yield from range(first, last + 1)


class _NoCaptioner:
    """LoCoMo ships no photos."""

    captioner_id = "none"

    async def caption(self, photo: bytes, count: object = None) -> str:
        raise NotImplementedError


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench layers")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "m2a-layers")
    options = parser.parse_args(list(arguments))
    options.cache.mkdir(parents=True, exist_ok=True)
    loaded = load_text_encoder(MINILM, cache_dir())
    assert isinstance(loaded, TokenEncoder)
    encoder = RememberingEncoder(loaded)
    dialogues = read_locomo(options.data).dialogues
    memories = {
        "raw log alone": [[] for _ in dialogues],
        "with LoCoMo's observations as entries": observations(read_samples(options.data), dialogues),
        "with the entries that the rules write": rules_entries(options.data, dialogues, encoder, options.cache),
    }
    by_memory: dict[str, dict[str, list[Result]]] = {title: {"best": [], "paper": []} for title in memories}
    for fold in learned_folds(dialogues, encoder, options.cache):
        dialogue = dialogues[fold.left_out]
        for title, entries in memories.items():
            of_dialogue = search_memory(dialogue, entries[fold.left_out], encoder, fold)
            for fusion, results in of_dialogue.items():
                by_memory[title][fusion] += results
                recall = np.mean([result.recall for result in results])
                print(f"{dialogue.dialogue_id}, {title}, {fusion}: recall@{SEARCH_HITS} {recall:.3f}", flush=True)
    print(f"\n| memory | best | entries in the top {SEARCH_HITS} | paper | entries |\n| --- | --- | --- | --- | --- |")
    for title, by_fusion in by_memory.items():
        cells = [
            f"{np.mean([getattr(result, name) for result in by_fusion[fusion]]):{form}}"
            for fusion in ("best", "paper")
            for name, form in (("recall", ".3f"), ("entries", ".0%"))
        ]
        print(f"| {title} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
