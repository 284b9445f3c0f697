"""What the page's handlers and routes do where two clicks come at once, a photo's file is gone, or a caller errs."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.testclient import TestClient

from app import create_app
from m2a import Assistant
from m2a.settings import load_settings
from m2a.types import Message
from m2a.ui.chat_panel import ChatPanel, Update
from m2a.ui.live_turn import LiveTurns
from tests.scripted_policy import ScriptedPolicy
from tests.turns import Clock, photo

PORT = 7999


class BreakableClock(Clock):
    broken = False

    def __call__(self) -> datetime:
        return {}["now"] if self.broken else super().__call__()


@pytest.fixture
def clock() -> BreakableClock:
    return BreakableClock()


@pytest.fixture
async def assistant(tmp_path: Path, clock: Clock) -> AsyncIterator[Assistant]:
    async with Assistant.open(load_settings(data_dir=tmp_path), policy=ScriptedPolicy(), clock=clock) as opened:
        yield opened


@pytest.fixture
def panel(assistant: Assistant, tmp_path: Path) -> ChatPanel:
    return ChatPanel(assistant, LiveTurns(assistant), tmp_path / "uploads")


def request(assistant: Assistant, tab: str = "tab") -> Any:
    return SimpleNamespace(username=assistant.local_owner, session_hash=tab, query_params={})


async def all_of(updates: AsyncIterator[Update]) -> list[Update]:
    return [update async for update in updates]


async def test_a_double_click_sends_once(assistant: Assistant, panel: ChatPanel) -> None:
    tab, value = request(assistant), {"text": "Hello there", "files": []}
    await asyncio.gather(*(all_of(panel.on_send(value, "", tab)) for _ in range(2)))
    [one] = assistant.conversations(assistant.local_owner)
    await asyncio.gather(*(all_of(panel.on_send(value, one.conversation_id, tab)) for _ in range(2)))
    texts = [m.text for m in assistant.messages(assistant.local_owner, one.conversation_id) if m.role == "user"]
    assert texts == ["Hello there"] * 2


async def test_two_tabs_and_a_new_conversation_may_begin_side_by_side(assistant: Assistant, panel: ChatPanel) -> None:
    tab = request(assistant)
    first = asyncio.create_task(all_of(panel.on_send({"text": "one", "files": []}, "", tab)))
    other = asyncio.create_task(all_of(panel.on_send({"text": "two", "files": []}, "", request(assistant, "other"))))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await all_of(panel.on_new(tab))
    await all_of(panel.on_send({"text": "three", "files": []}, "", tab))
    await asyncio.gather(first, other)
    assert {one.title for one in assistant.conversations(assistant.local_owner)} == {"one", "two", "three"}


async def test_a_second_click_on_try_again_sends_once(assistant: Assistant, panel: ChatPanel) -> None:
    asked = recorded(assistant, photo("red"))
    event: Any = SimpleNamespace(message_id=asked.message_id)
    await asyncio.gather(*(all_of(panel.on_retry(asked.conversation_id, event, request(assistant))) for _ in range(2)))
    messages = assistant.messages(assistant.local_owner, asked.conversation_id)
    assert [m.replaces for m in messages if m.role == "user"] == [None, asked.message_id]


async def test_a_message_whose_photo_is_gone_cannot_be_tried_again_and_says_so(
    assistant: Assistant, panel: ChatPanel
) -> None:
    asked = recorded(assistant, photo("red"))
    assistant.memory(assistant.local_owner).photo_path(asked.photos[0]).unlink()
    event: Any = SimpleNamespace(message_id=asked.message_id)
    [update] = await all_of(panel.on_retry(asked.conversation_id, event, request(assistant)))
    assert "send the photo again" in str(update.live)
    assert len(assistant.messages(assistant.local_owner, asked.conversation_id)) == 1


def recorded(assistant: Assistant, *photos: bytes) -> Message:
    bank = assistant.memory(assistant.local_owner)
    return bank.record(None, role="user", speaker="You", text="look", photos=photos)


@pytest.fixture
def served(tmp_path: Path, clock: Clock) -> Iterator[tuple[Assistant, TestClient]]:
    settings = load_settings(data_dir=tmp_path, port=PORT)
    opened = Assistant.open(settings, policy=ScriptedPolicy(), clock=clock)
    with TestClient(create_app(settings, opened), base_url=f"http://127.0.0.1:{PORT}") as client:
        yield opened, client


def test_a_photo_whose_file_is_gone_is_not_found(served: tuple[Assistant, TestClient]) -> None:
    assistant, client = served
    [photo_id] = recorded(assistant, photo("red")).photos
    path = assistant.memory(assistant.local_owner).photo_path(photo_id)
    assert client.get(f"/photos/{photo_id}").status_code == 200
    path.write_bytes(b"something else")
    path.with_name(f"{photo_id}.thumbnail.jpg").unlink()
    assert client.get(f"/photos/{photo_id}/thumbnail").status_code == 404
    path.unlink()
    assert client.get(f"/photos/{photo_id}").status_code == 404


@pytest.mark.parametrize(
    ("name", "body", "status", "words"),
    [
        ("search", '{"text": "x"}', 422, "limit: Field required"),
        ("search", '{"text": "x", "limit": "many"}', 422, "limit: Input should be a valid integer"),
        ("search", '{"text": "x", "limit": 1, "owner": "other"}', 422, "owner: Extra inputs are not permitted"),
        ("ask", '{"text": "x", "photos": [5]}', 422, "photos.0: Input should be a valid string"),
        ("ask", '["x"]', 422, "body: Input should be an object"),
        ("ask", "no JSON", 422, "body: Invalid JSON"),
        ("forget", "{}", 404, "There is no command 'forget'; there are ask, search"),
        ("ask", '{"text": " ", "photos": []}', 200, "The message is empty"),
        ("ask", '{"text": "x", "photos": ["/nowhere.png"]}', 200, "The photo /nowhere.png cannot be read"),
    ],
)
def test_a_command_over_the_loopback_that_errs_is_told_in_a_sentence(
    served: tuple[Assistant, TestClient], tmp_path: Path, name: str, body: str, status: int, words: str
) -> None:
    response = command(served[1], tmp_path, name, body)
    assert response.status_code == status and words in response.text


def test_a_bug_in_a_command_is_logged_and_not_told(
    served: tuple[Assistant, TestClient], tmp_path: Path, clock: BreakableClock, caplog: pytest.LogCaptureFixture
) -> None:
    clock.broken = True
    [piece] = command(served[1], tmp_path, "ask", '{"text": "secret", "photos": []}').text.splitlines()
    assert json.loads(piece) == {"error": "Something went wrong (KeyError); the log of the app has the details."}
    assert "KeyError: 'now'" in caplog.text
    clock.broken = False


def command(client: TestClient, data_dir: Path, name: str, body: str) -> Any:
    token = json.loads((data_dir / "lock").read_text())["token"]
    return client.post(f"/local/{name}", content=body, headers={"authorization": f"Bearer {token}"})
