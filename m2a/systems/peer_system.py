"""Peers: the memory systems of other packages. Their memory runs in a child process; our chat model answers."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from m2a.systems.peers.child import PeerChat, PeerChild, PeerMemory, PeerMessage
from m2a.systems.peers.environment import PeerName
from m2a.systems.peers.model_gateway import GatewayCounts, ModelGateway
from m2a.systems.prompting import ask
from m2a.systems.shared import Memory, Parts, PeerPlace
from m2a.systems.system import Answer, Meter, Question, Usage
from m2a.types import Message
from m2a.types.errors import UserError

MEMORIES = 10
_AT_ONCE = 2  # messages in one call, which share its time limit: an exchange, since mem0 takes one in together


class PeerUnusableError(UserError):
    """The peer cannot run with these settings; the message says what is missing."""


class PeerSystem:
    """A peer. A question is answered from ten memories (M2A, appendix B); the peer sees photos by captions.

    `ModelGateway` counts the model calls whose failure the package swallowed, and they are reported as failures.
    """

    def __init__(self, child: PeerChild, gateway: ModelGateway | None, memory: Memory, parts: Parts) -> None:
        about = child.about
        self.name: str = about.name
        self.version = "; ".join([f"{about.package} {about.version}", *about.notes])
        self.store_only = about.mode == "store-only"
        self._child = child
        self._gateway = gateway
        self._memory = memory
        self._parts = parts
        self.ingestion = Usage()
        self._own_usage = Usage()  # of calls that did not go through the gateway

    async def observe(self, session: Sequence[Message]) -> None:
        try:
            messages = [
                PeerMessage(m.message_id, m.speaker, m.role, m.said_at, m.text, await self._captions_of(m))
                for m in session
            ]
            for start in range(0, len(messages), _AT_ONCE):
                before = self._counts.lost
                observed = await self._child.observe(messages[start : start + _AT_ONCE])
                lost = (
                    self._counts.lost - before
                )  # a message that failed because its call was lost is not counted twice
                self._own_usage += Usage(failures=max(0, len(observed.failed) - max(0, lost)))
        finally:  # also if the peer failed
            self.ingestion = self._own_usage + _usage(self._counts)

    async def retrieve(self, question: Question, k: int) -> list[int] | None:
        return _messages_of(await self._child.retrieve(question.text, k))[:k]

    async def answer(self, question: Question, meter: Meter) -> Answer:
        assert self._parts.chat_model is not None
        began = time.perf_counter()
        before = self._counts.lost
        found = await self._child.retrieve(question.text, MEMORIES)
        searched = time.perf_counter() - began
        answer = await ask(
            self._parts.chat_model,
            question,
            _lines(found),
            self._memory,
            meter,
            sources=_messages_of(found),
            began=began,
            search_seconds=searched,
        )
        lost = max(0, self._counts.lost - before)
        return replace(answer, usage=answer.usage + Usage(failures=lost))

    async def close(self) -> None:
        await self._child.close()
        if self._gateway is not None:
            await self._gateway.__aexit__(None, None, None)

    @property
    def _counts(self) -> GatewayCounts:
        """The calls that went through the gateway so far; none without a chat model."""
        return GatewayCounts() if self._gateway is None else self._gateway.counts

    async def _captions_of(self, message: Message) -> tuple[str, ...]:
        """Returns the captions of the message's photos; none without a chat model."""
        if self.store_only or not message.photos:
            return ()
        meter = Meter()
        try:
            captions = [await self._memory.caption(photo, self._parts, meter) for photo in message.photos]
        finally:
            self._own_usage += meter.usage
        return tuple(caption for caption in captions if caption)


async def open_peer(name: str, memory: Memory, parts: Parts) -> PeerSystem:
    """Opens a peer. Raises `PeerMissingError` if its environment is missing, `PeerUnusableError`, and `PeerError`."""
    place = parts.peers
    if place is None:
        raise PeerUnusableError(f"{name} needs the embedded text encoder.")
    gateway = None
    if parts.chat_model is not None:
        gateway = await ModelGateway(check_place(name, place), place.chat_key).__aenter__()
    try:
        child = await PeerChild.open(
            cast(PeerName, name),
            memory.shared.folder / "peers" / f"{name}-{memory.owner}",
            place.encoder_folder,
            chat=None if gateway is None else PeerChat(gateway.base_url, place.chat_model or "", gateway.key),
        )
    except BaseException:
        if gateway is not None:
            await gateway.__aexit__(None, None, None)
        raise
    return PeerSystem(child, gateway, memory, parts)


def check_place(name: str, place: PeerPlace) -> str:
    """Returns the address of the chat model. Raises `PeerUnusableError` if it has none."""
    if place.chat_base_url is None:
        raise PeerUnusableError(
            f"{name} needs a chat model behind an OpenAI-compatible address; serve one and set chat_base_url."
        )
    return place.chat_base_url


def _messages_of(found: Sequence[PeerMemory]) -> list[int]:
    """Returns the messages that the memories were made from, in order, each once."""
    return list(dict.fromkeys(message_id for memory in found for message_id in memory.message_ids))


def _lines(found: Sequence[PeerMemory]) -> list[str]:
    """Returns the memories, best first, each followed by those that the peer links to it; each once."""
    lines: dict[str, None] = {}
    for memory in found:
        lines[memory.memory] = None
        lines |= dict.fromkeys(linked.memory for linked in memory.linked)
    return list(lines)


def _usage(counts: GatewayCounts) -> Usage:
    return Usage(
        counts.prompt_tokens,
        counts.completion_tokens,
        calls=counts.requests,
        failures=max(0, counts.lost),
        estimated=counts.estimated > 0,
    )
