"""The baseline `rag`: a single search over the vectors of turns."""

import asyncio
from collections.abc import Sequence

from m2a.systems.shared import Memory, Parts
from m2a.systems.system import Question
from m2a.systems.turn_search import TURNS, TurnSearch
from m2a.types import Message, Query


class Rag(TurnSearch):
    """Dense retrieval over turns (M2A, appendix B.3)."""

    name = "rag"

    def __init__(self, memory: Memory, parts: Parts) -> None:
        super().__init__(memory, parts)
        self.version = f"dense, k = {TURNS}"

    async def observe(self, session: Sequence[Message]) -> None:
        await asyncio.to_thread(self._memory.index)

    def search(self, question: Question, k: int) -> list[Message]:
        hits = self._memory.shared.dense(self._memory.owner, Query(question.text), frozenset({"message"}), k)
        return [hit.record for hit in hits if isinstance(hit.record, Message)]
