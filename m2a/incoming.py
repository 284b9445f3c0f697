"""Incoming messages, and the limits that each must meet before any of it is stored."""

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from m2a.memory.bank import MessageRefusedError
from m2a.memory.photo_decoder import PhotoRefusedError
from m2a.memory.photo_decoder_child import MAX_BYTES

MAX_TEXT_LENGTH = 20_000
MAX_PHOTOS = 20

# A lone surrogate (half an emoji) is not valid text, and many programs end a text at a NUL.
_UNSTORABLE = re.compile("[\ud800-\udfff\0]")
_QUOTE_LENGTH = 30


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """A message of the user before it is stored.

    Without a `conversation_id` it begins a new conversation. `replaces` is the id of the message that it edits;
    `forgets_memories` also withdraws the memories that rest on that message alone. `stored_photos` are the ids of photos that
    were shown before.
    """

    text: str
    photos: tuple[bytes | Path, ...] = ()
    conversation_id: str | None = None
    replaces: int | None = None
    forgets_memories: bool = False
    stored_photos: tuple[str, ...] = ()


def check_message(text: str, photos: Sequence[object] = ()) -> None:
    """Raises `MessageRefusedError` if the text is too long or cannot be stored, or if there are too many photos."""
    if len(text) > MAX_TEXT_LENGTH:
        raise MessageRefusedError(
            f"This message has {len(text):,} characters, and M2A accepts up to {MAX_TEXT_LENGTH:,} at once; send it in parts."
        )
    if len(photos) > MAX_PHOTOS:
        raise MessageRefusedError(
            f"This message has {len(photos)} photos, and M2A accepts up to {MAX_PHOTOS} at once; send them in parts."
        )
    if match := _UNSTORABLE.search(text):
        before = text[: match.start()][-_QUOTE_LENGTH:].strip()
        where = f"After “{before}”" if before else "At its beginning"
        fault = "a NUL character" if match[0] == "\0" else "half a character, such as half an emoji"
        raise MessageRefusedError(
            f"{where}, the message contains {fault}, which cannot be stored; delete it and send the message again."
        )


def read_photo(path: Path) -> bytes:
    """Returns the bytes of a photo. Raises `PhotoRefusedError` if it is not a file, cannot be read or is too large."""
    try:
        # Non-blocking: opening a pipe without a writer would wait forever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            status = os.fstat(descriptor)
            data = _read(descriptor) if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES else None
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:  # the latter for a path that contains a NUL
        reason = getattr(error, "strerror", None) or "it is not a path"
        raise PhotoRefusedError(f"The photo {path} cannot be read ({reason}); choose another file.") from error
    if data is not None:
        return data
    if not stat.S_ISREG(status.st_mode):
        raise PhotoRefusedError(f"The photo {path} is not a file; choose another.")
    raise PhotoRefusedError(
        f"The photo {path} is {status.st_size / 1_000_000:.1f} MB, and M2A accepts up to {MAX_BYTES // 1_000_000} MB; "
        "make it smaller first."
    )


def _read(descriptor: int) -> bytes:
    with open(descriptor, "rb", closefd=False) as file:
        return file.read()
