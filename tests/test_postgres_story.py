"""The whole assistant on PostgreSQL: told, corrected, restarted, asked, forgotten."""

from pathlib import Path

from m2a import Assistant
from m2a.memory.audit import verify
from m2a.settings import load_settings
from m2a.types import ReplyFinished
from tests.drawings import draw_dog


async def say(assistant: Assistant, text: str, *photos: Path) -> str:
    events = [event async for event in assistant.turn(assistant.local_owner, text, photos)]
    return next(event.message.text for event in events if isinstance(event, ReplyFinished))


async def test_a_memory_in_postgresql(tmp_path: Path, postgres_url: str) -> None:
    settings = load_settings(data_dir=tmp_path, database_url=postgres_url)
    async with Assistant.open(settings) as assistant:
        await say(assistant, "This is my dog Bobo. He loves his red ball.", draw_dog(tmp_path / "dog.png", 0))
        await say(assistant, "Actually Bobo loves the blue ball")
    async with Assistant.open(settings) as assistant:
        assert "blue ball" in await say(assistant, "What toys does Bobo like?")
        assert "Bobo" in await say(assistant, "Who is this?", draw_dog(tmp_path / "again.png", 1))
        await say(assistant, "Forget what I said about Bobo's ball")
        assert "don't have that in memory" in await say(assistant, "What toys does Bobo like?")
        assert verify(assistant.stores) == []
