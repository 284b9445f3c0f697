"""A turn can be stopped wherever it waits, and an assistant that was closed does nothing more."""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import func, select

from m2a import Assistant
from m2a.agents.state import Decision, TurnState
from m2a.agents.stopping import in_thread, until_stopped
from m2a.assistant import ClosedError
from m2a.data_folder import DataFolder
from m2a.memory.database import Database
from m2a.memory.database import message as message_table
from m2a.settings import load_settings
from m2a.types import Failed, Finish, Message, MessageRecorded, ReplyFinished, TextDelta, TurnEvent
from m2a.ui.live_turn import LiveTurns
from models.chat_model import ChatModelError, TokenUsage
from tests.scripted_policy import ScriptedPolicy
from tests.turns import Clock, only, photo, recall, remember, turn

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


@pytest.fixture
async def assistant(tmp_path: Path, policy: HangingPolicy) -> AsyncIterator[Assistant]:
    async with Assistant.open(load_settings(data_dir=tmp_path), policy=policy, clock=Clock()) as opened:
        yield opened


async def begun(assistant: Assistant, text: str, *photos: bytes, conversation_id: str | None = None):
    """A turn in a task of its own that has come to its first wait, which is for the message to be stored."""
    task = asyncio.create_task(turn(assistant, text, *photos, conversation_id=conversation_id))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task


@pytest.mark.parametrize(
    ("hangs_at", "said"),
    [("query", "(stopped)"), ("manage query", "(stopped)"), ("first word", "(stopped)"), ("second word", "one")],
)
async def test_stop_waits_for_no_model(assistant: Assistant, policy: HangingPolicy, hangs_at: str, said: str) -> None:
    recall(policy, Finish())
    policy.hangs_at = hangs_at
    known = (await turn_until_it_hangs(assistant, policy)).message
    async with asyncio.timeout(SECONDS):
        assistant.stop(assistant.local_owner, known.conversation_id)
        reply = await reply_to(assistant, known)
    assert (reply.text, reply.partial) == (said, True)
    assert policy.cancelled == 1


async def turn_until_it_hangs(assistant: Assistant, policy: HangingPolicy) -> MessageRecorded:
    events = assistant.turn(assistant.local_owner, "Hello")
    recorded = await anext(events)
    assert isinstance(recorded, MessageRecorded)
    async with asyncio.timeout(SECONDS):
        await policy.hanging.wait()
    return recorded


async def reply_to(assistant: Assistant, asked: Message) -> Message:
    """Once it is there: the next turn waits for it."""
    await turn(assistant, "And now?")
    return assistant.messages(assistant.local_owner, asked.conversation_id)[1]


async def test_stop_waits_for_no_update_of_an_earlier_reply(assistant: Assistant, policy: HangingPolicy) -> None:
    remember(policy, ChatModelError("The server is gone."))
    [_, *_, failed] = await turn(assistant, "Anna likes tea")
    assert isinstance(failed, Failed)
    policy.hangs_at = "update"
    known = (await turn_until_it_hangs(assistant, policy)).message
    async with asyncio.timeout(SECONDS):
        assistant.stop(assistant.local_owner, known.conversation_id)
        reply = await reply_to(assistant, known)
    assert (reply.text, reply.partial) == ("(stopped)", True)
    assert assistant.memory(assistant.local_owner).pending_updates() == []


async def test_stop_while_the_photos_are_taken_in(assistant: Assistant, policy: HangingPolicy) -> None:
    known = (await turn(assistant, "Hello"))[0].message
    asked = len(policy.seen)
    running = await begun(assistant, "look", photo("red"), conversation_id=known.conversation_id)
    assistant.stop(assistant.local_owner, known.conversation_id)
    [finished] = only(ReplyFinished, await running)
    assert (finished.message.text, finished.message.partial) == ("(stopped)", True)
    assert {state.stage for state in policy.seen[asked:]} == {"update"}


async def test_stop_while_the_photos_of_a_new_conversation_are_taken_in(
    assistant: Assistant, policy: HangingPolicy
) -> None:
    turns = LiveTurns(assistant)
    live = turns.begin(assistant.local_owner, "look", [photo("red")], conversation_id=None)
    await asyncio.sleep(0)
    turns.stop(assistant.local_owner, None)
    async with asyncio.timeout(SECONDS):
        while not live.done:
            await live.wait_beyond(live.version)
    assert live.so_far.reply is not None
    assert (live.so_far.reply.text, live.so_far.reply.partial) == ("(stopped)", True)


async def test_stop_reaches_the_turn_that_runs_though_another_waits_for_it(
    assistant: Assistant, policy: HangingPolicy
) -> None:
    policy.hangs_at = "second word"
    known = (await turn_until_it_hangs(assistant, policy)).message
    second = assistant.turn(assistant.local_owner, "And?", conversation_id=known.conversation_id)
    await anext(second)
    async with asyncio.timeout(SECONDS):
        assistant.stop(assistant.local_owner, known.conversation_id)
        [finished] = only(ReplyFinished, [event async for event in second])
    first = next(m for m in assistant.messages(assistant.local_owner, known.conversation_id) if m.role == "assistant")
    assert (first.text, first.partial) == ("one", True)
    assert finished.message.partial


async def test_what_was_shown_is_what_is_kept(assistant: Assistant, policy: HangingPolicy) -> None:
    policy.text = " ".join(map(str, range(500)))
    events: list[TurnEvent] = []
    async for event in assistant.turn(assistant.local_owner, "Count"):
        events.append(event)
        if isinstance(event, MessageRecorded):
            known = event.message
        if len(only(TextDelta, events)) == 20:
            assistant.stop(assistant.local_owner, known.conversation_id)
    [finished] = only(ReplyFinished, events)
    assert finished.message.partial
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
    with database.read() as connection:
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


async def test_work_that_is_not_stopped_gives_all_and_raises_what_it_raises() -> None:
    async def work() -> AsyncGenerator[int, None]:
        yield 1
        yield 2
        raise ChatModelError("The server is gone.")

    given = []
    with pytest.raises(ChatModelError):
        async for item in until_stopped(work(), asyncio.Event()):
            given.append(item)
    assert given == [1, 2]
