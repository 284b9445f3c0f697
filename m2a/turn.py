"""A turn: a message of the user, the reply to it, and what the memory keeps of both, as a growing list of events."""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

from m2a.incoming import IncomingMessage
from m2a.types import Failed, Message, MessageRecorded, ReplyFinished, StopRequested, TextDelta, TurnEvent
from m2a.types.errors import UserError

T = TypeVar("T")


class ClosedError(UserError):
    """The assistant was closed and takes nothing more."""

    def __init__(self) -> None:
        super().__init__("M2A is closed; start it again and send your message then.")


class Turn:
    """What happens in a turn stands in `events`, which only grows. Any number of followers read them, from any place on.

    Whoever follows, or stops to, changes nothing: the turn runs as a task of its own. It belongs to the event loop that
    started it; its attributes may be read from any thread.

    `recorded` is the message once it is stored, and `reply` the reply. `refused` says why the message could not be stored.
    `answered` is whether the next message may be sent: the reply is there, or none will come. `stopped` is whether the user
    wanted no more of the reply, and `done` whether no more events come. `first_word` is how many seconds the first word of
    the reply took.
    """

    def __init__(self, owner: str, message: IncomingMessage) -> None:
        self.owner = owner
        self.message = message
        self.events: list[TurnEvent] = []
        self.recorded: Message | None = None
        self.reply: Message | None = None
        self.refused: Exception | None = None
        self.answered = self.stopped = self.done = False
        self.first_word: float | None = None
        self._began = time.monotonic()
        self._stoppable: asyncio.Task[Any] | None = None
        self._grown = asyncio.Event()

    @property
    def seconds(self) -> float:
        """How long ago the message was sent."""
        return time.monotonic() - self._began

    @property
    def conversation_id(self) -> str | None:
        """None while the message that begins a conversation is not stored."""
        return self.recorded.conversation_id if self.recorded else self.message.conversation_id

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do the work of the turn; the turn is done when it ends, in whichever way."""
        task = asyncio.create_task(work)
        task.add_done_callback(self._end)
        return task

    def emit(self, event: TurnEvent) -> None:
        self.events.append(event)
        match event:
            case MessageRecorded(message):
                self.recorded = message
            case TextDelta() if self.first_word is None:
                self.first_word = self.seconds
            case ReplyFinished(message):
                self.reply, self.answered = message, True
            case Failed("reply"):
                self.answered = True
        self._wake()

    def stop(self) -> None:
        """End the reply; what there is of it is kept, marked as partial. Nothing happens where it has ended."""
        if self.answered or self.stopped:
            return
        self.stopped = True
        if self._stoppable is not None:
            self._stoppable.cancel()
        self.emit(StopRequested())

    async def until_stopped(self, work: Coroutine[Any, Any, T]) -> T | None:
        """What the work returns, or raises. `stop` cancels it; None where it returns nothing then.

        Whichever way this is left, the work has ended.
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

    async def grows(self, beyond: int) -> None:
        """Wait until there are more than so many events, or the turn is done."""
        while len(self.events) <= beyond and not self.done:
            await self._grown.wait()

    async def follow(self, from_: int = 0) -> AsyncIterator[TurnEvent]:
        """The events from that place on, as they come, to the end. Raises what kept the message from being stored."""
        while True:
            for event in self.events[from_:]:
                from_ += 1
                yield event
            if self.done and from_ == len(self.events):
                break
            await self.grows(from_)
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
