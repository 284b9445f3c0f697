"""The parts that the systems of a run share: the stores in one folder, the encoders, and the photos.

Each system has a memory per dialogue. Vectors are cached by content in the same database, so that a text is encoded once for all
systems.
"""

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol
from uuid import uuid4

from m2a.memory import conversations
from m2a.memory.database import Database
from m2a.memory.owners import owner_named
from m2a.memory.photo_decoder import DecodedPhoto, PhotoDecoder
from m2a.memory.photo_store import PhotoStore
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.schema import message
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.stores import Retrieval, Stores
from m2a.systems.captions import Captions
from m2a.systems.system import Meter
from m2a.systems.timed_encoder import TimedEncoder
from m2a.types import EvidenceRange, Hit, Message, Photo, Query, RecordKind, Role
from models.captioner import Captioner
from models.chat_model import ChatModel

if TYPE_CHECKING:
    from m2a.agents.offline import OfflineRules
    from m2a.memory.index import MemoryIndex
    from m2a.memory.ranking.learned_ranking import LearnedRanking
    from m2a.memory.ranking.record_store import RankedRecordStore
    from models.image_encoder import ImageEncoder
    from models.text_encoder import TextEncoder

Fusion = Literal["best", "paper"]


class Search(Protocol):
    """A search with the signature of `Retriever.search`. One without a floor ignores `relevance_floor`."""

    def __call__(
        self,
        owner: str,
        query: Query,
        kinds: Collection[RecordKind],
        k: int,
        *,
        relevance_floor: bool = True,
        before: int | None = None,
        within: Collection[int] | None = None,
    ) -> list[Hit]: ...


_EVERYTHING = EvidenceRange(1, 2**62)


@dataclass(frozen=True, slots=True)
class Utterance:
    """One message of a dialogue before it has an id. `said_at` has a time zone; `photos` are files."""

    reference: str
    role: Role
    speaker: str
    text: str
    said_at: datetime
    photos: tuple[Path, ...] = ()


class SharedStores:
    """The stores in a folder, which one process may have open. Encoders are loaded when they are first needed."""

    def __init__(
        self,
        folder: Path,
        text_encoder: Callable[[], "TextEncoder"],
        image_encoder: Callable[[], "ImageEncoder"],
        ranking: "Callable[[RankedRecordStore, TextEncoder], LearnedRanking] | None" = None,
    ) -> None:
        """`ranking` makes the ranking of `fusion = best`, which is by default the one that ships."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._load_text_encoder = text_encoder
        self._load_image_encoder = image_encoder
        self._load_ranking = ranking
        self.database = Database(f"sqlite:///{folder / 'memory.db'}")
        self.raw = RawMessageStore()
        self.semantic = SemanticMemoryStore()
        self.photos = PhotoStore(
            self.database, folder / "photos", lambda: datetime.now().astimezone(), _CachingDecoder()
        )
        self._retrievals: dict[Fusion, Retrieval] = {}

    @cached_property
    def text_encoder(self) -> TimedEncoder:
        return TimedEncoder(self._load_text_encoder())

    @cached_property
    def image_encoder(self) -> "ImageEncoder":
        return self._load_image_encoder()

    @cached_property
    def index(self) -> "MemoryIndex":
        from m2a.memory.index import MemoryIndex
        from m2a.memory.index_schema import IndexEncoders

        return MemoryIndex(str(self.folder / "index.db"), IndexEncoders.of(self.text_encoder, self.image_encoder))

    @cached_property
    def ranking(self) -> "LearnedRanking":
        """The ranking of `fusion = best`. Raises `UserError` for an encoder that it was not trained on."""
        from m2a.memory.ranking.learned_ranking import LearnedRanking
        from m2a.memory.ranking.record_store import RankedRecordStore

        return (self._load_ranking or LearnedRanking.load)(RankedRecordStore(), self.text_encoder)

    def retrieval(self, fusion: Fusion) -> Retrieval:
        """Returns the retrieval of the app with that fusion. With `best`, the index also keeps what the ranking needs."""
        if fusion not in self._retrievals:
            self._retrievals[fusion] = Retrieval.open(
                self.index,
                self.database,
                self.text_encoder,
                self.image_encoder,
                self.photos.image,
                ranking=self.ranking if fusion == "best" else None,
            )
        return self._retrievals[fusion]

    def dense(
        self,
        owner: str,
        query: Query,
        kinds: Collection[RecordKind],
        k: int,
        *,
        relevance_floor: bool = True,
        before: int | None = None,
        within: Collection[int] | None = None,
    ) -> list[Hit]:
        """Returns the k nearest records by vectors alone, without a floor. Ignores the photos of the query and `before`."""
        vector = self.text_encoder.encode([query.text])[0]
        [index_hits] = self.index.search_dense(owner, vector[None], kinds, k, within)
        with self.database.read(owner) as unit:
            entries = self.semantic.get(unit, [hit.key.record_id for hit in index_hits if hit.key.kind == "entry"])
            messages = self.raw.get(unit, [hit.key.record_id for hit in index_hits if hit.key.kind == "message"])
        hits = []
        for rank, hit in enumerate(index_hits, start=1):
            record = (entries if hit.key.kind == "entry" else messages).get(hit.key.record_id)
            if record is not None:
                hits.append(Hit(record, hit.score, {"dense": rank}, {"dense": hit.score}))
        return hits

    def fresh_memory(self, name: str) -> "Memory":
        """Returns an empty memory, even if an earlier attempt wrote to a memory of that name."""
        return self.memory(owner_named(self.database, f"{name[:150]}#{uuid4().hex}"))

    def memory(self, owner: str) -> "Memory":
        return Memory(owner, self)

    @property
    def encoded(self) -> int:
        """The number of texts encoded so far."""
        return self.text_encoder.encoded if "text_encoder" in self.__dict__ else 0

    def close(self) -> None:
        for retrieval in self._retrievals.values():
            retrieval.retriever.close()
        if "index" in self.__dict__:
            self.index.close()
        self.database.close()


class Memory:
    """One system's memory of one dialogue: a raw log with its photos, and whatever the system makes of it.

    `fusion` must be set before anything is indexed, since the learned ranking needs more data of each message.
    `seconds_of_reused_captions` is the time that other systems took for the captions that this one uses.
    """

    def __init__(self, owner: str, shared: SharedStores) -> None:
        self.owner = owner
        self.shared = shared
        self.fusion: Fusion = "paper"
        self.seconds_of_reused_captions = 0.0
        self._captioned: dict[str, str] = {}

    def record(self, session: Sequence[Utterance]) -> list[Message]:
        """Writes one session into the raw log in one transaction, and returns its messages in order."""
        photos = {path: self._write(path) for utterance in session for path in utterance.photos}
        with self.shared.database.write(self.owner) as unit:
            for photo in photos.values():
                self.shared.photos.insert(unit, photo)
            conversation = conversations.start(unit, session[0].said_at)
            return [
                self.shared.raw.append(
                    unit,
                    conversation.conversation_id,
                    role=utterance.role,
                    speaker=utterance.speaker,
                    text=utterance.text,
                    photos=list(dict.fromkeys(photos[path].photo_id for path in utterance.photos)),
                    said_at=utterance.said_at,
                    reference=utterance.reference,
                )
                for utterance in session
            ]

    def add_photos(self, paths: Sequence[Path]) -> dict[Path, str]:
        """Stores the photos of questions. No record holds them, so no search finds them. Returns their ids by path."""
        photos = {path: self._write(path) for path in paths}
        with self.shared.database.write(self.owner) as unit:
            for photo in photos.values():
                self.shared.photos.insert(unit, photo)
        return {path: photo.photo_id for path, photo in photos.items()}

    def messages(self) -> list[Message]:
        """Returns all messages in order."""
        with self.shared.database.read(self.owner) as unit:
            return self.shared.raw.in_ranges(unit, [_EVERYTHING])

    def message_count(self) -> int:
        with self.shared.database.read(self.owner) as unit:
            return unit.count(message)

    def photo_data(self, photo_id: str) -> bytes:
        return self.shared.photos.data(self.owner, photo_id)

    def stores(self) -> Stores:
        """Returns the stores for a memory bank."""
        shared = self.shared
        return Stores(
            shared.database,
            shared.raw,
            shared.semantic,
            shared.photos,
            lambda: shared.retrieval(self.fusion),
        )

    def index(self) -> None:
        """Brings the index up to date."""
        self.shared.retrieval(self.fusion).indexer.drain(self.owner)

    def ensure_index(self) -> None:
        """Indexes the memory again if it has messages. Does nothing for a fresh one."""
        if self.messages():
            self.index()

    def seconds_of_reused_vectors(self, messages: Sequence[Message], encoded_before: int) -> float:
        """Returns the encoding time that was saved because another system had encoded some of these messages before."""
        shared = self.shared
        if "index" not in shared.__dict__ or not shared.index.has(self.owner, "text"):
            return 0.0
        reused = max(0, len(messages) - (shared.text_encoder.encoded - encoded_before))
        return reused * shared.text_encoder.seconds_per_text([message.text for message in messages[:64]])

    def remove_from_index(self) -> None:
        """Removes the memory from the index once no question is left. The memory itself stays in the database."""
        if "index" in self.shared.__dict__:
            self.shared.index.drop(self.owner)

    async def caption(self, photo_id: str, parts: "Parts", meter: Meter) -> str:
        """Returns the photo's caption, which is made once for all systems, and adds its usage to the meter once.

        Raises what the captioner raises.
        """
        if photo_id not in self._captioned:
            data = self.photo_data(photo_id)
            text, reused_seconds = await parts.captions.caption(photo_id, data, parts.chat_model, meter)
            self._captioned[photo_id] = text
            self.seconds_of_reused_captions += reused_seconds
        return self._captioned[photo_id]

    def _write(self, path: Path) -> Photo:
        return self.shared.photos.write_blob(self.owner, path.read_bytes())


@dataclass(frozen=True, slots=True)
class PeerSettings:
    """The settings of peers: the encoder's folder, and address, name and key of the chat model if there is one."""

    encoder_folder: Path
    chat_base_url: str | None = None
    chat_model: str | None = None
    chat_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Parts:
    """The parts that systems are made of.

    Without a chat model, only systems with offline rules can answer; with `retrieval_only`, none does. `captioner` returns a
    captioner that uses a (metered) chat model, or none. `rules` returns the same instance on every call. `window` is the maximum
    number of tokens of a dialogue in one prompt.
    """

    stores: SharedStores
    chat_model: ChatModel | None
    retrieval_only: bool
    captioner: Callable[[ChatModel | None], Captioner]
    rules: "Callable[[], OfflineRules]"
    window: int
    peers: PeerSettings | None = None

    @cached_property
    def captions(self) -> Captions:
        """The captions of all photos of the run."""
        return Captions(self.stores.folder / "captions.jsonl", self.captioner)


class _CachingDecoder(PhotoDecoder):
    """Decodes each photo once, although several owners store it."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, DecodedPhoto] = {}

    def decode(self, data: bytes) -> DecodedPhoto:
        key = hashlib.sha256(data).hexdigest()
        if key not in self._known:
            self._known[key] = super().decode(data)
        return self._known[key]
