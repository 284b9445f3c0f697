"""Decodes untrusted photos, each in its own child process with limits, whose reply is not trusted either.

Starting a child costs about 0.05 s. Reusing it would let one photo tamper with the next, which may be another owner's.
"""

import json
import os
import re
import selectors
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from m2a.memory import photo_decoder_child
from m2a.memory.photo_decoder_child import MAX_BYTES, MAX_PIXELS, MAX_SIDE, STORED_SIDE, brands_of, format_of
from m2a.types.errors import UserError

_SMALLER = "make it smaller and send it again"
_AS_JPEG = "open it in a photo program, save it as a JPEG, and send that"


SENTENCES = {
    "damaged": f"This photo is damaged: it cannot be read completely. Send the original again, or {_AS_JPEG}.",
    "side": (
        f"This photo measures {{width:,}} × {{height:,}} pixels, and M2A accepts up to {MAX_SIDE:,} per side; {_SMALLER}."
    ),
    "pixels": (
        f"This photo measures {{width:,}} × {{height:,}} pixels, and M2A accepts up to {MAX_PIXELS // 1_000_000} million "
        f"pixels; {_SMALLER}."
    ),
    "memory": (
        f"This photo unpacks to far more than the {MAX_PIXELS // 1_000_000} million pixels that M2A accepts; {_SMALLER}."
    ),
    "complex": f"This photo has too much detail to fit into {MAX_BYTES // 1_000_000} MB; {_SMALLER}.",
    "heic": (
        "This is a HEIC photo, which M2A can only read once pillow-heif is installed (`m2a doctor` says how). You can also "
        "export it as a JPEG (on an iPhone: Settings › Camera › Formats › Most Compatible) and send that."
    ),
    "broken": (
        "M2A cannot read photos here, because a part of Pillow is missing or broken. Install it again "
        "(`.venv/bin/pip install --force-reinstall pillow`), and send the photo once more."
    ),
    "unstarted": (
        "M2A cannot start its photo decoder ({reason}). Close other programs or start M2A again, and send the photo once "
        "more."
    ),
    "stopped": f"This photo stopped the decoder, so it may be damaged or too complex; {_AS_JPEG}.",
}

# Other kinds of files that people send, by their first bytes.
_OTHER_KINDS = (
    (b"%PDF", "a PDF"),
    (b"II*\0", "a TIFF or raw camera file"),
    (b"MM\0*", "a TIFF file"),
    (b"II+\0", "a BigTIFF file"),
    (b"MM\0+", "a BigTIFF file"),
    (b"BM", "a BMP picture"),
    (b"8BPS", "a Photoshop file"),
    (b"\xff\x0a", "a JPEG XL picture"),
    (b"\0\0\0\x0cJXL ", "a JPEG XL picture"),
    (b"\0\0\0\x0cjP  ", "a JPEG 2000 picture"),
    (b"%!PS", "a PostScript file"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\0\0\1\0", "an icon file"),
    (b"\x1aE\xdf\xa3", "a video"),
)


class PhotoRefusedError(UserError, ValueError):
    """A photo cannot be accepted. The message tells the user what is wrong and what to do."""


@dataclass(frozen=True, slots=True)
class DecodedPhoto:
    """A photo and its thumbnail as JPEGs that M2A has encoded: only pixels, without metadata."""

    data: bytes
    thumbnail: bytes
    width: int
    height: int


class PhotoDecoder:
    """Decodes photos, two at a time, from any thread. Every failure is a `PhotoRefusedError`."""

    def __init__(self, command: Sequence[str] | None = None, *, seconds: float = 20) -> None:
        self._command = list(command or (sys.executable, "-I", photo_decoder_child.__file__))
        self._seconds = seconds
        self._turn = threading.Semaphore(2)

    def decode(self, data: bytes) -> DecodedPhoto:
        _check_kind(data)
        with self._turn:
            reply = self._ask_child(data)
        return _read_reply(reply)

    def _ask_child(self, data: bytes) -> bytes:
        with self._start_child() as child:
            try:
                return _exchange(child, data, time.monotonic() + self._seconds)
            finally:
                try:
                    os.killpg(child.pid, signal.SIGKILL)  # not reaped yet, so the id is still this child's
                except (ProcessLookupError, PermissionError):  # macOS raises the latter for a process that has ended
                    child.kill()

    def _start_child(self) -> subprocess.Popen[bytes]:
        try:
            # In a session of its own, so that its own children end with it, and without M2A's secrets in its environment.
            return subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd=os.sep,
                env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                start_new_session=True,
            )
        except OSError as error:  # out of memory, out of file descriptors, or no such program
            raise PhotoRefusedError(SENTENCES["unstarted"].format(reason=error.strerror)) from error


_ENVIRONMENT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "LANG", "LC_ALL")
_MAX_REPLY_BYTES = MAX_BYTES + 1_000_000
_MAX_HEADER_BYTES = 1_000


def _exchange(child: subprocess.Popen[bytes], data: bytes, deadline: float) -> bytes:
    """Writes the photo and reads the reply at the same time, since the child may start with either.

    Raises `PhotoRefusedError` if the reply is too late or too long.
    """
    assert child.stdin is not None and child.stdout is not None
    os.set_blocking(child.stdin.fileno(), False)
    os.set_blocking(child.stdout.fileno(), False)
    rest, reply = memoryview(data), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdin, selectors.EVENT_WRITE)
        selector.register(child.stdout, selectors.EVENT_READ)
        while (remaining := deadline - time.monotonic()) > 0:
            ready = {key.fileobj for key, _ in selector.select(remaining)}
            if child.stdin in ready:
                try:
                    rest = rest[os.write(child.stdin.fileno(), rest[: 1 << 16]) :]
                except BlockingIOError:
                    pass
                except BrokenPipeError:  # the child has ended, or answered without reading everything
                    rest = rest[:0]
                if not rest:
                    selector.unregister(child.stdin)
                    child.stdin.close()
            if child.stdout in ready:
                chunk = os.read(child.stdout.fileno(), 1 << 16)
                if not chunk:
                    return bytes(reply)
                reply += chunk
                if len(reply) > _MAX_REPLY_BYTES:
                    break
    raise PhotoRefusedError(SENTENCES["stopped"])


def _read_reply(reply: bytes) -> DecodedPhoto:
    """Parses the child's reply, and accepts only bare JPEGs of at most the stored size."""
    stopped = PhotoRefusedError(SENTENCES["stopped"])
    try:
        magic, length = struct.unpack_from(">4sI", reply)
        if magic != photo_decoder_child.MAGIC or length > _MAX_HEADER_BYTES:
            raise stopped
        header = json.loads(reply[8 : 8 + length])
        if "refused" in header:
            size = {"width": int(header["width"]), "height": int(header["height"])} if header.get("width") else {}
            raise PhotoRefusedError(SENTENCES[header["refused"]].format(**size))
        body = reply[8 + length :]
        photo, thumbnail = body[: header["photo"]], body[header["photo"] :]
        if len(photo) != header["photo"] or len(thumbnail) != header["thumbnail"]:
            raise stopped
        width, height = bare_jpeg_size(photo)
        small = bare_jpeg_size(thumbnail)
    except PhotoRefusedError:
        raise
    except (struct.error, ValueError, KeyError, TypeError, RecursionError) as error:
        raise stopped from error
    if max(width, height) > STORED_SIDE or max(small) > photo_decoder_child.THUMBNAIL_SIDE or len(photo) > MAX_BYTES:
        raise stopped
    return DecodedPhoto(photo, thumbnail, width, height)


_TABLES = {0xFFDB, 0xFFC4}  # quantization and Huffman tables
_MARKER = re.compile(rb"\xff[^\x00]")


def bare_jpeg_size(data: bytes) -> tuple[int, int]:
    """Returns width and height of a baseline JPEG that contains only a plain JFIF header, tables and one scan.

    Raises `ValueError` for anything else, such as a comment, an EXIF, XMP or colour profile segment, or trailing bytes.
    """
    size = None
    try:
        start, position = struct.unpack_from(">H", data)[0], 2
        while start == 0xFFD8:
            marker, length = struct.unpack_from(">HH", data, position)
            if marker == 0xFFDA:
                break
            if marker == 0xFFC0:
                height, width = struct.unpack_from(">HH", data, position + 5)
                size = (width, height)
            elif not (
                marker in _TABLES or (marker == 0xFFE0 and length == 16 and data[position + 4 :][:5] == b"JFIF\0")
            ):
                raise ValueError(f"A stored photo may not contain segment {marker:#x}.")
            position += 2 + length
    except struct.error as error:
        raise ValueError("These bytes are not a complete JPEG.") from error
    end = _MARKER.search(data, position + 2)
    if size is None or min(size) < 1 or end is None or end.group() != b"\xff\xd9" or end.end() != len(data):
        raise ValueError("These bytes are not a single complete, bare JPEG.")
    return size


def _check_kind(data: bytes) -> None:
    """Raises `PhotoRefusedError`, before any decoder sees the data, if it is too big or of an unsupported kind."""
    if not data:
        raise PhotoRefusedError("This file is empty; send the photo again.")
    if len(data) > MAX_BYTES:
        size = f"{len(data) / 1_000_000:.1f} MB" if len(data) >= MAX_BYTES + 50_000 else f"{len(data):,} bytes"
        raise PhotoRefusedError(f"This photo is {size}, and M2A accepts up to {MAX_BYTES // 1_000_000} MB; {_SMALLER}.")
    if format_of(data) is None:
        raise PhotoRefusedError(
            f"This is not a photo that M2A can read (it looks like {_kind_of(data)}); "
            "send a JPEG, PNG, WebP or GIF, for example by saving it as a JPEG first."
        )


def _kind_of(data: bytes) -> str:
    if {b"avif", b"avis"} & brands_of(data):
        return "an AVIF picture"
    if brands_of(data):
        return "a video"
    for start, kind in _OTHER_KINDS:
        if data.startswith(start):
            return kind
    head = data[:1000].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if head.startswith(b"<") and b"<svg" in head:
        return "an SVG drawing"
    if head.startswith((b"<!doctype html", b"<html", b"<script", b"<body", b"<head", b"<!--")):
        return "a web page"
    if data.isascii() and b"\0" not in data[:1000]:
        return "text"
    return "another kind of file"
