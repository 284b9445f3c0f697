"""Photos on the page with a language model: shown first, named later, asked about later still, known again after a restart."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser import DREAMBOOTH, Server, Visitor
from tests.chat_server import ChatServer
from tests.drawings import draw_dog, draw_teapot
from tests.scripted_model import Call, Prompt, ScriptedModel

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


def talk(prompt: Prompt) -> str:
    if match := re.search(r"It looks like (\w+), whom the user named", prompt.material):
        return f"{match[1]}!"
    if "first photo" in prompt.said or "erste Foto" in prompt.said:
        return f"[photo {earlier(prompt)[0]}]"
    return "Hm?"


@pytest.mark.parametrize("language", STORIES)
def test_a_photo_first_and_its_name_later(
    language: str, tmp_path: Path, visit: Callable[..., Visitor], shoot: Callable[[Visitor, str], None]
) -> None:
    naming, another, request, question = STORIES[language]
    dogs = [DREAMBOOTH / "dog6" / f"0{number}.jpg" for number in (0, 3)]
    if not DREAMBOOTH.is_dir():
        dogs = [draw_dog(tmp_path / f"dog-{number}.png", number) for number in range(2)]
    with ChatServer(ScriptedModel(keep_names, talk)) as model:
        server = Server(tmp_path / "data", chat_model="openai:small", chat_base_url=model.base_url, chat_api_key="none")
        server.start()
        try:
            visitor = visit()
            visitor.open(server.url)
            visitor.say("", dogs[0])
            visitor.say(naming)
            visitor.remembered("Mango")
            visitor.say(another, draw_teapot(tmp_path / "teapot.png", 0))
            visitor.say(request)
            shown = visitor.page.locator(".m-assistant").last.locator(".m-photo-large img").first
            first = visitor.page.locator(".m-user .m-photo img").first
            assert photo_of(shown.get_attribute("src")) == photo_of(first.get_attribute("src"))
            visitor.forgive_lost_server()
            server.stop()
            server.start()
            visitor.open(f"{server.url}/?conversation=")
            visitor.say(question, dogs[1])
            assert visitor.answer == "Mango!"
            visitor.reload()  # what the model can do is told as of when the page was opened
            visitor.page.locator("#m2a-side-foot summary").click()
            expect(visitor.page.locator("#m2a-side-foot")).to_contain_text("It sees photos.")
            shoot(visitor, f"photo-known-again-{language}")
        finally:
            server.stop()


def photo_of(address: str | None) -> str:
    """Returns the content hash in a photo's address."""
    [photo_id] = set(re.findall(r"[0-9a-f]{64}", address or ""))
    return photo_id
