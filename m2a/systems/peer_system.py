"""Peers: the memory systems of other packages. Their memory runs in a child process; our chat model answers."""

import time
from collections.abc import Sequence
from typing import cast

from m2a.systems.base_system import BaseSystem
from m2a.systems.peers.child import PeerChat, PeerChild, PeerMemory, PeerMessage
from m2a.systems.peers.environment import PeerName
from m2a.systems.peers.model_gateway import GatewayCounts, ModelGateway
from m2a.systems.prompting import ask
from m2a.systems.shared import Memory, Parts, PeerSettings
from m2a.systems.system import Answer, Meter, Question, Usage
from m2a.types import Message
from m2a.types.errors import UserError

MEMORIES = 10
_BATCH = 2  # messages in one call, which has a time limit; mem0 takes an exchange of two in together


class PeerUnusableError(UserError):
    """The peer cannot run with these settings; the message says what is missing."""


class PeerSystem(BaseSystem):
    """A peer. A question is answered from ten memories (M2A, appendix B), and photos are given as captions.

    `ModelGateway` counts the model calls whose failure the package swallowed; they are reported as failures.
    """

    def __init__(self, child: PeerChild, gateway: ModelGateway | None, memory: Memory, parts: Parts) -> None:
        super().__init__(memory, parts)
        about = child.about
        self.name: str = about.name
        self.version = "; ".join([f"{about.package} {about.version}", *about.notes])
        self.store_only = about.mode == "store-only"
        self._child = child
        self._gateway = gateway
        self._own_usage = Usage()  # of calls that did not go through the gateway

    async def observe(self, session: Sequence[Message]) -> None:
        try:
            messages = [
                PeerMessage(m.message_id, m.speaker, m.role, m.said_at, m.text, await self._captions_of(m))
                for m in session
            ]
            for start in range(0, len(messages), _BATCH):
                lost_before = self._counts.lost
                observed = await self._child.observe(messages[start : start + _BATCH])
                # A message that failed because its call was lost is not counted twice.
                lost = self._counts.lost - lost_before
                self._own_usage += Usage(failures=max(0, len(observed.failed) - max(0, lost)))
        finally:
            self.ingestion = self._own_usage + _usage(self._counts)

    async def retrieve(self, question: Question, k: int) -> list[int] | None:
        return _message_ids_of(await self._child.retrieve(question.text, k))[:k]

    async def _answer(self, question: Question, meter: Meter) -> Answer:
        before, began = self._counts.lost, time.perf_counter()
        memories = await self._child.retrieve(question.text, MEMORIES)
        search_seconds = time.perf_counter() - began
        answer = await ask(
            self._chat_model,
            question,
            _lines(memories),
            self._memory,
            meter,
            sources=_message_ids_of(memories),
            search_seconds=search_seconds,
        )
        meter.usage += Usage(failures=max(0, self._counts.lost - before))
        return answer

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
    """Opens a peer. Raises `PeerMissingError` if its environment is missing, and `PeerUnusableError` or `PeerError`."""
    settings = parts.peers
    if settings is None:
        raise PeerUnusableError(f"{name} needs the embedded text encoder.")
    gateway = None
    if parts.chat_model is not None:
        gateway = await ModelGateway(chat_address_of(name, settings), settings.chat_key).__aenter__()
    try:
        child = await PeerChild.open(
            cast(PeerName, name),
            memory.shared.folder / "peers" / f"{name}-{memory.owner}",
            settings.encoder_folder,
            chat=None if gateway is None else PeerChat(gateway.base_url, settings.chat_model or "", gateway.key),
        )
    except BaseException:
        if gateway is not None:
            await gateway.__aexit__(None, None, None)
        raise
    return PeerSystem(child, gateway, memory, parts)


def chat_address_of(name: str, settings: PeerSettings) -> str:
    """Returns the chat model's address for the peer. Raises `PeerUnusableError` if there is none."""
    if settings.chat_base_url is None:
        raise PeerUnusableError(
            f"{name} needs a chat model at an OpenAI-compatible address; start a server and set chat_base_url."
        )
    return settings.chat_base_url


def _message_ids_of(memories: Sequence[PeerMemory]) -> list[int]:
    """Returns the messages that the memories were made from, in order, each once."""
    return list(dict.fromkeys(message_id for memory in memories for message_id in memory.message_ids))


def _lines(memories: Sequence[PeerMemory]) -> list[str]:
    """Returns the texts of the memories, best first, each followed by those that the peer links to it. None appears twice."""
    lines: dict[str, None] = {}
    for memory in memories:
        lines[memory.memory] = None
        lines |= dict.fromkeys(linked.memory for linked in memory.linked)
    return list(lines)


def _usage(counts: GatewayCounts) -> Usage:
    return Usage(
        counts.prompt_tokens,
        counts.completion_tokens,
        calls=counts.requests,
        failures=counts.lost,
        estimated=counts.estimated > 0,
    )
