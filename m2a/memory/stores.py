"""The open stores, which the banks of all owners share."""

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
    """Everything that needs the encoders: the index, and the parts that fill it, search it and recognise photos."""

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
        """Opens the retrieval over a database with an open index, which several rankings may share.

        `photo_image(owner, photo_id)` decodes a photo. Records are ranked by `ranking`, or as in the paper without one. See
        `floor_of` for the photo floors.
        """
        from m2a.memory.indexer import Indexer
        from m2a.memory.photo_vectors import PhotoVectors
        from m2a.memory.ranking.record_store import RankedRecordStore
        from m2a.memory.recogniser import Recogniser
        from m2a.memory.retriever import Retriever
        from m2a.memory.search import SearchParts

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
        parts = SearchParts(database, raw, semantic, index, text_encoder, image_encoder, photo_vectors.of, ranking)
        retriever = Retriever(
            parts,
            relevance_floor=relevance_floor,
            photo_floor=photo_floor,
            photo_words_floor=photo_words_floor,
        )
        recogniser = Recogniser(database, photo_image, photo_vectors, index, indexer, image_encoder)
        return cls(index, indexer, retriever, recogniser, photo_vectors)

    def with_unstored(self, photos: "Mapping[str, Image]") -> "Retrieval":
        """Returns the same retrieval for a memory with additional photos, by id, that are not stored."""
        return replace(
            self, retriever=self.retriever.with_unstored(photos), recogniser=self.recogniser.with_unstored(photos)
        )

    def close(self) -> None:
        """Closes the retrieval and its index."""
        self.retriever.close()
        self.index.close()


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores of a data folder. `retrieval` waits until the retrieval has loaded and returns it."""

    database: Database
    raw: RawMessageStore
    semantic: SemanticMemoryStore
    photos: PhotoStore
    retrieval: Callable[[], Retrieval]
