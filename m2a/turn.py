"""A turn: a user's message, the reply to it and the memory update after it, as a growing list of events."""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

from m2a.incoming import IncomingMessage
from m2a.types import Failed, Message, MessageRecorded, ReplyFinished, StopRequested, TextDelta, TurnEvent
from m2a.types.errors import UserError

T = TypeVar("T")


class ClosedError(UserError):
    """The assistant is closed and accepts no more messages."""

    def __init__(self) -> None:
        super().__init__("M2A is closed; start it again, then send your message.")


class Turn:
    """One turn, whose `events` only ever grow. Any number of followers can read them, from any position.

    The turn runs as its own task, so following it or no longer following it changes nothing. It belongs to the event loop
    that started it; its attributes can be read from any thread.

    `recorded` is the user's message once it is stored, and `reply` the reply. `refused` is the error if the message could not
    be stored. `answered` is true once the reply is complete or none will come, so that the next message may be sent;
    `stopped` once the user has stopped the reply; and `done` once no more events will come. `seconds_to_first_word` is
    None until the first word of the reply.
    """

    def __init__(self, owner: str, message: IncomingMessage) -> None:
        self.owner = owner
        self.message = message
        self.events: list[TurnEvent] = []
        self.recorded: Message | None = None
        self.reply: Message | None = None
        self.refused: Exception | None = None
        self.answered = self.stopped = self.done = False
        self.seconds_to_first_word: float | None = None
        self._began = time.monotonic()
        self._stoppable: asyncio.Task[Any] | None = None
        self._grown = asyncio.Event()

    @property
    def seconds(self) -> float:
        """The number of seconds since the message was sent."""
        return time.monotonic() - self._began

    @property
    def conversation_id(self) -> str | None:
        """The conversation's id; None until the message that begins the conversation is stored."""
        return self.recorded.conversation_id if self.recorded else self.message.conversation_id

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Starts the turn's work as a task; the turn is done when the task ends, however it ends."""
        task = asyncio.create_task(work)
        task.add_done_callback(self._end)
        return task

    def emit(self, event: TurnEvent) -> None:
        self.events.append(event)
        match event:
            case MessageRecorded(message):
                self.recorded = message
            case TextDelta() if self.seconds_to_first_word is None:
                self.seconds_to_first_word = self.seconds
            case ReplyFinished(message):
                self.reply, self.answered = message, True
            case Failed("reply"):
                self.answered = True
        self._wake()

    def stop(self) -> None:
        """Stops the reply and keeps what there is of it, marked as partial. Does nothing if the reply is complete."""
        if self.answered or self.stopped:
            return
        self.stopped = True
        if self._stoppable is not None:
            self._stoppable.cancel()
        self.emit(StopRequested())

    async def until_stopped(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Runs the work until it ends or `stop` cancels it.

        Returns its result or raises its error; returns None if it was stopped before it had a result. Either way, the work has
        ended.
        """
        if self.stopped:
            work.close()
            return None
        child: asyncio.Task[T] = asyncio.create_task(work)
        self._stoppable = child
        try:
            await asyncio.wait({child})
        finally:
            child.cancel()
            await asyncio.wait({child})
            self._stoppable = None
        if self.stopped and (child.cancelled() or child.exception()):
            return None
        return child.result()

    async def wait_for_events(self, count: int) -> None:
        """Waits until there are more than `count` events, or the turn is done."""
        while len(self.events) <= count and not self.done:
            await self._grown.wait()

    async def follow(self, position: int = 0) -> AsyncIterator[TurnEvent]:
        """Yields the events from a position to the end, as they come. Raises the error if the message was refused."""
        while True:
            for event in self.events[position:]:
                position += 1
                yield event
            if self.done and position == len(self.events):
                break
            await self.wait_for_events(position)
        if self.refused is not None:
            raise self.refused

    def _end(self, task: asyncio.Task[None]) -> None:
        if self.recorded is None and self.refused is None:
            self.refused = ClosedError()
        self.done = self.answered = True
        self._wake()

    def _wake(self) -> None:
        self._grown.set()
        self._grown = asyncio.Event()
