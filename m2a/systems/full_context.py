"""The baseline `full-context`, which has no memory: the model sees the whole dialogue, up to its window."""

from collections.abc import Sequence

from m2a.systems.base_system import BaseSystem
from m2a.systems.metered import tokens_of
from m2a.systems.prompting import ask, message_line, photos_of
from m2a.systems.shared import Memory, Parts
from m2a.systems.system import Answer, Meter, Question
from m2a.types import Message


class FullContext(BaseSystem):
    """Shows the newest turns of a dialogue that does not fit. The trace says how many were left out."""

    name = "full-context"
    store_only = True  # turns are kept as they are, also with a chat model

    def __init__(self, memory: Memory, parts: Parts) -> None:
        super().__init__(memory, parts)
        self.version = f"the newest {parts.window:,} tokens"
        self._window = parts.window
        self._messages: list[Message] = memory.messages()

    async def observe(self, session: Sequence[Message]) -> None:
        self._messages += session

    async def retrieve(self, question: Question, k: int) -> list[int] | None:
        return None

    async def _answer(self, question: Question, meter: Meter) -> Answer:
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
            search_seconds=0.0,
            photos=photos_of(reversed(messages)),
            trace=[{"turns": len(messages), "left out": first}],
        )
