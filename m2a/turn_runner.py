"""Runs turns: records the message, answers it, and updates the memory."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple

from m2a.agents.chat_agent import ChatAgent
from m2a.agents.in_thread import in_thread
from m2a.agents.reply import Reply
from m2a.agents.traces import dump_trace
from m2a.costing import cost_of
from m2a.incoming import IncomingMessage, check_message, read_photo
from m2a.memory.bank import MemoryBank, MessageErasedError
from m2a.sentences import log_unexpected, turn_sentence
from m2a.speakers import ASSISTANT, USER
from m2a.turn import ClosedError, Turn
from m2a.types import Emit, Erasure, Failed, Message, MessageRecorded, ReplyFinished, TurnEvent
from m2a.update_queue import UpdateQueue
from models.prices import Price

_STOPPED = "(stopped)"

logger = logging.getLogger(__name__)


class Agents(NamedTuple):
    """The agents that work on one memory, and the price of the chat model's tokens."""

    chat: ChatAgent
    updates: UpdateQueue
    price: Price


class TurnRunner:
    """Runs turns. An owner's turns run one after another, and each turn's update finishes before the owner's next query.

    `bank_of(owner, conversation_id)` returns the memory that a turn works on, and `agents` the agents for it.
    `caption(owner)` starts captioning the owner's photos, after a message with photos has been answered.
    """

    def __init__(
        self,
        bank_of: Callable[[str, str | None], MemoryBank],
        agents: Callable[[MemoryBank], Awaitable[Agents]],
        caption: Callable[[str], asyncio.Task[None]],
        clock: Callable[[], datetime],
    ) -> None:
        self._bank_of = bank_of
        self._agents = agents
        self._caption = caption
        self._clock = clock
        # One lock per owner, held while a message is answered, and one while the memory is updated.
        self._reply_locks: dict[str, asyncio.Lock] = {}
        self._update_locks: dict[str, asyncio.Lock] = {}
        self._turns: dict[Turn, asyncio.Task[None]] = {}
        self._closed = False

    def begin(self, owner: str, message: IncomingMessage) -> Turn:
        """Starts a turn, which runs whether or not anyone follows it. Raises `ClosedError`."""
        if self._closed:
            raise ClosedError
        turn = Turn(owner, message)
        self._turns[turn] = task = turn.start(self._run(turn))
        task.add_done_callback(lambda _task: self._turns.pop(turn))
        return turn

    def running(self, owner: str, conversation_id: str) -> list[Turn]:
        """Returns the turns of a conversation that are not done, oldest first."""
        return [turn for turn in list(self._turns) if (turn.owner, turn.conversation_id) == (owner, conversation_id)]

    def stop(self, owner: str, conversation_id: str) -> None:
        """Stops the running replies of a conversation and keeps what there is of them, marked as partial."""
        for turn in self.running(owner, conversation_id):
            turn.stop()

    def stop_answering(self, owner: str, erasure: Erasure) -> None:
        """Stops the running replies to messages that are about to be erased."""
        for turn in list(self._turns):
            if turn.owner == owner and _answers(turn, erasure):
                turn.stop()

    @asynccontextmanager
    async def paused(self, owner: str) -> AsyncIterator[None]:
        """Blocks the owner's replies and memory updates for the duration of the `with` block."""
        async with _lock_of(self._reply_locks, owner), _lock_of(self._update_locks, owner):
            yield

    async def resume(self, bank: MemoryBank) -> None:
        """Performs the memory updates that an earlier process left pending."""
        async with _lock_of(self._update_locks, bank.owner):
            await (await self._agents(bank)).updates.run_pending(None)

    def close(self) -> list[asyncio.Task[None]]:
        """Accepts no more turns. Returns the tasks of the running turns, which the caller must cancel."""
        self._closed = True
        return list(self._turns.values())

    async def _run(self, turn: Turn) -> None:
        try:
            bank = self._bank_of(turn.owner, turn.conversation_id)
            message = await self._record(turn, bank)
        except Exception as error:  # `follow` raises it
            turn.refused = error
            return
        try:
            async with _lock_of(self._reply_locks, turn.owner):
                if not await in_thread(bank.messages, [message.message_id]):
                    raise MessageErasedError(message.message_id)
                agents = await self._agents(bank)
                catch_up_events: list[TurnEvent] = []
                # A stopped reply queries nothing, so the updates can just as well run after it.
                await turn.until_stopped(self._catch_up(message, agents, catch_up_events.append))
                composing = agents.chat.reply(message, self._clock(), turn.emit)
                await self._record_reply(
                    turn, bank, message, await turn.until_stopped(composing) or Reply(), agents.price
                )
            for event in catch_up_events:
                turn.emit(event)
            captioning = [self._caption(bank.owner)] if message.photos and not bank.is_temporary else []
            # The reply lock was only just released, so no later message can take this lock first.
            async with _lock_of(self._update_locks, turn.owner):
                if turn.reply is not None:
                    if captioning:  # the update needs the captions, and would otherwise request them a second time
                        await asyncio.wait(captioning)
                    await agents.updates.run_pending(turn.emit, after=turn.reply)
                await in_thread(bank.index)
        except Exception as error:  # the boundary of a turn: the user learns of any failure, and the next turn runs
            stage: Literal["reply", "update"] = "reply" if turn.reply is None else "update"
            log_unexpected(logger, f"The {stage}", error)
            turn.emit(Failed(stage, turn_sentence(error)))

    async def _catch_up(self, message: Message, agents: Agents, emit: Emit) -> None:
        """Performs the pending updates if the reply to the message needs them."""
        if await agents.chat.needs_updates(message):
            async with _lock_of(self._update_locks, message.owner):
                await agents.updates.run_pending(emit)

    async def _record(self, turn: Turn, bank: MemoryBank) -> Message:
        """Stores the turn's message. If cancelled meanwhile, still emits the stored message and a failure."""
        incoming = turn.message

        def record() -> Message:
            check_message(incoming.text, incoming.photos)
            if not bank.is_temporary:
                bank.expire()
            recorded = bank.record(
                incoming.conversation_id,
                role="user",
                speaker=USER,
                text=incoming.text,
                photos=[read_photo(photo) if isinstance(photo, Path) else photo for photo in incoming.photos],
                photo_names=[photo.name if isinstance(photo, Path) else None for photo in incoming.photos],
                stored_photos=incoming.stored_photos,
                replaces=incoming.replaces,
            )
            if incoming.replaces is not None and incoming.forgets_memories and not bank.is_temporary:
                bank.take_back_memories(incoming.replaces)
            return recorded

        recording = asyncio.get_running_loop().run_in_executor(None, record)
        try:
            message = await asyncio.shield(recording)
        except asyncio.CancelledError:
            turn.emit(MessageRecorded(await recording))
            turn.emit(Failed("reply", "M2A was closed before it answered; your message is kept."))
            raise
        turn.emit(MessageRecorded(message))
        return message

    async def _record_reply(self, turn: Turn, bank: MemoryBank, message: Message, reply: Reply, price: Price) -> None:
        """Stores the reply with its trace and marks its update as pending. An empty failed reply is only reported."""
        failure = None if turn.stopped else reply.failure
        if reply.text or failure is None:
            cost = await in_thread(cost_of, "reply", turn.seconds, reply.usage, price, turn.seconds_to_first_word)
            recorded = await in_thread(
                bank.record_reply,
                message.conversation_id,
                reply.text or (_STOPPED if turn.stopped else ""),
                speaker=ASSISTANT,
                photo_ids=reply.photo_ids,
                partial=reply.partial or turn.stopped,
                steps=dump_trace(reply.searches, reply.sources),
                answers=message.message_id,
                update_pending=True,
                cost=cost,
            )
            if reply.usage is not None:
                turn.emit(reply.usage)
            turn.emit(ReplyFinished(recorded, reply.sources))
        if failure is not None:
            turn.emit(Failed("reply", failure))


def _answers(turn: Turn, erasure: Erasure) -> bool:
    """Returns whether the turn answers a message that is about to be erased."""
    recorded = turn.recorded
    match erasure.kind:
        case "everything":
            return True
        case "conversation":
            return turn.conversation_id == erasure.id
        case "message":
            return recorded is not None and recorded.message_id == erasure.id
        case _:
            return False


def _lock_of(locks: dict[str, asyncio.Lock], owner: str) -> asyncio.Lock:
    return locks.setdefault(owner, asyncio.Lock())
