"""The shared base of the baselines: turns are kept as they are, and the model sees the best five with their photos."""

import asyncio
import time
from abc import abstractmethod
from collections.abc import Sequence

from m2a.systems.base_system import BaseSystem
from m2a.systems.prompting import ask, message_line, photos_of
from m2a.systems.system import Answer, Meter, Question
from m2a.types import Message

TURNS = 5


class TurnSearch(BaseSystem):
    """A system that ranks turns and has no other memory."""

    name: str
    version: str
    store_only = True  # also with a chat model

    @abstractmethod
    async def observe(self, session: Sequence[Message]) -> None: ...

    @abstractmethod
    def search(self, question: Question, k: int) -> list[Message]:
        """Returns at most k turns, best first."""

    async def retrieve(self, question: Question, k: int) -> list[int] | None:
        return [message.message_id for message in await asyncio.to_thread(self.search, question, k)]

    async def _answer(self, question: Question, meter: Meter) -> Answer:
        began = time.perf_counter()
        messages = await asyncio.to_thread(self.search, question, TURNS)
        search_seconds = time.perf_counter() - began
        return await ask(
            self._chat_model,
            question,
            list(map(message_line, messages)),
            self._memory,
            meter,
            sources=[message.message_id for message in messages],
            search_seconds=search_seconds,
            photos=photos_of(messages),
        )
