"""What the page's handlers and routes do where two clicks come at once, a photo's file is gone, or a caller errs."""

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import gradio as gr
import pytest
from starlette.testclient import TestClient

from app import create_app
from m2a import Assistant
from m2a.memory.bank import MessageRefusedError
from m2a.memory.conversations import UnknownConversationError
from m2a.memory.owners import owner_named
from m2a.settings import load_settings
from m2a.types import Addition, ConceptMention, Conversation, EntryDraft, EvidenceRange, Message, Refusal
from m2a.ui.chat_panel import ChatPanel
from m2a.ui.conversations_panel import conversations_html
from m2a.ui.events import Page
from tests.page_calls import all_of, click, other_user, request
from tests.scripted_policy import ScriptedPolicy
from tests.turns import Clock, photo

PORT = 7999


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def assistant(shared_assistant: Assistant) -> Assistant:
    return shared_assistant


class BreakableClock(Clock):
    broken = False

    def __call__(self) -> datetime:
        return {}["now"] if self.broken else super().__call__()


@dataclass
class Served:
    assistant: Assistant
    client: TestClient
    clock: BreakableClock

    def command(self, name: str, body: str) -> Any:
        token = json.loads((self.assistant.settings.data_dir / "lock").read_text())["token"]
        return self.client.post(f"/local/{name}", content=body, headers={"authorization": f"Bearer {token}"})


@pytest.fixture(scope="module")
def module_served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings, clock = load_settings(data_dir=tmp_path_factory.mktemp("served"), port=PORT), BreakableClock()
    assistant = Assistant.open(settings, policy=ScriptedPolicy(), clock=clock)
    with TestClient(create_app(settings, assistant), base_url=f"http://127.0.0.1:{PORT}") as client:
        yield Served(assistant, client, clock)


@pytest.fixture
def served(module_served: Served) -> Served:
    """The module's page, with a new user."""
    assistant = module_served.assistant
    assistant.local_owner = owner_named(assistant.stores.database, uuid4().hex)
    return module_served


@pytest.fixture
def panel(assistant: Assistant, tmp_path: Path) -> ChatPanel:
    return ChatPanel(assistant, tmp_path / "uploads")


async def test_a_double_click_sends_once(assistant: Assistant, panel: ChatPanel) -> None:
    tab, value = request(assistant), {"text": "Hello there", "files": []}
    await asyncio.gather(*(all_of(panel.on_send(value, "", "", tab)) for _ in range(2)))
    [chat] = assistant.memory(assistant.local_owner).conversations()
    await asyncio.gather(*(all_of(panel.on_send(value, chat.conversation_id, "next", tab)) for _ in range(2)))
    texts = [m.text for m in assistant.messages(assistant.local_owner, chat.conversation_id) if m.role == "user"]
    assert texts == ["Hello there"] * 2


async def test_enter_again_before_the_page_has_emptied_the_box_sends_once(
    assistant: Assistant, panel: ChatPanel
) -> None:
    tab, value = request(assistant), {"text": "Hello there", "files": []}
    updates = await all_of(panel.on_send(value, "", "first", tab))
    [chat] = assistant.memory(assistant.local_owner).conversations()
    [emptied] = await all_of(panel.on_send(value, chat.conversation_id, "first", tab))
    assert emptied.composer and emptied.composer["value"]["text"] == ""
    assert len(assistant.messages(assistant.local_owner, chat.conversation_id)) == 2
    draft = next(update.draft for update in updates if update.draft)
    await all_of(panel.on_send(value, chat.conversation_id, draft, tab))
    texts = [m.text for m in assistant.messages(assistant.local_owner, chat.conversation_id) if m.role == "user"]
    assert texts == ["Hello there"] * 2


async def test_two_tabs_and_a_new_conversation_may_begin_side_by_side(assistant: Assistant, panel: ChatPanel) -> None:
    tab = request(assistant)
    first = asyncio.create_task(all_of(panel.on_send({"text": "one", "files": []}, "", "", tab)))
    other = asyncio.create_task(
        all_of(panel.on_send({"text": "two", "files": []}, "", "", request(assistant, "other")))
    )
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await all_of(panel.on_new(tab))
    await all_of(panel.on_send({"text": "three", "files": []}, "", "", tab))
    await asyncio.gather(first, other)
    assert {chat.title for chat in assistant.memory(assistant.local_owner).conversations()} == {"one", "two", "three"}


async def test_a_second_click_on_try_again_sends_once(assistant: Assistant, panel: ChatPanel) -> None:
    message = recorded(assistant, photo("red"))
    event: Any = SimpleNamespace(message_id=message.message_id)
    await asyncio.gather(
        *(all_of(panel.resending.on_retry(message.conversation_id, event, request(assistant))) for _ in range(2))
    )
    messages = assistant.messages(assistant.local_owner, message.conversation_id)
    assert [m.replaces for m in messages if m.role == "user"] == [None, message.message_id]


async def test_a_message_whose_photo_is_gone_cannot_be_tried_again_and_says_so(
    assistant: Assistant, panel: ChatPanel
) -> None:
    message = recorded(assistant, photo("red"))
    assistant.memory(assistant.local_owner).photos.path(message.photos[0]).unlink()
    event: Any = SimpleNamespace(message_id=message.message_id)
    [update] = await all_of(panel.resending.on_retry(message.conversation_id, event, request(assistant)))
    assert "send the photo again" in str(update.live)
    assert len(assistant.messages(assistant.local_owner, message.conversation_id)) == 1


async def test_the_words_leave_the_box_once_they_are_stored(assistant: Assistant, panel: ChatPanel) -> None:
    boxes = []
    async for update in panel.on_send({"text": "Hello there", "files": []}, "", "", request(assistant)):
        stored = bool(assistant.memory(assistant.local_owner).conversations())
        emptied = update.composer is not None and update.composer.get("value") == {"text": "", "files": []}
        boxes.append((stored, emptied))
    assert boxes[0] == (False, False) or boxes[0][1] is False
    assert [emptied for _stored, emptied in boxes].count(True) == 1
    assert all(stored for stored, emptied in boxes if emptied)


@pytest.mark.parametrize(
    ("text", "words"),
    [("x" * 20_001, "20,001 characters, and M2A accepts up to 20,000"), ("half \ud83d", "half an emoji")],
)
async def test_what_is_refused_stays_in_the_box_and_the_next_message_is_answered(
    assistant: Assistant, panel: ChatPanel, text: str, words: str
) -> None:
    updates = await all_of(panel.on_send({"text": text, "files": []}, "", "", request(assistant)))
    assert words in str(updates[-1].live)
    for update in updates:
        json.dumps(update.outputs(), default=str, ensure_ascii=False).encode()  # as the browser is sent it
        assert update.composer is None or "value" not in update.composer
    assert assistant.memory(assistant.local_owner).conversations() == []
    await all_of(panel.on_send({"text": "Hello there", "files": []}, "", "", request(assistant)))
    [chat] = assistant.memory(assistant.local_owner).conversations()
    assert [m.role for m in assistant.messages(assistant.local_owner, chat.conversation_id)] == ["user", "assistant"]


class RivalTurn:
    """A turn that added a memory beside a rival, and refused another."""

    def __init__(self, assistant: Assistant) -> None:
        self.owner = assistant.local_owner
        self.bank = bank = assistant.memory(self.owner)
        message = bank.record(None, role="user", speaker="You", text="Ivo is 34. Bobo is <b>2</b>.")
        self.conversation_id = message.conversation_id
        evidence = (EvidenceRange(message.message_id, message.message_id),)
        rival = bank.add(EntryDraft("Ivo is 33.", evidence), who="test", why="test")
        reply = bank.record_reply(
            message.conversation_id,
            "Fine.",
            speaker="M2A",
            steps={"searches": [], "sources": []},
            answers=message.message_id,
            update_pending=True,
        )
        self.reply_id, self.rival_id = reply.message_id, rival.memory_id
        refused = Refusal(
            "Keep: Bobo is <b>2</b>.", "You did not say so.", Addition(EntryDraft("Bobo is 2.", evidence), "")
        )
        added = Addition(EntryDraft("Ivo is 34.", evidence), "", rivals=(rival.memory_id,))
        bank.write([added], who="test", update_of=reply.message_id, refusals=[refused], unasked=2)

    @property
    def texts(self) -> list[str]:
        return [entry.text for entry in self.bank.entries()]


async def test_the_buttons_of_a_notice_work_after_a_reload_and_twice(assistant: Assistant, panel: ChatPanel) -> None:
    turn, tab = RivalTurn(assistant), request(assistant)
    [opened] = await all_of(panel.on_open(click(conversation=turn.conversation_id), tab))
    assert opened.history is not None
    for act in ("undo", "insist", "choose"):
        assert f'data-act="{act}" data-reply="{turn.reply_id}" data-number="0"' in opened.history
    assert "2 changes that you did not ask for were not made." in opened.history and "<b>2" not in opened.history

    here = (turn.conversation_id, 80)
    first = click(reply_id=turn.reply_id, number=0, memory_id=turn.rival_id)
    for _twice in range(2):
        [shown] = [output for output in panel.on_choose(*here, first, tab) if isinstance(output, str)]
        assert turn.texts == ["Ivo is 34."] and "Changed" in shown and "I still have" not in shown
    for _twice in range(2):
        [shown] = [output for output in panel.on_insist(*here, first, tab) if isinstance(output, str)]
        assert turn.texts == ["Ivo is 34.", "Bobo is 2."] and "Not done" not in shown
    for number, left in ((2, ["Ivo is 34."]), (1, ["Ivo is 33.", "Ivo is 34."]), (0, ["Ivo is 33."])):
        for _twice in range(2):
            [shown] = [
                output
                for output in panel.on_undo(*here, click(reply_id=turn.reply_id, number=number), tab)
                if isinstance(output, str)
            ]
            assert turn.texts == left
    assert shown.count("<strong>Undone</strong>") == 3
    assert re.findall('data-act="([a-z]+)"', shown) == [
        "insist"
    ]  # what was done anyway and undone is to be decided again


@pytest.mark.parametrize(
    "numbers", [{}, {"reply_id": "2", "number": 0}, {"reply_id": 99, "number": 0}, {"reply_id": 2, "number": 10**30}]
)
async def test_a_click_that_names_nothing_changes_nothing(
    assistant: Assistant, panel: ChatPanel, numbers: dict[str, object]
) -> None:
    turn = RivalTurn(assistant)
    before = turn.texts
    for handler in (panel.on_undo, panel.on_insist, panel.on_choose):
        handler(turn.conversation_id, 80, click(**numbers), request(assistant))
    assert turn.texts == before


async def test_another_owner_undoes_nothing_here(assistant: Assistant, panel: ChatPanel) -> None:
    turn = RivalTurn(assistant)
    before = turn.texts
    stranger = other_user(assistant)
    named = click(reply_id=turn.reply_id, number=0, memory_id=turn.rival_id)
    for handler in (panel.on_undo, panel.on_insist, panel.on_choose):
        outputs = handler(turn.conversation_id, 80, named, stranger)
        assert "Ivo" not in str(outputs)
    assert turn.texts == before
    anonymous: Any = SimpleNamespace(username="", session_hash="other", query_params={})
    with pytest.raises(gr.Error, match="log in"):
        panel.on_undo(turn.conversation_id, 80, named, anonymous)


async def test_conversations_are_found_renamed_and_exported_for_their_owner_alone(
    assistant: Assistant, panel: ChatPanel
) -> None:
    turn, tab = RivalTurn(assistant), request(assistant)
    other = turn.bank.record(None, role="user", speaker="You", text="The boiler needs a new valve.").conversation_id
    turn.bank.record(other, role="user", speaker="You", text="It leaks at the gasket.")
    assert f'data-in="{other}"' in panel.on_find("", click(words="gasket"), tab)
    assert "No conversation contains “&lt;u&gt;zq”" in panel.on_find("", click(words="<u>zq"), tab)
    named = click(conversation=other, title="  Heating </title><script>\n work ")
    [heading] = [output for output in panel.on_rename(other, named, tab) if isinstance(output, str) and "<h1" in output]
    assert "Heating &lt;/title&gt;&lt;script&gt; work" in heading and "<script" not in heading
    assert f'data-open="{other}"' in panel.on_find("", click(words="heating"), tab)
    assistant.rename_conversation(assistant.local_owner, other, "The valve")
    listing = panel.on_find("", click(words="valve"), tab)  # in its title, and in what was said
    assert "The valve<small>You: The boiler needs a new valve.</small>" in listing and "data-see" in listing
    with pytest.raises(MessageRefusedError, match="has 0 characters; choose one with 1 to 200"):
        panel.on_rename(other, click(conversation=other, title=" "), tab)
    stranger = other_user(assistant)
    assert "Heating" not in panel.on_find("", click(words="gasket heating"), stranger)
    with pytest.raises(UnknownConversationError):
        panel.on_rename(other, click(conversation=other, title="Mine"), stranger)


def test_a_conversation_is_exported_as_markdown(served: Served) -> None:
    assistant, client = served.assistant, served.client
    first = recorded(assistant, photo("red"))
    bank = assistant.memory(assistant.local_owner)
    bank.photos.set_caption(first.photos[0], "perhaps a corgi", captioner_id="test")
    assert "*1 photo: perhaps a corgi*" in client.get(f"/conversations/{first.conversation_id}.md").text
    evidence = (EvidenceRange(first.message_id, first.message_id),)
    biscuit = ConceptMention("Biscuit", "pet")
    bank.add(EntryDraft("This is Biscuit.", evidence, photo_ids=first.photos, concepts=(biscuit,)), who="M2A", why="")
    assert "*1 photo: Biscuit*" in client.get(f"/conversations/{first.conversation_id}.md").text
    bank.record(first.conversation_id, role="user", speaker="You", text="look here", replaces=first.message_id)
    assistant.rename_conversation(assistant.local_owner, first.conversation_id, "Über “alles”/..")
    response = client.get(f"/conversations/{first.conversation_id}.md")
    assert response.text.startswith("# Über “alles”/..\n\n**You**, ") and response.text.endswith("\n\nlook here\n")
    assert response.headers["content-disposition"].endswith("%C3%9Cber%20%E2%80%9Calles%E2%80%9D%2F...md")
    assert client.get("/conversations/unknown.md").status_code == 404
    stranger = assistant.memory(owner_named(assistant.stores.database, "other"))
    theirs = stranger.record(None, role="user", speaker="You", text="secret").conversation_id
    assert client.get(f"/conversations/{theirs}.md").status_code == 404


async def test_a_link_to_an_early_message_shows_it(assistant: Assistant, panel: ChatPanel) -> None:
    bank = assistant.memory(assistant.local_owner)
    first = bank.record(None, role="user", speaker="You", text="The very first words")
    for number in range(100):
        bank.record(first.conversation_id, role="user", speaker="You", text=f"more {number}")
    [latest] = await all_of(panel.on_open(click(conversation=first.conversation_id), request(assistant)))
    assert latest.history and "very first" not in latest.history
    named = click(conversation=first.conversation_id, message=first.message_id)
    [update] = await all_of(panel.on_open(named, request(assistant)))
    assert update.history and f'id="m{first.message_id}"' in update.history


def recorded(assistant: Assistant, *photos: bytes) -> Message:
    bank = assistant.memory(assistant.local_owner)
    return bank.record(None, role="user", speaker="You", text="look", photos=photos)


def test_a_photo_whose_file_is_gone_is_not_found(served: Served) -> None:
    assistant, client = served.assistant, served.client
    [photo_id] = recorded(assistant, photo("red")).photos
    path = assistant.memory(assistant.local_owner).photos.path(photo_id)
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
        (
            "ask",
            '{"text": "x", "photos": [5], "conversation_id": null}',
            422,
            "photos.0: Input should be a valid string",
        ),
        ("ask", '["x"]', 422, "body: Input should be an object"),
        ("ask", "no JSON", 422, "body: Invalid JSON"),
        ("forget", "{}", 404, "There is no command 'forget'; there are ask, temporary, search"),
        ("ask", '{"text": " ", "photos": [], "conversation_id": null}', 200, "The message is empty"),
        (
            "ask",
            '{"text": "x", "photos": ["/nowhere.png"], "conversation_id": null}',
            200,
            "The photo /nowhere.png cannot be read",
        ),
    ],
)
def test_a_command_over_the_loopback_that_errs_is_told_in_a_sentence(
    served: Served, name: str, body: str, status: int, words: str
) -> None:
    response = served.command(name, body)
    assert response.status_code == status and words in response.text


def test_a_bug_in_a_command_is_logged_and_not_told(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(served.clock, "broken", True)
    [piece] = served.command("ask", '{"text": "secret", "photos": [], "conversation_id": null}').text.splitlines()
    assert json.loads(piece) == {
        "error": "Something went wrong (KeyError); see the details in the terminal where M2A runs."
    }
    assert "failed: KeyError at" in caplog.text and "in __call__" in caplog.text


def test_streamed_differences_leave_earlier_outputs_unchanged() -> None:
    """Gradio's client makes the edits in the output before, which a hidden or slow tab has not shown yet."""
    with Page() as page:
        box, live = gr.MultimodalTextbox(), gr.HTML()
        page.load(lambda: None, None, [box, live])
    handler = page.fns[0]

    def sent(*outputs: object) -> list[Any]:
        return page.handle_streaming_diffs(handler, list(outputs), "tab", "run", final=False)

    ready, nothing = {"__type__": "update", "stop_btn": False}, {"__type__": "update"}
    assert sent(ready, "<p>Yes") == [ready, "<p>Yes"]
    assert sent(nothing, "<p>Yes.") == [[["replace", [], nothing]], [["append", [], "."]]]
    assert sent(nothing, nothing) == [[], [["replace", [], nothing]]]
    assert page.handle_streaming_diffs(handler, [ready, ready], "tab", "run", final=True) == [nothing, nothing]


async def test_conversations_with_the_same_title_are_told_apart_by_their_time() -> None:
    def conversation(title: str, hour: int, day: int = 3) -> Conversation:
        at = datetime(2026, 5, day, hour).astimezone()
        return Conversation(f"{title}-{day}-{hour}", "0", title, at, at)

    all_of_them = [conversation("A photo", 9), conversation("A photo", 12), conversation("Rex", 13)]
    all_of_them.append(conversation("A photo", 9, day=2))  # its day says enough
    shown = conversations_html(all_of_them, current=None, today=date(2026, 5, 3))
    assert re.findall(">([^<>]+)</a>(?:<time[^>]*>(.*?)</time>)?", shown) == [
        ("Rex", ""),
        ("A photo", "12:00"),
        ("A photo", "09:00"),
        ("A photo", ""),
    ]
    assert "Erase the conversation… A photo, 09:00" in shown
