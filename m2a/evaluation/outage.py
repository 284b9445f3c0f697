"""Notices that a chat model or a judge is gone, so that a run stops where each further question would only fail."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing

from m2a.types.errors import UserError
from models.chat_model import ChatMessage, ChatModel, ChatModelError

FAILURES_IN_A_ROW = 5
LONG = 120.0  # seconds: a server that hangs takes minutes over each failure, and two of those are enough

Key = tuple[str, str]  # system and question


class ServiceGone(UserError):
    """A chat model or a judge answers nothing any more. `questions` are those that failed for no other reason."""

    def __init__(self, message: str, questions: Sequence[Key] = ()) -> None:
        super().__init__(message)
        self.questions = tuple(questions)


def first_of(group: BaseExceptionGroup[ServiceGone]) -> ServiceGone:
    """Of what several tasks raised."""
    first = group.exceptions[0]
    return first_of(first) if isinstance(first, BaseExceptionGroup) else first


async def reach(model: ChatModel) -> None:
    """One short call. Raises `ChatModelError` where the model does not answer it."""
    async with aclosing(model.stream([ChatMessage("user", ("Say: ready.",))])) as pieces:
        async for _ in pieces:
            return


class Watch:
    """One model's failures in a row. Where they are too many, or take too long, it is asked one short thing.

    That call tells an outage from questions that fail by themselves, whatever a system made of the error on its way.
    """

    def __init__(
        self,
        called: str,
        model: ChatModel,
        told: Callable[[ChatModelError], str] = str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`told` puts a failure into words; `clock` counts seconds."""
        self._called = called
        self._model = model
        self._told = told
        self._clock = clock
        self._answered_at = clock()
        self._in_a_row: list[Key | None] = []
        self._asking = asyncio.Lock()

    def succeeded(self) -> None:
        self._in_a_row.clear()
        self._answered_at = self._clock()

    async def failed(self, question: Key | None = None) -> None:
        """One more failure, of that question's row. Raises `ServiceGone` where the model is gone."""
        self._in_a_row.append(question)
        async with self._asking:  # several fail at once, and one call is enough
            is_long = len(self._in_a_row) > 1 and self._clock() - self._answered_at > LONG
            if is_long or len(self._in_a_row) >= FAILURES_IN_A_ROW:
                await self._ask()

    async def doubted(self) -> None:
        """A failure that stands for many. Raises `ServiceGone` where the model is gone."""
        async with self._asking:
            await self._ask()

    async def _ask(self) -> None:
        try:
            async with asyncio.timeout(LONG):
                await reach(self._model)
        except (ChatModelError, TimeoutError) as error:
            reason = self._told(error) if isinstance(error, ChatModelError) else f"nothing came for {LONG:g} seconds."
            questions = [question for question in self._in_a_row if question is not None]
            raise ServiceGone(f"{self._called} does not answer any more: {reason}", questions) from error
        self.succeeded()
