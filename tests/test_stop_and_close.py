"""A turn can be stopped wherever it waits, and an assistant that was closed does nothing more."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from m2a import Assistant
from m2a.agents.in_thread import in_thread
from m2a.agents.state import Decision, TurnState
from m2a.data_folder import DataFolder
from m2a.incoming import IncomingMessage
from m2a.memory.database import Database
from m2a.memory.schema import message as message_table
from m2a.settings import load_settings
from m2a.turn import ClosedError, Turn
from m2a.types import Failed, Finish, Message, MessageRecorded, ReplyFinished, StopRequested, TextDelta, TurnEvent
from models.chat_model import ChatModelError, TokenUsage
from tests.scripted_policy import ScriptedPolicy
from tests.turns import START, Clock, only, photo, recall, remember, turn

SECONDS = 30


class HangingPolicy(ScriptedPolicy):
    """Waits without end, once, where `hangs_at` says: at a stage, or at the reply's first or second word."""

    def __init__(self) -> None:
        super().__init__(reply="one two three")
        self.hangs_at = ""
        self.hanging = asyncio.Event()
        self.cancelled = 0

    async def decide(self, state: TurnState) -> Decision:
        if state.stage == self.hangs_at:
            await self._hang()
        return await super().decide(state)

    async def reply(self, state: TurnState) -> AsyncGenerator[str | TokenUsage, None]:
        if self.hangs_at == "first word":
            await self._hang()
        async for piece in super().reply(state):
            yield piece
            if self.hangs_at == "second word":
                await self._hang()

    async def _hang(self) -> None:
        self.hangs_at = ""
        self.hanging.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled += 1


@pytest.fixture
def policy() -> HangingPolicy:
    return HangingPolicy()


async def begun(assistant: Assistant, text: str, *photos: bytes, conversation_id: str | None = None):
    """A turn in a task of its own that has come to its first wait, which is for the message to be stored."""
    task = asyncio.create_task(turn(assistant, text, *photos, conversation_id=conversation_id))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task


@pytest.mark.parametrize(
    ("hangs_at", "text"),
    [("query", "(stopped)"), ("manage query", "(stopped)"), ("first word", "(stopped)"), ("second word", "one")],
)
async def test_stop_waits_for_no_model(assistant: Assistant, policy: HangingPolicy, hangs_at: str, text: str) -> None:
    recall(policy, Finish())
    policy.hangs_at = hangs_at
    message = (await turn_until_it_hangs(assistant, policy)).message
    async with asyncio.timeout(SECONDS):
        assistant.turns.stop(assistant.local_owner, message.conversation_id)
        reply = await reply_to(assistant, message)
    assert (reply.text, reply.partial) == (text, True)
    assert policy.cancelled == 1


async def turn_until_it_hangs(assistant: Assistant, policy: HangingPolicy) -> MessageRecorded:
    events = assistant.turn(assistant.local_owner, "Hello")
    recorded = await anext(events)
    assert isinstance(recorded, MessageRecorded)
    async with asyncio.timeout(SECONDS):
        await policy.hanging.wait()
    return recorded


async def reply_to(assistant: Assistant, message: Message) -> Message:
    """Returns the reply once it is stored: the next turn waits for it."""
    await turn(assistant, "And now?")
    return assistant.messages(assistant.local_owner, message.conversation_id)[1]


async def test_stop_waits_for_no_update_of_an_earlier_reply(assistant: Assistant, policy: HangingPolicy) -> None:
    remember(policy, ChatModelError("The server is gone."))
    [_, *_, failed] = await turn(assistant, "Anna likes tea")
    assert isinstance(failed, Failed)
    policy.hangs_at = "update"
    message = (await turn_until_it_hangs(assistant, policy)).message
    async with asyncio.timeout(SECONDS):
        assistant.turns.stop(assistant.local_owner, message.conversation_id)
        reply = await reply_to(assistant, message)
    assert (reply.text, reply.partial) == ("(stopped)", True)
    assert assistant.memory(assistant.local_owner).replies.pending_updates() == []


async def test_stop_while_the_photos_are_taken_in(assistant: Assistant, policy: HangingPolicy) -> None:
    message = (await turn(assistant, "Hello"))[0].message
    prompt_count = len(policy.seen)
    running = await begun(assistant, "look", photo("red"), conversation_id=message.conversation_id)
    assistant.turns.stop(assistant.local_owner, message.conversation_id)
    [finished] = only(ReplyFinished, await running)
    assert (finished.message.text, finished.message.partial) == ("(stopped)", True)
    assert {state.stage for state in policy.seen[prompt_count:]} == {"update"}


async def test_stop_while_the_photos_of_a_new_conversation_are_taken_in(
    assistant: Assistant, policy: HangingPolicy
) -> None:
    begun = assistant.turns.begin(assistant.local_owner, IncomingMessage("look", (photo("red"),)))
    await asyncio.sleep(0)
    begun.stop()
    async with asyncio.timeout(SECONDS):
        [finished] = only(ReplyFinished, [event async for event in begun.follow()])
    assert (finished.message.text, finished.message.partial) == ("(stopped)", True)


async def test_stop_reaches_the_turn_that_runs_though_another_waits_for_it(
    assistant: Assistant, policy: HangingPolicy
) -> None:
    policy.hangs_at = "second word"
    message = (await turn_until_it_hangs(assistant, policy)).message
    second = assistant.turn(assistant.local_owner, "And?", conversation_id=message.conversation_id)
    await anext(second)
    async with asyncio.timeout(SECONDS):
        assistant.turns.stop(assistant.local_owner, message.conversation_id)
        [finished] = only(ReplyFinished, [event async for event in second])
    first = next(m for m in assistant.messages(assistant.local_owner, message.conversation_id) if m.role == "assistant")
    assert (first.text, first.partial) == ("one", True)
    assert finished.message.partial


async def test_what_was_shown_is_what_is_kept(assistant: Assistant, policy: HangingPolicy) -> None:
    policy.text = " ".join(map(str, range(500)))
    events: list[TurnEvent] = []
    async for event in assistant.turn(assistant.local_owner, "Count"):
        events.append(event)
        if isinstance(event, MessageRecorded):
            message = event.message
        if len(only(TextDelta, events)) == 20:
            assistant.turns.stop(assistant.local_owner, message.conversation_id)
    [finished] = only(ReplyFinished, events)
    assert finished.message.partial and len(only(StopRequested, events)) == 1
    assert "".join(delta.text for delta in only(TextDelta, events)).strip() == finished.message.text


async def test_close_waits_for_a_message_that_is_taken_in_and_starts_nothing_after_it(
    tmp_path: Path, policy: HangingPolicy
) -> None:
    settings = load_settings(data_dir=tmp_path)
    assistant = Assistant.open(settings, policy=policy, clock=Clock())
    running = await begun(assistant, "look", photo("red"))
    await assistant.close()
    with_others = DataFolder(tmp_path)
    assert stored(tmp_path) == 1
    kinds = [type(event) for event in await running]
    assert kinds == [MessageRecorded, Failed]
    assert stored(tmp_path) == 1 and policy.seen == []
    with pytest.raises(ClosedError, match="start it again"):
        await turn(assistant, "Hello?")
    assert stored(tmp_path) == 1
    with_others.release()


def stored(folder: Path) -> int:
    database = Database(f"sqlite:///{folder / 'memory.db'}")
    with database.snapshot() as connection:
        count = connection.scalar(select(func.count()).select_from(message_table))
    database.close()
    return count or 0


async def test_a_turn_that_close_cancels_before_its_first_step_ends(tmp_path: Path, policy: HangingPolicy) -> None:
    assistant = Assistant.open(load_settings(data_dir=tmp_path), policy=policy, clock=Clock())
    events = assistant.turn(assistant.local_owner, "Hello")
    assert isinstance(await anext(events), MessageRecorded)
    async with asyncio.timeout(SECONDS):
        await assistant.close()
        assert [event async for event in events] == []
    assert policy.seen == []


async def test_a_close_that_breaks_off_frees_the_folder_all_the_same(tmp_path: Path, policy: HangingPolicy) -> None:
    assistant = Assistant.open(load_settings(data_dir=tmp_path), policy=policy, clock=Clock())
    policy.hangs_at = "query"
    await turn_until_it_hangs(assistant, policy)
    closing = asyncio.create_task(assistant.close())
    await asyncio.sleep(0)  # it waits for what runs
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    DataFolder(tmp_path).release()
    assert policy.cancelled == 1 and stored(tmp_path) == 1


async def test_a_cancelled_thread_is_waited_for() -> None:
    started, release, done = threading.Event(), threading.Event(), []

    def write() -> None:
        started.set()
        release.wait(SECONDS)
        done.append(True)

    task = asyncio.create_task(in_thread(write))
    await asyncio.to_thread(started.wait, SECONDS)
    task.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    assert not task.done()
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done == [True]


def started(work: Callable[[Turn], Coroutine[Any, Any, None]]) -> Turn:
    """Starts a turn that does the work for a stored message."""
    turn = Turn("owner", IncomingMessage("Hello"))
    turn.emit(MessageRecorded(Message(1, "owner", "conversation", "user", "You", "Hello", (), START)))
    turn.start(work(turn))
    return turn


async def test_any_number_of_followers_read_every_event_from_where_they_begin() -> None:
    async def work(turn: Turn) -> None:
        for word in ("one", "two", "three"):
            turn.emit(TextDelta(word))
            await asyncio.sleep(0)

    turn = started(work)

    async def words(from_: int) -> list[str]:
        return [event.text async for event in turn.follow(from_) if isinstance(event, TextDelta)]

    async with asyncio.timeout(SECONDS):
        assert await asyncio.gather(words(0), words(0), words(3)) == [["one", "two", "three"]] * 2 + [["three"]]
        assert turn.done and await words(2) == ["two", "three"]


async def test_work_that_is_not_stopped_gives_what_it_returns_and_raises_what_it_raises() -> None:
    got: list[object] = []

    async def fails() -> None:
        raise ChatModelError("The server is gone.")

    async def work(turn: Turn) -> None:
        got.append(await turn.until_stopped(asyncio.sleep(0, "done")))
        try:
            await turn.until_stopped(fails())
        except ChatModelError as error:
            got.append(str(error))

    turn = started(work)
    async with asyncio.timeout(SECONDS):
        assert [event async for event in turn.follow(1)] == []
    assert got == ["done", "The server is gone."]


async def test_what_kept_a_message_from_being_stored_is_told_to_every_follower() -> None:
    async def work(turn: Turn) -> None:
        turn.refused = ChatModelError("No.")

    turn = Turn("owner", IncomingMessage("Hello"))
    turn.start(work(turn))
    for _follower in range(2):
        with pytest.raises(ChatModelError, match="No"):
            async for _event in turn.follow():
                pass
