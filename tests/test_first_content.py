"""The page as it is sent: what its address names stands in it already, as text, for its owner alone to read."""

import logging
import re
from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from app import create_app
from m2a import Assistant
from m2a.settings import load_settings
from m2a.types import Addition, EntryDraft, EvidenceRange, MemoryFilter
from m2a.ui.first_content import FirstContent
from tests.scripted_policy import ScriptedPolicy

PORT = 7997
TEA = "You drink tea <b>with</b> milk."
KETTLE = "The kettle </template><script>alert(1)</script> is blue."


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Assistant, TestClient]]:
    settings = load_settings(data_dir=tmp_path_factory.mktemp("first"), port=PORT)
    assistant = Assistant.open(settings, policy=ScriptedPolicy())
    bank = assistant.memory(assistant.local_owner)
    tea = bank.record(None, role="user", speaker="You", text=TEA)
    bank.write([Addition(EntryDraft(TEA, (EvidenceRange(tea.message_id, tea.message_id),)), "")], who="test")
    bank.record(None, role="user", speaker="You", text=KETTLE)
    with TestClient(create_app(settings, assistant), base_url=f"http://127.0.0.1:{PORT}") as client:
        yield assistant, client


def _first(client: TestClient, address: str) -> str:
    match = re.search(r'<div id="m2a-first" inert>(.*)<gradio-app', client.get(address).text, re.DOTALL)
    assert match
    return match[1]


def test_the_page_is_sent_with_what_its_address_names(served: tuple[Assistant, TestClient]) -> None:
    assistant, client = served
    owner = assistant.local_owner
    first = min(assistant.memory(owner).conversations(), key=lambda chat: chat.started_at).conversation_id
    talk = _first(client, f"/?conversation={first}").partition('id="m2a-talk"')[2]
    assert "You drink tea &lt;b&gt;with" in talk and "m-listed" not in talk
    newest = _first(client, "/").partition('id="m2a-talk"')[2]
    assert "The kettle" in newest and "You drink tea" not in newest
    memories = _first(client, "/?memory=")
    assert "m-memories" in memories and "1 memory" in memories
    memory_id = assistant.browser(owner).page(MemoryFilter(), start=0, count=1).entries[0].memory_id
    assert "m-opened" in _first(client, f"/?memory={memory_id}")
    assert "m2a-set-data" in _first(client, "/?settings=")
    assert "m-welcome" in _first(client, "/?conversation=&message=1")
    assert "m-welcome" in _first(client, "/?conversation=")


def test_a_link_to_a_message_is_sent_with_what_stands_around_it(served: tuple[Assistant, TestClient]) -> None:
    assistant, client = served
    bank = assistant.memory(assistant.local_owner)
    messages = [bank.record(None, role="user", speaker="You", text="The harbour number 0")]
    talk = messages[0].conversation_id
    messages += [bank.record(talk, role="user", speaker="You", text=f"The harbour number {n}") for n in range(1, 200)]
    before, after = (100 - n for n in (12, -12))
    first = _first(client, f"/?conversation={talk}&message={messages[100].message_id}").partition('id="m2a-talk"')[2]
    numbers = {int(number) for number in re.findall(r"The harbour number (\d+)</div>", first)}
    assert numbers == set(range(before, after + 1)) and first.count("m-found-here") == 1
    assert re.search(rf'm-found-here" id="m{messages[100].message_id}"', first)
    page = _first(client, f"/?conversation={talk}&message=99999").partition('id="m2a-talk"')[2]
    assert "number 199" in page and "m-found-here" not in page


@pytest.mark.parametrize("address", ["/", "/?memory=", "/?memory=1", "/?settings="])
def test_what_was_said_is_text_there(served: tuple[Assistant, TestClient], address: str) -> None:
    first = _first(served[1], address)
    assert "<script" not in first and "<b>with" not in first
    assert first.count("</template>") == 1


def test_another_page_of_this_server_and_a_refused_one_hold_nothing(served: tuple[Assistant, TestClient]) -> None:
    _assistant, client = served
    assert "m2a-first" not in client.get("/", headers={"Host": "evil.example"}).text
    assert "m2a-first" not in client.get("/config").text


def test_a_page_whose_content_cannot_be_written_is_sent_without_it(
    served: tuple[Assistant, TestClient], caplog: pytest.LogCaptureFixture
) -> None:
    def owner_of(_request: Request) -> str:
        raise LookupError(TEA)

    async def page(_request: Request) -> HTMLResponse:
        return HTMLResponse("<head></head><gradio-app></gradio-app>")

    app = FirstContent(Starlette(routes=[Route("/", page)]), assistant=served[0], owner_of=owner_of)
    with caplog.at_level(logging.ERROR), TestClient(app) as client:
        answer = client.get("/")
    assert answer.status_code == 200 and answer.text.endswith("</head><gradio-app></gradio-app>")
    assert "LookupError" in caplog.text and TEA not in caplog.text
