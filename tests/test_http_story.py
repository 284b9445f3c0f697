"""The story of the product through an OpenAI-compatible server: with tool calls, and with less and less of them."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from m2a import Assistant
from m2a.memory.words import finished_words
from m2a.settings import Settings, load_settings
from m2a.types import Failed, MemoryChanged, ReplyFinished, TextDelta, TurnEvent, Usage
from tests.chat_server import ChatServer, Request, mode_of, refusing
from tests.drawings import draw_dog, draw_teapot
from tests.scripted_model import Prompt, ScriptedModel

NEVER_SAID = "I do not have that in memory."
ABOUT_BOBO = "This is my dog Bobo. He loves his red ball and his rope."
ABOUT_TEAPOT = "This is my blue teapot. My grandmother gave it to me."
CORRECTION = "Actually, Bobo loves his green frisbee now, not the red ball."


def choose(prompt: Prompt) -> tuple[str, dict[str, Any]]:
    """What a sensible model would do: look up questions, keep statements, replace what is corrected."""
    is_question = prompt.said.endswith("?") or prompt.said.startswith("Show")
    if prompt.stage == "query":
        return ("query_memory", {"query": prompt.said}) if is_question and not prompt.steps else ("answer", {})
    if prompt.stage == "update":
        states = not is_question and len(prompt.said.split()) > 3
        return ("update_memory", {"request": prompt.said}) if states else ("finish", {})
    if not prompt.steps:
        return "search_semantic_memories", {"query": prompt.request, "use_photos": bool(prompt.photos)}
    if prompt.stage == "manage query":
        return "finish", {"context": "See the memories.", "memory_ids": relevant(prompt)}
    if prompt.steps > 1:
        return "finish", {}
    memory: dict[str, Any] = {
        "text": prompt.said,
        "evidence_ids": [[prompt.message_id, prompt.message_id]],
        "photos": prompt.photos,
        "concepts": [{"name": name, "kind": "pet"} for name in re.findall(r"my dog (\w+)", prompt.said)],
    }
    if prompt.said.startswith("Actually"):
        return "replace_memory", {**memory, "memory_id": relevant(prompt)[0], "reason": "the user corrected it"}
    return "add_memory", memory


def relevant(prompt: Prompt) -> list[int]:
    """The memories that share words with the request; for a photo without such words the one found first."""
    words = set(finished_words(prompt.request))
    shared = [number for number, memory in prompt.memories.items() if words & set(finished_words(memory["text"]))]
    return shared or ([next(iter(prompt.memories))] if prompt.photos and prompt.memories else [])


def answer(prompt: Prompt) -> str:
    if not prompt.said.endswith("?") and not prompt.said.startswith("Show"):
        return "Noted."
    memory = next(iter(prompt.memories.values()), None)
    if memory is None:
        return NEVER_SAID
    shown = [number for number, photo_of, _ in recalled_labels(prompt.text) if photo_of == memory["memory_id"]]
    photo = f" [photo {shown[0]}]" if shown else ""
    return f"You told me: {memory['text']} [memory {memory['memory_id']}]{photo}"


def recalled_labels(text: str) -> list[tuple[int, int, str]]:
    """Number, memory and date of every recalled photo."""
    labels = re.findall(r"^Photo (\d+), from memory (\d+) of (\d{4}-\d\d-\d\d)$", text, re.MULTILINE)
    return [(int(number), int(memory_id), day) for number, memory_id, day in labels]


LADDER = {
    "tools": ("tools", lambda model: model),
    "no tools": ("json_schema", lambda model: refusing("tools", then=model)),
    "json object alone": ("json_object", lambda model: refusing("tools", "json_schema", then=model)),
    "plain text": ("text", lambda model: refusing("tools", "json_schema", "json_object", code=500, then=model)),
}


class Clock:
    now = datetime(2026, 3, 12, 18, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


class Talk:
    """The user's side: one conversation after another through the assistant of the settings."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._clock = Clock()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator["Talk"]:
        self.conversation: str | None = None
        async with Assistant.open(self._settings, clock=self._clock) as self.assistant:
            self.bank = self.assistant.memory(self.assistant.local_owner)
            yield self

    async def say(self, text: str, *photos: Path) -> "Said":
        owner = self.assistant.local_owner
        events = [event async for event in self.assistant.turn(owner, text, photos, self.conversation)]
        self.conversation = events[0].message.conversation_id
        assert not [event for event in events if isinstance(event, Failed)]
        return Said(events)


class Said:
    def __init__(self, events: list[TurnEvent]) -> None:
        [finished] = [event for event in events if isinstance(event, ReplyFinished)]
        self.changes = [event for event in events if isinstance(event, MemoryChanged)]
        self.reply = finished.message
        self.sources = [source.hit.record.memory_id for source in finished.sources]
        self.usage = [event for event in events if isinstance(event, Usage)]
        streamed = "".join(event.text for event in events if isinstance(event, TextDelta))
        assert streamed.strip() == self.reply.text


@pytest.fixture
def dogs(tmp_path: Path) -> list[Path]:
    return [draw_dog(tmp_path / f"dog-{view}.png", view) for view in range(4)]


@pytest.fixture
def teapots(tmp_path: Path) -> list[Path]:
    return [draw_teapot(tmp_path / f"teapot-{view}.png", view) for view in range(2)]


@pytest.mark.parametrize(("mode", "serve"), LADDER.values(), ids=LADDER)
async def test_the_story_over_http(
    tmp_path: Path, dogs: list[Path], teapots: list[Path], mode: str, serve: Callable[[ScriptedModel], Any]
) -> None:
    with ChatServer(serve(ScriptedModel(choose, answer, caption="a bright picture"))) as server:
        talk = Talk(load_settings(data_dir=tmp_path, chat_model="openai:scripted", chat_base_url=server.base_url))
        async with talk.opened():
            [told] = (await talk.say(ABOUT_BOBO, *dogs[:3])).changes
            assert (told.entry.text, len(told.entry.photo_ids)) == (ABOUT_BOBO, 3)
            assert told.entry.caption == "a bright picture"
            [teapot] = (await talk.say(ABOUT_TEAPOT, *teapots)).changes
            said = await talk.say("Thank you!")
            assert said.changes == [] and said.reply.text == "Noted."
            assert said.usage[0].input_tokens == 11 * said.usage[0].calls
            uploaded = [talk.bank.photo_data(photo_id) for photo_id in told.entry.photo_ids]
            asked = [request for request in server.requests if stage_of(request) == "query"]
            assert asked[0].photos == uploaded
        first_day = len(server.requests)

        async with talk.opened():
            said = await talk.say("What toys does Bobo like?")
            assert "red ball" in said.reply.text and said.sources == [1]
            generated = server.requests[-2]
            assert generated.photos == uploaded
            day = told.entry.recorded_at.date().isoformat()
            assert labels_before_photos(generated) == [
                f"Photo {number}, from memory 1 of {day}" for number in (1, 2, 3)
            ]

            said = await talk.say("Show me my teapot")
            assert "grandmother" in said.reply.text and said.sources == [2]
            assert said.reply.photos == teapot.entry.photo_ids[:1]

            said = await talk.say("Who is this?", dogs[3])
            assert "Bobo" in said.reply.text and said.sources[0] == 1
            generated = server.requests[-2]
            labels = labels_before_photos(generated)
            assert labels[-1] == "Photo 1 of the user's new message"
            assert labels[:3] == [f"Photo {number}, from memory 1 of {day}" for number in (2, 3, 4)]
            assert generated.photos[:3] == uploaded and generated.photos[-1] not in uploaded

            [changed] = (await talk.say(CORRECTION)).changes
            assert (changed.change, changed.previous.memory_id) == ("replaced", 1)
            assert changed.entry.photo_ids == told.entry.photo_ids
            said = await talk.say("What toys does Bobo like?")
            assert "frisbee" in said.reply.text
            assert (await talk.say("What is my blood type?")).reply.text == NEVER_SAID
            texts = [entry.text for entry in talk.bank.entries(kinds=["fact"])]
            assert texts == [ABOUT_TEAPOT, CORRECTION]
            assert talk.bank.pending_updates() == []

        assert_the_boundary_holds(server.requests[first_day:])
        asked_for_tools = [request for request in server.requests if stage_of(request) not in ("generate", "caption")]
        assert {mode_of(request.json) for request in asked_for_tools[-20:]} == {mode}


def assert_the_boundary_holds(requests: list[Request]) -> None:
    """What was said in the first conversation reaches the second one inside the announced fence alone."""
    recalled = 0
    for request in requests:
        prompt = Prompt.of(request.json)
        if prompt.stage == "caption":
            continue
        assert len(prompt.fences) == 1
        for words in ("This is my dog Bobo.", "My grandmother gave it to me."):
            recalled += words in prompt.material
            assert words not in prompt.outside
    assert recalled > 10


def stage_of(request: Request) -> str:
    return Prompt.of(request.json).stage


def labels_before_photos(request: Request) -> list[str]:
    """What stands right before each photo of a prompt."""
    parts = request.parts
    return [
        parts[number - 1]["text"].strip().splitlines()[-1]
        for number, part in enumerate(parts)
        if part["type"] == "image_url"
    ]
