"""A data folder with everything open, as the assistant has it, but for quick encoders; and one where all agrees."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import text

from m2a.memory.audit import verify
from m2a.memory.bank import MemoryBank
from m2a.memory.database import Database
from m2a.memory.index import MemoryIndex
from m2a.memory.index_schema import IndexEncoders
from m2a.memory.owners import owner_named
from m2a.memory.photo_store import PhotoStore
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.stores import Retrieval, Stores
from m2a.types import ConceptMention, EntryDraft, EvidenceRange, Query
from tests.encoders import ColourImageEncoder, HashingTextEncoder
from tests.told_memory import jpeg

NOW = datetime(2026, 3, 12, 18, 0, tzinfo=UTC)


TOLD = {
    "Bobo loves the blue ball": "blue",
    "The red teapot is from Kyoto": "red",
    "Anna plays the violin": None,
    "The boiler was serviced in May": None,
}


def now() -> datetime:
    return NOW


@dataclass
class Opened:
    """A data folder with everything open, as the assistant has it, but for quick encoders."""

    folder: Path
    stores: Stores
    bank: MemoryBank

    @property
    def index(self) -> MemoryIndex:
        return self.stores.retrieval().index

    @property
    def photos(self) -> Path:
        return self.folder / "photos" / self.bank.owner

    def sql(self, statement: str) -> None:
        with self.stores.database.transaction() as connection:
            connection.execute(text(statement))

    def found(self) -> list[list[int]]:
        """Returns the hits of searches, in order."""
        return [[hit.record.memory_id for hit in self.bank.search(Query(words))] for words in TOLD]


@contextmanager
def opened(
    folder: Path,
    text_encoder: HashingTextEncoder | None = None,
    image_encoder: ColourImageEncoder | None = None,
    *,
    discard_mismatch: bool = False,
) -> Iterator[Opened]:
    text_encoder, image_encoder = text_encoder or HashingTextEncoder(), image_encoder or ColourImageEncoder()
    database = Database(f"sqlite:///{folder / 'memory.db'}")
    photos = PhotoStore(database, folder / "photos", now)
    retrieval = Retrieval.open(
        MemoryIndex(
            str(folder / "index.db"), IndexEncoders.of(text_encoder, image_encoder), discard_mismatch=discard_mismatch
        ),
        database,
        text_encoder,
        image_encoder,
        photos.image,
        relevance_floor=False,
    )
    try:
        stores = Stores(database, RawMessageStore(), SemanticMemoryStore(), photos, lambda: retrieval)
        yield Opened(folder, stores, MemoryBank(owner_named(database, "anna"), stores, now))
    finally:
        retrieval.close()
        database.close()


def fill(folder: Path) -> None:
    """Fills the folder consistently: four messages with a memory each, two with a photo, and a forgotten memory."""
    with opened(folder) as memory:
        for words, colour in TOLD.items():
            photos = [jpeg(colour)] if colour else []
            message = memory.bank.record(None, role="user", speaker="Anna", text=words, photos=photos)
            evidence = (EvidenceRange(message.message_id, message.message_id),)
            concepts = (ConceptMention(name="Bobo", kind="pet"),) if "Bobo" in words else ()
            memory.bank.add(
                EntryDraft(words, evidence, photo_ids=message.photos, concepts=concepts), who="test", why="told"
            )
        forgotten = memory.bank.add(EntryDraft("Anna plays the drums", evidence), who="test", why="told")
        memory.bank.delete(forgotten.memory_id, who="test", why="wrong")
        memory.bank.index()
        assert verify(memory.stores) == []
