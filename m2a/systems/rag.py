"""The baseline of a single pass: every turn a vector, the five nearest before the model, their photos passed on."""

import asyncio
import time
from collections.abc import Sequence

from m2a.systems.prompting import ask_about
from m2a.systems.shared import Memory, Parts
from m2a.systems.system import Answer, Meter, Question, Usage
from m2a.types import Message, Query

TURNS = 5


class Rag:
    """Dense retrieval over turns (M2A, appendix B.3). `retrieve` goes as deep as is asked for."""

    name = "rag"
    store_only = True  # turns stay as they are, whoever answers

    def __init__(self, memory: Memory, parts: Parts) -> None:
        self.version = f"dense, k = {TURNS}"
        self.ingestion = Usage()
        self._memory = memory
        self._chat_model = parts.chat_model

    async def observe(self, session: Sequence[Message]) -> None:
        await asyncio.to_thread(self._memory.index)

    async def retrieve(self, question: Question, k: int) -> list[int] | None:
        return [message.message_id for message in await asyncio.to_thread(self._search, question, k)]

    async def answer(self, question: Question, meter: Meter) -> Answer:
        assert self._chat_model is not None
        began = time.perf_counter()
        found = await asyncio.to_thread(self._search, question, TURNS)
        searched = time.perf_counter() - began
        return await ask_about(
            self._chat_model, question, found, self._memory, meter, began=began, search_seconds=searched
        )

    async def close(self) -> None:
        """Nothing is open."""

    def _search(self, question: Question, k: int) -> list[Message]:
        hits = self._memory.shared.dense(self._memory.owner, Query(question.text), frozenset({"message"}), k)
        return [hit.record for hit in hits if isinstance(hit.record, Message)]
