"""A temporary chat: it goes on while it is open, with the memory or without, and writes nothing."""

import asyncio
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from app import create_app
from m2a import Assistant
from m2a.memory.bank import MessageRefusedError
from m2a.memory.conversations import UnknownConversationError
from m2a.memory.database import ReadOnlyError
from m2a.memory.schema import metadata
from m2a.settings import load_settings
from m2a.types import Failed, MemoryChanged, ReplyFinished, SearchSemanticMemories
from m2a.ui.chat_panel import ChatPanel
from m2a.ui.chat_view import ChatView
from m2a.wiring import offline_rules
from tests.chat_server import ChatServer
from tests.erase_scan import bytes_under
from tests.page_calls import last_of, request
from tests.scripted_model import Prompt, ScriptedModel
from tests.scripted_policy import ScriptedPolicy
from tests.turns import Clock, only, photo, recall, told_about_bobo, turn


def rows(assistant: Assistant) -> dict[str, list[Any]]:
    with assistant.stores.database.snapshot() as connection:
        return {name: list(connection.execute(select(table)).all()) for name, table in metadata.tables.items()}


async def settled(assistant: Assistant) -> None:
    """Waits until every photo has a caption, and brings the index up to date."""
    while assistant.memory(assistant.local_owner).photos.uncaptioned():
        await asyncio.sleep(0.01)
    assistant.memory(assistant.local_owner).index()


def begin(assistant: Assistant, *, reads_memory: bool = True) -> str:
    return assistant.temporary_chats.begin(assistant.local_owner, reads_memory=reads_memory)


async def test_rules_read_the_memory_go_on_and_write_no_row(tmp_path):
    async with Assistant.open(load_settings(data_dir=tmp_path), policy=offline_rules(), clock=Clock()) as assistant:
        owner = assistant.local_owner
        await turn(assistant, "This is my dog Bobo.", photo("brown"))
        await settled(assistant)
        before = rows(assistant)
        chat = begin(assistant)
        assistant.temporary_chats.attach(owner, chat, photo("brown"))
        [shown] = only(ReplyFinished, await turn(assistant, "Who is this?", conversation_id=chat))
        assert "Bobo" in shown.message.text and shown.sources
        [reply] = only(ReplyFinished, await turn(assistant, "My sister Qwenna lives in Graz.", conversation_id=chat))
        assert "Nothing is kept of a temporary chat" in reply.message.text
        [answer] = only(ReplyFinished, await turn(assistant, "Where does Qwenna live?", conversation_id=chat))
        assert "My sister Qwenna lives in Graz" in answer.message.text
        assert [message.text for message in assistant.messages(owner, chat)][0::2][1:] == [
            "My sister Qwenna lives in Graz.", "Where does Qwenna live?",
        ]  # fmt: skip
        assert assistant.explanations(owner, [answer.message.message_id], chat)[answer.message.message_id].sources
        [forget] = only(ReplyFinished, await turn(assistant, "Forget what I said about Bobo.", conversation_id=chat))
        assert "Nothing is changed or forgotten from a temporary chat" in forget.message.text
        assert rows(assistant) == before
        assistant.end_temporary(owner, chat)
        held = bytes_under(tmp_path)
        assert b"Qwenna" not in held and b"qwenna" not in held and assistant.messages(owner, chat) == []


async def test_without_the_memory_nothing_of_it_is_read(assistant, policy):
    await told_about_bobo(assistant, policy)
    await settled(assistant)
    before, owner = rows(assistant), assistant.local_owner
    bank = assistant.bank_of(owner, begin(assistant, reads_memory=False))
    policy.seen.clear()
    chat = bank.conversation_id
    assistant.temporary_chats.attach(owner, chat, photo("brown"))
    events = await turn(assistant, "What does Bobo love?", conversation_id=chat)
    assert not only(Failed, events) and not only(MemoryChanged, events)
    assert bank.entries() == bank.concepts() == bank.find_messages("blue ball") == []
    assert "blue ball" not in str(policy.seen) and policy.seen[0].photos[0].recognition.recognised is None
    assert rows(assistant) == before


@pytest.mark.parametrize("reads_memory", [True, False])
async def test_a_chat_that_reads_nothing_tells_of_no_search(assistant, policy, reads_memory):
    recall(policy, SearchSemanticMemories(query="ball"))
    chat = begin(assistant, reads_memory=reads_memory)
    await turn(assistant, "What does Bobo love?", conversation_id=chat)
    history = ChatView(assistant).history(assistant.local_owner, chat, 80)
    assert ("What I searched" in history) is reads_memory


async def test_a_model_is_told_that_nothing_is_kept_and_is_asked_for_no_update(tmp_path):
    prompts: list[Prompt] = []

    def reply(prompt: Prompt) -> str:
        prompts.append(prompt)
        return "Nothing is kept here."

    def choose(prompt: Prompt) -> tuple[str, dict]:
        assert "another matter" in prompt.text, "an update was asked for"
        return "finish", {}

    with ChatServer(ScriptedModel(choose, reply)) as model:
        settings = load_settings(
            data_dir=tmp_path, chat_model="openai:small", chat_base_url=model.base_url, chat_api_key="none"
        )
        async with Assistant.open(settings, clock=Clock()) as assistant:
            await settled(assistant)
            before = rows(assistant)
            chat = begin(assistant)
            for text in ("Remember that I am a vegan.", "And my cat is Miso."):
                events = await turn(assistant, text, conversation_id=chat)
                assert only(ReplyFinished, events) and not only(Failed, events)
            assert len(prompts) == 2 and rows(assistant) == before
            assert all("nothing said or shown in it is kept" in " ".join(prompt.outside.split()) for prompt in prompts)
            assert "I am a vegan" in str(model.requests[-1].json)
            await turn(assistant, "In a conversation it is another matter?")
            assert "This chat is temporary" not in prompts[-1].text


async def test_a_chat_that_has_ended_takes_nothing_and_nothing_begins_in_its_place(assistant):
    owner, chat = assistant.local_owner, begin(assistant)
    with pytest.raises(MessageRefusedError, match="empty"):
        await turn(assistant, " ", conversation_id=chat)
    assistant.end_temporary(owner, chat)
    with pytest.raises(UnknownConversationError):
        await turn(assistant, "still there?", conversation_id=chat)
    with pytest.raises(LookupError, match="has ended"):
        assistant.temporary_chats.attach(owner, chat, photo("red"))
    assert assistant.memory(owner).conversations() == []


async def test_its_bank_refuses_every_write_and_a_photo_can_be_taken_back(assistant):
    owner = assistant.local_owner
    bank = assistant.temporary_chats.find(owner, begin(assistant))
    for write in (
        lambda: bank.write([], who="test"),
        lambda: bank.undo(1, 0),
        lambda: bank.rename_conversation("x", "y"),
    ):
        with pytest.raises(ReadOnlyError):
            write()
    photo_id = bank.photos.attach(photo("red"))
    assert (
        bank.photos.attached == (photo_id,)
        and bank.photos.thumbnail(photo_id)
        and assistant.temporary_chats.holding(owner, photo_id)
    )
    bank.photos.detach(photo_id)
    assert bank.photos.attached == () and not assistant.temporary_chats.holding(owner, photo_id)
    with pytest.raises(LookupError):
        bank.photos.data(photo_id)


async def begun(assistant: Assistant, panel: ChatPanel, tab: str = "tab") -> str:
    update = await last_of(panel.on_temporary(SimpleNamespace(reads="with"), request(assistant, tab)))
    assert update.current and "Nothing here is kept" in str(update.heading) and "data-attach" in str(update.attached)
    return update.current


async def test_the_page_takes_its_photos_past_the_uploads_and_tells_of_no_update(assistant, tmp_path):
    owner, panel = assistant.local_owner, ChatPanel(assistant, tmp_path / "uploads")
    chat, tab = await begun(assistant, panel), request(assistant)
    photo_id = assistant.temporary_chats.attach(owner, chat, photo("red"))
    assert photo_id in str(panel.on_attached(chat, tab))
    assert photo_id not in str(panel.on_detach(chat, SimpleNamespace(photo_id=photo_id), tab))
    assistant.temporary_chats.attach(owner, chat, photo("blue"))
    dropped = tmp_path / "uploads" / "x" / "dropped.png"
    dropped.parent.mkdir(parents=True)
    dropped.write_bytes(photo("green"))
    update = await last_of(panel.on_send({"text": "", "files": [str(dropped)]}, chat, "", tab))
    assert not dropped.exists()  # what came by Gradio is not shown, and not left
    [question, _answer] = assistant.messages(owner, chat)
    assert len(question.photos) == 1 and update.current == chat and "m-change" not in str(update.history)
    with pytest.raises(gr.Error, match="End it first"):
        await last_of(panel.on_tell(chat, SimpleNamespace(text="I am a vegan."), tab))
    assert assistant.memory(owner).conversations() == []


@pytest.mark.parametrize("leave", ["new", "open", "another", "unload"])
async def test_leaving_it_ends_it_and_what_is_sent_to_it_after_that_goes_nowhere(assistant, tmp_path, leave):
    owner, panel = assistant.local_owner, ChatPanel(assistant, tmp_path)
    await turn(assistant, "A conversation that is kept")
    [kept] = assistant.memory(owner).conversations()
    chat, tab = await begun(assistant, panel), request(assistant)
    await last_of(panel.on_send({"text": "Hello", "files": []}, chat, "", tab))
    match leave:
        case "new":
            await last_of(panel.on_new(tab))
        case "open":
            await last_of(panel.on_open(SimpleNamespace(conversation=kept.conversation_id), tab))
        case "another":
            await begun(assistant, panel)
        case "unload":
            await panel.on_unload(tab)
    assert assistant.temporary_chats.find(owner, chat) is None and assistant.messages(owner, chat) == []
    update = await last_of(panel.on_send({"text": "A secret", "files": []}, chat, "", tab))
    assert "This temporary chat has ended, and nothing was sent" in str(update.live)
    assert [chat.title for chat in assistant.memory(owner).conversations()] == ["A conversation that is kept"]


async def test_another_tab_leaves_it_alone(assistant, tmp_path):
    panel = ChatPanel(assistant, tmp_path)
    chat = await begun(assistant, panel)
    await last_of(panel.on_load(request(assistant, "other")))
    await last_of(panel.on_new(request(assistant, "other")))
    assert assistant.temporary_chats.find(assistant.local_owner, chat)


def test_a_photo_is_taken_and_shown_by_our_own_routes_and_kept_by_no_cache(tmp_path):
    app_settings = load_settings(data_dir=tmp_path, port=7999)
    opened = Assistant.open(app_settings, policy=ScriptedPolicy(), clock=Clock())
    with TestClient(create_app(app_settings, opened), base_url="http://127.0.0.1:7999") as client:
        chat = begin(opened)
        assert client.post(f"/temporary/{chat}/photos", content=photo("red")).status_code == 204
        [photo_id] = opened.temporary_chats.find(opened.local_owner, chat).photos.attached
        for address in (f"/photos/{photo_id}", f"/photos/{photo_id}/thumbnail"):
            shown = client.get(address)
            assert shown.status_code == 200 and shown.headers["cache-control"] == "no-store"
        refused = client.post(f"/temporary/{chat}/photos", content=b"%PDF-1.7")
        assert refused.status_code == 422 and "looks like a PDF" in refused.json()["detail"]
        assert client.post(f"/temporary/{chat}/photos", content=b"x" * 30_000_001).status_code == 413
        opened.end_temporary(opened.local_owner, chat)
        assert client.get(f"/photos/{photo_id}").status_code == 404
        assert client.post(f"/temporary/{chat}/photos", content=photo("red")).status_code == 404
    assert not [path for path in tmp_path.rglob("*") if path.suffix in (".jpg", ".png")]
