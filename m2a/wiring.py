"""Builds the parts that the settings name. No other module knows which class implements which setting."""

import os
from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from m2a.agents.policy import Policy
from m2a.loading import Loading
from m2a.memory.database import Database
from m2a.memory.photo_store import PhotoStore
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.right_database import check_file, check_owners
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.stores import Retrieval, Stores
from m2a.memory.version_1_forgettings import withhold_forgotten_entries
from m2a.settings import Settings
from models.abilities import Abilities, AbilityRecord
from models.captioner import Captioner
from models.chat_model import ChatModel
from models.load import load_chat_model

if TYPE_CHECKING:
    from m2a.agents.offline import OfflineRules
    from models.image_encoder import ImageEncoder
    from models.text_encoder import TextEncoder

OFFLINE = "offline"

# Without these, Gradio and Hugging Face send usage reports.
_NO_TELEMETRY = {
    "GRADIO_ANALYTICS_ENABLED": "False",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
}


def silence_telemetry() -> None:
    """Turns off telemetry. Must be called before the libraries that send it are imported."""
    os.environ.update(_NO_TELEMETRY)


class RetrievalLoading(Loading[Retrieval]):
    """Opens the index with its encoders. `get` raises `IndexMismatchError` if it was built with different encoders."""

    def __init__(
        self,
        settings: Settings,
        sql: Stores,
        text_encoder: Loading["TextEncoder"],
        image_encoder: Loading["ImageEncoder"],
    ) -> None:
        super().__init__("index", self._open)
        self._settings = settings
        self._sql = sql
        self._text_encoder = text_encoder
        self._image_encoder = image_encoder
        self._discard_mismatch = False

    def get_for_rebuilding(self) -> Retrieval:
        """Like `get`, but empties an index that was built with different encoders; the caller must fill it again."""
        from m2a.memory.index import IndexMismatchError

        self._discard_mismatch = True
        try:
            return self.get()
        except IndexMismatchError:  # from an attempt that had started before the flag was set
            return self.get()

    def close(self) -> None:
        super().close()
        if self.done and self.error is None:
            self.get().close()

    def _open(self) -> Retrieval:
        from m2a.memory.index import MemoryIndex
        from m2a.memory.index_schema import IndexEncoders
        from m2a.memory.ranking.learned_ranking import LearnedRanking
        from m2a.memory.ranking.record_store import RankedRecordStore

        self._image_encoder.start()
        text_encoder = self._text_encoder.get()
        image_encoder = self._image_encoder.get()
        database, settings = self._sql.database, self._settings
        ranking = LearnedRanking.load(RankedRecordStore(), text_encoder) if settings.fusion == "best" else None
        index = MemoryIndex(
            settings.milvus_uri or str(settings.data_dir / "index.db"),
            IndexEncoders.of(text_encoder, image_encoder),
            discard_mismatch=self._discard_mismatch,
        )
        return Retrieval.open(
            index,
            database,
            text_encoder,
            image_encoder,
            self._sql.photos.image,
            ranking=ranking,
            relevance_floor=settings.relevance_floor,
            photo_floor=settings.photo_floor,
            photo_words_floor=settings.photo_words_floor,
        )


def cache_dir() -> Path:
    """Returns the folder for exports of the embedded models: beside the installed packages, or in the user's cache."""
    import sys

    beside = Path(sys.prefix) / "share" / "m2a"
    try:
        beside.mkdir(parents=True, exist_ok=True)
        if os.access(beside, os.W_OK):
            return beside
    except OSError:
        pass
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "m2a"


def open_sql_stores(settings: Settings, clock: Callable[[], datetime]) -> Stores:
    """Returns the stores without retrieval; code that uses only SQL also works while an app is running.

    Raises `DatabaseError`, also if the photos in the data folder belong to a different database.
    """

    def no_retrieval() -> Retrieval:
        raise RuntimeError("These stores were opened without the index.")

    photos, file = settings.data_dir / "photos", settings.data_dir / "memory.db"
    if settings.database_url is None:
        check_file(file, photos)
    database = Database(settings.database_address)
    try:
        check_owners(
            database, photos, str(file) if settings.database_url is None else "The database of M2A_DATABASE_URL"
        )
        withhold_forgotten_entries(database)
    except BaseException:
        database.close()
        raise
    return Stores(
        database,
        RawMessageStore(),
        SemanticMemoryStore(),
        PhotoStore(database, photos, clock),
        no_retrieval,
    )


def load_policy(settings: Settings, *, greedy: bool = False) -> Policy:
    """Returns the policy that decides the agents' steps, and loads its model if that runs in this process."""
    if settings.chat_model == OFFLINE:
        return offline_rules()
    from m2a.agents.language_policy import LanguagePolicy
    from models.transformers_chat_model import TransformersChatModel

    model = chat_model(settings, greedy=greedy)
    if isinstance(model, TransformersChatModel):
        model.load()
    return LanguagePolicy(model)


@cache
def offline_rules() -> "OfflineRules":
    """Returns the one instance of the rules, which caches its encodings."""
    from m2a.agents.offline import OfflineRules
    from models.text_encoder import MINILM

    return OfflineRules(_text_encoder(MINILM))


def chat_model(settings: Settings, *, greedy: bool = False) -> ChatModel:
    """Returns the chat model that the settings name, which must not be `offline`.

    `greedy` makes measurements repeatable. Raises `ModelUnavailableError`.
    """
    return load_chat_model(
        settings.chat_model,
        base_url=settings.chat_base_url,
        api_key=settings.chat_api_key.get_secret_value() if settings.chat_api_key else None,
        sees_photos=settings.chat_sees_photos,
        timeout=settings.chat_timeout,
        greedy=greedy,
        context_window=settings.context_window,
        reply_tokens=settings.reply_tokens,
        record=AbilityRecord(settings.data_dir / "models.json"),
    )


def text_encoder_loading(settings: Settings) -> Loading["TextEncoder"]:
    return Loading("text encoder", lambda: _text_encoder(settings.text_encoder))


def image_encoder_loading(settings: Settings, text_encoder: Loading["TextEncoder"]) -> Loading["ImageEncoder"]:
    def load() -> "ImageEncoder":
        text_encoder.get()  # loads the text encoder once; the next line takes it from the cache
        return _image_encoder(settings.image_encoder, settings.text_encoder)

    return Loading("photo encoder", load)


def _text_encoder(name: str) -> "TextEncoder":
    from models.load import load_text_encoder

    return load_text_encoder(name, cache_dir())


# Encoders have no state between calls, so all assistants in a process share them.
@cache
def _image_encoder(name: str, text_encoder_name: str) -> "ImageEncoder":
    from models.load import load_image_encoder

    return load_image_encoder(name, _text_encoder(text_encoder_name), cache_dir())


@cache
def _tag_captioner() -> Captioner:
    from models.load import load_network
    from models.tag_captioner import TagCaptioner

    return TagCaptioner(load_network(cache_dir()))


def known_abilities(policy: Policy) -> Abilities | None:
    """Returns what the policy's chat model is known to be able to do, or None if there is no chat model."""
    from m2a.agents.language_policy import LanguagePolicy

    return policy.chat_model.known_abilities if isinstance(policy, LanguagePolicy) else None


def load_captioner(policy: Policy | None) -> Captioner:
    """Returns a captioner: the chat model if it sees photos, else image tags that are worded as a guess."""
    from m2a.agents.language_policy import LanguagePolicy

    if isinstance(policy, LanguagePolicy) and policy.chat_model.sees_photos:
        from models.chat_captioner import ChatCaptioner

        return ChatCaptioner(policy.chat_model, _tag_captioner)
    return _tag_captioner()
