"""The opened stores that every owner's bank shares."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from m2a.memory.database import Database
from m2a.memory.photo_store import PhotoStore
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.semantic_memory_store import SemanticMemoryStore

if TYPE_CHECKING:
    from m2a.memory.index import MemoryIndex
    from m2a.memory.indexer import Indexer
    from m2a.memory.recogniser import Recogniser
    from m2a.memory.retriever import Retriever


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What needs the encoders: the index, who fills it, who searches it, who knows photos again."""

    index: "MemoryIndex"
    indexer: "Indexer"
    retriever: "Retriever"
    recogniser: "Recogniser"


@dataclass(frozen=True, slots=True)
class Stores:
    """`retrieval` gives the retrieval, and waits while it loads."""

    database: Database
    raw: RawMessageStore
    semantic: SemanticMemoryStore
    photos: PhotoStore
    retrieval: Callable[[], Retrieval]
