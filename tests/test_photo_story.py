"""A photo that is shown first and named later, with a model over HTTP."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from m2a.types import MemoryChanged, MessageRecorded, ReplyFinished
from tests.browser import DREAMBOOTH
from tests.drawings import draw_dog, draw_teapot
from tests.model_talk import talk
from tests.scripted_model import Call, Prompt, ScriptedModel
from tests.turns import only

STORIES = {
    "English": ("That's Mango, my dog.", "And this is my teapot", "Show me the first photo again", "Who is this?"),
    "German": (
        "Das ist mein Hund Mango.",
        "Und das ist meine Teekanne",
        "Zeig mir das erste Foto noch mal",
        "Wer ist das?",
    ),
}


def keep_names(prompt: Prompt) -> Call:
    """Keeps a message that names the photo before it, and nothing else."""
    if prompt.stage != "manage update" or "Mango" not in prompt.said:
        return "finish", {}
    values: Mapping[str, Any] = {
        "text": prompt.said,
        "evidence_ids": [[prompt.message_id, prompt.message_id]],
        "photos": earlier(prompt)[:1],
        "concepts": [{"name": "Mango", "kind": "pet"}],
    }
    return "add_memory", values


def earlier(prompt: Prompt) -> list[int]:
    """Returns the numbers of the photos in earlier messages, in order."""
    return [int(number) for number in re.findall(r"^Photo (\d+), from message \d+", prompt.text, re.M)]


def answer(prompt: Prompt) -> str:
    if match := re.search(r"It looks like (\w+), whom the user named", prompt.material):
        return f"{match[1]}!"
    if "first photo" in prompt.said or "erste Foto" in prompt.said:
        return f"[photo {earlier(prompt)[0]}]"
    return "Hm?"


@pytest.mark.parametrize("language", STORIES)
async def test_a_photo_first_and_its_name_later(tmp_path: Path, language: str) -> None:
    naming, another, request, question = STORIES[language]
    dogs = [DREAMBOOTH / "dog6" / f"0{number}.jpg" for number in (0, 3)]
    if not DREAMBOOTH.is_dir():
        dogs = [draw_dog(tmp_path / f"dog-{number}.png", number) for number in range(2)]
    model = ScriptedModel(keep_names, answer)
    async with talk(tmp_path / "data", model) as chat:
        [recorded] = only(MessageRecorded, await chat.say("", dogs[0]))
        [change] = only(MemoryChanged, await chat.say(naming))
        assert change.entry.text == naming and change.entry.photo_ids == recorded.message.photos
        await chat.say(another, draw_teapot(tmp_path / "teapot.png", 0))
        [shown] = only(ReplyFinished, await chat.say(request))
        assert shown.message.photos == recorded.message.photos
    async with talk(tmp_path / "data", model) as chat:
        [reply] = only(ReplyFinished, await chat.say(question, dogs[1]))
        assert reply.message.text == "Mango!"
