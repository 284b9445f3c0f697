"""A peer as a system of an evaluation: how it is told a dialogue, what it finds, and what is counted on its way."""

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from m2a.systems.peer_system import PeerSystem
from m2a.systems.peers import child as peers
from m2a.systems.peers.child import PeerChat, PeerChild, PeerError
from m2a.systems.peers.model_gateway import ModelGateway
from m2a.systems.shared import Utterance
from m2a.systems.system import Meter, Question, Usage
from m2a.types import Message
from tests.chat_server import ChatServer, Reply, Script, say, status
from tests.dialogues import model_of, paint, parts_of

MORNING = datetime(2023, 5, 7, 9, tzinfo=UTC)
STAND_IN = f"""
import os, sys, urllib.error, urllib.request
sys.path.insert(0, {str(Path(peers.__file__).parent)!r})
import json
from child_protocol import message_text, serve

class StandIn:
    def __init__(self, request):
        self.chat, self.key = request["chat_base_url"], request["chat_key"]
        self.calls = []

    def ask(self, words):
        asked = {{"model": "any", "messages": [{{"role": "user", "content": words}}]}}
        headers = {{"Authorization": "Bearer " + self.key, "Content-Type": "application/json"}}
        request = urllib.request.Request(self.chat + "/chat/completions", json.dumps(asked).encode(), headers)
        urllib.request.urlopen(request).read()

    def observe(self, messages):
        self.calls.append(messages)
        ids = [message["message_id"] for message in messages]
        texts = " ".join(message["text"] for message in messages)
        if "crash" in texts:
            os._exit(3)
        failed = [{{"message_ids": ids, "error": "too long"}}] if "too long" in texts else []
        if self.chat:
            try:
                self.ask(texts)
            except urllib.error.HTTPError as error:
                failed = [{{"message_ids": ids, "error": str(error)}}]
        return {{"stored": len(messages) - len(failed), "failed": failed}}

    def retrieve(self, question, k):
        if "swallow" in question:
            try:
                self.ask(question)
            except urllib.error.HTTPError:
                pass
        return {{"memories": [
            {{
                "memory": " / ".join(map(message_text, messages)),
                "message_ids": [message["message_id"] for message in messages],
                "linked": [{{"memory": "linked to it", "message_ids": []}}] if rank == 0 else [],
            }}
            for rank, messages in enumerate(self.calls[:k])
        ]}}

    def close(self):
        pass

def opened(request):
    mode = "chat model" if request["chat_base_url"] else "store-only"
    return StandIn(request), {{"package": "stand-in", "version": "1.2", "mode": mode, "notes": ["changed here"]}}

serve(opened)
"""


@dataclass(frozen=True)
class Place:
    """A peer with a memory of its own, and the messages that it receives."""

    system: PeerSystem
    child: PeerChild
    messages: list[Message]


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., object]:
    """Opens a peer that is to receive these texts; the last one shows a photo."""
    program = tmp_path / "stand_in.py"
    program.write_text(STAND_IN)

    @asynccontextmanager
    async def open_on(texts: tuple[str, ...], server: ChatServer | None = None) -> AsyncIterator[Place]:
        parts = parts_of(None if server is None else model_of(server))(tmp_path / "work")
        memory = parts.stores.fresh_memory("mem0/one")
        photo = (paint(tmp_path / "red.png", "red"),)
        messages = [
            Utterance(f"D1:{at}", "user", "Anna", text, MORNING + timedelta(minutes=at), photo * (at == len(texts)))
            for at, text in enumerate(texts, start=1)
        ]
        gateway = None if server is None else await ModelGateway(server.base_url, "sk-real").__aenter__()
        chat = None if gateway is None else PeerChat(gateway.base_url, "any", gateway.key)
        command = (sys.executable, str(program))
        child = await PeerChild.open("mem0", tmp_path / "child", tmp_path, chat=chat, command=command)
        system = PeerSystem(child, gateway, memory, parts)
        try:
            yield Place(system, child, memory.record(messages))
        finally:
            await system.close()
            parts.stores.close()

    return open_on


FIVE = ("one", "two", "three", "four", "five")


async def test_a_session_is_told_two_messages_at_a_time(opened: Callable) -> None:
    async with opened(FIVE) as place:
        await place.system.observe(place.messages)
        await place.system.observe(place.messages[:1])
        hits = await place.child.retrieve("all", 10)
        ids = [message.message_id for message in place.messages]
        assert [memory.message_ids for memory in hits] == [
            *((ids[0], ids[1]), (ids[2], ids[3]), (ids[4],), (ids[0],)),
        ]
        assert hits[2].memory == "Anna (7 May 2023): five"  # without a chat model nobody looks at the photo
        assert (place.system.name, place.system.version) == ("mem0", "stand-in 1.2; changed here")
        assert place.system.store_only and place.system.ingestion == Usage()


async def test_what_a_memory_was_written_from_is_found_in_its_order_and_once(opened: Callable) -> None:
    async with opened(FIVE) as place:
        await place.system.observe(place.messages)
        await place.system.observe(place.messages)
        ids = [message.message_id for message in place.messages]
        hits = await place.system.retrieve(Question("all", MORNING), 10)
        assert hits == ids
        assert await place.system.retrieve(Question("all", MORNING), 3) == hits[:3]


async def test_a_message_that_a_package_refuses_is_counted_and_what_was_told_before_is_known(opened: Callable) -> None:
    async with opened(("one, which is too long", "two", "three, at which it will crash", "four")) as place:
        with pytest.raises(PeerError, match="ended with code 3"):
            await place.system.observe(place.messages)
        assert place.system.ingestion == Usage(failures=1)


def failing_at(words: str) -> Script:
    def script(request: dict[str, object]) -> Reply:
        return status(500) if words in str(request["messages"]) else say("It is a canoe.")

    return script


async def test_a_reply_that_a_package_did_without_is_counted_once(opened: Callable) -> None:
    with ChatServer(failing_at("three four")) as server:
        async with opened(FIVE, server) as place:
            await place.system.observe(place.messages)
            assert not place.system.store_only
            assert place.system.ingestion == Usage(22, 14, calls=3, failures=1)
            hits = await place.child.retrieve("all", 10)
            assert hits[2].memory == "Anna (7 May 2023): five [photo: a red thing]"


async def test_the_memories_stand_before_the_model_and_what_is_swallowed_in_a_search_is_told(opened: Callable) -> None:
    with ChatServer(failing_at("'swallow this'")) as server:
        async with opened(FIVE, server) as place:
            await place.system.observe(place.messages)
            meter = Meter()
            answer = await place.system.answer(Question("What is it?", MORNING), meter)
            assert (answer.text, answer.usage) == ("It is a canoe.", Usage(11, 7, calls=1))
            assert answer.usage == meter.usage and answer.search_seconds <= answer.seconds
            assert answer.sources == tuple(message.message_id for message in place.messages)
            prompt = server.requests[-1].text
            places = [prompt.index(words) for words in ("one / Anna", "linked to it", "three / Anna", "What is it?")]
            assert places == sorted(places)
            lossy = await place.system.answer(Question("swallow this", MORNING), Meter())
            assert lossy.usage == Usage(11, 7, calls=1, failures=1)
