"""The opened stores that every owner's bank shares."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from m2a.memory.database import Database
from m2a.memory.photo_store import PhotoStore
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.semantic_memory_store import SemanticMemoryStore

if TYPE_CHECKING:
    from PIL.Image import Image

    from m2a.memory.index import MemoryIndex
    from m2a.memory.indexer import Indexer
    from m2a.memory.photo_vectors import PhotoVectors
    from m2a.memory.ranking.learned_ranking import LearnedRanking
    from m2a.memory.recogniser import Recogniser
    from m2a.memory.retriever import Retriever
    from models.image_encoder import ImageEncoder
    from models.text_encoder import TextEncoder


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What needs the encoders: the index, who fills it, who searches it, who knows photos again."""

    index: "MemoryIndex"
    indexer: "Indexer"
    retriever: "Retriever"
    recogniser: "Recogniser"
    photo_vectors: "PhotoVectors"

    @classmethod
    def open(
        cls,
        index: "MemoryIndex",
        database: Database,
        text_encoder: "TextEncoder",
        image_encoder: "ImageEncoder",
        photo_image: "Callable[[str, str], Image]",
        *,
        ranking: "LearnedRanking | None" = None,
        relevance_floor: bool = True,
        photo_floor: float | None = None,
        photo_words_floor: float | None = None,
    ) -> "Retrieval":
        """The retrieval over what the database holds, with an index that is open: several rankings may share one.

        `photo_image(owner, photo_id)` decodes a photo. With a `ranking` records are ranked by that, else as published; the
        photo floors are `floor_of`'s.
        """
        from m2a.memory.indexer import Indexer
        from m2a.memory.photo_vectors import PhotoVectors
        from m2a.memory.ranking.record_store import RankedRecordStore
        from m2a.memory.recogniser import Recogniser
        from m2a.memory.retriever import Retriever

        raw, semantic = RawMessageStore(), SemanticMemoryStore()
        photo_vectors = PhotoVectors(database, image_encoder, photo_image)
        indexer = Indexer(
            database,
            raw,
            semantic,
            index,
            text_encoder,
            photo_vectors,
            ranked=ranking.store if ranking else RankedRecordStore(),
            record_encoder=ranking.encoder if ranking else None,
        )
        retriever = Retriever(
            database,
            raw,
            semantic,
            index,
            text_encoder,
            image_encoder,
            photo_vectors.of,
            relevance_floor=relevance_floor,
            photo_floor=photo_floor,
            photo_words_floor=photo_words_floor,
            ranking=ranking,
        )
        recogniser = Recogniser(database, photo_image, photo_vectors, index, indexer, image_encoder)
        return cls(index, indexer, retriever, recogniser, photo_vectors)

    def beside(self, photos: "Mapping[str, Image]") -> "Retrieval":
        """The same, for a memory that has photos, by id, which are stored nowhere."""
        return replace(self, retriever=self.retriever.beside(photos), recogniser=self.recogniser.beside(photos))

    def close(self) -> None:
        """Also closes the index, whoever opened it."""
        self.retriever.close()
        self.index.close()


@dataclass(frozen=True, slots=True)
class Stores:
    """`retrieval` gives the retrieval, and waits while it loads."""

    database: Database
    raw: RawMessageStore
    semantic: SemanticMemoryStore
    photos: PhotoStore
    retrieval: Callable[[], Retrieval]
