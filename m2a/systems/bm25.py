"""The baseline of words: Okapi BM25 by rank-bm25, as it comes."""

import asyncio
import re
import time
from collections.abc import Sequence
from importlib.metadata import version

from m2a.systems.prompting import ask_about, message_line
from m2a.systems.shared import Memory, Parts
from m2a.systems.system import Answer, Meter, Question, Usage
from m2a.types import Message

TURNS = 5
_WORD = re.compile(r"\w+")


class KeywordIndex:
    """Okapi BM25 over documents, each given by its words."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        from rank_bm25 import BM25Okapi

        self._okapi = BM25Okapi(documents)

    def __len__(self) -> int:
        return int(self._okapi.corpus_size)

    def best(self, words: Sequence[str], k: int) -> list[int]:
        """The places of the k best documents. A document without any of the words is not found; one that holds some is, also
        where half of all documents do and its score is 0."""
        scores = self._okapi.get_scores(words)
        held = [place for place, counts in enumerate(self._okapi.doc_freqs) if any(word in counts for word in words)]
        return sorted(held, key=lambda place: (-scores[place], place))[:k]


class Bm25:
    """Every turn a document: speaker, words and date, in lower case, neither stemmed nor thinned out."""

    name = "bm25"
    store_only = True  # turns stay as they are, whoever answers

    def __init__(self, memory: Memory, parts: Parts) -> None:
        self.version = f"rank-bm25 {version('rank-bm25')}, k = {TURNS}"
        self.ingestion = Usage()
        self._memory = memory
        self._chat_model = parts.chat_model
        self._messages: list[Message] = []
        self._documents: list[list[str]] = []
        self._take(memory.messages())

    async def observe(self, session: Sequence[Message]) -> None:
        self._take(session)

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

    def _take(self, messages: Sequence[Message]) -> None:
        if not messages:
            return
        self._messages += messages
        self._documents += [_words(message_line(message)) for message in messages]
        self._index = KeywordIndex(self._documents)

    def _search(self, question: Question, k: int) -> list[Message]:
        if not self._messages:
            return []
        return [self._messages[place] for place in self._index.best(_words(question.text), k)]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
