"""A memory bank with its index, and shortcuts to fill it; no assistant and no models."""

from collections.abc import Sequence
from copy import copy
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

from m2a.memory.bank import MemoryBank
from m2a.memory.database import Database
from m2a.memory.forgetting import Forgetter
from m2a.memory.index import MemoryIndex
from m2a.memory.index_schema import IndexEncoders
from m2a.memory.photo_store import PhotoStore
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.stores import Retrieval, Stores
from m2a.types import Addition, EntryDraft, EvidenceRange, MemoryEntry, Message, Query
from tests.encoders import ColourImageEncoder, HashingTextEncoder


class Memory:
    """A memory bank, and shortcuts to fill it."""

    def __init__(self, database: Database, owner: str, folder: Path, index: MemoryIndex) -> None:
        self.database = database
        self._now = datetime(2026, 3, 12, 18, 0, tzinfo=UTC)
        photos = PhotoStore(database, folder / "photos", self.now)
        text_encoder, image_encoder = HashingTextEncoder(), ColourImageEncoder()
        retrieval = Retrieval.open(
            index,
            database,
            text_encoder,
            image_encoder,
            photos.image,
            relevance_floor=False,
        )
        self.index, self.indexer = index, retrieval.indexer
        raw, semantic = RawMessageStore(), SemanticMemoryStore()
        self.photos_folder = folder / "photos"
        self.stores = Stores(database, raw, semantic, photos, lambda: retrieval)
        self.bank = MemoryBank(owner, self.stores, self.now)
        self.conversation: str | None = None

    def of(self, owner: str) -> "Memory":
        """The memory of another owner in the same stores."""
        other = copy(self)
        other.bank = MemoryBank(owner, self.stores, self.now)
        return other

    def now(self) -> datetime:
        self._now += timedelta(minutes=1)
        return self._now

    def say(
        self, text: str, reply: str = "Fine.", photos: list[bytes] | None = None, sources: Sequence[MemoryEntry] = ()
    ) -> tuple[Message, Message]:
        message = self.bank.record(self.conversation, role="user", speaker="You", text=text, photos=photos or [])
        steps = {
            "searches": [{"text": text, "photo_ids": [], "hits": []}],
            "sources": [
                {
                    "hit": {"kind": "entry", "id": entry.memory_id, "score": 1.0, "ranks": {}, "similarity": {}},
                    "message_ids": [],
                }
                for entry in sources
            ],
        }
        answer = self.bank.record_reply(
            message.conversation_id, reply, speaker="M2A", steps=steps, answers=message.message_id, update_pending=True
        )
        return message, answer

    def tell(self, text: str, reply: str = "Fine.", photos: list[bytes] | None = None, **draft: Any) -> MemoryEntry:
        message, answer = self.say(text, reply, photos)
        [change] = self.bank.write(
            [Addition(draft_of(message, text, **draft), "")], who="test", update_of=answer.message_id
        )
        return change.entry

    def is_forgotten(self, text: str) -> bool:
        """Returns whether the text repeats forgotten content, or asks for it in its words."""
        with self.database.read(self.bank.owner) as unit:
            forgetter = Forgetter(self.stores.raw, self.stores.semantic)
            return forgetter.is_forgotten(unit, [text])[0]

    def shown(self) -> str:
        """Returns everything that is shown of the messages."""
        return " ".join(message.text for message in self.bank.messages(range(1, 100)).values())

    def found(self, words: str) -> list[int]:
        """Returns the ids of the messages that a search finds."""
        return [hit.record.message_id for hit in self.bank.search(Query(words), {"message"})]


def index_in(folder: Path) -> MemoryIndex:
    return MemoryIndex(str(folder / "index.db"), IndexEncoders.of(HashingTextEncoder(), ColourImageEncoder()))


def draft_of(source: Message, text: str, **values: Any) -> EntryDraft:
    return EntryDraft(text, (EvidenceRange(source.message_id, source.message_id),), photo_ids=source.photos, **values)


def jpeg(colour: str) -> bytes:
    file = BytesIO()
    Image.new("RGB", (40, 30), colour).save(file, "JPEG")
    return file.getvalue()
