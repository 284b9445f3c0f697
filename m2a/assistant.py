"""The assistant: records messages, runs turns, and owns the updates that follow them."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType

from m2a.agents.chat_agent import ChatAgent
from m2a.agents.memory_manager import MemoryManager
from m2a.agents.state import Policy
from m2a.agents.steps import GaveUpError
from m2a.agents.traces import Explanation, answered_message_id, load_trace
from m2a.data_folder import DataFolder
from m2a.loading import Loading
from m2a.memory.bank import MemoryBank
from m2a.memory.owners import owner_named, owners_with_pending_updates
from m2a.memory.semantic_memory_store import RejectedWriteError
from m2a.memory.stores import Stores
from m2a.settings import Settings, load_settings
from m2a.types import Conversation, Failed, MemoryChanged, Message, MessageRecorded, ReplyFinished, TurnEvent
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
GIVE_UP_AFTER = 3

logger = logging.getLogger(__name__)


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
        self._stops: dict[tuple[str, str], asyncio.Event] = {}
        self._tasks: set[asyncio.Task[None]] = set()

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
        """Resume the updates that an earlier process left pending."""
        for owner in await asyncio.to_thread(owners_with_pending_updates, self.stores.database):
            self._spawn(self._resume(owner))

    async def close(self) -> None:
        """Stop what runs and release the data folder. What was acknowledged stays; a pending update is resumed later."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for loading in self._loadings():
            await asyncio.to_thread(loading.close)
        self.stores.database.close()
        self.folder.release()

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
        Raises `PhotoRefusedError`, `ValueError` and `UnknownConversationError` before anything is stored; what
        fails later comes as `Failed`.
        """
        bank = self.memory(owner)
        data = [photo.read_bytes() if isinstance(photo, Path) else photo for photo in photos]
        message = await asyncio.to_thread(
            bank.record, conversation_id, role="user", speaker=USER, text=text, photos=data, replaces=replaces
        )
        events: asyncio.Queue[TurnEvent | None] = asyncio.Queue()
        events.put_nowait(MessageRecorded(message))
        self._spawn(self._run_turn(bank, message, events))
        while (event := await events.get()) is not None:
            yield event

    def stop(self, owner: str, conversation_id: str) -> None:
        """End the reply that is being written in a conversation; what there is of it is kept, marked as partial."""
        if event := self._stops.get((owner, conversation_id)):
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

    def rebuild_index(self) -> int:
        """Build the whole index anew, with the encoders of the settings; how many records it holds."""
        return self._retrieval.get_for_rebuilding().indexer.rebuild()

    def loading(self) -> list[tuple[str, bool]]:
        """The parts that load in the background, and whether each is done."""
        return [(loading.name, loading.done) for loading in self._loadings()]

    def _loadings(self) -> list[Loading]:  # type: ignore[type-arg]
        return [self._text_encoder, self._image_encoder, self._retrieval, self._policy, self._captioner]

    async def _run_turn(self, bank: MemoryBank, message: Message, events: asyncio.Queue[TurnEvent | None]) -> None:
        key = (bank.owner, message.conversation_id)
        stop = self._stops[key] = asyncio.Event()
        stage: str = "reply"
        try:
            async with self._turn_of(bank.owner):
                await self._run_updates(bank, None)
                agent = await self._agent(bank)
                async for event in agent.reply(message, self._clock(), stop):
                    events.put_nowait(event)
                    if isinstance(event, ReplyFinished):
                        stage = "update"
                if stage == "update":
                    await self._run_updates(bank, events)
                await asyncio.to_thread(bank.index)
        except Exception as error:  # the boundary of a turn: whatever broke, the user is told and the next turn runs
            logger.exception("The %s failed.", stage)
            events.put_nowait(Failed("update" if stage == "update" else "reply", _sentence(error)))
        finally:
            if self._stops.get(key) is stop:
                del self._stops[key]
            events.put_nowait(None)

    async def _run_updates(self, bank: MemoryBank, events: asyncio.Queue[TurnEvent | None] | None) -> None:
        """Do the owner's pending updates in order. One that fails stays pending, and so do those after it.

        `events` are those of the turn whose reply was just finished, None before a reply. An update that failed
        `GIVE_UP_AFTER` times while replies came is given up.
        """
        for reply_id in await asyncio.to_thread(bank.pending_updates):
            try:
                changed = await self._update(bank, reply_id)
            except Exception as error:  # a broken update must not hold up the conversation for ever
                if not isinstance(error, ChatModelError | GaveUpError | RejectedWriteError):
                    logger.exception("The update of reply %s failed.", reply_id)
                reason = f"I could not update my memory. {_sentence(error)}"
                # Before the reply a failing service may be an outage, which no number of tries outlasts; after it
                # the service works, and something about this update does not.
                if events is not None or not isinstance(error, ChatModelError):
                    failures = await asyncio.to_thread(bank.note_failed_update, reply_id, str(error))
                    if failures >= GIVE_UP_AFTER:
                        await asyncio.to_thread(bank.drop_pending_update, reply_id)
                        reason += " I gave up on it; if it matters, tell me again."
                if events is not None:
                    events.put_nowait(Failed("update", reason))
                return
            for change in changed:
                if events is not None:
                    events.put_nowait(change)

    async def _update(self, bank: MemoryBank, reply_id: int) -> list[MemoryChanged]:
        """One reply's update: decided first, then written in one transaction with the mark that it is done."""
        answered = await asyncio.to_thread(answered_message_id, bank, reply_id)
        messages = await asyncio.to_thread(bank.messages, [answered, reply_id])
        message, reply = messages[answered], messages[reply_id]
        agent = await self._agent(bank)
        changes = await agent.update(message, reply, message.said_at)
        who = (await asyncio.to_thread(self._policy.get)).name
        return await asyncio.to_thread(lambda: bank.write(changes, who=who, update_of=reply_id))

    async def _resume(self, owner: str) -> None:
        async with self._turn_of(owner):
            await self._run_updates(self.memory(owner), None)

    async def _agent(self, bank: MemoryBank) -> ChatAgent:
        policy = await asyncio.to_thread(self._policy.get)
        captioner = await asyncio.to_thread(self._captioner.get)
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

    def _spawn(self, work) -> None:  # type: ignore[no-untyped-def]
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _sentence(error: Exception) -> str:
    """What the user is told: errors of ours are sentences already."""
    return (
        str(error)
        if type(error).__module__.startswith(("m2a.", "models."))
        else (
            f"Something went wrong ({type(error).__name__}); your message is kept. The log of the server has the details."
        )
    )
