"""What every memory system offers, so that a table compares memory and nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from m2a.types import Message


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked. `photos` are ids in the photo store that the systems share; `asked_at` is aware. `instructions` say how the
    answer is to be given, in place of the style that all systems are told."""

    text: str
    asked_at: datetime
    photos: tuple[str, ...] = ()
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and calls of the chat model. `estimated` where the server did not say.

    `failures` are calls that failed, those among them that a package swallowed included.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0
    failures: int = 0
    estimated: bool = False

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.calls + other.calls,
            self.failures + other.failures,
            self.estimated or other.estimated,
        )


@dataclass(slots=True)
class Meter:
    """Sums what is asked of a chat model, for whoever must know it also where that fails."""

    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply and how it came about.

    `sources` are the messages that were put before the model, best first; `context_tokens` counts their text.
    `search_seconds` is the time spent in retrieval, a part of `seconds`. `trace` is whatever tells the story of the
    answer to a person, as JSON-ready values.
    """

    text: str
    sources: tuple[int, ...]
    usage: Usage
    context_tokens: int
    search_seconds: float
    seconds: float
    trace: Sequence[object] = field(default_factory=tuple)


class MemorySystem(Protocol):
    """A memory of one dialogue. `retrieve` and `answer` never write, and may be called side by side.

    `version` names the package and its version where the system is somebody else's. `store_only` says that it kept
    the messages as they are for want of a chat model.
    """

    name: str
    version: str
    store_only: bool
    ingestion: Usage

    async def observe(self, session: Sequence[Message]) -> None:
        """Take in one session, in the order of time. The messages exist: ids, photos and times are the runner's."""
        ...

    async def retrieve(self, question: Question, k: int) -> list[int] | None:
        """The ids of at most k messages, best first; an entry's evidence expands in rank order. None: it retrieves nothing."""
        ...

    async def answer(self, question: Question, meter: Meter) -> Answer:
        """Raises what the chat model raises; the runner makes a row of it. `meter` is told of every call as it ends."""
        ...

    async def close(self) -> None: ...
