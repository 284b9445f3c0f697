"""Faults of a chat endpoint over whole turns. `pytest tests/test_chat_faults.py -s` prints what became of each.

Every turn tells two facts, which the scripted model keeps with two writes. Whatever goes wrong, the user's words are
kept, the user is told in a sentence, either both facts are in the memory or none, and once the server is well again
the update is done exactly once. Each case has an owner of its own, and shares its assistant, opened as a user opens one,
with the cases that need the same timeout and the same abilities of the server; the stages that exist only as published
have one that is asked for them. A model learns at its first turns what its server can do, so the cases of FIRST_TURNS have
an assistant each. Faults that end at the adapter of the endpoint are in test_provider_chat_model.
"""

import asyncio
import json
import logging
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import pytest
import pytest_asyncio

from m2a import Assistant
from m2a.agents.consent_prompt import TOOL
from m2a.agents.language_policy import LanguagePolicy
from m2a.memory.bank import MemoryBank
from m2a.memory.owners import owner_named
from m2a.settings import load_settings
from m2a.types import Failed, ReplyFinished, TextDelta, TurnEvent
from m2a.wiring import chat_model
from models.provider_chat_model import ProviderChatModel
from tests.chat_server import ChatServer, Reply, call, hang, mode_of, say, status
from tests.chat_server import Fault as ServerFault
from tests.drawings import draw_teapot
from tests.scripted_model import Call, Prompt, PromptStage, ScriptedModel

pytestmark = pytest.mark.asyncio(loop_scope="module")  # the assistants are the module's

KEY = "sk-secret-4711"
PUBLISHED_STAGES = ("query", "manage query", "update")
MAX_QUERIES = 5
NOT_SUPPORTED = status(400, "tools are not supported")
Fault = Reply | Callable[[Prompt], Reply]
Outcome = Literal["recovers", "no search", "no reply", "partial reply", "no update", "nothing kept"]


@dataclass(frozen=True)
class Case:
    """`faults` are the answers to the first requests of the stage; the last one stays if `forever`.

    `nothing kept` is for a model that does not want to keep anything in the end, which is no fault of the service. A
    request for tools in one of the `lacking` ways is answered by `refusal`. `text` is the reply, and `calls` the number
    of answered requests of the stage, where it matters.
    """

    name: str
    stage: PromptStage
    faults: tuple[Fault, ...]
    outcome: Outcome = "recovers"
    forever: bool = False
    lacking: tuple[str, ...] = ()
    refusal: Reply = NOT_SUPPORTED
    timeout: float = 20.0
    photo: bool = False
    waits: float = 0.0
    text: str | None = None
    calls: int | None = None


HANG = {"timeout": 0.25}
NO_TOOLS: Any = {"lacking": ("tools",)}
FACT = {"text": "I like nothing", "evidence_ids": [[1, 1]]}
SEARCH = ("search_semantic_memories", {"query": "locker"})
BROKEN_SEARCH = ("search_semantic_memories", '{"query": "lock')
LOOKS = (
    SEARCH,
    ("search_raw_messages", {"query": "locker"}),
    ("fetch_raw_messages", {"ranges": [[1, 2]]}),
    ("fetch_raw_messages_by_time", {"start": "2020-01-01", "end": "2030-01-01"}),
)


def in_words(*calls: Call) -> Reply:
    """Returns calls as a model without tools writes them: as JSON in its text."""
    return say("\n".join(json.dumps({"tool": name, "arguments": arguments}) for name, arguments in calls))


def of_new_message(name: str, **values: Any) -> Callable[[Prompt], Reply]:
    """A tool call whose evidence is the message of the turn."""
    return lambda prompt: call(name, {"evidence_ids": [[prompt.message_id, prompt.message_id]], **values})


def keeps(*numbers: int, more: bool = False, then: Sequence[tuple[str, Any]] = (), **rest: Any) -> Fault:
    """Returns one answer that writes the facts with those numbers, followed by the calls of `then`."""

    def fault(prompt: Prompt) -> Reply:
        writes = [("add_memory", fact(prompt, number) | ({"more": True} if more else {})) for number in numbers]
        return Reply(tool_calls=(*writes, *then), **rest)

    return fault


def keeps_in_words(*numbers: int) -> Callable[[Prompt], Reply]:
    return lambda prompt: in_words(*(("add_memory", fact(prompt, number)) for number in numbers))


def keeps_if_asked_in_words(prompt: Prompt) -> Reply:
    """The answer of a model whose server drops the tools and says nothing of it."""
    return keeps_in_words(0, 1)(prompt) if prompt.takes_one_call else say("I would keep it.")


def looks_while_offered(answer: Reply) -> Fault:
    """Searches as long as tools are offered, then replies."""
    return lambda prompt: answer if prompt.may_look else say("I cannot tell.")


PUBLISHED = [
    Case("429 with Retry-After of a day", "query", (status(429, retry_after="86400"),), waits=30),
    Case("503 without end", "manage query", (status(503),), "no reply", forever=True),
    Case("hangs in a tool call", "query", (call("answer", {}, fault="hang after the first piece"),), **HANG),
    Case("arguments cut off", "query", (call("query_memory", '{"query": "Bo', finish_reason="length"),)),
    Case("arguments too many", "query", (call("query_memory", {"query": "a", "owner": "someone else"}),)),
    Case("tool of another stage", "query", (call("add_memory", FACT),)),
    Case("never a whole tool call", "manage query", (call("finish", "{"),), forever=True),
    Case("finish names messages that are none", "manage query", (call("finish", {"message_ids": [9999]}),)),
    Case("no JSON modes, prose", "query", (say("Sure!"),), lacking=("tools", "json_schema", "json_object")),
    Case("update: not asked for", "update", (call("finish", {}),), "nothing kept"),
]
REPLIES = [
    Case("reply: 500 without end", "generate", (status(500),), "no reply", forever=True),
    Case("reply: 401", "generate", (status(401, f"{KEY} is wrong"),), "no reply", forever=True),
    Case("reply: prompt too long", "generate", (status(400, "maximum context length"),), "no reply", forever=True),
    Case("reply: hangs for ever", "generate", (hang(),), "no reply", forever=True, **HANG),
    Case("reply: hangs after a piece", "generate", (hang("hang after the first piece"),), "partial reply", **HANG),
    Case(
        "reply: cut after a piece", "generate", (say("Noted it.", fault="cut after the first piece"),), "partial reply"
    ),
    Case("reply: cut before the end", "generate", (say("Noted it.", fault="cut before the end"),), "partial reply"),
    Case("reply: empty without end", "generate", (say(""),), "no reply", forever=True),
    Case("reply: says tool_calls", "generate", (say("No.", finish_reason="tool_calls"),), text="No.", calls=1),
    Case("reply: marks alone", "generate", (say("[memory 999]"),), "no reply", forever=True),
    Case("reply: begins like JSON", "generate", (say('{"a": 1} is JSON.'),), text='{"a": 1} is JSON.', calls=1),
    Case("reply: is code", "generate", (say("```\nls -l\n```"),), text="```\nls -l\n```", calls=1),
]
SEARCHES = [
    Case("search: all at once", "generate", (Reply(tool_calls=LOOKS),), text="Noted.", calls=2),
    Case("search: one after the other", "generate", tuple(call(*look) for look in LOOKS), text="Noted.", calls=5),
    Case("search: nothing to look for", "generate", (call("search_semantic_memories", {"query": ""}),), calls=2),
    Case("search: of all messages", "generate", (call("fetch_raw_messages", {"ranges": [[1, 10**9]]}),), calls=2),
    Case("search: broken call", "generate", (call(*BROKEN_SEARCH),), text="Noted.", calls=2),
    Case("search: wrong types", "generate", (call("fetch_raw_messages", {"ranges": "all"}),), calls=2),
    Case("search: write", "generate", (of_new_message("add_memory", text="I like nothing"),), text="Noted.", calls=2),
    Case("search: hangs in the call", "generate", (call(*SEARCH, fault="hang after the first piece"),), **HANG),
    Case("search: 503 behind it", "generate", (call(*SEARCH), status(503)), text="Noted.", calls=3),
    Case("search: gone behind it", "generate", (call(*SEARCH), status(503)), "no reply", forever=True),
    Case(
        "search: words and a space before it",
        "generate",
        (Reply(text="Let me look. ", tool_calls=(SEARCH,)),),
        text="Let me look.\n\nNoted.",
        calls=2,
    ),
    Case(
        "search: words before a broken call",
        "generate",
        (Reply(text="Let me look.", tool_calls=(BROKEN_SEARCH,)),),
        text="Let me look.\n\nNoted.",
        calls=2,
    ),
    Case(
        "search: words before a call that is cut",
        "generate",
        (Reply(text="Let me look.", tool_calls=(SEARCH,), fault="cut before the end"),),
        "partial reply",
        text="Let me look.",
    ),
    Case(
        "search: words before it, gone behind it",
        "generate",
        (Reply(text="Let me look.", tool_calls=(SEARCH,)), status(503)),
        "partial reply",
        forever=True,
        text="Let me look.",
    ),
    Case(
        "search: without end",
        "generate",
        (looks_while_offered(call(*SEARCH)),),
        forever=True,
        text="I cannot tell.",
        calls=MAX_QUERIES + 1,
    ),
    Case(
        "search: broken without end",
        "generate",
        (looks_while_offered(call(*BROKEN_SEARCH)),),
        forever=True,
        text="I cannot tell.",
        calls=MAX_QUERIES + 1,
    ),
    Case("search: where none is offered", "generate", (call(*SEARCH),), "no reply", forever=True, calls=6),
    Case("no tools: plain text", "generate", (), **NO_TOOLS, text="Noted.", calls=1),
    Case("no tools: wrong types", "generate", (in_words(("fetch_raw_messages", {"ranges": 3})),), **NO_TOOLS, calls=2),
]
UPDATES = [
    Case("update: 503 without end", "manage update", (status(503),), "no update", forever=True),
    Case("update: both writes in one answer", "manage update", (keeps(0, 1),), calls=1),
    Case("update: cut in the second of two writes", "manage update", (keeps(0, 1, fault="cut before the end"),)),
    Case("update: one write and more to come", "manage update", (keeps(0, more=True), keeps(1)), calls=2),
    Case(
        "update: 502 between two writes",
        "manage update",
        (keeps(0, more=True), status(502)),
        "no update",
        forever=True,
    ),
    Case(
        "update: cut between two writes",
        "manage update",
        (keeps(0, more=True), keeps(1, fault="cut before the end")),
        calls=3,
    ),
    Case(
        "update: hangs between two writes",
        "manage update",
        (keeps(0, more=True), hang()),
        "no update",
        forever=True,
        **HANG,
    ),
    Case("update: more to come twice", "manage update", (keeps(0, more=True), keeps(1, more=True)), calls=3),
    Case("update: 503 before the finish", "manage update", (keeps(0, 1, more=True), status(503)), "no update", True),
    Case("update: searches first", "manage update", (call(*SEARCH),), calls=2),
    Case("update: searches beside a write", "manage update", (keeps(0, then=(SEARCH,)), keeps(1)), calls=2),
    Case("update: searches without end", "manage update", (call(*SEARCH),), "nothing kept", forever=True),
    Case("update: second write cut off", "manage update", (keeps(0, then=(("add_memory", '{"text": "My'),)),)),
    Case("update: never a whole write", "manage update", (call("add_memory", "{"),), "no update", forever=True),
    Case("update: unknown tool beside a write", "manage update", (keeps(0, then=(("drop_table", {}),)),)),
    Case("update: forged memory id", "manage update", (of_new_message("delete_memory", memory_id=999, reason="x"),)),
    Case("update: forged evidence", "manage update", (call("add_memory", FACT | {"evidence_ids": [[9999, 9999]]}),)),
    Case("update: forged beside a write", "manage update", (keeps(0, then=(("forget_words", {"words": "x"}),)),)),
    Case("update: no evidence", "manage update", (call("add_memory", FACT | {"evidence_ids": []}),)),
    Case("update: forged photo", "manage update", (of_new_message("add_memory", text="My locker", photos=[7]),)),
    Case("update: the same write twice", "manage update", (keeps(0, 0),), calls=2),
    Case("update: the same write again", "manage update", (keeps(0, more=True), keeps(0)), calls=3),
    Case("update: not wanted", "manage update", (call("finish", {}),), "nothing kept", calls=1),
    Case("update: no tools, one write after the other", "manage update", (), **NO_TOOLS, calls=2),
    Case("consent: cut", "consent", (call(TOOL, {}, fault="cut before the end"),)),
    Case("consent: gone", "consent", (status(503),), "no update", forever=True),
    Case("consent: no verdicts", "consent", (call(TOOL, {"verdicts": []}),)),
    Case("consent: never usable", "consent", (call(TOOL, "{"),), "nothing kept", forever=True),
    Case("caption: cut", "caption", (say("A blue pot", fault="cut after the first piece"),), photo=True),
]
ODDITIES = [
    Case(
        "no tools: search without end",
        "generate",
        (looks_while_offered(in_words(SEARCH)),),
        forever=True,
        lacking=("tools", "tool messages"),
        text="I cannot tell.",
        calls=MAX_QUERIES + 1,
    ),
    Case("update: no tools, both writes in one answer", "manage update", (keeps_in_words(0, 1),), **NO_TOOLS),
]

LESS_ABLE_SERVERS: dict[str, Any] = {
    "no tools": NO_TOOLS,
    "no tools, 500 for them": {"lacking": ("tools",), "refusal": status(500, "no function calling")},
    "no tools, 500 without a word": {"lacking": ("tools",), "refusal": status(500, "")},
    "no tool messages": {"lacking": ("tools", "tool messages")},
    "JSON objects alone": {"lacking": ("tools", "json_schema")},
    "no JSON modes": {"lacking": ("tools", "json_schema", "json_object")},
}
BROKEN_JSON = say('{"tool": "add_memory", "argu')
FIRST_TURNS = [
    *(
        case
        for name, server in LESS_ABLE_SERVERS.items()
        for case in (
            Case(f"{name}: search", "generate", (in_words(SEARCH),), **server, text="Noted.", calls=2),
            Case(f"{name}: broken write", "manage update", (BROKEN_JSON,), **server, calls=3),
        )
    ),
    Case("reply: 429 with Retry-After", "generate", (status(429, retry_after="7"),), waits=7),
    Case("reply: hangs before headers", "generate", (hang(),), **HANG),
    Case("reply: search in words", "generate", (in_words(SEARCH),), text="Noted.", calls=2),
    Case("update: cut before headers", "manage update", (say("", fault="cut before headers"),), calls=2),
    Case("update: hangs before headers", "manage update", (hang(),), **HANG),
    Case("update: words for tools", "manage update", (keeps_if_asked_in_words,), forever=True, calls=3),
    Case("never a tool call", "query", (say("Hm."),), "no search", forever=True),
    Case("update: asked for: 503 without end", "update", (status(503),), "no update", forever=True),
]
CASES = [*PUBLISHED, *REPLIES, *SEARCHES, *UPDATES, *ODDITIES]


def fact(prompt: Prompt, number: int) -> dict[str, Any]:
    """The arguments that keep one sentence of what was said."""
    text = prompt.said.split(". ")[number].rstrip(".") + "."
    return {"text": text, "evidence_ids": [[prompt.message_id, prompt.message_id]], "photos": prompt.photos}


def choose(prompt: Prompt) -> Call | list[Call]:
    """Keeps both sentences of what was said, in one answer where that can hold both."""
    if "My locker" not in prompt.said and prompt.stage in ("update", "manage update"):
        return "finish", {}
    if prompt.stage in PUBLISHED_STAGES or prompt.request == "Remember it.":
        return choose_as_published(prompt)
    left = range(prompt.outside.count("Accepted; it is written when the update ends."), 2)
    if not left:
        return "finish", {}
    if prompt.takes_one_call:
        return "add_memory", fact(prompt, left[0]) | {"more": len(left) > 1}
    return [("add_memory", fact(prompt, number)) for number in left]


def choose_as_published(prompt: Prompt) -> Call:
    """Looks once in each stage, and keeps one sentence after the other."""
    if prompt.stage == "query":
        return ("answer", {}) if "<data-" in prompt.text.partition("Step 1, you")[2] else ("query_memory", SEARCH[1])
    if prompt.stage == "update":
        return "update_memory", {"request": "Remember it."}
    if prompt.stage == "manage query":
        return ("finish", {}) if "Result:" in prompt.text else SEARCH
    if "Result:" not in prompt.text:
        return SEARCH
    staged = prompt.outside.count("Accepted; it is written when the update ends.")
    return ("add_memory", fact(prompt, staged)) if staged < 2 else ("finish", {})


class Endpoint:
    """A server that misbehaves as a case says until it is healed; what it cannot do it never can."""

    def __init__(self) -> None:
        self.model = ScriptedModel(choose, lambda prompt: "Noted.", caption="a blue pot")
        self.case: Case | None = None
        self.left: list[Fault] = []
        self.answered: list[PromptStage] = []

    def heal(self) -> None:
        self.left = []

    def break_down(self, case: Case) -> None:
        self.case, self.left = case, list(case.faults)
        self.answered.clear()

    def __call__(self, request: Mapping[str, Any]) -> Reply:
        case, prompt = self.case, Prompt.of(request)
        if case is None:
            return self.model(dict(request))
        if mode_of(request) in case.lacking:
            return case.refusal
        if "tool messages" in case.lacking and any(message["role"] == "tool" for message in request["messages"]):
            return status(400, "the chat template knows no role 'tool'")
        self.answered.append(prompt.stage)
        if not self.left or prompt.stage != case.stage:
            return self.model(dict(request))
        fault = self.left[0] if case.forever and len(self.left) == 1 else self.left.pop(0)
        return fault if isinstance(fault, Reply) else fault(prompt)


@dataclass(frozen=True)
class World:
    """One assistant and its endpoint."""

    assistant: Assistant
    endpoint: Endpoint
    server: ChatServer

    def for_new_owner(self) -> "World":
        """Returns this world with a server that is well and a user who has no memories yet."""
        self.endpoint.heal()
        self.server.requests.clear()
        self.assistant.local_owner = owner_named(self.assistant.stores.database, uuid4().hex)
        return self

    @property
    def bank(self) -> MemoryBank:
        return self.assistant.memory(self.assistant.local_owner)

    async def turn(self, text: str, *photos: Path) -> list[TurnEvent]:
        return [event async for event in self.assistant.turn(self.assistant.local_owner, text, photos)]


class Place:
    """A data folder and the server that its assistants ask."""

    def __init__(self, folder: Path, endpoint: Endpoint, server: ChatServer) -> None:
        self.folder, self.endpoint, self.server = folder, endpoint, server

    @asynccontextmanager
    async def opened(
        self, *, timeout: float = 20.0, base_url: str | None = None, published_stages: bool = False
    ) -> AsyncIterator[World]:
        settings = load_settings(
            data_dir=self.folder,
            chat_model="openai:scripted",
            chat_base_url=base_url or self.server.base_url,
            chat_api_key=KEY,
            chat_timeout=timeout,
            max_queries=MAX_QUERIES,
        )
        policy = LanguagePolicy(chat_model(settings), published_stages=True) if published_stages else None
        async with Assistant.open(settings, policy=policy) as assistant:
            yield World(assistant, self.endpoint, self.server)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    endpoint = Endpoint()
    with ChatServer(endpoint) as server:
        yield Place(tmp_path / "data", endpoint, server)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world_of(
    waited: list[float], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Callable[[Case], Awaitable[World]]]:
    """Returns the world for a case: what a model has learned of its server stays, so each kind of server has one."""
    worlds: dict[tuple[object, ...], World] = {}
    async with AsyncExitStack() as stack:

        async def world_of(case: Case) -> World:
            published_stages = case.stage in PUBLISHED_STAGES
            kind = (case.timeout, case.lacking, published_stages)
            if kind not in worlds:
                endpoint = Endpoint()
                server = stack.enter_context(ChatServer(endpoint))
                place = Place(tmp_path_factory.mktemp("data"), endpoint, server)
                opening = place.opened(timeout=case.timeout, published_stages=published_stages)
                worlds[kind] = await stack.enter_async_context(opening)
            return worlds[kind].for_new_owner()

        yield world_of


@pytest_asyncio.fixture(loop_scope="module")
async def world(world_of: Callable[[Case], Awaitable[World]]) -> World:
    return await world_of(Case("", "generate", ()))


@pytest.fixture(scope="module")
def rows() -> Iterator[list[str]]:
    """Collects one line on the outcome of each case and prints them at the end."""
    lines: list[str] = []
    yield lines
    print("\n" + "\n".join(lines))


@pytest.fixture(scope="module", autouse=True)
def waited() -> Iterator[list[float]]:
    """Records how long the models would have waited between attempts."""
    waited: list[float] = []

    async def note(seconds: float) -> None:
        waited.append(seconds)

    unhurried = partial(ProviderChatModel, backoff=0, sleep=note)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("models.provider_chat_model.ProviderChatModel", unhurried)
        yield waited


@pytest.fixture
def waits(waited: list[float]) -> list[float]:
    """What `waited` records during one test."""
    waited.clear()
    return waited


@pytest.fixture(autouse=True)
def quiet_log(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fails if anything was logged as an error: a fault of the server is not one of M2A's."""
    with caplog.at_level(logging.WARNING):
        yield
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR], caplog.text


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_fault_loses_nothing_and_writes_nothing_half(
    world_of: Callable[[Case], Awaitable[World]], case: Case, waits: list[float], rows: list[str], tmp_path: Path
) -> None:
    await assert_nothing_is_lost_or_half(await world_of(case), case, waits, rows, tmp_path)


@pytest.mark.parametrize("case", FIRST_TURNS, ids=lambda case: case.name)
async def test_a_fault_of_a_first_turn_loses_nothing_and_writes_nothing_half(
    place: Place, case: Case, waits: list[float], rows: list[str], tmp_path: Path
) -> None:
    async with place.opened(timeout=case.timeout, published_stages=case.stage in PUBLISHED_STAGES) as world:
        await assert_nothing_is_lost_or_half(world, case, waits, rows, tmp_path)


async def assert_nothing_is_lost_or_half(
    world: World, case: Case, waits: list[float], rows: list[str], tmp_path: Path
) -> None:
    """Plays the turn of the case and one more with a server that is well."""
    text = "My locker word is tulip. My gate word is heron."
    facts = ["My locker word is tulip.", "My gate word is heron."]
    photos = [draw_teapot(tmp_path / "teapot.png", 1)] if case.photo else []
    world.endpoint.break_down(case)
    events = await world.turn(text, *photos)
    world.endpoint.heal()

    failures = [event for event in events if isinstance(event, Failed)]
    replied = any(isinstance(event, ReplyFinished) for event in events)
    rows.append(f"{case.name:<45}{case.stage:<15}{case.outcome:<15}{failures[0].reason if failures else ''}")
    failing = {"no search": "query", "no reply": "reply", "partial reply": "reply", "no update": "update"}
    assert [failure.stage for failure in failures] == [
        stage for outcome, stage in failing.items() if outcome == case.outcome
    ]
    for failure in failures:
        assert re.fullmatch(r"[A-Z].{20,}[.)?]", failure.reason), failure.reason
        assert KEY not in failure.reason and "Something went wrong" not in failure.reason
    assert replied == (case.outcome != "no reply")
    kept = [entry.text for entry in world.bank.entries()]
    assert kept == ([] if case.outcome in ("no reply", "no update", "nothing kept") else facts)
    assert max(waits, default=0) == case.waits
    assert case.calls in (None, world.endpoint.answered.count(case.stage))
    recorded = events[0].message  # type: ignore[union-attr]
    assert (recorded.text, len(recorded.photos)) == (text, len(photos))
    assert recorded in world.assistant.messages(world.assistant.local_owner, recorded.conversation_id)
    if replied:
        reply = next(event.message for event in events if isinstance(event, ReplyFinished))
        assert reply.partial == (case.outcome == "partial reply")
        assert reply.text == "".join(event.text for event in events if isinstance(event, TextDelta)).strip()
        assert case.text in (None, reply.text)

    # The server is well again: what was left to do is done once. Where no reply came, the user sends it again.
    request_count = len(world.server.requests)
    events = await world.turn(text if case.outcome == "no reply" else "Thank you!", *photos)
    assert not [event for event in events if isinstance(event, Failed)]
    assert len(world.server.requests) > request_count
    if case.outcome != "nothing kept":
        entries = world.bank.entries()
        assert [entry.text for entry in entries] == facts
        assert [len(world.bank.history(entry.memory_id)) for entry in entries] == [1, 1]
        assert all(len(entry.photo_ids) == len(photos) for entry in entries)
    assert world.bank.replies.pending_updates() == []


@pytest.mark.parametrize(
    ("stage", "before", "fault", "kept"),
    [
        ("query", (), "hang before headers", "(stopped)"),
        ("manage query", (), "hang before the first piece", "(stopped)"),
        ("generate", (), "hang before headers", "(stopped)"),
        ("generate", (), "hang after the first piece", "never finished"),
        ("generate", (call(*SEARCH),), "hang before headers", "(stopped)"),
        ("generate", (Reply(text="Let me look.", tool_calls=(SEARCH,)),), "hang before headers", "Let me look."),
    ],
)
async def test_stop_ends_a_call_that_hangs(
    world_of: Callable[[Case], Awaitable[World]],
    stage: PromptStage,
    before: tuple[Reply, ...],
    fault: ServerFault,
    kept: str,
) -> None:
    request_arrived, loop = asyncio.Event(), asyncio.get_running_loop()

    def hold(prompt: Prompt) -> Reply:
        loop.call_soon_threadsafe(request_arrived.set)
        return hang(fault)

    case = Case("stopped", stage, (*before, hold), timeout=60)
    world = await world_of(case)
    world.endpoint.break_down(case)
    events = world.assistant.turn(world.assistant.local_owner, "Where is my locker?")
    recorded = (await anext(events)).message  # type: ignore[union-attr]
    async with asyncio.timeout(20):
        await request_arrived.wait()
        while fault == "hang after the first piece" and not isinstance(await anext(events), TextDelta):
            pass
        world.assistant.turns.stop(world.assistant.local_owner, recorded.conversation_id)
        rest = [event async for event in events]
    [reply] = [event.message for event in rest if isinstance(event, ReplyFinished)]
    assert reply.partial and kept.startswith(reply.text)
    assert not [event for event in rest if isinstance(event, Failed)]


async def test_the_server_is_gone_after_the_reply_and_stays_away_for_long(place: Place) -> None:
    """However often the user tries during an outage, the update that it left is done when the server is back."""
    text = "My locker is number 34. My gate is number 35."
    async with place.opened() as world:
        world.endpoint.break_down(Case("gone", "manage update", (status(503),), forever=True))
        assert [event.stage for event in await world.turn(text) if isinstance(event, Failed)] == ["update"]
        [pending] = world.bank.replies.pending_updates()
        world.endpoint.heal()
    async with place.opened(base_url=nowhere()) as world:
        for _ in range(4):
            events = await world.turn("Hello?")
            assert [event.stage for event in events if isinstance(event, Failed)] == ["reply"]
        assert world.bank.replies.pending_updates() == [pending]
    async with place.opened() as world:
        assert not [event for event in await world.turn("Thank you!") if isinstance(event, Failed)]
        texts = [entry.text for entry in world.bank.entries()]
        assert texts == ["My locker is number 34.", "My gate is number 35."]
        assert world.bank.replies.pending_updates() == []


async def test_a_reply_without_end_does_not_crowd_out_the_turns_after_it(world: World) -> None:
    """A small model may ramble up to its context's end; the next prompt has to fit into it all the same."""
    world.endpoint.break_down(Case("rambles", "generate", (say("and so on " * 5000),)))
    [recorded, *_] = await world.turn("My locker is number 51. My gate is number 52.")
    request_count = len(world.server.requests)
    owner, conversation_id = world.assistant.local_owner, recorded.message.conversation_id  # type: ignore[union-attr]
    events = [event async for event in world.assistant.turn(owner, "Thank you!", (), conversation_id)]
    assert not [event for event in events if isinstance(event, Failed)]
    assert max(len(request.text) for request in world.server.requests[request_count:]) < 20_000
    assert "number 52" in " ".join(entry.text for entry in world.bank.entries())


async def test_after_the_last_search_no_tool_is_offered_and_the_model_is_told_to_reply(world: World) -> None:
    world.endpoint.break_down(Case("", "generate", (looks_while_offered(call(*SEARCH)),), forever=True))
    await world.turn("Where is my locker?")
    replies = [r for r in world.server.requests if Prompt.of(r.json).stage == "generate"]
    assert [bool(request.json.get("tools")) for request in replies] == [*[True] * MAX_QUERIES, False]
    assert [Prompt.of(request.json).steps for request in replies] == list(range(MAX_QUERIES + 1))
    assert ["Reply now" in request.text for request in replies] == [*[False] * MAX_QUERIES, True]


def nowhere() -> str:
    """An address at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"
