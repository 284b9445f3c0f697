"""The protocol of a memory system, so that a table compares memory and nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from m2a.types import Message


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a system. `photos` are ids in the shared photo store; `asked_at` has a time zone. `instructions` on how to
    answer replace the style that all systems share."""

    text: str
    asked_at: datetime
    photos: tuple[str, ...] = ()
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and calls of the chat model. Tokens are `estimated` if the server did not count them.

    `failures` are failed calls, including those that a package swallowed.
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
    """Sums the usage of a chat model, so that it is known even if a call fails."""

    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply and how it was made.

    `sources` are the messages that the model was shown, best first; `context_tokens` is the number of tokens of memory in its
    prompt. `search_seconds` is the part of `seconds` spent in retrieval. `trace` explains the answer to a reader, as values that
    JSON can hold.
    """

    text: str
    sources: tuple[int, ...]
    context_tokens: int
    search_seconds: float
    trace: Sequence[object] = field(default_factory=tuple)
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0


class MemorySystem(Protocol):
    """A memory of one dialogue. `retrieve` and `answer` never write, and may be called side by side.

    `version` says what the system is made of, such as a package and its version. `store_only` means that it keeps messages as
    they are, without a chat model.
    """

    name: str
    version: str
    store_only: bool
    ingestion: Usage

    async def observe(self, session: Sequence[Message]) -> None:
        """Takes in one session; sessions come in chronological order. The runner has recorded the messages already."""
        ...

    async def retrieve(self, question: Question, k: int) -> list[int] | None:
        """Returns the ids of at most k messages, best first, or None if the system retrieves nothing. A memory that is found is
        replaced by its evidence."""
        ...

    async def answer(self, question: Question, meter: Meter) -> Answer:
        """Returns an answer. Adds each model call to the meter as it ends. Raises whatever the chat model raises."""
        ...

    async def close(self) -> None: ...
