"""What a model makes up, what is broken in the set-up, and photos whose files are gone: the turn goes on."""

import asyncio
import io
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping, Sequence
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import pytest
from PIL import Image

from m2a import Assistant
from m2a.agents.language_policy import LanguagePolicy
from m2a.agents.state import TurnState
from m2a.doctor import examine
from m2a.memory import updates
from m2a.memory.milvus import IndexUnavailableError
from m2a.settings import load_settings
from m2a.types import (
    Action,
    AddMemory,
    Failed,
    Finish,
    NotKept,
    ReplyFinished,
    SearchSemanticMemories,
    TurnEvent,
    UpdateMemory,
)
from models.abilities import Abilities
from models.chat_model import (
    REPLY_TOKENS,
    ChatMessage,
    ChatModelError,
    MalformedReplyError,
    PhotoPart,
    TokenUsage,
    Tool,
    ToolCall,
    in_words,
)
from tests.scripted_policy import ScriptedPolicy
from tests.turns import Clock, of_this_turn, only, photo, recall, remember, told_about_bobo, turn


class ScriptedChat:
    """Makes the given calls in order, and then none; keeps every prompt."""

    name = "scripted chat"
    reply_tokens = REPLY_TOKENS
    sees_photos = True

    def __init__(self, *calls: tuple[str, Mapping[str, Any]]) -> None:
        self.calls = list(calls)
        self.prompts: list[Sequence[ChatMessage]] = []

    async def abilities(self, probe: Collection[str] = ()) -> Abilities:
        return Abilities(sees_photos=self.sees_photos)

    async def choose(self, messages: Sequence[ChatMessage], tools: Sequence[Tool]) -> ToolCall:
        self.prompts.append(messages)
        names = [tool.name for tool in tools]
        if self.calls and self.calls[0][0] in names:
            name, arguments = self.calls.pop(0)
            return ToolCall(name, arguments, TokenUsage())
        return ToolCall("answer" if "answer" in names else "finish", {}, TokenUsage())

    async def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = ()
    ) -> AsyncGenerator[str | TokenUsage, None]:
        self.prompts.append(messages)
        yield "Noted."
        yield TokenUsage()

    def prompts_hold(self, words: str) -> bool:
        """Returns whether a prompt held the words."""
        return any(
            words in part
            for prompt in self.prompts
            for m in in_words(prompt)
            for part in m.parts
            if isinstance(part, str)
        )


@pytest.mark.parametrize(
    ("name", "arguments", "observed"),
    [
        ("fetch_raw_messages_by_time", {"start": "0001-01-01", "end": "9999-12-31"}, "Anna likes tea"),
        ("fetch_raw_messages", {"ranges": [[1, 10**9]]}, "1000000000 ids, and 1000 is the most"),
        ("fetch_raw_messages", {"ranges": [[1, 10**9], [10**9, 1]]}, "1000000000 ids, and 1000 is the most"),
        ("fetch_raw_messages", {"ranges": [[2**63, 2**63]]}, f"{2**63} is no id"),
        ("fetch_raw_messages", {"ranges": [[0, 3]]}, "0 is no id"),
        ("finish", {"context": "x", "message_ids": [10**20]}, f"{10**20} is no id"),
        ("finish", {"context": "x", "memory_ids": [10**20]}, f"{10**20} is no id"),
    ],
)
async def test_what_a_model_makes_up_goes_back_to_it(
    tmp_path: Path, name: str, arguments: dict[str, Any], observed: str
) -> None:
    chat = ScriptedChat(("query_memory", {"query": "tea"}), (name, arguments))
    policy = LanguagePolicy(chat, published_stages=True)
    async with Assistant.open(load_settings(data_dir=tmp_path), policy=policy, clock=Clock()) as assistant:
        calls, chat.calls = chat.calls, []
        await turn(assistant, "Anna likes tea")
        chat.calls, chat.prompts = calls, []
        events = await turn(assistant, "What does she like?")
    assert only(Failed, events) == [] and only(ReplyFinished, events)
    assert chat.prompts_hold(observed)


@pytest.mark.parametrize("name", ["delete_memory", "replace_memory"])
async def test_an_update_of_a_memory_that_no_database_could_hold_goes_back_to_the_model(
    tmp_path: Path, name: str
) -> None:
    write = {"memory_id": 10**20, "reason": "x", "evidence_ids": [[1, 1]]}
    chat = ScriptedChat(
        (name, write | ({"text": "Anna likes tea"} if name == "replace_memory" else {})),
        ("add_memory", {"text": "Anna likes tea", "evidence_ids": [[1, 1]], "happened_to": "9999-12-31"}),
        (
            "say_what_is_wanted",
            {
                "verdicts": [
                    {
                        "proposal": 1,
                        "reason": "You said so.",
                        "words": "Anna likes tea",
                        "supported": True,
                        "rests_on": "stated",
                        "asked_for": True,
                    }
                ]
            },
        ),
    )
    async with Assistant.open(
        load_settings(data_dir=tmp_path), policy=LanguagePolicy(chat), clock=Clock()
    ) as assistant:
        events = await turn(assistant, "Anna likes tea")
        bank = assistant.memory(assistant.local_owner)
        assert only(Failed, events) == [] and chat.prompts_hold(f"{10**20} is no id")
        [entry] = bank.entries()
        assert entry.happened == (date(9999, 12, 31), date(9999, 12, 31))
        chat.calls = [("search_semantic_memories", {"query": "Anna tea"})]
        assert only(Failed, await turn(assistant, "What does Anna like?")) == []


@pytest.mark.parametrize(
    "fault",
    [
        IndexUnavailableError("The Milvus server at http://x does not answer."),
        OSError(28, "No space left on device"),
        OverflowError("a secret that was said"),
        MalformedReplyError("no"),
        ChatModelError("The prompt is longer than the model accepts."),
    ],
)
async def test_an_update_that_fails_three_times_is_set_aside_and_tried_again_when_asked(
    assistant: Assistant, policy: ScriptedPolicy, fault: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    bank = assistant.memory(assistant.local_owner)

    def fails(state: TurnState) -> Action:
        if "tea" in state.message.text:
            raise fault
        return UpdateMemory(request="remember this")

    policy.steps["update"] = [fails] * 100
    policy.steps["manage update"] = [of_this_turn(AddMemory, text="Hello")] + [Finish()] * 100
    changes = [
        failed.reason
        for text in ("I like tea", "Hi", "Hey", "Hello")
        for failed in only(Failed, await turn(assistant, text))
    ]
    assert all(reason.startswith("I could not update my memory and will try again later.") for reason in changes[:-1])
    assert changes[-1].startswith("I tried 3 times to update my memory after “I like tea”, and each try failed.")
    assert changes[-1].endswith("Your message stays in the chat; `m2a repair` tries the update again.")
    assert len(changes) <= 3 and "secret" not in caplog.text + " ".join(changes)
    assert bank.replies.pending_updates() == [] and bank.replies.set_aside_updates() == [2]  # it held up no other
    assert assistant.waiting_updates(assistant.local_owner) == {2: True}

    with assistant.stores.database.write(bank.owner) as unit:
        assert updates.retry(unit) == 1
    remember(policy, of_this_turn(AddMemory, text="I like tea"))
    assert only(Failed, await turn(assistant, "Thank you")) == []
    assert bank.replies.set_aside_updates() == bank.replies.pending_updates() == []
    assert "I like tea" in [entry.text for entry in bank.entries()]


async def test_a_model_server_that_cannot_be_reached_sets_nothing_aside(
    assistant: Assistant, policy: ScriptedPolicy
) -> None:
    policy.steps["update"] = [ChatModelError("Cannot connect to http://x.", unreachable=True)] * 100
    for text in ("Anna likes tea", "Hello", "Hi", "Hey", "Well"):
        [failed] = only(Failed, await turn(assistant, text))
        assert failed.reason.startswith("I could not update my memory")
    bank = assistant.memory(assistant.local_owner)
    assert bank.replies.pending_updates() == [2, 4, 6, 8, 10] and bank.replies.set_aside_updates() == []
    remember(policy, of_this_turn(AddMemory, text="Anna likes tea"))
    assert only(Failed, await turn(assistant, "Thank you")) == []
    assert bank.replies.pending_updates() == [] and [entry.text for entry in bank.entries()] == ["Anna likes tea"]


@pytest.mark.parametrize(
    ("setting", "value", "sentence"),
    [
        ("text_encoder", "no-such/model", "text_encoder 'no-such/model' is not on this machine: fetch it once"),
        ("image_encoder", "nonsense", "Unknown image_encoder 'nonsense': use efficientnet-lite0"),
    ],
)
async def test_an_encoder_that_is_not_there_is_named_in_the_turn(
    tmp_path: Path, policy: ScriptedPolicy, setting: str, value: str, sentence: str
) -> None:
    settings = load_settings(data_dir=tmp_path, **{setting: value})
    async with Assistant.open(settings, policy=policy, clock=Clock()) as assistant:
        [failed] = only(Failed, await turn(assistant, "Hello"))
    assert failed.reason.startswith(sentence)


async def test_starts_with_a_broken_set_up_set_nothing_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    policy = ScriptedPolicy()
    remember(policy, ChatModelError("The server is gone."))
    async with Assistant.open(load_settings(data_dir=tmp_path), policy=policy, clock=Clock()) as assistant:
        await turn(assistant, "Anna likes tea")
    for _start in range(3):
        broken = load_settings(data_dir=tmp_path, chat_model="openai:x")
        async with Assistant.open(broken, clock=Clock()) as assistant:
            [failed] = only(Failed, await turn(assistant, "Hello?"))
            assert failed.stage == "reply"
    remember(policy, of_this_turn(AddMemory, text="Anna likes tea"))
    async with Assistant.open(load_settings(data_dir=tmp_path), policy=policy, clock=Clock()) as assistant:
        await turn(assistant, "Hello again")
        assert [entry.text for entry in assistant.memory(assistant.local_owner).entries()] == ["Anna likes tea"]


async def test_the_doctor_tells_why_an_update_is_still_to_come(tmp_path: Path, policy: ScriptedPolicy) -> None:
    settings = load_settings(data_dir=tmp_path)
    remember(policy, ChatModelError("The server at http://x is gone."))
    async with Assistant.open(settings, policy=policy, clock=Clock()) as assistant:
        await turn(assistant, "Anna likes tea")
    lines = [line.strip() for line, _good in await asyncio.to_thread(lambda: list(examine(settings)))]
    assert "the last attempt to update the memory failed: The server at http://x is gone." in lines


async def test_a_recalled_photo_whose_file_is_gone_is_left_out_of_the_reply(
    assistant: Assistant, policy: ScriptedPolicy, caplog: pytest.LogCaptureFixture
) -> None:
    await told_about_bobo(assistant, policy)
    bank = assistant.memory(assistant.local_owner)
    [entry] = bank.entries()
    bank.photos.path(entry.photo_ids[0]).unlink()
    recall(policy, SearchSemanticMemories(query="Bobo ball"), Finish(context="a ball", memory_ids=(entry.memory_id,)))
    policy.text = "The blue ball. [photo 1]"
    events = await turn(assistant, "What does Bobo love?")
    assert only(Failed, events) == []
    [finished] = only(ReplyFinished, events)
    assert (finished.message.text, finished.message.photos) == ("The blue ball.", ())
    assert [source.hit.record for source in finished.sources] == [entry]
    assert "left out of the prompt" in caplog.text and entry.photo_ids[0] in caplog.text


async def test_an_update_about_a_photo_whose_file_is_gone_holds_up_no_other(
    assistant: Assistant, policy: ScriptedPolicy
) -> None:
    remember(policy, ChatModelError("The server is gone."))
    shown = (await turn(assistant, "Anna likes tea", photo("red"), photo("blue")))[0].message
    bank = assistant.memory(assistant.local_owner)
    bank.photos.path(shown.photos[0]).unlink()
    remember(policy, of_this_turn(AddMemory, text="Anna likes tea"))
    assert only(Failed, await turn(assistant, "Hello")) == []
    assert [entry.text for entry in bank.entries()] == ["Anna likes tea"]
    update = next(state for state in reversed(policy.seen) if state.message == shown)
    assert [(view.number, view.photo_id) for view in update.photos] == [(2, shown.photos[1])]


class PausedCaptions(ScriptedChat):
    """Captions a photo only after the test releases it."""

    def __init__(self, *calls: tuple[str, Mapping[str, Any]]) -> None:
        super().__init__(*calls)
        self.goes_on = asyncio.Event()

    async def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = ()
    ) -> AsyncGenerator[str | TokenUsage, None]:
        if any(isinstance(part, PhotoPart) and part.label == "The photo:" for m in messages for part in m.parts):
            await self.goes_on.wait()
        async for piece in super().stream(messages, tools):
            yield piece


async def test_an_update_that_waits_for_captions_is_told_in_its_own_turn(tmp_path: Path) -> None:
    chat = PausedCaptions(("finish", {"missing": "the red pot"}))
    async with Assistant.open(
        load_settings(data_dir=tmp_path), policy=LanguagePolicy(chat), clock=Clock()
    ) as assistant:
        first = assistant.turn(assistant.local_owner, "Forget the red pot", [photo("red")])
        events = [event async for event in until_answered(first)]
        conversation_id = events[-1].message.conversation_id
        second = assistant.turn(assistant.local_owner, "Hello", conversation_id=conversation_id)
        assert [event async for event in until_answered(second)]
        chat.goes_on.set()
        [not_kept] = only(NotKept, [event async for event in first])
        assert "the red pot" in not_kept.text
        assert only(NotKept, [event async for event in second]) == []


async def until_answered(turn: AsyncIterator[TurnEvent]) -> AsyncIterator[TurnEvent]:
    async for event in turn:
        yield event
        if isinstance(event, ReplyFinished):
            return


async def test_photos_go_into_prompts_no_larger_than_a_model_looks_at(tmp_path: Path) -> None:
    chat = ScriptedChat(("search_semantic_memories", {"query": "dog"}))
    noise = Image.frombytes("RGB", (400, 300), Random(1).randbytes(400 * 300 * 3)).resize((4000, 3000))
    large = io.BytesIO()
    noise.save(large, "JPEG")
    async with Assistant.open(
        load_settings(data_dir=tmp_path), policy=LanguagePolicy(chat), clock=Clock()
    ) as assistant:
        shown = (await turn(assistant, "My dogs", large.getvalue(), photo("red")))[0].message
        stored = [assistant.memory(assistant.local_owner).photos.data(photo_id) for photo_id in shown.photos]
    parts = [[part for m in prompt for part in m.parts if isinstance(part, PhotoPart)] for prompt in chat.prompts]
    prompts = [part for part in parts if len(part) == 2]
    assert len(prompts) >= 3 and all(len(part) == 1 for part in parts if part not in prompts), (
        "captions see one photo each"
    )
    for first, second in prompts:
        assert Image.open(io.BytesIO(first.data)).size == (1024, 768)
        assert len(first.data) < len(stored[0]) / 4
        assert second.data == stored[1]
