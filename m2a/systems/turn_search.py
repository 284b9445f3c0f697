"""The shared base of the baselines: turns are kept as they are, and the model sees the best five with their photos."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence

from m2a.systems.prompting import ask_about
from m2a.systems.shared import Memory, Parts
from m2a.systems.system import Answer, Meter, Question, Usage
from m2a.types import Message

TURNS = 5


class TurnSearch(ABC):
    """A system that ranks turns and has no other memory."""

    name: str
    version: str
    store_only = True  # also with a chat model

    def __init__(self, memory: Memory, parts: Parts) -> None:
        self.ingestion = Usage()
        self._memory = memory
        self._chat_model = parts.chat_model

    @abstractmethod
    async def observe(self, session: Sequence[Message]) -> None: ...

    @abstractmethod
    def search(self, question: Question, k: int) -> list[Message]:
        """Returns at most k turns, best first."""

    async def retrieve(self, question: Question, k: int) -> list[int] | None:
        return [message.message_id for message in await asyncio.to_thread(self.search, question, k)]

    async def answer(self, question: Question, meter: Meter) -> Answer:
        assert self._chat_model is not None
        began = time.perf_counter()
        messages = await asyncio.to_thread(self.search, question, TURNS)
        search_seconds = time.perf_counter() - began
        return await ask_about(
            self._chat_model, question, messages, self._memory, meter, began=began, search_seconds=search_seconds
        )

    async def close(self) -> None:
        return  # nothing is open
