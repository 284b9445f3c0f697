"""`m2a doctor`: every setting and where it came from, what answers, what is missing and how to get it."""

import asyncio
import importlib.util
from collections.abc import Iterator

from m2a.data_folder import holder_of
from m2a.settings import Settings, setting_origins
from m2a.wiring import OFFLINE, chat_model, image_encoder_loading, text_encoder_loading

_EXTRAS = {
    "pillow_heif": ("heic", "HEIC photos"),
    "sentencepiece": ("siglip", "SigLIP through transformers"),
    "open_clip": ("vision", "SigLIP through open-clip-torch"),
    "sentence_transformers": ("sentence-transformers", "other text encoders"),
    "psycopg": ("postgres", "PostgreSQL"),
}


def examine(settings: Settings) -> Iterator[tuple[str, bool]]:
    """Lines to print, each with whether what it tells of is in order."""
    yield "Settings", True
    origins = setting_origins(settings)
    for name in Settings.model_fields:
        value = getattr(settings, name)
        yield f"  {name} = {'' if value is None else value}  ({origins[name]})", True
    yield "Data folder", True
    yield from _data_folder(settings)
    yield "Models", True
    yield from _models(settings)
    yield "Packages", True
    yield from _packages()


def _data_folder(settings: Settings) -> Iterator[tuple[str, bool]]:
    from m2a.memory.database import Database, DatabaseError

    holder = holder_of(settings.data_dir)
    if holder is not None:
        yield f"  {settings.data_dir} is in use by process {holder.pid} ({holder.address or 'no web app'})", True
    if settings.database_url is None and not (settings.data_dir / "memory.db").exists():
        yield f"  {settings.data_dir} holds no memory yet; `m2a run` makes one", True
        return
    try:
        Database(settings.database_address).close()
    except DatabaseError as error:
        yield f"  {error}", False
    else:
        yield "  the database opens", True


def _models(settings: Settings) -> Iterator[tuple[str, bool]]:
    if settings.chat_model == OFFLINE:
        yield "  chat model: none; answers come from rules. To connect one, set M2A_CHAT_MODEL (see the README)", True
    else:
        yield _chat_model(settings)
    text_encoder = text_encoder_loading(settings)
    image_encoder = image_encoder_loading(settings, text_encoder)
    for loading in (text_encoder, image_encoder):
        try:
            yield f"  {loading.name}: {loading.get().encoder_id} loads", True
        except (ValueError, ImportError, OSError) as error:
            yield f"  {loading.name}: {error}", False


def _chat_model(settings: Settings) -> tuple[str, bool]:
    from models.chat_model import ChatMessage, ChatModelError, MalformedReplyError, Tool

    tool = Tool("answer", "Answer the question.", {"type": "object", "properties": {"word": {"type": "string"}}})

    async def ask() -> str:
        model = chat_model(settings)
        try:
            await model.choose([ChatMessage("user", ("Call the tool with the word yes.",))], [tool])
        except MalformedReplyError as error:
            return f"answers, but calls no tool ({error}); a larger model may"
        return "answers and calls tools" + (", photos are sent to it" if model.sees_photos else "")

    try:
        return f"  chat model: {settings.chat_model} {asyncio.run(ask())}", True
    except (ChatModelError, ValueError, ImportError) as error:
        return f"  chat model: {error}", False


def _packages() -> Iterator[tuple[str, bool]]:
    import PIL

    recent = int(PIL.__version__.split(".")[0]) >= 13
    remedy = "" if recent else ": older than 13, whose decoders have known holes; run `make run`, which installs 13"
    yield f"  Pillow {PIL.__version__}{remedy}", recent
    for module, (extra, what) in _EXTRAS.items():
        found = importlib.util.find_spec(module) is not None
        yield f"  {what}: {'installed' if found else f'not installed (pip install m2a[{extra}])'}", True
