"""The baseline `hybrid`: turns by vectors and by words, fused by reciprocal rank."""

import asyncio
from collections.abc import Sequence

from m2a.memory.fusion import reciprocal_rank_fusion
from m2a.systems.bm25 import Bm25
from m2a.systems.rag import Rag
from m2a.systems.shared import Memory, Parts
from m2a.systems.system import Question
from m2a.systems.turn_search import TURNS, TurnSearch
from m2a.types import Message

DEPTH = 50  # of each ranking


class Hybrid(TurnSearch):
    """Fuses the rankings of `rag` and `bm25`."""

    name = "hybrid"

    def __init__(self, memory: Memory, parts: Parts) -> None:
        super().__init__(memory, parts)
        self.version = f"dense and rank-bm25, depth {DEPTH}, k = {TURNS}"
        self._rankings = (Rag(memory, parts), Bm25(memory, parts))

    async def observe(self, session: Sequence[Message]) -> None:
        await asyncio.gather(*(ranking.observe(session) for ranking in self._rankings))

    def search(self, question: Question, k: int) -> list[Message]:
        rankings = [ranking.search(question, max(k, DEPTH)) for ranking in self._rankings]
        messages = {message.message_id: message for ranking in rankings for message in ranking}
        fused = reciprocal_rank_fusion([message.message_id for message in ranking] for ranking in rankings)
        return [messages[message_id] for message_id, _ in fused[:k]]
