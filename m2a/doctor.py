"""`m2a doctor`: shows every setting and its origin, which models work, what is missing and how to install it."""

import asyncio
import importlib.util
import os
from collections.abc import Iterator

from m2a.ability_sentences import ability_sentences
from m2a.data_folder import holder_of
from m2a.plurals import plural
from m2a.settings import Settings, setting_origins
from m2a.types.errors import UserError
from m2a.wiring import OFFLINE, chat_model, image_encoder_loading, text_encoder_loading
from models.availability import TRANSFORMERS, install_command

# The packages of each feature. Installing M2A's own extras instead would let pip downgrade Pillow.
_PACKAGES = {
    "pillow_heif": ("HEIC photos", "pillow-heif"),
    "psycopg": ("PostgreSQL", "'psycopg[binary]'"),
    "torch": ("chat models in this process", TRANSFORMERS),
    "sentence_transformers": ("other text encoders", "sentence-transformers"),
    "sentencepiece": ("SigLIP through transformers", f"{TRANSFORMERS} sentencepiece"),
    "open_clip": ("SigLIP through open-clip-torch", "torchvision open-clip-torch"),
}


def examine(settings: Settings) -> Iterator[tuple[str, bool]]:
    """Yields the lines to print, each with whether that item is in order."""
    yield "Settings (each can be set in m2a.toml, or as M2A_CHAT_MODEL and so on)", True
    origins = setting_origins()
    for name in Settings.model_fields:
        yield f"  {name} = {_display(name, getattr(settings, name))}  ({origins[name]})", True
    yield "Memory", True
    yield from _data_folder(settings)
    yield "Models", True
    yield from _models(settings)
    yield "Packages", True
    yield from _packages()


def _display(name: str, value: object) -> str:
    if value is None:
        return "not set"
    if name == "chat_api_key":
        return "set, not shown"
    if name == "database_url":
        from sqlalchemy.engine import make_url
        from sqlalchemy.exc import ArgumentError

        try:
            return make_url(str(value)).render_as_string(hide_password=True)
        except ArgumentError:
            return "set, but not a valid database address"
    return str(value)


def _data_folder(settings: Settings) -> Iterator[tuple[str, bool]]:
    from sqlalchemy import func, select
    from sqlalchemy.exc import DBAPIError

    from m2a.memory.database import Database, DatabaseError
    from m2a.memory.right_database import check_file
    from m2a.memory.schema import entry, message, pending_update

    folder = settings.data_dir.resolve()
    if folder.exists() and not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
        yield f"  M2A cannot write to the folder {folder}; set M2A_DATA_DIR to another", False
        return
    holder = holder_of(folder)
    if holder is not None:
        yield (
            f"  {folder} is in use by process {holder.pid}, {holder.address or 'which does not serve the web app'}",
            True,
        )
    if settings.database_url is None:
        try:
            check_file(folder / "memory.db", folder / "photos")
        except DatabaseError as error:
            yield f"  {error}", False
            return
    if settings.database_url is None and not (folder / "memory.db").exists():
        yield f"  {folder} is empty; `m2a run` or `m2a ask` starts a memory", True
        return
    try:
        database = Database(settings.database_address)
        with database.snapshot() as connection:
            memories = connection.scalar(select(func.count()).select_from(entry).where(entry.c.alive))
            messages = connection.scalar(select(func.count()).select_from(message))
            pending = connection.scalar(select(func.count()).select_from(pending_update))
            failure = connection.scalar(
                select(pending_update.c.last_error)
                .where(pending_update.c.last_error.is_not(None))
                .order_by(pending_update.c.message_id.desc())
                .limit(1)
            )
        database.close()
    except DatabaseError as error:
        yield f"  {error}", False
    except DBAPIError as error:
        yield f"  the database cannot be read ({error.orig}); restore it from a backup", False
    else:
        yield f"  {folder}: {plural(messages or 0, 'message')}, {plural(memories or 0, 'memory', 'memories')}", True
        if pending:
            yield f"  pending memory updates: {pending}; the next turn or `m2a run` performs them", True
        if failure:
            yield f"  the last attempt to update the memory failed: {failure}", True


def _models(settings: Settings) -> Iterator[tuple[str, bool]]:
    if settings.chat_model == OFFLINE:
        yield (
            "  chat model: none; answers come from built-in rules. To connect one, set M2A_CHAT_MODEL (see the README)",
            True,
        )
    else:
        yield from _chat_model(settings)
    text_encoder = text_encoder_loading(settings)
    image_encoder = image_encoder_loading(settings, text_encoder)
    for name, loading in ((settings.text_encoder, text_encoder), (settings.image_encoder, image_encoder)):
        try:
            loading.get()
            yield f"  {loading.name}: {name} loads", True
        except (UserError, OSError) as error:
            yield f"  {loading.name}: {error}", False
        else:
            if loading is image_encoder:
                yield from _photo_floor(settings, image_encoder.get().encoder_id)


def _photo_floor(settings: Settings, encoder_id: str) -> Iterator[tuple[str, bool]]:
    """Yields a line if no relevance floor was measured for the photo encoder."""
    from m2a.memory.floor import floor_of

    floor = floor_of("", encoder_id, photo_floor=settings.photo_floor, photo_words_floor=settings.photo_words_floor)
    configured = (settings.photo_floor, settings.photo_words_floor)
    if settings.relevance_floor and not floor.photos_are_measured and None in configured:
        line = (
            "    no relevance floor has been measured for it, so a photo counts as relevant from a cosine of "
            f"{floor.photo_cosine:g} with another photo, or {floor.photo_to_words_cosine:g} with words; "
            "set M2A_PHOTO_FLOOR and M2A_PHOTO_WORDS_FLOOR to change this"
        )
        yield line, True


def _chat_model(settings: Settings) -> Iterator[tuple[str, bool]]:
    """Tests the chat model and yields whether it answers and what it can do."""
    from m2a.connecting import try_chat_model

    try:
        outcome, abilities = asyncio.run(try_chat_model(chat_model(settings)))
    except UserError as error:
        yield f"  chat model: {error}", False
        return
    yield f"  chat model: {settings.chat_model} {outcome}", True
    for line in ability_sentences(abilities, settings):
        yield f"    {line}", True


def _packages() -> Iterator[tuple[str, bool]]:
    import PIL

    is_safe = int(PIL.__version__.split(".")[0]) >= 13
    remedy = "" if is_safe else ": versions before 13 have known security holes; `make run` installs 13"
    yield f"  Pillow {PIL.__version__}{remedy}", is_safe
    for module, (feature, packages) in _PACKAGES.items():
        is_installed = importlib.util.find_spec(module) is not None
        status = "installed" if is_installed else f"not installed; {install_command(packages)} adds it"
        yield f"  {feature}: {status}", True
