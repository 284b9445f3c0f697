"""Faults of a chat endpoint over whole turns. `pytest tests/test_chat_faults.py -s` prints what became of each.

Every turn tells two facts, which the scripted model keeps with two writes. Whatever goes wrong, the user's words are
kept, the user is told in a sentence, either both facts are in the memory or none, and once the server is well again
the update is done exactly once.
"""

import asyncio
import logging
import re
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
import pytest_asyncio

from m2a import Assistant
from m2a.agents.consent_prompt import TOOL
from m2a.agents.language_policy import LanguagePolicy
from m2a.memory.bank import MemoryBank
from m2a.settings import load_settings
from m2a.types import Failed, ReplyFinished, TextDelta, TurnEvent
from models.provider_chat_model import ProviderChatModel
from tests.chat_server import ChatServer, Reply, call, hang, mode_of, raw, refusing, say, status
from tests.chat_server import Fault as ServerFault
from tests.drawings import draw_teapot
from tests.scripted_model import Prompt, PromptStage, ScriptedModel

pytestmark = pytest.mark.asyncio(loop_scope="module")

KEY = "sk-secret-4711"
Fault = Reply | Callable[[Prompt], Reply]
Outcome = Literal["recovers", "no search", "no reply", "partial reply", "no update", "nothing kept"]


@dataclass(frozen=True)
class Case:
    """`faults` are the answers to the first requests of the stage (from step `step` on); the last one stays if `forever`.

    `nothing kept` is for a model that does not want to keep anything in the end, which is no fault of the service.
    """

    name: str
    stage: PromptStage
    faults: tuple[Fault, ...]
    outcome: Outcome = "recovers"
    forever: bool = False
    step: int | None = None
    lacking: tuple[Any, ...] = ()
    timeout: float = 20.0
    photo: bool = False
    waits: float = 0.0


HANG = {"timeout": 0.25}
HTML = raw(b"<html><body>502 Bad Gateway</body></html>", "text/html")
NO_CHOICES = say("", choices=False)
FACT = {"text": "I like nothing", "evidence_ids": [[1, 1]]}


def of_new_message(name: str, **values: Any) -> Callable[[Prompt], Reply]:
    """A tool call whose evidence is the message of the turn."""
    return lambda prompt: call(name, {"evidence_ids": [[prompt.message_id, prompt.message_id]], **values})


def kept_twice(prompt: Prompt) -> Reply:
    return call("add_memory", fact(prompt, 0))


CASES = [
    Case("429", "query", (status(429),)),
    Case("429 with Retry-After", "query", (status(429, retry_after="7"),), waits=7),
    Case("429 with Retry-After of a day", "query", (status(429, retry_after="86400"),), waits=30),
    Case("429 with a Retry-After that is none", "query", (status(429, retry_after="soon"),)),
    Case("429 without end", "query", (status(429),), "no reply", forever=True),
    Case("500", "query", (status(500),)),
    Case("502 with HTML", "manage query", (raw(HTML.body or b"", "text/html", 502),) * 2),
    Case("503 three times", "query", (status(503),) * 3),
    Case("503 without end", "manage query", (status(503),), "no reply", forever=True),
    Case("504", "manage update", (status(504),)),
    Case("401", "query", (status(401, f"{KEY} is wrong"),), "no reply", forever=True),
    Case("404, no such model", "query", (status(404, "no model 'scripted'"),), "no reply", forever=True),
    Case("400, prompt too long", "generate", (status(400, "maximum context length"),), "no reply", forever=True),
    Case("hangs before headers", "query", (hang(),), **HANG),
    Case("hangs for ever", "query", (hang(),), "no reply", forever=True, **HANG),
    Case("hangs before the first piece", "manage query", (hang("hang before the first piece"),), **HANG),
    Case("hangs in a tool call", "query", (call("answer", {}, fault="hang after the first piece"),), **HANG),
    Case("closes before headers", "query", (say("", fault="cut before headers"),)),
    Case("cut before the first piece", "query", (call("answer", {}, fault="cut before the first piece"),)),
    Case("cut in a tool call", "query", (call("answer", {}, fault="cut after the first piece"),)),
    Case("cut before the end", "manage query", (call("finish", {}, fault="cut before the end"),)),
    Case("ends without a finish", "query", (call("answer", {}, fault="end without a finish"),)),
    Case("no choices", "query", (NO_CHOICES,)),
    Case("no choices without end", "query", (NO_CHOICES,), "no search", forever=True),
    Case("HTML", "query", (HTML,)),
    Case("HTML without end", "query", (HTML,), "no reply", forever=True),
    Case("wrong content type", "query", (raw(b'data: {"a": 1}\n\n', "application/octet-stream"),)),
    Case("JSON that is no chunk", "query", (raw(b"data: [1, 2, 3]\n\ndata: [DONE]\n\n"),)),
    Case("half a chunk", "manage query", (raw(b'data: {"id": "x", "choi'),)),
    Case("arguments cut off", "query", (call("query_memory", '{"query": "Bo', finish_reason="length"),)),
    Case("arguments broken", "manage query", (call("finish", '{"memory_ids": [1,}'),)),
    Case("arguments of wrong types", "query", (call("query_memory", {"query": ["a", 2]}),)),
    Case("arguments too many", "query", (call("query_memory", {"query": "a", "owner": "someone else"}),)),
    Case("unknown tool", "query", (call("delete_everything", {}),)),
    Case("tool of another stage", "query", (call("add_memory", FACT),)),
    Case("words for a tool call", "manage query", (say("I would search for it."),)),
    Case("never a tool call", "query", (say("Hm."),), "no search", forever=True),
    Case("never a whole tool call", "manage query", (call("finish", "{"),), forever=True),
    Case("finish names memories that are none", "manage query", (call("finish", {"memory_ids": [999]}),)),
    Case("finish names messages that are none", "manage query", (call("finish", {"message_ids": [9999]}),)),
    Case("says stop for a tool call", "query", (call("answer", {}, finish_reason="stop"),)),
    Case("says tool_calls for words", "query", (say("No.", finish_reason="tool_calls"),)),
    Case("says length for a whole call", "manage query", (call("finish", {}, finish_reason="length"),)),
    Case("a finish reason of its own", "query", (call("answer", {}, finish_reason="eos_token"),)),
    Case("no tools, broken JSON", "query", (say('{"tool": "answer", "argu'),), lacking=("tools",)),
    Case("no JSON modes, prose", "query", (say("Sure! I'd answer."),), lacking=("tools", "json_schema", "json_object")),
    Case("reply: 429", "generate", (status(429),)),
    Case("reply: 500 without end", "generate", (status(500),), "no reply", forever=True),
    Case("reply: hangs before headers", "generate", (hang(),), **HANG),
    Case("reply: hangs after a piece", "generate", (hang("hang after the first piece"),), "partial reply", **HANG),
    Case("reply: cut before a piece", "generate", (say("Noted it.", fault="cut before the first piece"),)),
    Case(
        "reply: cut after a piece", "generate", (say("Noted it.", fault="cut after the first piece"),), "partial reply"
    ),
    Case("reply: cut before the end", "generate", (say("Noted it.", fault="cut before the end"),), "partial reply"),
    Case("reply: no finish", "generate", (say("Noted it.", fault="end without a finish"),), "partial reply"),
    Case("reply: empty", "generate", (say(""),)),
    Case("reply: empty without end", "generate", (say(""),), "no reply", forever=True),
    Case("reply: HTML without end", "generate", (HTML,), "no reply", forever=True),
    Case("reply: says length", "generate", (say("Noted.", finish_reason="length"),)),
    Case("reply: marks alone", "generate", (say("[memory 999]"),), "no reply", forever=True),
    Case("update: 503 without end", "update", (status(503),), "no update", forever=True),
    Case(
        "update: gone at the first look", "manage update", (say("", fault="cut before headers"),), "no update", True, 0
    ),
    Case("update: gone between two writes", "manage update", (status(502),), "no update", True, 2),
    Case("update: cut between two writes", "manage update", (call("finish", {}, fault="cut before the end"),), step=2),
    Case("update: hangs between two writes", "manage update", (hang(),), "no update", True, 2, **HANG),
    Case("update: gone before the finish", "manage update", (status(503),), "no update", True, 3),
    Case("update: HTML", "manage update", (HTML,), step=1),
    Case("update: write cut off", "manage update", (call("add_memory", '{"text": "My lo'),), step=1),
    Case("update: write of wrong types", "manage update", (call("add_memory", {"text": 3, "evidence_ids": "x"}),)),
    Case("update: never a whole write", "manage update", (call("add_memory", "{"),), "no update", True, 1),
    Case("update: unknown tool", "manage update", (call("drop_table", {}),), step=1),
    Case("update: forged memory id", "manage update", (of_new_message("delete_memory", memory_id=999, reason="x"),)),
    Case("update: forged evidence", "manage update", (call("add_memory", FACT | {"evidence_ids": [[9999, 9999]]}),)),
    Case("update: no evidence", "manage update", (call("add_memory", FACT | {"evidence_ids": []}),)),
    Case("update: forged photo", "manage update", (of_new_message("add_memory", text="My locker", photos=[7]),)),
    Case("update: the same write twice", "manage update", (kept_twice, kept_twice), step=1),
    Case("update: not wanted", "update", (call("finish", {}),), "nothing kept"),
    Case("consent: 503", "consent", (status(503),)),
    Case("consent: cut", "consent", (call(TOOL, {}, fault="cut before the end"),)),
    Case("consent: gone", "consent", (status(503),), "no update", forever=True),
    Case("consent: cut off", "consent", (call(TOOL, '{"verdicts": [{'),)),
    Case("consent: no verdicts", "consent", (call(TOOL, {"verdicts": []}),)),
    Case("consent: words", "consent", (say("They want it all."),)),
    Case("consent: never usable", "consent", (call(TOOL, "{"),), "nothing kept", forever=True),
    Case("caption: cut", "caption", (say("A blue pot", fault="cut after the first piece"),), "no update", photo=True),
    Case("caption: 503", "caption", (status(503),), photo=True),
]


def fact(prompt: Prompt, number: int) -> dict[str, Any]:
    """The arguments that keep one sentence of what was said."""
    text = prompt.said.split(". ")[number].rstrip(".") + "."
    return {"text": text, "evidence_ids": [[prompt.message_id, prompt.message_id]], "photos": prompt.photos}


def choose(prompt: Prompt) -> tuple[str, Mapping[str, Any]]:
    """Looks once, and keeps both sentences of what was said."""
    tells = "locker" in prompt.said
    if prompt.stage == "query":
        return (
            ("answer", {}) if "<data-" in prompt.text.partition("Step 1, you")[2] else ("query_memory", {"query": "x"})
        )
    if prompt.stage == "update":
        return ("update_memory", {"request": "Remember it."}) if tells else ("finish", {})
    if prompt.stage == "manage query":
        return ("finish", {}) if "Result:" in prompt.text else ("search_semantic_memories", {"query": "locker"})
    if "Result:" not in prompt.text:
        return "search_semantic_memories", {"query": "locker"}
    staged = prompt.outside.count("Done; it is written when you finish.")
    return ("add_memory", fact(prompt, staged)) if staged < 2 else ("finish", {})


class Endpoint:
    """A server that misbehaves as a case says until it is healed."""

    def __init__(self) -> None:
        self.model = ScriptedModel(choose, lambda prompt: "Noted.", caption="a blue pot")
        self.heal()

    def heal(self) -> None:
        self.case: Case | None = None

    def break_down(self, case: Case) -> None:
        self.case, self.left = case, list(case.faults)

    def __call__(self, request: dict[str, Any]) -> Reply:
        case, prompt = self.case, Prompt.of(request)
        if case is None:
            return self.model(request)
        if mode_of(request) in case.lacking:
            return refusing(*case.lacking, then=self.model)(request)
        if not self.left or prompt.stage != case.stage or (case.step is not None and prompt.steps < case.step):
            return self.model(request)
        fault = self.left[0] if case.forever and len(self.left) == 1 else self.left.pop(0)
        return fault if isinstance(fault, Reply) else fault(prompt)


@dataclass
class World:
    """One assistant, its endpoint, and what became of each case."""

    assistant: Assistant
    endpoint: Endpoint
    server: ChatServer
    policy: LanguagePolicy
    rows: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    @property
    def bank(self) -> MemoryBank:
        return self.assistant.memory(self.assistant.local_owner)

    def connect(self, timeout: float = 20.0, base_url: str | None = None) -> None:
        """A model that has learned nothing of the server yet and does not wait between its tries."""
        self.waits.clear()
        self.policy.chat_model = scripted(base_url or self.server.base_url, timeout, self.waits)

    async def turn(self, text: str, *photos: Path) -> list[TurnEvent]:
        return [event async for event in self.assistant.turn(self.assistant.local_owner, text, photos)]


def scripted(base_url: str, timeout: float, waits: list[float]) -> ProviderChatModel:
    async def note(seconds: float) -> None:
        waits.append(seconds)

    return ProviderChatModel("openai:scripted", base_url=base_url, api_key=KEY, timeout=timeout, backoff=0, sleep=note)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    endpoint = Endpoint()
    with ChatServer(endpoint) as server:
        policy = LanguagePolicy(scripted(server.base_url, 20, []))
        async with Assistant.open(
            load_settings(data_dir=tmp_path_factory.mktemp("faults")), policy=policy
        ) as assistant:
            world = World(assistant, endpoint, server, policy)
            yield world
    print("\n" + "\n".join(world.rows))


@pytest.fixture
def quiet_log(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fails where anything was logged as an error: a fault of the server is none of ours."""
    with caplog.at_level(logging.WARNING):
        yield
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR], caplog.text


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_fault_loses_nothing_and_writes_nothing_half(
    world: World, case: Case, quiet_log: None, tmp_path: Path
) -> None:
    number = CASES.index(case)
    text = f"My locker word is {word(number, 'l')}. My gate word is {word(number, 'g')}."
    before = {entry.memory_id for entry in world.bank.entries()}
    photos = [draw_teapot(tmp_path / "teapot.png", number % 10)] if case.photo else []
    world.connect(case.timeout)
    world.endpoint.break_down(case)
    events = await world.turn(text, *photos)
    world.endpoint.heal()
    asked = len(world.server.requests)

    failures = [event for event in events if isinstance(event, Failed)]
    replied = any(isinstance(event, ReplyFinished) for event in events)
    kept = [entry.text for entry in world.bank.entries() if entry.memory_id not in before]
    facts = [f"{sentence}." for sentence in text.rstrip(".").split(". ")]
    expected = {"no search": ["query"], "no reply": ["reply"], "partial reply": ["reply"], "no update": ["update"]}.get(
        case.outcome, []
    )
    world.rows.append(f"{case.name:<40}{case.stage:<15}{case.outcome:<15}{failures[0].reason if failures else ''}")
    assert [failure.stage for failure in failures] == expected
    for failure in failures:
        assert re.fullmatch(r"[A-Z].{20,}[.)?]", failure.reason), failure.reason
        assert KEY not in failure.reason and "Something went wrong" not in failure.reason
    assert replied == (case.outcome != "no reply")
    assert kept == ([] if case.outcome in ("no reply", "no update", "nothing kept") else facts)
    assert max(world.waits, default=0) == case.waits
    recorded = events[0].message  # type: ignore[union-attr]
    assert (recorded.text, len(recorded.photos)) == (text, len(photos))
    assert recorded in world.assistant.messages(world.assistant.local_owner, recorded.conversation_id)
    if replied:
        reply = next(event.message for event in events if isinstance(event, ReplyFinished))
        assert reply.partial == (case.outcome == "partial reply")
        assert reply.text == "".join(event.text for event in events if isinstance(event, TextDelta)).strip()

    # The server is well again: what was left to do is done once. Where no reply came, the user sends it again.
    world.connect()
    events = await world.turn(text if case.outcome == "no reply" else "Thank you!", *photos)
    assert not [event for event in events if isinstance(event, Failed)]
    assert len(world.server.requests) > asked
    if case.outcome != "nothing kept":
        entries = [entry for entry in world.bank.entries() if entry.memory_id not in before]
        assert [entry.text for entry in entries] == facts
        assert [len(world.bank.history(entry.memory_id)) for entry in entries] == [1, 1]
        assert all(len(entry.photo_ids) == len(photos) for entry in entries)
    assert world.bank.pending_updates() == []


@pytest.mark.parametrize(
    ("stage", "fault", "kept"),
    [
        ("query", "hang before headers", "(stopped)"),
        ("manage query", "hang before the first piece", "(stopped)"),
        ("generate", "hang before headers", "(stopped)"),
        ("generate", "hang after the first piece", "never finished"),
    ],
)
async def test_stop_ends_a_call_that_hangs(
    world: World, stage: PromptStage, fault: ServerFault, kept: str, quiet_log: None
) -> None:
    asked, loop = asyncio.Event(), asyncio.get_running_loop()

    def hold(prompt: Prompt) -> Reply:
        loop.call_soon_threadsafe(asked.set)
        return hang(fault)

    world.connect(timeout=60)
    world.endpoint.break_down(Case("stopped", stage, (hold,)))
    events = world.assistant.turn(world.assistant.local_owner, "Is anybody there?")
    recorded = (await anext(events)).message  # type: ignore[union-attr]
    async with asyncio.timeout(20):
        await asked.wait()
        while fault == "hang after the first piece" and not isinstance(await anext(events), TextDelta):
            pass
        world.assistant.stop(world.assistant.local_owner, recorded.conversation_id)
        rest = [event async for event in events]
    [reply] = [event.message for event in rest if isinstance(event, ReplyFinished)]
    assert reply.partial and kept.startswith(reply.text) and not [event for event in rest if isinstance(event, Failed)]


async def test_nothing_listens(world: World, quiet_log: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    world.connect(base_url=address)
    [failure] = [event for event in await world.turn("Is anybody there?") if isinstance(event, Failed)]
    assert failure.stage == "reply" and address in failure.reason


async def test_the_server_is_gone_after_the_reply_and_stays_away_for_long(world: World, quiet_log: None) -> None:
    """However often the user tries during an outage, the update that it left is done when the server is back."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        nowhere = f"http://127.0.0.1:{free.getsockname()[1]}/v1"

    def leave(prompt: Prompt) -> Reply:
        world.connect(base_url=nowhere)
        return say("Noted.")

    world.connect()
    world.endpoint.break_down(Case("gone", "generate", (leave,)))
    events = await world.turn("My locker is number 34. My gate is number 35.")
    assert [event.stage for event in events if isinstance(event, Failed)] == ["update"]
    [pending] = world.bank.pending_updates()
    for _ in range(4):
        events = await world.turn("Hello?")
        assert [event.stage for event in events if isinstance(event, Failed)] == ["reply"]
    assert world.bank.pending_updates() == [pending]
    world.endpoint.heal()
    world.connect()
    await world.turn("Thank you!")
    texts = [entry.text for entry in world.bank.entries()]
    assert texts.count("My locker is number 34.") == texts.count("My gate is number 35.") == 1
    assert world.bank.pending_updates() == []


async def test_an_update_that_fails_while_replies_come_is_set_aside(world: World, quiet_log: None) -> None:
    """It would hold up the memory of all later turns for ever."""
    case = Case("update alone", "manage update", (status(400, "too long"),), forever=True)
    world.connect()
    world.endpoint.break_down(case)
    failures = [await world.turn("My locker is number 41. My gate is number 42.")]
    failures += [await world.turn("Hello?") for _ in range(2)]
    reasons = [[event.reason for event in events if isinstance(event, Failed)] for events in failures]
    assert [len(found) for found in reasons] == [1, 1, 1]
    assert "set it aside" in reasons[-1][0]
    world.endpoint.heal()
    await world.turn("Thank you!")
    assert world.bank.pending_updates() == [] and len(world.bank.set_aside_updates()) == 1
    assert "number 41" not in " ".join(entry.text for entry in world.bank.entries())


async def test_a_reply_without_end_does_not_crowd_out_the_turns_after_it(world: World, quiet_log: None) -> None:
    """A small model may ramble up to its context's end; the next prompt has to fit into it all the same."""
    world.connect()
    world.endpoint.break_down(Case("rambles", "generate", (say("and so on " * 5000),)))
    [recorded, *_] = await world.turn("My locker is number 51. My gate is number 52.")
    asked = len(world.server.requests)
    owner, conversation_id = world.assistant.local_owner, recorded.message.conversation_id  # type: ignore[union-attr]
    events = [event async for event in world.assistant.turn(owner, "Thank you!", (), conversation_id)]
    assert not [event for event in events if isinstance(event, Failed)]
    assert max(len(request.text) for request in world.server.requests[asked:]) < 20_000
    assert "number 52" in " ".join(entry.text for entry in world.bank.entries())


def word(number: int, first: str) -> str:
    """A word of letters alone, another one for every number."""
    return first + "".join("abcdefghij"[int(digit)] for digit in f"{number:03}")
