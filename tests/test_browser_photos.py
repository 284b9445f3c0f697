"""Photos on the page with a language model: shown first, named later, asked about later still, known again after a restart."""

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from tests.browser import DREAMBOOTH, Server, Visitor
from tests.chat_server import ChatServer
from tests.drawings import draw_dog, draw_teapot
from tests.photo_story import STORIES, answer, keep_names
from tests.scripted_model import ScriptedModel


def test_a_photo_first_and_its_name_later(
    tmp_path: Path, visit: Callable[..., Visitor], shoot: Callable[[Visitor, str], None]
) -> None:
    naming, another, request, question = STORIES["English"]
    dogs = [DREAMBOOTH / "dog6" / f"0{number}.jpg" for number in (0, 3)]
    if not DREAMBOOTH.is_dir():
        dogs = [draw_dog(tmp_path / f"dog-{number}.png", number) for number in range(2)]
    with ChatServer(ScriptedModel(keep_names, answer)) as model:
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
            shoot(visitor, "photo-known-again")
        finally:
            server.stop()


def photo_of(address: str | None) -> str:
    """Returns the content hash in a photo's address."""
    [photo_id] = set(re.findall(r"[0-9a-f]{64}", address or ""))
    return photo_id
