"""The shared base of all systems: the time and the usage of an answer, and the chat model that gives it."""

import time
from abc import ABC, abstractmethod
from dataclasses import replace

from m2a.systems.shared import Memory, Parts
from m2a.systems.system import Answer, Meter, Question, Usage
from models.chat_model import ChatModel


class BaseSystem(ABC):
    """A system on the memory of one dialogue. A subclass answers in `_answer`, and need not measure it."""

    def __init__(self, memory: Memory, parts: Parts) -> None:
        self.ingestion = Usage()
        self._memory = memory
        self._parts = parts

    async def answer(self, question: Question, meter: Meter) -> Answer:
        began = time.perf_counter()
        answer = await self._answer(question, meter)
        return replace(answer, usage=meter.usage, seconds=time.perf_counter() - began)

    async def close(self) -> None:
        return  # nothing is open

    @abstractmethod
    async def _answer(self, question: Question, meter: Meter) -> Answer: ...

    @property
    def _chat_model(self) -> ChatModel:
        assert self._parts.chat_model is not None, "without a chat model, a run only measures retrieval"
        return self._parts.chat_model
