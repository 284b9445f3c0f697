"""The baseline `bm25`: Okapi BM25 over the words of turns, by rank-bm25 with its defaults."""

import re
from collections.abc import Sequence
from importlib.metadata import version

from m2a.systems.prompting import message_line
from m2a.systems.shared import Memory, Parts
from m2a.systems.system import Question
from m2a.systems.turn_search import TURNS, TurnSearch
from m2a.types import Message

_WORD = re.compile(r"\w+")


class KeywordIndex:
    """Okapi BM25 over documents, each given as its words."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        from rank_bm25 import BM25Okapi

        self._okapi = BM25Okapi(documents)

    def __len__(self) -> int:
        return int(self._okapi.corpus_size)

    def best(self, words: Sequence[str], k: int) -> list[int]:
        """Returns the positions of the k best documents that contain any of the words, even if their score is 0, which words in
        half of all documents get."""
        scores = self._okapi.get_scores(words)
        matching = [
            position for position, counts in enumerate(self._okapi.doc_freqs) if any(word in counts for word in words)
        ]
        return sorted(matching, key=lambda position: (-scores[position], position))[:k]


class Bm25(TurnSearch):
    """Every turn is a document of speaker, words and date, in lower case, without stemming or stop words."""

    name = "bm25"

    def __init__(self, memory: Memory, parts: Parts) -> None:
        super().__init__(memory, parts)
        self.version = f"rank-bm25 {version('rank-bm25')}, k = {TURNS}"
        self._messages: list[Message] = []
        self._documents: list[list[str]] = []
        self._add(memory.messages())

    async def observe(self, session: Sequence[Message]) -> None:
        self._add(session)

    def search(self, question: Question, k: int) -> list[Message]:
        if not self._messages:
            return []
        return [self._messages[position] for position in self._index.best(_words(question.text), k)]

    def _add(self, messages: Sequence[Message]) -> None:
        if not messages:
            return
        self._messages += messages
        self._documents += [_words(message_line(message)) for message in messages]
        self._index = KeywordIndex(self._documents)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
