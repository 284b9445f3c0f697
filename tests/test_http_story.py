"""The story of the product through an OpenAI-compatible server: with tool calls, as JSON objects, and in plain text alone.

A server with JSON that follows a schema, but without tools, is in test_chat_faults.
"""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from m2a import Assistant
from m2a.memory.words import finished_words
from m2a.settings import Settings, load_settings
from m2a.types import Failed, MemoryChanged, MemoryEntry, MemorySearched, ReplyFinished, TextDelta, TurnEvent, Usage
from tests.chat_server import ChatServer, Request, mode_of, refusing
from tests.drawings import draw_dog, draw_teapot
from tests.scripted_model import Call, Prompt, ScriptedModel
from tests.turns import Clock

NEVER_SAID = "I do not have that in memory."
ABOUT_BOBO = "This is my dog Bobo. He loves his red ball and his rope."
ABOUT_TEAPOT = "This is my blue teapot. My grandmother gave it to me."
CORRECTION = "Actually, Bobo loves his green frisbee now, not the red ball."
WITHOUT_ITS_NAME = "Which heirloom stands on my shelf?"


def asks(prompt: Prompt) -> bool:
    return prompt.said.endswith("?") or prompt.said.startswith("Show")


def look(prompt: Prompt) -> Call | None:
    """Searches with other words where the message itself finds nothing."""
    if prompt.steps or prompt.found or not asks(prompt):
        return None
    if prompt.said == WITHOUT_ITS_NAME:
        return "search_semantic_memories", {"query": "teapot"}
    return "search_raw_messages", {"query": "blood"}


def choose(prompt: Prompt) -> Call:
    """What a sensible model would do: keep statements, replace what is corrected."""
    if asks(prompt) or len(prompt.said.split()) <= 3:
        return "finish", {}
    memory: dict[str, Any] = {
        "text": prompt.said,
        "evidence_ids": [[prompt.message_id, prompt.message_id]],
        "photos": prompt.photos,
        "concepts": [{"name": name, "kind": "pet"} for name in re.findall(r"my dog (\w+)", prompt.said)],
    }
    if prompt.said.startswith("Actually"):
        return "replace_memory", {**memory, "memory_id": told_of(prompt)[0], "reason": "the user corrected it"}
    return "add_memory", memory


def told_of(prompt: Prompt) -> list[int]:
    """The memories that share words with the message."""
    words = set(finished_words(prompt.said))
    return [number for number, memory in prompt.memories.items() if words & set(finished_words(memory["text"]))]


def answer(prompt: Prompt) -> str:
    if not asks(prompt):
        return "Noted."
    memory = next(iter(prompt.found.values()), None)
    if memory is None:
        return NEVER_SAID
    shown = [number for number, photo_of, _ in recalled_labels(prompt.text) if photo_of == memory["memory_id"]]
    photo = f" [photo {shown[0]}]" if shown else ""
    return f"You told me: {memory['text']} [memory {memory['memory_id']}]{photo}"


def recalled_labels(text: str) -> list[tuple[int, int, str]]:
    """Number, memory and date of every recalled photo."""
    labels = re.findall(r"^Photo (\d+), from memory (\d+) of (\d{4}-\d\d-\d\d)$", text, re.MULTILINE)
    return [(int(number), int(memory_id), day) for number, memory_id, day in labels]


SERVERS = {
    "tools": ("tools", lambda model: model),
    "JSON objects": ("json_object", lambda model: refusing("tools", "json_schema", then=model)),
    "plain text": ("text", lambda model: refusing("tools", "json_schema", "json_object", code=500, then=model)),
}


KEEPING = ["generate", "manage update", "consent"]
ANSWERING = ["generate", "manage update"]


class Talk:
    """The user's side: one conversation after another through the assistant of the settings."""

    def __init__(self, settings: Settings, server: ChatServer, mode: str) -> None:
        self._settings = settings
        self._server = server
        self._answered_modes = (mode, "text")
        self._clock = Clock()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator["Talk"]:
        self.conversation: str | None = None
        async with Assistant.open(self._settings, clock=self._clock) as self.assistant:
            self.bank = self.assistant.memory(self.assistant.local_owner)
            yield self

    async def say(self, text: str, *photos: Path) -> "Turn":
        events: list[TurnEvent] = []
        before, first_word = len(self._server.requests), None
        async for event in self.assistant.turn(self.assistant.local_owner, text, photos, self.conversation):
            if isinstance(event, TextDelta) and first_word is None:
                first_word = len(self._server.requests)
            events.append(event)
        self.conversation = events[0].message.conversation_id
        assert not [event for event in events if isinstance(event, Failed)]
        requests = self._server.requests[before:]
        return Turn(events, self._answered(requests), len(self._answered(self._server.requests[before:first_word])))

    def _answered(self, requests: list[Request]) -> list[Request]:
        """The model calls of a turn, less what the server refused and what is asked once for each photo or model."""
        return [
            request
            for request in requests
            if mode_of(request.json) in self._answered_modes and stage_of(request) not in ("caption", "probe")
        ]


class Turn:
    """The result of a turn. `stages` are its model calls in order; `calls_before_words` of them precede the reply."""

    def __init__(self, events: list[TurnEvent], calls: list[Request], calls_before_words: int) -> None:
        [finished] = [event for event in events if isinstance(event, ReplyFinished)]
        self.changes = [event for event in events if isinstance(event, MemoryChanged)]
        self.searched = [event.query.text for event in events if isinstance(event, MemorySearched)]
        self.reply = finished.message
        records = [source.hit.record for source in finished.sources]
        self.sources = [record.memory_id for record in records if isinstance(record, MemoryEntry)]
        self.usage = [event for event in events if isinstance(event, Usage)]
        self.stages = [stage_of(request) for request in calls]
        self.calls_before_words = calls_before_words
        self.reply_prompts = [request for request in calls if stage_of(request) == "generate"]
        streamed = "".join(event.text for event in events if isinstance(event, TextDelta))
        assert streamed.strip() == self.reply.text


@pytest.fixture
def dogs(tmp_path: Path) -> list[Path]:
    return [draw_dog(tmp_path / f"dog-{view}.png", view) for view in range(4)]


@pytest.fixture
def teapots(tmp_path: Path) -> list[Path]:
    return [draw_teapot(tmp_path / f"teapot-{view}.png", view) for view in range(2)]


@pytest.mark.parametrize(("mode", "serve"), SERVERS.values(), ids=SERVERS)
async def test_the_story_over_http(
    tmp_path: Path, dogs: list[Path], teapots: list[Path], mode: str, serve: Callable[[ScriptedModel], Any]
) -> None:
    model = ScriptedModel(choose, answer, caption="a bright picture", look=look)
    with ChatServer(serve(model)) as server:
        settings = load_settings(data_dir=tmp_path, chat_model="openai:scripted", chat_base_url=server.base_url)
        talk = Talk(settings, server, mode)
        async with talk.opened():
            turn = await talk.say(ABOUT_BOBO, *dogs[:3])
            [change] = turn.changes
            assert turn.stages == KEEPING
            assert (change.entry.text, len(change.entry.photo_ids)) == (ABOUT_BOBO, 3)
            assert change.entry.caption == "a bright picture"
            uploaded = [talk.bank.photos.data(photo_id) for photo_id in change.entry.photo_ids]
            assert [request.photos for request in turn.reply_prompts] == [uploaded]
            turn = await talk.say(ABOUT_TEAPOT, *teapots)
            [teapot] = turn.changes
            assert turn.stages == KEEPING
            turn = await talk.say("Thank you!")
            assert turn.stages == ["generate"]
            assert turn.changes == [] and turn.reply.text == "Noted."
            assert (turn.usage[0].calls, turn.usage[0].input_tokens) == (1, 11)
        first_day = len(server.requests)

        async with talk.opened():
            turn = await talk.say("What toys does Bobo like?")
            assert turn.stages == ANSWERING and turn.calls_before_words == 1
            assert "red ball" in turn.reply.text and turn.sources == [1]
            [generated] = turn.reply_prompts
            shown = labelled_photos(generated)
            of_bobo = f", from memory 1 of {change.entry.recorded_at.date().isoformat()}"
            assert shown[0] == (f"Photo 1{of_bobo}", uploaded[0])
            bobo = [photo for label, photo in shown if label.endswith(of_bobo)]
            assert len(bobo) > 1 and bobo == uploaded[: len(bobo)]
            assert [label.partition(",")[0] for label, _photo in shown] == [f"Photo {n + 1}" for n in range(len(shown))]

            settled = len(server.requests)
            turn = await talk.say("Show me my teapot")
            assert turn.stages == ANSWERING and turn.calls_before_words == 1
            assert "grandmother" in turn.reply.text and turn.sources == [2]
            assert turn.reply.photos == teapot.entry.photo_ids[:1]

            turn = await talk.say("Who is this?", dogs[3])
            assert turn.stages == ANSWERING and turn.calls_before_words == 1
            assert "Bobo" in turn.reply.text and turn.sources[0] == 1
            [generated] = turn.reply_prompts
            recalled, *_, (label, photo) = labelled_photos(generated)
            assert label == "Photo 1 of the user's new message" and photo not in uploaded
            assert recalled == (f"Photo 2{of_bobo}", uploaded[0])

            turn = await talk.say(CORRECTION)
            [changed] = turn.changes
            assert turn.stages == KEEPING
            assert (changed.change, changed.previous.memory_id) == ("replaced", 1)
            assert changed.entry.photo_ids == change.entry.photo_ids
            turn = await talk.say("What toys does Bobo like?")
            assert turn.stages == ANSWERING and turn.calls_before_words == 1
            assert "frisbee" in turn.reply.text
            calls = [r for r in server.requests[settled:] if stage_of(r) in ("manage update", "consent")]
            assert len(calls) > 4 and {mode_of(request.json) for request in calls} == {mode}

        async with talk.opened():
            turn = await talk.say(WITHOUT_ITS_NAME)
            assert turn.stages == ["generate", *ANSWERING] and turn.calls_before_words == 2
            assert turn.usage[0].calls == 2
            assert turn.searched == [WITHOUT_ITS_NAME, "teapot"]
            assert "grandmother" in turn.reply.text and turn.sources == [2]
            assert turn.reply.photos == teapot.entry.photo_ids[:1]

        async with talk.opened():
            turn = await talk.say("What is my blood type?")
            assert turn.stages == ["generate", *ANSWERING]
            assert turn.reply.text == NEVER_SAID and turn.sources == []
            texts = [entry.text for entry in talk.bank.entries(kinds=["fact"])]
            assert texts == [ABOUT_TEAPOT, CORRECTION]
            assert talk.bank.replies.pending_updates() == []

        assert_the_boundary_holds(server.requests[first_day:])


def assert_the_boundary_holds(requests: list[Request]) -> None:
    """What was said in the first conversation reaches the second one inside the announced fence alone."""
    recalled = 0
    for request in requests:
        prompt = Prompt.of(request.json)
        if prompt.stage in ("caption", "probe"):
            continue
        assert len(prompt.fences) == 1
        for words in ("This is my dog Bobo.", "My grandmother gave it to me."):
            recalled += words in prompt.material
            assert words not in prompt.outside
    assert recalled > 10


def stage_of(request: Request) -> str:
    return Prompt.of(request.json).stage


def labelled_photos(request: Request) -> list[tuple[str, bytes]]:
    """Each photo of a prompt with what stands right before it."""
    labels = [
        before["text"].strip().splitlines()[-1]
        for before, part in pairwise(request.parts)
        if part["type"] == "image_url"
    ]
    return list(zip(labels, request.photos, strict=True))
