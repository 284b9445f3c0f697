"""Erase scan: markers planted for many owners in everything that is kept; some owners erased, the disk purged, every byte read.

`python -m tests.bench erase` plants 400 for 20 owners and erases ten. A marker is an odd word. Each owner has them in messages,
replies, memories and their reasons, searches and refusals of traces, names and aliases, captions, titles, failed updates, what
was forgotten, and in photos: in their EXIF and file names, where no marker may ever arrive, and as their pixels, which are looked
for by the bytes of the stored file. Half of the erased owners are erased thing by thing, the others as everything.
"""

import gzip
import io
import lzma
import sqlite3
import zlib
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image, ImageDraw

from m2a import Assistant
from m2a.memory.audit import verify
from m2a.memory.bank import MemoryBank
from m2a.memory.owners import owner_named
from m2a.settings import load_settings
from m2a.types import Addition, ConceptMention, EntryDraft, Erasure, EvidenceRange, Forgetting, Message, Refusal
from tests.scripted_policy import ScriptedPolicy
from tests.turns import Clock

PLACES = ("said", "replied", "remembered", "reason", "searched", "refused", "named", "captioned", "forgotten", "photo")


@dataclass
class Remains:
    """The result of a scan: what was planted, which erased markers are left and where, and which others are missing."""

    planted: int = 0
    before: int = 0
    left: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    files: int = 0

    def lines(self) -> list[str]:
        return [
            f"planted {self.planted} markers, of which {self.before} were found before the erasure",
            f"files read after the purge: {self.files}",
            f"left of the erased owners: {len(self.left)}",
            f"missing of the others: {len(self.missing)}",
            f"faults that verify finds: {len(self.faults)}",
            *(self.left[:20] + self.missing[:20] + self.faults[:20]),
        ]


@dataclass(frozen=True)
class Marker:
    """A word, or bytes, to search for; `place` is where it was planted."""

    owner: int
    place: str
    data: bytes


def bytes_under(folder: Path) -> bytes:
    """Returns every byte of every file, raw and unpacked, and every value that SQLite reads from a database."""
    return b"\n".join(piece for path in sorted(folder.rglob("*")) if path.is_file() for piece in _readings(path))


def _readings(path: Path) -> list[bytes]:
    with suppress(OSError):
        data = path.read_bytes()
        readings = [str(path).encode(), data]
        for unpack in (gzip.decompress, zlib.decompress, lzma.decompress):
            with suppress(Exception):
                readings.append(unpack(data))
        if data.startswith(b"SQLite format 3"):
            readings += _values(path)
        return readings
    return []


def _values(path: Path) -> list[bytes]:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        values: list[bytes] = []
        for table in tables:
            with suppress(sqlite3.Error):  # a virtual table whose module is missing; its shadow tables are read
                for row in database.execute(f'SELECT * FROM "{table}"'):
                    values += [value if isinstance(value, bytes) else str(value).encode() for value in row]
        return values


def _photo(number: int, exif: str) -> bytes:
    image = Image.effect_noise((64, 48), 40 + number % 50).convert("RGB")
    ImageDraw.Draw(image).text((4, 20), str(number), fill="red")
    notes = Image.Exif()
    notes[0x010E] = exif
    file = io.BytesIO()
    image.save(file, "JPEG", exif=notes)
    return file.getvalue()


class Plants:
    """Plants the markers of one owner, ten at a time."""

    def __init__(self, bank: MemoryBank, owner: int, photos: Path) -> None:
        self._bank = bank
        self._owner = owner
        self._folder = photos / bank.owner
        self._number = 0
        self.markers: list[Marker] = []
        self.words_of_photos: list[bytes] = []
        self.replies: list[int] = []

    def _marker(self, place: str) -> str:
        self._number += 1
        word = f"qx{self._owner:02}{place}{self._number:03}zq"
        self.markers.append(Marker(self._owner, place, word.encode()))
        return word

    def _say(self, text: str, photo: bytes | None = None) -> Message:
        return self._bank.record(
            None,
            role="user",
            speaker="You",
            text=text,
            photos=[photo] if photo else [],
            photo_names=["p.jpg"] * bool(photo),
        )

    def _reply(self, message: Message, text: str, **steps: object) -> Message:
        return self._bank.record_reply(
            message.conversation_id,
            text,
            speaker="M2A",
            steps={"searches": [], "sources": []} | steps,
            answers=message.message_id,
            update_pending=True,
        )

    def plant(self) -> None:
        """Ten markers, one for each place."""
        bank = self._bank
        exif = f"qx{self._owner:02}exif{self._number:03}zq"
        self.words_of_photos.append(exif.encode())
        note = self._say(f"Hello, the word is {self._marker('said')}.", _photo(self._owner * 100 + self._number, exif))
        searches = [{"text": f"where is {self._marker('searched')}?", "photo_ids": [], "hits": []}]
        reply = self._reply(note, f"I see a {self._marker('replied')} there.", searches=searches)
        remembered = self._marker("remembered")
        draft = EntryDraft(
            f"The thing is a {remembered}.",
            (EvidenceRange(note.message_id, note.message_id),),
            photo_ids=note.photos,
            concepts=(ConceptMention(name=self._marker("named"), kind="object"),),
        )
        refusal = Refusal(f"Not kept: {self._marker('refused')}.", "Nobody said so.", None)
        bank.write(
            [Addition(draft, self._marker("reason"))], who="scan", update_of=reply.message_id, refusals=[refusal]
        )
        bank.photos.set_caption(note.photos[0], f"a {self._marker('captioned')} on a table")
        self.markers.append(Marker(self._owner, "photo", (self._folder / f"{note.photos[0]}.jpg").read_bytes()))
        self._number += 1
        secret = self._say(f"My secret is {self._marker('forgotten')}. The rest stays.")
        fact = EntryDraft(secret.text.split(". ")[0] + ".", (EvidenceRange(secret.message_id, secret.message_id),))
        self._reply(secret, "Noted.")
        memory = bank.add(fact, who="scan", why="")
        bank.write([Forgetting((memory.memory_id,), "asked")], who="scan")


async def scan(folder: Path, *, owners: int, erased: int, markers: int) -> Remains:
    """Plant, index, erase, purge, and read everything; `markers` of each owner."""
    remains = Remains()
    policy = ScriptedPolicy()
    async with Assistant.open(load_settings(data_dir=folder), policy=policy, clock=Clock()) as assistant:
        keys = [owner_named(assistant.stores.database, f"owner {number}") for number in range(owners)]
        plants = []
        for number, key in enumerate(keys):
            plants.append(Plants(assistant.memory(key), number, folder / "photos"))
            while len(plants[-1].markers) < markers:
                plants[-1].plant()
            assistant.memory(key).index()
        every = [marker for p in plants for marker in p.markers]
        remains.planted = len(every)
        (assistant.folder.uploads / "gradio").mkdir(parents=True, exist_ok=True)
        for p in plants[:erased]:
            (assistant.folder.uploads / "gradio" / f"{p.markers[0].data.decode()}.jpg").write_bytes(p.markers[0].data)
        disk = bytes_under(folder)
        remains.before = sum(marker.data in disk for marker in every)
        for number, key in enumerate(keys[:erased]):
            await _erase(assistant, key, by_thing=number % 2 == 0)
        await assistant.purge()
        disk = bytes_under(folder)
        remains.files = sum(path.is_file() for path in folder.rglob("*"))
        never = [word for p in plants for word in p.words_of_photos]
        remains.left += [f"EXIF {word.decode()}" for word in never if word in disk]
        for marker in every:
            name = f"owner {marker.owner}, {marker.place}: {marker.data[:40]!r}"
            if marker.owner < erased and marker.data in disk:
                remains.left.append(name)
            if marker.owner >= erased and marker.data not in disk:
                remains.missing.append(name)
        for key in keys:
            for text in ("What is the secret? Where is the thing on the table?", "What did I forget?"):
                async for _event in assistant.turn(key, text):
                    pass
        prompts = str(policy.seen).encode()
        remains.left += [f"prompt: {m.data!r}" for m in every if m.owner < erased and m.data in prompts]
        remains.faults = verify(assistant.stores)
    disk = bytes_under(folder)
    remains.left += [f"after closing: {m.data[:40]!r}" for m in every if m.owner < erased and m.data in disk]
    return remains


async def _erase(assistant: Assistant, owner: str, *, by_thing: bool) -> None:
    if not by_thing:
        await assistant.erase(owner, Erasure("everything"))
        return
    bank = assistant.memory(owner)
    await assistant.erase(owner, Erasure("forgotten"))
    for entry in bank.entries():
        for photo_id in entry.photo_ids:
            await assistant.erase(owner, Erasure("photo", photo_id))
        await assistant.erase(owner, Erasure("memory", entry.memory_id))
    for number, conversation in enumerate(bank.conversations()):
        if number % 2:
            await assistant.erase(owner, Erasure("conversation", conversation.conversation_id))
            continue
        for message in bank.conversation(conversation.conversation_id):
            if message.role == "user":
                await assistant.erase(owner, Erasure("message", message.message_id))
