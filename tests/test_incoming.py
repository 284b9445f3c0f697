"""What is not taken at any door is refused in a sentence before anything of it is stored."""

import asyncio
import os
from pathlib import Path

import pytest

from m2a import Assistant
from m2a.incoming import MAX_PHOTOS, MAX_TEXT_LENGTH
from m2a.memory.bank import MessageRefusedError
from m2a.memory.photo_decoder import PhotoRefusedError
from m2a.memory.photo_decoder_child import MAX_BYTES
from tests.turns import photo, turn

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def assistant(shared_assistant: Assistant) -> Assistant:
    return shared_assistant


@pytest.mark.parametrize(
    ("text", "photos", "sentence"),
    [
        (
            "x" * (MAX_TEXT_LENGTH + 1),
            0,
            "This message has 20,001 characters, and M2A accepts up to 20,000 at once; send it in parts.",
        ),
        ("look", MAX_PHOTOS + 1, "This message has 21 photos, and M2A accepts up to 20 at once; send them in parts."),
        ("I like \ud83d", 0, "After “I like”, the message contains half a character, such as half an emoji"),
        ("\0 nothing", 0, "At its beginning, the message contains a NUL character"),
        (" ", 0, "The message is empty"),
    ],
)
async def test_a_message_that_is_not_taken_leaves_nothing(
    assistant: Assistant, text: str, photos: int, sentence: str
) -> None:
    with pytest.raises(MessageRefusedError) as refusal:
        await turn(assistant, text, *[photo("red")] * photos)
    assert str(refusal.value).startswith(sentence)
    assert assistant.memory(assistant.local_owner).conversations() == []
    assert not [path for path in (assistant.settings.data_dir / "photos").rglob("*") if path.is_file()]


async def test_the_longest_message_and_whole_emoji_are_taken(assistant: Assistant) -> None:
    text = ("🙂 " * MAX_TEXT_LENGTH)[: MAX_TEXT_LENGTH - 1] + "."
    recorded = (await turn(assistant, text))[0]
    assert recorded.message.text == text


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("pipe", "is not a file; choose another"),
        ("folder", "is not a file"),
        ("large", "and M2A accepts up to"),
        ("gone", "No such file"),
    ],
)
async def test_a_photo_that_is_no_file_is_refused_at_once(
    assistant: Assistant, tmp_path: Path, name: str, sentence: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with open(tmp_path / "large", "wb") as large:
        large.truncate(MAX_BYTES + 1)
    async with asyncio.timeout(5):
        with pytest.raises(PhotoRefusedError, match=sentence):
            async for _event in assistant.turn(assistant.local_owner, "look", [tmp_path / name]):
                pass
    assert assistant.memory(assistant.local_owner).conversations() == []
