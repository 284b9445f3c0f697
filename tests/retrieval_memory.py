"""Retrieval over a real database and a real index, with writers that are quick to call."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from sqlalchemy import insert

from m2a.memory import conversations
from m2a.memory.attribution import Attribution
from m2a.memory.database import Database
from m2a.memory.embedding_cache import content_hash
from m2a.memory.index import MemoryIndex
from m2a.memory.index_schema import IndexEncoders
from m2a.memory.photo_store import PhotoDamagedError
from m2a.memory.ranking.encoding import RecordEncoder
from m2a.memory.ranking.features import FEATURES
from m2a.memory.ranking.learned_ranking import LearnedRanking
from m2a.memory.ranking.ranker import Ranker
from m2a.memory.ranking.record_store import RankedRecordStore
from m2a.memory.ranking.token_head import TokenHead
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.schema import outbox, photo
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.stores import Retrieval
from m2a.types import EntryDraft, EvidenceRange, Hit, Query
from models.image_encoder import ImageEncoder
from models.text_encoder import TextEncoder
from tests.encoders import COLOURS, ColourImageEncoder, HashingTokenEncoder

NOW = datetime(2026, 3, 12, 12, 0, tzinfo=UTC)


ENTRIES, MESSAGES, BOTH = ("entry",), ("message",), ("entry", "message")


@dataclass
class Memory:
    """Retrieval over a real database and a real index, with writers that are quick to call."""

    database: Database
    index: MemoryIndex
    text_encoder: TextEncoder
    image_encoder: ImageEncoder
    relevance_floor: bool = False
    best: bool = False
    photo_words_floor: float | None = None

    def __post_init__(self) -> None:
        self.raw = RawMessageStore()
        self.semantic = SemanticMemoryStore()
        self.pictures: dict[str, Image.Image] = {}
        self.restart()

    def restart(self) -> None:
        self.ranked = RankedRecordStore()
        ranking = ranking_by_hand(self.ranked, self.text_encoder) if self.best else None
        self.retrieval = Retrieval.open(
            self.index,
            self.database,
            self.text_encoder,
            self.image_encoder,
            self._image,
            ranking=ranking,
            relevance_floor=self.relevance_floor,
            photo_words_floor=self.photo_words_floor,
        )
        self.indexer, self.retriever = self.retrieval.indexer, self.retrieval.retriever

    def say(self, owner: str, text: str, photos: tuple[str, ...] = ()) -> int:
        with self.database.write(owner) as unit:
            chat = conversations.start(unit, NOW).conversation_id
            return self.raw.append(
                unit, chat, role="user", speaker="Anna", text=text, photos=photos, said_at=NOW
            ).message_id

    def add(self, owner: str, text: str, photos: tuple[str, ...] = (), caption: str = "") -> int:
        evidence = self.say(owner, "evidence")
        draft = EntryDraft(text, (EvidenceRange(evidence, evidence),), caption=caption, photo_ids=photos)
        with self.database.write(owner) as unit:
            return self.semantic.add(unit, draft, Attribution("test", "test", NOW)).memory_id

    def forget(self, owner: str, memory_id: int) -> None:
        with self.database.write(owner) as unit:
            self.semantic.delete(unit, memory_id, Attribution("test", "test", NOW))

    def show(self, owner: str, colour: str, number: int = 0) -> str:
        """Store a photo of that colour."""
        photo_id = content_hash(f"{owner} {colour} {number}")
        self.pictures[photo_id] = Image.new("RGB", (4, 4), tuple(min(c + number, 255) for c in COLOURS[colour]))
        values = {"media_type": "image/jpeg", "width": 4, "height": 4, "size": 1, "added_at": 0}
        with self.database.transaction() as connection:
            connection.execute(insert(photo).values(owner=owner, photo_id=photo_id, **values))
            connection.execute(insert(outbox).values(owner=owner, record="photo", record_id=photo_id))
        return photo_id

    def search(self, owner: str, text: str = "", photos: tuple[str, ...] = (), kinds=ENTRIES, k: int = 10) -> list[Hit]:
        self.indexer.drain(owner)
        return self.retriever.search(owner, Query(text, photos), kinds, k)

    def found(self, owner: str, text: str = "", photos: tuple[str, ...] = (), kinds=ENTRIES) -> list[int]:
        return [id_of(hit) for hit in self.search(owner, text, photos, kinds)]

    def _image(self, owner: str, photo_id: str) -> Image.Image:
        if photo_id not in self.pictures:
            raise PhotoDamagedError(f"The file of photo {photo_id} is missing.")
        return self.pictures[photo_id]


@contextmanager
def memory_in(
    folder: Path,
    text_encoder: TextEncoder | None = None,
    image_encoder: ImageEncoder | None = None,
    **options: Any,
) -> Iterator[Memory]:
    """A memory in the folder, by default with encoders that need no weights."""
    text_encoder, image_encoder = text_encoder or HashingTokenEncoder(), image_encoder or ColourImageEncoder()
    database = Database(f"sqlite:///{folder / 'memory.db'}")
    index = MemoryIndex(str(folder / "index.db"), IndexEncoders.of(text_encoder, image_encoder))
    yield Memory(database, index, text_encoder, image_encoder, **options)
    index.close()
    database.close()


def ranking_by_hand(store: RankedRecordStore, encoder: TextEncoder) -> LearnedRanking:
    """Ranks by similarity of tokens, and breaks ties by words in context."""
    random = np.random.default_rng(5)
    head = TokenHead(random.normal(size=(encoder.dimensions, 32)), np.zeros(encoder.dimensions))
    weights = {"maxsim": 1.0, "dense": 0.5, "coverage": 0.5, "coverage_near": 0.2}
    ranker = Ranker(np.array([weights.get(name, 0.0) for name in FEATURES]), "by hand")
    return LearnedRanking(store, RecordEncoder(encoder, head), ranker)


def id_of(hit: Hit) -> int:
    return hit.record.memory_id if hasattr(hit.record, "memory_id") else hit.record.message_id
