"""What a message may be, whichever door it comes through: looked at before anything of it is stored."""

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from m2a.memory.message_recorder import MessageRefusedError
from m2a.memory.photo_decoder import PhotoRefusedError
from m2a.memory.photo_decoder_child import MAX_BYTES

LONGEST = 20_000
MOST_PHOTOS = 20

# Half an emoji (a lone surrogate) is no text, and a NUL ends a text in half of the world's programs.
_UNSTORABLE = re.compile("[\ud800-\udfff\0]")
_SHOWN_BEFORE = 30


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """A message of the user before it is stored. Without a conversation it begins one; `replaces` is the message it edits,
    of which `takes_memories` takes back what is remembered on its words alone. `stored_photos` are ids of photos that were
    shown before.
    """

    text: str
    photos: tuple[bytes | Path, ...] = ()
    conversation_id: str | None = None
    replaces: int | None = None
    takes_memories: bool = False
    stored_photos: tuple[str, ...] = ()


def check_message(text: str, photos: Sequence[object] = ()) -> None:
    """Raises `MessageRefusedError` for a text or a number of photos that is not taken."""
    if len(text) > LONGEST:
        raise MessageRefusedError(
            f"This message has {len(text):,} characters, and M2A takes up to {LONGEST:,} at once; send it in parts."
        )
    if len(photos) > MOST_PHOTOS:
        raise MessageRefusedError(
            f"This message has {len(photos)} photos, and M2A takes up to {MOST_PHOTOS} at once; send them in parts."
        )
    if found := _UNSTORABLE.search(text):
        before = text[: found.start()][-_SHOWN_BEFORE:].strip()
        where = f"After “{before}”" if before else "At its beginning"
        what = "a NUL character" if found[0] == "\0" else "half a character, such as half an emoji,"
        raise MessageRefusedError(
            f"{where} the message holds {what} which cannot be stored; delete it and send it again."
        )


def read_photo(path: Path) -> bytes:
    """A photo's file. Raises `PhotoRefusedError` for what is no file, cannot be read, or is larger than a photo may be."""
    try:
        # Not blocking: a pipe that nobody writes to would never open.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            status = os.fstat(descriptor)
            data = _read(descriptor) if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES else None
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:  # the latter for a path that holds a NUL
        reason = getattr(error, "strerror", None) or "it is no path"
        raise PhotoRefusedError(f"The photo {path} cannot be read ({reason}); name another file.") from error
    if data is not None:
        return data
    if not stat.S_ISREG(status.st_mode):
        raise PhotoRefusedError(f"The photo {path} is not a file; name another.")
    raise PhotoRefusedError(
        f"The photo {path} has {status.st_size / 1_000_000:.1f} MB, and M2A takes up to {MAX_BYTES // 1_000_000} MB; "
        "make it smaller first."
    )


def _read(descriptor: int) -> bytes:
    with open(descriptor, "rb", closefd=False) as file:
        return file.read()
