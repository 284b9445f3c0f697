"""Notices that a chat model or a judge stopped answering, so that the run stops instead of failing question by question."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing

from m2a.types.errors import UserError
from models.chat_model import ChatMessage, ChatModel, ChatModelError

FAILURES_IN_A_ROW = 5
SILENCE_LIMIT = 120.0  # seconds; a server that hangs takes minutes for one failure, so two failures are enough

Key = tuple[str, str]  # system and question


class ServiceGone(UserError):
    """A chat model or a judge stopped answering. `questions` failed for that reason only."""

    def __init__(self, message: str, questions: Sequence[Key] = ()) -> None:
        super().__init__(message)
        self.questions = tuple(questions)


def first_outage(group: BaseExceptionGroup[ServiceGone]) -> ServiceGone:
    """Returns the first error of a group, which may hold further groups."""
    error = group.exceptions[0]
    return first_outage(error) if isinstance(error, BaseExceptionGroup) else error


async def reach(model: ChatModel) -> None:
    """Makes one short call. Raises `ChatModelError` if the model does not answer."""
    async with aclosing(model.stream([ChatMessage("user", ("Say: ready.",))])) as pieces:
        async for _ in pieces:
            return


class Watch:
    """Counts one model's failures in a row. After too many, or after too long, it makes one short call to the model.

    That call distinguishes an outage from questions that fail for other reasons.
    """

    def __init__(
        self,
        name: str,
        model: ChatModel,
        describe: Callable[[ChatModelError], str] = str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`describe` puts an error into words; `clock` counts seconds."""
        self._name = name
        self._model = model
        self._describe = describe
        self._clock = clock
        self._answered_at = clock()
        self._failures: list[Key | None] = []
        self._checking = asyncio.Lock()

    def succeeded(self) -> None:
        self._failures.clear()
        self._answered_at = self._clock()

    async def failed(self, question: Key | None = None) -> None:
        """Counts a failure, perhaps of a question. Raises `ServiceGone` if the model stopped answering."""
        self._failures.append(question)
        async with self._checking:  # if several questions fail at the same time, one call is enough
            is_silent = len(self._failures) > 1 and self._clock() - self._answered_at > SILENCE_LIMIT
            if is_silent or len(self._failures) >= FAILURES_IN_A_ROW:
                await self._check()

    async def check_now(self) -> None:
        """Makes the short call at once, after a failure that concerns many questions. Raises `ServiceGone`."""
        async with self._checking:
            await self._check()

    async def _check(self) -> None:
        try:
            async with asyncio.timeout(SILENCE_LIMIT):
                await reach(self._model)
        except (ChatModelError, TimeoutError) as error:
            reason = (
                self._describe(error)
                if isinstance(error, ChatModelError)
                else f"no reply within {SILENCE_LIMIT:g} seconds."
            )
            questions = [question for question in self._failures if question is not None]
            raise ServiceGone(f"{self._name} stopped answering: {reason}", questions) from error
        self.succeeded()
