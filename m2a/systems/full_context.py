"""The baseline `full-context`, which has no memory: the model sees the whole dialogue, up to its window."""

import time
from collections.abc import Sequence

from m2a.systems.metered import tokens_of
from m2a.systems.prompting import ask, message_line, photos_of
from m2a.systems.shared import Memory, Parts
from m2a.systems.system import Answer, Meter, Question, Usage
from m2a.types import Message


class FullContext:
    """Shows the newest turns of a dialogue that does not fit. The trace says how many were left out."""

    name = "full-context"
    store_only = True  # turns are kept as they are, also with a chat model

    def __init__(self, memory: Memory, parts: Parts) -> None:
        self.version = f"the newest {parts.window:,} tokens"
        self.ingestion = Usage()
        self._memory = memory
        self._chat_model = parts.chat_model
        self._window = parts.window
        self._messages: list[Message] = memory.messages()

    async def observe(self, session: Sequence[Message]) -> None:
        self._messages += session

    async def retrieve(self, question: Question, k: int) -> list[int] | None:
        return None

    async def answer(self, question: Question, meter: Meter) -> Answer:
        assert self._chat_model is not None
        began = time.perf_counter()
        lines = [message_line(message) for message in self._messages]
        first, tokens = len(lines), 0
        while first and (tokens := tokens + tokens_of(lines[first - 1])) <= self._window:
            first -= 1
        messages = self._messages[first:]
        return await ask(
            self._chat_model,
            question,
            lines[first:],
            self._memory,
            meter,
            sources=[message.message_id for message in messages],
            began=began,
            search_seconds=0.0,
            photos=photos_of(reversed(messages)),
            trace=[{"turns": len(messages), "left out": first}],
        )

    async def close(self) -> None:
        """Does nothing, since nothing is open."""
