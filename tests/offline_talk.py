"""A conversation with the assistant that has no language model."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageDraw

from m2a.agents.offline import OfflineRules
from m2a.assistant import Assistant
from m2a.settings import Settings
from m2a.types import MemoryChanged, MessageRecorded, NotKept, ReplyFinished
from m2a.wiring import offline_rules
from tests.offline_cases import EVERYTHING


class Talk:
    """One user's conversation with the assistant, a day between two messages."""

    def __init__(self, folder: Path, policy: OfflineRules | None = None) -> None:
        self.now = datetime(2026, 3, 2, 12, tzinfo=UTC)
        settings = Settings(data_dir=folder, chat_model="offline")
        self.assistant = Assistant.open(settings, clock=lambda: self.now, policy=policy or offline_rules())
        self.assistant.memory(self.assistant.local_owner).set_rule(EVERYTHING)
        self.conversation: str | None = None
        self.last: ReplyFinished | None = None
        self.changes: list[MemoryChanged] = []
        self.not_kept: list[NotKept] = []

    async def say(self, text: str, photos: Sequence[bytes] = ()) -> str:
        self.now += timedelta(days=1)
        turn = self.assistant.turn(self.assistant.local_owner, text, photos=photos, conversation_id=self.conversation)
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
        entries = self.assistant.memory(self.assistant.local_owner).entries()
        return [entry.text for entry in entries]

    def ties(self) -> list[tuple[str, str]]:
        """Returns pairs of a correction and the memory it corrects, by their texts."""
        entries = {entry.memory_id: entry for entry in self.assistant.memory(self.assistant.local_owner).entries()}
        return [(entry.text, entries[entry.corrects].text) for entry in entries.values() if entry.corrects]


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
