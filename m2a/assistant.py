"""The assistant: one open data folder, with everything that callers can do with it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from m2a import connecting, memory_edits, review
from m2a.ability_sentences import ability_sentences
from m2a.agents.chat_agent import ChatAgent
from m2a.agents.in_thread import in_thread
from m2a.agents.memory_manager import MemoryManager
from m2a.agents.policy import Policy
from m2a.agents.traces import Explanation, load_trace
from m2a.captioning import caption_photos
from m2a.data_folder import DataFolder
from m2a.health_checks import HealthChecks
from m2a.incoming import IncomingMessage, check_message
from m2a.loading import Loading
from m2a.memory.bank import MemoryBank, MessageRefusedError
from m2a.memory.memory_browser import MemoryBrowser
from m2a.memory.owners import all_owners, owner_named, owners_with_pending_updates, owners_with_uncaptioned_photos
from m2a.memory.purging import is_purge_due, purge
from m2a.memory.retaining import CHANGES_IN_MEMORY
from m2a.memory.stores import Stores
from m2a.sentences import log_unexpected
from m2a.settings import Settings, load_settings
from m2a.speakers import THE_USER
from m2a.temporary_chats import TemporaryChats
from m2a.turn_runner import Agents, TurnRunner
from m2a.types import (
    WHOLE,
    Change,
    ChatConnection,
    ConnectionRequest,
    ConversationPart,
    DateInterval,
    Erasure,
    ErasurePreview,
    Forgetting,
    Keeping,
    MemoryChanged,
    Message,
    Receipt,
    Review,
    Supersession,
    TurnEvent,
)
from m2a.update_queue import UpdateQueue
from m2a.upkeep import Upkeep
from m2a.wiring import (
    RetrievalLoading,
    image_encoder_loading,
    known_abilities,
    load_captioner,
    load_policy,
    open_sql_stores,
    silence_telemetry,
    text_encoder_loading,
)
from models.prices import Price, price_of

LOCAL_OWNER = "local"
MAX_TITLE_LENGTH = 200

PURGE_EVERY = 86_400  # seconds

logger = logging.getLogger(__name__)


class Assistant:
    """The one entry point for the web app, the command line and other programs.

    Every call names the owner whose memory it works on. An owner's turns run one after another, and the memory update of
    each turn finishes before the owner's next query.
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
        self.upkeep = Upkeep(settings, self.stores, self.rebuild_index, self._spawn)
        self.health_checks = HealthChecks(self.stores, self.memory, self._caption, clock)
        self.local_owner = owner_named(sql.database, LOCAL_OWNER)
        self.temporary_chats = TemporaryChats(lambda: self.stores, clock)
        self.turns = TurnRunner(
            lambda owner, conversation_id: self.temporary_chats.find(owner, conversation_id) or self._bank(owner),
            self._agents,
            lambda owner: self._spawn(self._caption(owner)),
            clock,
        )
        self._caption_locks: dict[str, asyncio.Lock] = {}
        self._purging = asyncio.Lock()
        self._connecting = asyncio.Lock()
        self._background: set[asyncio.Task[None]] = set()

    @classmethod
    def open(
        cls,
        settings: Settings | None = None,
        *,
        clock: Callable[[], datetime] | None = None,
        policy: Policy | None = None,
    ) -> "Assistant":
        """Opens the memory in the data folder and starts loading the models in the background.

        `clock` returns aware datetimes (a benchmark may replay 2023). `policy` replaces the chat model that the settings
        name. Raises `DataFolderInUseError`, `DatabaseError` and `SettingsError`.
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

    def chat_model_sentences(self) -> list[str]:
        """Returns sentences about what the connected chat model can do, as far as that is known.

        The list is empty while the model loads, and where no model is connected.
        """
        abilities = known_abilities(self._policy.get()) if self._policy.done and not self._policy.error else None
        return [] if abilities is None else list(ability_sentences(abilities, self.settings))

    async def start(self) -> None:
        """Resumes what an earlier process left unfinished: pending updates, missing captions and due purges."""
        for owner in await in_thread(owners_with_pending_updates, self.stores.database):
            self._spawn(self._resume(owner))
        for owner in await in_thread(owners_with_uncaptioned_photos, self.stores.database):
            self._spawn(self._caption(owner))
        self._spawn(self._purge_daily())

    async def close(self) -> None:
        """Stops all work and releases the data folder.

        Nothing that was acknowledged is lost; pending updates resume at the next start.
        """
        async with AsyncExitStack() as cleanup:  # releases the folder even if something fails on the way
            cleanup.callback(self.folder.release)
            cleanup.callback(self.stores.database.close)
            for loading in self._loadings():
                cleanup.push_async_callback(in_thread, loading.close)
            running = [*self.turns.close(), *self._background]
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

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
        """Records a message, answers it and updates the memory, and yields what happens as events.

        Leaving the iterator does not cancel the turn; `turns.stop` does. Without a `conversation_id`, the message begins a
        new conversation. The events after `ReplyFinished` say what the memory kept of this exchange and what it did not;
        the first `MemoryChanged` has number 0 for `undo`. Raises `PhotoRefusedError`, `MessageRefusedError`,
        `UnknownConversationError` and `ClosedError` before anything is stored; later failures are `Failed` events.
        """
        turn = self.turns.begin(owner, IncomingMessage(text, tuple(photos), conversation_id, replaces))
        async for event in turn.follow():
            yield event

    def memory(self, owner: str) -> MemoryBank:
        """Returns the owner's memory for reading and writing. Memories past their last day expire first."""
        bank = self._bank(owner)
        bank.expire()
        return bank

    def browser(self, owner: str) -> MemoryBrowser:
        """Returns a browser over the owner's memory."""
        return MemoryBrowser(self.memory(owner), self.stores, self._clock)

    def bank_of(self, owner: str, conversation_id: str | None) -> MemoryBank:
        """Returns the owner's memory as this conversation sees it.

        In a temporary chat, the memory is read-only and also holds what was said in that chat.
        """
        return self.temporary_chats.find(owner, conversation_id) or self.memory(owner)

    def end_temporary(self, owner: str, conversation_id: str) -> None:
        """Ends a temporary chat, stops its running reply and discards everything in it."""
        self.turns.stop(owner, conversation_id)
        self.temporary_chats.end(owner, conversation_id)

    def last_continued(self, owner: str) -> str | None:
        """Returns the id of the conversation continued last; that of the changes by hand only if there is no other."""
        conversations, by_hand = self.memory(owner).conversations(), self.edits_conversation_id(owner)
        chats = [chat for chat in conversations if chat.conversation_id != by_hand] or conversations
        last = max(chats, key=lambda chat: chat.last_said_at or chat.started_at, default=None)
        return last.conversation_id if last else None

    def edits_conversation_id(self, owner: str) -> str | None:
        """Returns the id of the conversation that records the owner's changes by hand; None before the first change."""
        conversations = self.memory(owner).conversations()
        return next((chat.conversation_id for chat in conversations if chat.title == CHANGES_IN_MEMORY), None)

    def has_several_owners(self) -> bool:
        """Returns whether the files hold the memory of more than one owner."""
        return len(all_owners(self.stores.database)) > 1

    def rename_conversation(self, owner: str, conversation_id: str, title: str) -> None:
        """Renames a conversation. Raises `MessageRefusedError` and `UnknownConversationError`."""
        title = " ".join(title.split())
        check_message(title)
        if not title or len(title) > MAX_TITLE_LENGTH:
            raise MessageRefusedError(
                f"This title has {len(title)} characters; choose one with 1 to {MAX_TITLE_LENGTH} characters."
            )
        self.memory(owner).rename_conversation(conversation_id, title)

    def messages(self, owner: str, conversation_id: str, part: ConversationPart = WHOLE) -> list[Message]:
        """Returns a part of a conversation as its owner reads it, including what answers may not use."""
        return self.bank_of(owner, conversation_id).conversation_to_owner(conversation_id, part)

    def explanation(self, owner: str, message_id: int) -> Explanation:
        """Returns what was searched for a reply, which sources it rests on, and what was remembered after it."""
        return self.explanations(owner, [message_id], None)[message_id]

    def explanations(
        self, owner: str, message_ids: Iterable[int], conversation_id: str | None
    ) -> dict[int, Explanation]:
        """Returns the same for several replies, by message id. Those in a temporary chat need its `conversation_id`."""
        bank = self.bank_of(owner, conversation_id)
        return {message_id: load_trace(bank, message_id, to_owner=True) for message_id in message_ids}

    def edit_memory(self, owner: str, memory_id: int, text: str, happened: DateInterval | None) -> int:
        """Changes the text of a memory and when it happened.

        Returns the id of the reply that reports the change, for `undo`. Raises `RejectedWriteError` and
        `MessageRefusedError`.
        """
        return memory_edits.edit(self.memory(owner), memory_id, text, happened)

    def restore_memory(self, owner: str, memory_id: int) -> int:
        """Replaces the newest version of a memory with an older one. Returns and raises like `edit_memory`."""
        return memory_edits.restore(self.memory(owner), memory_id)

    def forget_memory(self, owner: str, memory_id: int) -> int:
        """Forgets a memory and the words that it came from. Returns and raises like `edit_memory`."""
        return memory_edits.forget(self.memory(owner), memory_id)

    def change_use(self, owner: str, change: Keeping) -> int:
        """Pins a memory, sets its last day, or bans it from answers, or reverts that. Returns and raises like `edit_memory`."""
        return memory_edits.change_use(self.memory(owner), change)

    def undo(self, owner: str, reply_id: int, number: int) -> bool:
        """Undoes a change that a turn made. Returns False if it was already undone.

        Raises `RejectedWriteError` if it can no longer be undone, and `LookupError` if there is no such change.
        """
        return self.memory(owner).undo(reply_id, number)

    def insist(self, owner: str, reply_id: int, number: int) -> list[MemoryChanged]:
        """Makes a change that was requested in a turn and refused. Returns the changes, none if already made.

        Raises like `undo`.
        """
        return self.memory(owner).review_queue.insist(reply_id, number)

    def review(self, owner: str, at: tuple[int, int] | None = None, *, skip: bool = False) -> Review:
        """Returns the memories that wait for a decision, with one of them in full; see `review.review`."""
        return review.review(self.memory(owner), at, skip=skip)

    def accept_held(self, owner: str, reply_id: int, number: int, text: str | None = None) -> int:
        """Writes a memory that waited for review, with `text` in place of its own if given.

        Returns and raises like `edit_memory`.
        """
        return review.accept_held(self.memory(owner), reply_id, number, text)

    def choose(self, owner: str, reply_id: int, number: int, memory_id: int) -> list[MemoryChanged]:
        """Does what a turn offered to do with `memory_id`.

        A rival is replaced with the memory that the turn added, and stays as history. A memory that the turn asked about is
        forgotten, and the others that it asked about are used again. Returns the changes, none if that memory is no longer
        offered. Raises like `undo`.
        """
        changes = self.explanation(owner, reply_id).changes
        change = next((change for change in changes if change.number == number), None)
        if change is None:
            raise LookupError("This change no longer exists.")
        changed, chosen = change.changed, list[Change]()
        if changed.change == "asked" and changed.previous is not None and changed.previous.memory_id == memory_id:
            chosen.append(Forgetting((memory_id,), "the user asked to forget it"))
        elif changed.entry is not None and memory_id in {rival.memory_id for rival in changed.rivals}:
            chosen.append(Supersession(memory_id, changed.entry.memory_id, "the user chose the newer one"))
        if change.undone or not chosen:
            return []
        return self.memory(owner).write(chosen, who=THE_USER, trace_of=reply_id)

    def waiting_updates(self, owner: str) -> dict[int, bool]:
        """Returns the ids of the replies whose memory update is outstanding, each with whether it was set aside."""
        bank = self.memory(owner)
        waiting, set_aside = bank.replies.pending_updates(), bank.replies.set_aside_updates()
        return dict.fromkeys(waiting, False) | dict.fromkeys(set_aside, True)

    async def preview_erasure(self, owner: str, erasure: Erasure) -> ErasurePreview:
        """Returns everything that `erase` would remove, with its text. Changes nothing. Raises `NothingToEraseError`."""
        return await in_thread(self.memory(owner).preview_erasure, erasure)

    async def erase(self, owner: str, erasure: Erasure) -> Receipt:
        """Erases something from every row, file, search and prompt; the next purge removes its bytes from the disk.

        Stops a running reply to what is erased, and waits for the owner's other running work, so that none of it brings the
        erased content back. Raises `NothingToEraseError`.
        """
        bank = self.memory(owner)
        self.turns.stop_answering(owner, erasure)
        async with self.turns.paused(owner):
            receipt = await in_thread(bank.erase, erasure)
            if erasure.kind == "everything":
                self.health_checks.discard(owner)
            try:
                await in_thread(bank.index)
            except Exception as error:  # harmless: searches confirm hits in SQL, and the next one updates the index
                log_unexpected(logger, "Updating the index after an erasure", error)
        return receipt

    async def purge(self) -> int:
        """Removes the bytes of all owners' erased content from every file. Returns the number of erasures purged.

        This also happens at every start and once a day whenever something was erased. Raises `DatabaseError` and
        `IndexUnavailableError`.
        """
        async with self._purging:
            await in_thread(self.folder.empty_uploads)
            return await in_thread(purge, self.stores, self._clock())

    def connection(self) -> ChatConnection:
        """Returns the chat model in use, and which of its settings the environment fixes."""
        return connecting.connection(self.settings)

    async def connect(self, request: ConnectionRequest) -> list[str]:
        """Tests another chat model, saves it in the settings and uses it from the next message on.

        Returns sentences that say what it can do. Raises `UserError` and changes nothing if the model cannot be used.
        """
        async with self._connecting:
            self.settings, policy, sentences = await connecting.connect(self.settings, request)
            retired = self._policy, self._captioner
            self._policy = Loading("chat model", lambda: policy)
            self._captioner = Loading("captions", lambda: load_captioner(policy))
            self._policy.start()
            self._captioner.start()
        for loading in retired:
            await in_thread(loading.close)
        return sentences

    def rebuild_index(self, is_cancelled: Callable[[], bool] = lambda: False) -> int:
        """Rebuilds the whole index with the encoders in the settings. Returns the number of records to index."""
        return self._retrieval.get_for_rebuilding().indexer.rebuild(is_cancelled=is_cancelled)

    def loading(self) -> list[tuple[str, bool]]:
        """Returns the names of the parts that load in the background, each with whether it is done."""
        return [(loading.name, loading.done) for loading in self._loadings()]

    def _loadings(self) -> list[Loading]:  # type: ignore[type-arg]
        return [self._text_encoder, self._image_encoder, self._retrieval, self._policy, self._captioner]

    def _bank(self, owner: str) -> MemoryBank:
        return MemoryBank(owner, self.stores, self._clock)

    async def _resume(self, owner: str) -> None:
        try:
            await self.turns.resume(self.memory(owner))
        except Exception as error:  # the next turn tries again and reports the failure
            log_unexpected(logger, "Resuming the updates", error)

    async def _caption(self, owner: str) -> None:
        """Captions the owner's photos in the background; photos that arrive meanwhile wait for the next call."""
        async with self._caption_locks.setdefault(owner, asyncio.Lock()):
            try:
                await caption_photos(self.memory(owner), await in_thread(self._captioner.get), self._price)
            except Exception as error:  # the next turn with a photo, or the next start, tries again
                log_unexpected(logger, "Captioning photos", error)

    async def _purge_daily(self) -> None:
        while True:
            try:
                if await in_thread(is_purge_due, self.stores.database):
                    await self.purge()
            except Exception as error:  # tried again the next day or at the next start
                log_unexpected(logger, "The purge", error)
            await asyncio.sleep(PURGE_EVERY)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    async def _agents(self, bank: MemoryBank) -> Agents:
        policy = await in_thread(self._policy.get)
        captioner = await in_thread(self._captioner.get)
        agent = ChatAgent(
            bank,
            MemoryManager(bank, policy, captioner, max_rounds=self.settings.max_rounds),
            policy,
            captioner,
            context_turns=self.settings.context_turns,
            max_queries=self.settings.max_queries,
            history_tokens=self.settings.history_tokens,
        )
        return Agents(agent, UpdateQueue(bank, agent, policy.name, self._price), self._price)

    @property
    def _price(self) -> Price:
        return price_of(self.settings.chat_model, self.settings.chat_base_url)
