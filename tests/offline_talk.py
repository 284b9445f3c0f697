"""Conversations with an assistant that has no language model."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from io import BytesIO
from pathlib import Path
from uuid import uuid4

from PIL import Image, ImageDraw

from m2a.agents.offline import OfflineRules
from m2a.assistant import Assistant
from m2a.memory.bank import MemoryBank
from m2a.memory.owners import owner_named
from m2a.settings import Settings
from m2a.types import MemoryChanged, MessageRecorded, NotKept, ReplyFinished
from m2a.wiring import offline_rules
from tests.offline_cases import EVERYTHING
from tests.turns import Clock, standing_clock

MONDAY = datetime(2026, 3, 2, 12, tzinfo=UTC)


class Talk:
    """A new user's conversation, a day between two messages unless another pause is given."""

    def __init__(self, assistant: Assistant, clock: Clock) -> None:
        clock.now = MONDAY
        self.assistant = assistant
        self.clock = clock
        self.owner = owner_named(assistant.stores.database, uuid4().hex)
        self.memory.set_rule(EVERYTHING)
        self.conversation: str | None = None
        self.last: ReplyFinished | None = None
        self.changes: list[MemoryChanged] = []
        self.not_kept: list[NotKept] = []

    @property
    def memory(self) -> MemoryBank:
        return self.assistant.memory(self.owner)

    async def say(self, text: str, photos: Sequence[bytes] = (), *, pause: timedelta = timedelta(days=1)) -> str:
        self.clock.now += pause
        turn = self.assistant.turn(self.owner, text, photos=photos, conversation_id=self.conversation)
        async for event in turn:
            if isinstance(event, MessageRecorded):
                self.conversation = event.message.conversation_id
            elif isinstance(event, ReplyFinished):
                self.last = event
            elif isinstance(event, MemoryChanged):
                self.changes.append(event)
            elif isinstance(event, NotKept):
                self.not_kept.append(event)
        assert self.last is not None
        return self.last.message.text

    def known(self) -> list[str]:
        return [entry.text for entry in self.memory.entries()]

    def ties(self) -> list[tuple[str, str]]:
        """Returns pairs of a correction and the memory it corrects, by their texts."""
        entries = {entry.memory_id: entry for entry in self.memory.entries()}
        return [(entry.text, entries[entry.corrects].text) for entry in entries.values() if entry.corrects]


@asynccontextmanager
async def offline_talks(folder: Path, policy: OfflineRules | None = None) -> AsyncIterator[Callable[[], Talk]]:
    """Opens one assistant for any number of users: a user's memory, rule and index are their own."""
    clock = standing_clock(MONDAY)
    settings = Settings(data_dir=folder, chat_model="offline")
    async with Assistant.open(settings, clock=clock, policy=policy or offline_rules()) as assistant:
        yield partial(Talk, assistant, clock)


def drawing(fill: str, shape: str, shift: int) -> bytes:
    image = Image.new("RGB", (256, 256), "white")
    draw = ImageDraw.Draw(image)
    box = (40 + shift, 50, 200 + shift, 210)
    if shape == "ellipse":
        draw.ellipse(box, fill=fill)
    else:
        for row in range(0, 256, 32):
            draw.rectangle((0, row, 255, row + 14 + shift), fill=fill)
    data = BytesIO()
    image.save(data, "PNG")
    return data.getvalue()
