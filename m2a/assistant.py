"""The assistant: records messages, runs turns, and owns the updates that follow them."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from m2a.agents.chat_agent import ChatAgent
from m2a.agents.memory_manager import MemoryManager
from m2a.agents.state import Policy
from m2a.agents.stopping import in_thread, until_stopped
from m2a.agents.traces import Explanation, load_trace
from m2a.captioning import caption_photos
from m2a.data_folder import DataFolder
from m2a.incoming import check_message, read_photo
from m2a.loading import Loading
from m2a.memory.bank import MemoryBank
from m2a.memory.owners import owner_named, owners_with_pending_updates, owners_with_uncaptioned_photos
from m2a.memory.stores import Stores
from m2a.sentences import place_of, sentence_of
from m2a.settings import Settings, load_settings
from m2a.types import (
    Conversation,
    Failed,
    MemoryChanged,
    Message,
    MessageRecorded,
    NotKept,
    ReplyFinished,
    Supersession,
    TurnEvent,
    UnaskedChanges,
)
from m2a.wiring import (
    RetrievalLoading,
    image_encoder_loading,
    load_captioner,
    load_policy,
    open_sql_stores,
    silence_telemetry,
    text_encoder_loading,
)
from models.chat_model import ChatModelError

LOCAL_OWNER = "local"
USER = "You"
SET_ASIDE_AFTER = 3
THE_USER = "the user"

_QUOTED = 60

logger = logging.getLogger(__name__)


class ClosedError(RuntimeError):
    """The assistant was closed and takes nothing more."""


class Assistant:
    """Everything that the web app, the command line and a program do goes through one of these.

    Every call names the owner whose memory it is about. Turns of one owner run one after another; each turn's
    update is done before that owner's next Query.
    """

    def __init__(
        self, settings: Settings, folder: DataFolder, clock: Callable[[], datetime], policy: Policy | None
    ) -> None:
        """Use `Assistant.open`."""
        self.settings = settings
        self.folder = folder
        self._clock = clock
        sql = open_sql_stores(settings, clock)
        self._text_encoder = text_encoder_loading(settings)
        self._image_encoder = image_encoder_loading(settings, self._text_encoder)
        self._retrieval = RetrievalLoading(settings, sql, self._text_encoder, self._image_encoder)
        self._policy: Loading[Policy] = Loading("chat model", lambda: policy or load_policy(settings))
        self._captioner = Loading("captions", lambda: load_captioner(self._policy.get()))
        self.stores: Stores = replace(sql, retrieval=self._retrieval.get)
        self.local_owner = owner_named(sql.database, LOCAL_OWNER)
        self._turns: dict[str, asyncio.Lock] = {}
        self._captions: dict[str, asyncio.Lock] = {}
        # Of each turn that has not ended: set, it stops the turn; and of whom and in which conversation that is.
        self._stops: dict[asyncio.Event, tuple[str, str | None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._recordings: set[asyncio.Task[Message]] = set()
        self._closed = False

    @classmethod
    def open(
        cls,
        settings: Settings | None = None,
        *,
        clock: Callable[[], datetime] | None = None,
        policy: Policy | None = None,
    ) -> "Assistant":
        """Open the memory in the data folder; models load in the background.

        `clock` returns aware datetimes (a benchmark replays 2023); `policy` decides in place of the chat model that
        the settings name. Raises `DataFolderInUseError`, `DatabaseError`, `SettingsError`.
        """
        silence_telemetry()
        settings = settings or load_settings()
        folder = DataFolder(settings.data_dir)
        try:
            assistant = cls(settings, folder, clock or (lambda: datetime.now().astimezone()), policy)
        except BaseException:
            folder.release()
            raise
        for loading in assistant._loadings():
            loading.start()
        return assistant

    async def start(self) -> None:
        """Resume the updates that an earlier process left pending, and the captions of photos."""
        for owner in await in_thread(owners_with_pending_updates, self.stores.database):
            self._spawn(self._resume(owner))
        for owner in await in_thread(owners_with_uncaptioned_photos, self.stores.database):
            self._spawn(self._caption(owner))

    async def close(self) -> None:
        """Stop what runs and release the data folder. What was acknowledged stays; a pending update is resumed later."""
        self._closed = True
        async with AsyncExitStack() as last:  # whatever breaks on the way, the folder is free in the end
            last.callback(self.folder.release)
            last.callback(self.stores.database.close)
            for loading in self._loadings():
                last.push_async_callback(in_thread, loading.close)
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, *self._recordings, return_exceptions=True)

    async def __aenter__(self) -> "Assistant":
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def turn(
        self,
        owner: str,
        text: str,
        photos: Sequence[bytes | Path] = (),
        conversation_id: str | None = None,
        replaces: int | None = None,
    ) -> AsyncIterator[TurnEvent]:
        """Record a message, answer it, and update the memory; what happens comes as events.

        Leaving the iterator does not cancel the turn; `stop` does. Without a conversation a new one begins.
        After `ReplyFinished` comes what the memory kept of this exchange (`MemoryChanged`, of which the first has number 0
        for `undo`), and what it did not. Raises `PhotoRefusedError`, `MessageRefusedError`, `UnknownConversationError` and
        `ClosedError` before anything is stored; what fails later comes as `Failed`.
        """
        if self._closed:
            raise ClosedError("M2A is closed; start it again and send your message then.")
        check_message(text, photos)
        bank = self.memory(owner)
        stop = asyncio.Event()
        self._stops[stop] = (owner, conversation_id)

        def record() -> Message:
            return bank.record(
                conversation_id,
                role="user",
                speaker=USER,
                text=text,
                photos=[read_photo(photo) if isinstance(photo, Path) else photo for photo in photos],
                photo_names=[photo.name if isinstance(photo, Path) else None for photo in photos],
                replaces=replaces,
            )

        recording = asyncio.create_task(asyncio.to_thread(record))
        self._recordings.add(recording)
        recording.add_done_callback(self._recordings.discard)
        try:
            message = await asyncio.shield(recording)
        except BaseException:
            del self._stops[stop]
            raise
        if self._closed:
            del self._stops[stop]
            yield MessageRecorded(message)
            yield Failed("reply", "M2A was closed before it answered; your message is kept.")
            return
        self._stops[stop] = (owner, message.conversation_id)
        events: asyncio.Queue[TurnEvent | None] = asyncio.Queue()
        events.put_nowait(MessageRecorded(message))

        def end(_task: asyncio.Task[None]) -> None:
            del self._stops[stop]
            events.put_nowait(None)

        # Not in the turn itself: one that is cancelled before its first step would never come to it.
        self._spawn(self._run_turn(bank, message, events, stop)).add_done_callback(end)
        while (event := await events.get()) is not None:
            yield event

    def stop(self, owner: str, conversation_id: str) -> None:
        """End the replies that a conversation waits for; what there is of them is kept, marked as partial."""
        for event, stopped in self._stops.items():
            if stopped == (owner, conversation_id):
                event.set()

    def memory(self, owner: str) -> MemoryBank:
        """The owner's memory, to read and to write."""
        return MemoryBank(owner, self.stores, self._clock)

    def conversations(self, owner: str) -> list[Conversation]:
        """The last used first."""
        return self.memory(owner).conversations()

    def messages(self, owner: str, conversation_id: str) -> list[Message]:
        return self.memory(owner).conversation(conversation_id)

    def explanation(self, owner: str, message_id: int) -> Explanation:
        """What was searched for a reply, what it rests on, and what was remembered after it."""
        return load_trace(self.memory(owner), message_id)

    def undo(self, owner: str, reply_id: int, number: int) -> bool:
        """Take back a change that a turn made; False where that was done before.

        Raises `RejectedWriteError` where it cannot be taken back any more, and `LookupError` where there is no such change.
        """
        return self.memory(owner).undo(reply_id, number, who=THE_USER)

    def insist(self, owner: str, reply_id: int, number: int) -> list[MemoryChanged]:
        """Do what was asked for in a turn and was not done; empty where that was done before. Raises like `undo`."""
        return self.memory(owner).insist(reply_id, number, who=THE_USER)

    def supersede(self, owner: str, reply_id: int, number: int, memory_id: int) -> list[MemoryChanged]:
        """Put what a turn added in the place of one of its rivals, which stays as history; empty where it no longer is one.

        Raises like `undo`.
        """
        change = next((one for one in self.explanation(owner, reply_id).changes if one.number == number), None)
        if change is None or change.changed.entry is None:
            raise LookupError("There is no such change any more.")
        if change.undone or memory_id not in {rival.memory_id for rival in change.changed.rivals}:
            return []
        replacing = Supersession(memory_id, change.changed.entry.memory_id, "the user chose the newer one")
        return self.memory(owner).write([replacing], who=THE_USER, trace_of=reply_id)

    def waiting_updates(self, owner: str) -> dict[int, bool]:
        """The replies after which the memory was not updated yet, and whether that is set aside."""
        bank = self.memory(owner)
        return dict.fromkeys(bank.pending_updates(), False) | dict.fromkeys(bank.set_aside_updates(), True)

    def rebuild_index(self) -> int:
        """Build the whole index anew, with the encoders of the settings; how many records it holds."""
        return self._retrieval.get_for_rebuilding().indexer.rebuild()

    def loading(self) -> list[tuple[str, bool]]:
        """The parts that load in the background, and whether each is done."""
        return [(loading.name, loading.done) for loading in self._loadings()]

    def _loadings(self) -> list[Loading]:  # type: ignore[type-arg]
        return [self._text_encoder, self._image_encoder, self._retrieval, self._policy, self._captioner]

    async def _run_turn(
        self, bank: MemoryBank, message: Message, events: asyncio.Queue[TurnEvent | None], stop: asyncio.Event
    ) -> None:
        stage: str = "reply"
        try:
            async with self._turn_of(bank.owner):
                agent = await self._agent(bank)
                late: list[TurnEvent] = []
                # A reply that is stopped queries nothing, so the updates may as well be done after it.
                async for event in until_stopped(self._updates(bank, agent), stop):
                    late.append(event)
                reply: Message | None = None
                async for event in agent.reply(message, self._clock(), stop):
                    events.put_nowait(event)
                    if isinstance(event, ReplyFinished):
                        stage, reply = "update", event.message
                for event in late:
                    events.put_nowait(event)
                if reply is not None:
                    async for event in self._updates(bank, agent, after=reply):
                        events.put_nowait(event)
                await in_thread(bank.index)
            if message.photos:
                self._spawn(self._caption(bank.owner))
        except Exception as error:  # the boundary of a turn: whatever broke, the user is told and the next turn runs
            _log(error, f"The {stage}")
            events.put_nowait(Failed("update" if stage == "update" else "reply", _sentence(error)))

    async def _updates(
        self, bank: MemoryBank, agent: ChatAgent, *, after: Message | None = None, told: bool = True
    ) -> AsyncGenerator[TurnEvent, None]:
        """Do the owner's pending updates in order, and set aside one that failed `SET_ASIDE_AFTER` times.

        What came of the update of the reply `after` comes as events, and that an update was set aside: where nobody is
        `told`, none is. Until then a failing update holds up those behind it, which may build on what it remembers.
        """
        for reply_id in await in_thread(bank.pending_updates):
            is_own = after is not None and reply_id == after.message_id
            try:
                outcome = await self._update(bank, agent, reply_id)
            except Exception as error:  # a broken update must not break the turn
                _log(error, f"The update of reply {reply_id}")
                failures = 0
                if _is_of_the_update(error, replied=after is not None):
                    failures = await in_thread(bank.note_failed_update, reply_id, _sentence(error))
                if told and failures >= SET_ASIDE_AFTER:
                    await in_thread(bank.set_aside_update, reply_id)
                    logger.warning("The update of reply %s was set aside after %s failures.", reply_id, failures)
                    yield Failed("update", await in_thread(_set_aside, bank, reply_id, error))
                    continue
                if after is not None:
                    yield Failed("update", f"I could not update my memory, and try it again later. {_sentence(error)}")
                return
            if is_own:
                for event in outcome:
                    yield event

    async def _update(self, bank: MemoryBank, agent: ChatAgent, reply_id: int) -> list[TurnEvent]:
        """One reply's update: decided first, then written in one transaction with the mark that it is done."""
        answered = await in_thread(bank.answered, reply_id)
        messages = await in_thread(bank.messages, [answered, reply_id])
        message, reply = messages[answered], messages[reply_id]
        update = await agent.update(message, reply, message.said_at)
        who = (await in_thread(self._policy.get)).name
        changed = await in_thread(
            lambda: bank.write(
                update.changes, who=who, update_of=reply_id, refusals=update.refusals, unasked=update.unasked
            )
        )
        not_kept = (
            NotKept(refusal.text, refusal.reason, None if refusal.change is None else number)
            for number, refusal in enumerate(update.refusals)
        )
        return [*changed, *not_kept, *([UnaskedChanges(update.unasked)] if update.unasked else [])]

    async def _resume(self, owner: str) -> None:
        async with self._turn_of(owner):
            bank = self.memory(owner)
            try:
                async for _done in self._updates(bank, await self._agent(bank), told=False):
                    pass
            except Exception as error:  # the next turn tries again, and tells of it
                _log(error, "Resuming the updates")

    async def _caption(self, owner: str) -> None:
        """Caption the owner's photos; who shows more of them meanwhile waits for nothing."""
        async with self._captions.setdefault(owner, asyncio.Lock()):
            try:
                await caption_photos(self.memory(owner), await in_thread(self._captioner.get))
            except Exception as error:  # the next turn with a photo, or the next start, tries again
                _log(error, "Captioning photos")

    async def _agent(self, bank: MemoryBank) -> ChatAgent:
        policy = await in_thread(self._policy.get)
        captioner = await in_thread(self._captioner.get)
        manager = MemoryManager(bank, policy, captioner, max_rounds=self.settings.max_rounds)
        return ChatAgent(
            bank,
            manager,
            policy,
            captioner,
            context_turns=self.settings.context_turns,
            max_queries=self.settings.max_queries,
            history_tokens=self.settings.history_tokens,
        )

    def _turn_of(self, owner: str) -> asyncio.Lock:
        return self._turns.setdefault(owner, asyncio.Lock())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _sentence(error: Exception) -> str:
    return sentence_of(error) or (
        f"Something went wrong ({type(error).__name__}); your message is kept. The log of the server has the details."
    )


def _log(error: Exception, what: str) -> None:
    """A fault that nobody foresaw, for whoever reads the log; of any other the user is told what to do."""
    if sentence_of(error) is None:
        logger.error("%s failed: %s", what, place_of(error))


def _is_of_the_update(error: Exception, *, replied: bool) -> bool:
    """Whether the failure is one of the update, and not that the model's server cannot be reached, which no number of
    tries outlasts. Of what else a server answers, only a reply before it tells that the server works."""
    return not isinstance(error, ChatModelError) or (replied and not error.unreachable)


def _set_aside(bank: MemoryBank, reply_id: int, error: Exception) -> str:
    """What the user is told of an update that is set aside."""
    answered = bank.answered(reply_id)
    words = " ".join(bank.messages([answered])[answered].text.split())
    said = f"“{words[:_QUOTED]}{'…' * (len(words) > _QUOTED)}”" if words else "the photo that you sent"
    return (
        f"I tried {SET_ASIDE_AFTER} times to update my memory after {said}, and it failed. {_sentence(error)} I set it aside, "
        "so that nothing waits for it: what you said stays in the chat, and `m2a repair` tries it again."
    )
