"""The baseline of words: Okapi BM25 by rank-bm25, as it comes."""

import asyncio
import re
import time
from collections.abc import Sequence
from importlib.metadata import version

from m2a.systems.prompting import ask, message_line
from m2a.systems.shared import Memory, Parts
from m2a.systems.system import Answer, Meter, Question, RetrievedMessage, Usage
from m2a.types import Message

TURNS = 5
_WORD = re.compile(r"\w+")


class Bm25:
    """Every turn a document: speaker, words and date, in lower case, neither stemmed nor thinned out."""

    name = "bm25"
    store_only = True  # turns stay as they are, whoever answers

    def __init__(self, memory: Memory, parts: Parts) -> None:
        from rank_bm25 import BM25Okapi

        self.version = f"rank-bm25 {version('rank-bm25')}, k = {TURNS}"
        self.ingestion = Usage()
        self._memory = memory
        self._chat_model = parts.chat_model
        self._okapi = BM25Okapi
        self._messages: list[Message] = []
        self._documents: list[list[str]] = []
        self._take(memory.messages())

    async def observe(self, session: Sequence[Message]) -> None:
        self._take(session)

    async def retrieve(self, question: Question, k: int) -> list[RetrievedMessage] | None:
        return await asyncio.to_thread(self._search, question, k)

    async def answer(self, question: Question, meter: Meter) -> Answer:
        assert self._chat_model is not None
        began = time.perf_counter()
        found = await asyncio.to_thread(self._search, question, TURNS)
        searched = time.perf_counter() - began
        by_id = {message.message_id: message for message in self._messages}
        messages = [by_id[hit.message_id] for hit in found]
        return await ask(
            self._chat_model,
            question,
            [message_line(message) for message in messages],
            self._memory,
            meter,
            sources=[message.message_id for message in messages],
            began=began,
            search_seconds=searched,
            photos=[(f"A photo of: {message_line(m)}", photo) for m in messages for photo in m.photos],
        )

    async def close(self) -> None:
        """Nothing is open."""

    def _take(self, messages: Sequence[Message]) -> None:
        if not messages:
            return
        self._messages += messages
        self._documents += [_words(message_line(message)) for message in messages]
        self._index = self._okapi(self._documents)

    def _search(self, question: Question, k: int) -> list[RetrievedMessage]:
        """Turns that hold none of the words are not found."""
        if not self._messages:
            return []
        scores = self._index.get_scores(_words(question.text))
        order = sorted(range(len(scores)), key=lambda row: (-scores[row], row))[:k]
        return [RetrievedMessage(self._messages[row].message_id, float(scores[row])) for row in order if scores[row]]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
