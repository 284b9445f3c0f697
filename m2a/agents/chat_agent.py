"""The ChatAgent: Query → Generate, then Update (M2A, section 4.3). It sees the memory through the manager alone."""

import asyncio
import itertools
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime

from m2a.agents.marks import MarkReader
from m2a.agents.memory_manager import MemoryManager
from m2a.agents.photo_views import caption_photo, earlier_photos
from m2a.agents.prompt_photo import for_prompt
from m2a.agents.state import MemoryContext, PhotoView, Policy, Step, Superseded, TurnState
from m2a.agents.steps import GaveUpError, UsageMeter, next_action, pieces, with_step
from m2a.agents.stopping import in_thread, until_stopped
from m2a.agents.traces import dump_trace, load_trace
from m2a.memory.bank import MemoryBank
from m2a.memory.photo_store import PhotoDamagedError
from m2a.types import (
    Failed,
    MemoryChanged,
    MemoryEntry,
    MemorySearched,
    Message,
    QueryMemory,
    ReplyFinished,
    Source,
    TextDelta,
    TurnEvent,
    Update,
    UpdateMemory,
)
from models.captioner import Captioner
from models.chat_model import CHARACTERS_PER_TOKEN, ChatModelError

RECALLED_PHOTOS = 4
ASSISTANT = "M2A"

logger = logging.getLogger(__name__)


class ChatAgent:
    """Answers one owner's messages."""

    def __init__(
        self,
        bank: MemoryBank,
        manager: MemoryManager,
        policy: Policy,
        captioner: Captioner,
        *,
        context_turns: int,
        max_queries: int,
        history_tokens: int,
    ) -> None:
        self._bank = bank
        self._manager = manager
        self._policy = policy
        self._captioner = captioner
        self._context_turns = context_turns
        self._max_queries = max_queries
        self._history_tokens = history_tokens

    async def reply(self, message: Message, now: datetime, stop: asyncio.Event) -> AsyncIterator[TurnEvent]:
        """The Query and Generate stages. Ends with `ReplyFinished`, or with `Failed` where the model's service did.

        Once `stop` is set, what was written so far is kept, marked as partial.
        """
        meter = UsageMeter()
        searches: list[MemorySearched] = []
        contexts: list[MemoryContext] = []
        marks = MarkReader()
        text = ""
        failure: Failed | None = None
        photos: tuple[PhotoView, ...] = ()
        try:
            async with aclosing(until_stopped(self._compose(message, now, meter), stop)) as composing:
                async for event in composing:
                    if isinstance(event, TurnState):
                        photos = (*event.photos, *event.earlier, *event.recalled)
                    elif isinstance(event, MemoryContext):
                        contexts.append(event)
                    elif isinstance(event, str):
                        if shown := marks.feed(event):
                            text += shown
                            yield TextDelta(shown)
                    else:
                        if isinstance(event, MemorySearched):
                            searches.append(event)
                        yield event
        except ChatModelError as error:
            failure = Failed("reply", str(error))
        if rest := marks.finish():
            text += rest
            yield TextDelta(rest)
        if failure is None and not text.strip() and not stop.is_set() and not marks.photos:
            failure = Failed("reply", "The chat model gave an empty reply; send your message again.")
        if failure is not None and not text.strip():
            yield failure
            return
        sources = self._sources(contexts, marks.memories)
        shown_photos = {view.number: view.photo_id for view in photos}
        reply = await in_thread(
            self._bank.record_reply,
            message.conversation_id,
            text.strip() or ("(stopped)" if stop.is_set() else ""),
            speaker=ASSISTANT,
            photo_ids=[shown_photos[number] for number in marks.photos if number in shown_photos],
            partial=failure is not None or stop.is_set(),
            steps=dump_trace(message, searches, sources),
            answers=message.message_id,
            update_pending=True,
        )
        if meter.usage.calls:
            yield meter.usage
        yield ReplyFinished(reply, sources)
        if failure is not None:
            yield failure

    async def update(self, message: Message, reply: Message, now: datetime) -> Update:
        """The Update stage for one exchange: the changes, checked and not yet written, and what is refused.

        Raises `GaveUpError`, and `ChatModelError` where the model's service failed.
        """
        meter = UsageMeter()
        state = replace(await self._state(message, now), stage="update", reply=reply)
        state = replace(state, changes=await in_thread(self._changes_before, state.recent))
        action, state = await next_action(self._policy, state, meter)
        if not isinstance(action, UpdateMemory):
            return Update()
        return await self._manager.update(state, action.request, meter)

    async def _compose(
        self, message: Message, now: datetime, meter: UsageMeter
    ) -> AsyncGenerator[TurnEvent | MemoryContext | TurnState | str, None]:
        """What the two stages bring: the state from which the reply is generated, and the reply in pieces of text."""
        state = await self._state(message, now)
        contexts: list[MemoryContext] = []
        async for event in self._query(state, meter):
            if isinstance(event, MemoryContext):
                contexts.append(event)
            yield event
        history = await in_thread(self._history, message)
        generate = replace(
            state,
            stage="generate",
            steps=(),
            context=tuple(contexts),
            recalled=await in_thread(self._recalled, contexts, len(message.photos) + len(state.earlier)),
            recent=history,
            superseded=await in_thread(self._superseded, history),
        )
        yield generate
        async with aclosing(pieces(self._policy, generate, meter)) as stream:
            async for piece in stream:
                yield piece

    async def _query(self, state: TurnState, meter: UsageMeter) -> AsyncIterator[TurnEvent | MemoryContext]:
        for rounds_left in range(self._max_queries, 0, -1):
            try:
                action, state = await next_action(self._policy, replace(state, rounds_left=rounds_left), meter)
            except GaveUpError:
                return
            if not isinstance(action, QueryMemory):
                return
            async for event in self._manager.query(state, action.query, meter):
                if isinstance(event, MemoryContext):
                    state = with_step(state, Step(action, event))
                yield event

    async def _state(self, message: Message, now: datetime) -> TurnState:
        photos = await self._photo_views(message)
        recent = await in_thread(self._recent, message)
        earlier = await in_thread(earlier_photos, self._bank, recent, len(message.photos))
        preferences, concepts = await in_thread(lambda: (self._bank.standing_preferences(), self._bank.concepts()))
        return TurnState(
            stage="query",
            now=now,
            message=message,
            recent=recent,
            photos=photos,
            earlier=earlier,
            preferences=tuple(preferences),
            concepts=tuple(concepts),
            superseded=await in_thread(self._superseded, recent),
        )

    async def _photo_views(self, message: Message) -> tuple[PhotoView, ...]:
        """The message's photos. Without a language model a caption is all that there is to see, so it is made now."""
        views = []
        for number, photo_id in enumerate(message.photos, start=1):
            view = await in_thread(self._view, number, photo_id)
            if view is None:
                continue
            if not view.caption and not self._policy.calls_model:
                view = replace(view, caption=await caption_photo(self._bank, self._captioner, photo_id))
            recognition = await in_thread(self._bank.recognition, photo_id, message)
            views.append(replace(view, recognition=recognition))
        return tuple(views)

    def _view(self, number: int, photo_id: str, record: MemoryEntry | Message | None = None) -> PhotoView | None:
        """The photo as the policy is shown it; None where its file is gone or damaged, since words can still be answered."""
        try:
            data = self._bank.photo_data(photo_id)
        except PhotoDamagedError as error:
            logger.warning("A photo is left out of the prompt. %s", error)
            return None
        if self._policy.calls_model:
            data = for_prompt(data)
        return PhotoView(
            number,
            photo_id,
            self._bank.caption(photo_id),
            data,
            self._bank.photo(photo_id).media_type,
            record if isinstance(record, MemoryEntry) else None,
            record.message_id if isinstance(record, Message) else None,
        )

    def _recent(self, message: Message) -> tuple[Message, ...]:
        """The newest turns before the message, as many as fit into `history_tokens`; a turn is two messages."""
        newest = self._bank.conversation(
            message.conversation_id, newest=2 * self._context_turns + 1, up_to=message.message_id
        )
        return self._fitting(_current(newest, message))

    def _history(self, message: Message) -> tuple[Message, ...]:
        """The newest messages before this one that fit into `history_tokens`."""
        newest = self._bank.conversation(message.conversation_id, newest=200, up_to=message.message_id)
        return self._fitting(_current(newest, message))

    def _superseded(self, messages: Sequence[Message]) -> Superseded:
        return self._bank.superseded_in([message.message_id for message in messages])

    def _changes_before(self, recent: Sequence[Message]) -> tuple[MemoryChanged, ...]:
        """What the newest of the turns before this one that changed the memory did to it; what was undone is left out."""
        for reply in reversed([message for message in recent if message.role == "assistant"]):
            if changes := load_trace(self._bank, reply.message_id).changes:
                return tuple(change.changed for change in changes if not change.undone)
        return ()

    def _fitting(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        kept: list[Message] = []
        characters = self._history_tokens * CHARACTERS_PER_TOKEN
        for earlier in reversed(messages):
            characters -= len(earlier.text)
            if characters < 0:
                break
            kept.insert(0, earlier)
        return tuple(kept)

    def _recalled(self, contexts: Sequence[MemoryContext], numbered: int) -> tuple[PhotoView, ...]:
        """Up to four photos of the records found, the best record's first, one of each record before a second."""
        records = [hit.record for context in contexts for hit in context.hits]
        chosen: dict[str, MemoryEntry | Message] = {}
        for position in range(RECALLED_PHOTOS):
            for record in records:
                photo_ids = record.photo_ids if isinstance(record, MemoryEntry) else record.photos
                if position < len(photo_ids):
                    chosen.setdefault(photo_ids[position], record)
        numbers = itertools.count(numbered + 1)
        views = (self._view(next(numbers), photo_id, record) for photo_id, record in chosen.items())
        return tuple(itertools.islice((view for view in views if view is not None), RECALLED_PHOTOS))

    def _sources(self, contexts: Sequence[MemoryContext], cited: Sequence[int]) -> tuple[Source, ...]:
        """The records that the reply rests on: those that it cites, or all that it was given if it cites none."""
        sources: dict[tuple[str, int], Source] = {}
        for context in contexts:
            for hit in context.hits:
                record = hit.record
                if isinstance(record, MemoryEntry):
                    key = ("entry", record.memory_id)
                    words = tuple(
                        message
                        for message in context.messages
                        if any(first <= message.message_id <= last for first, last in record.evidence_ids)
                    )
                else:
                    key = ("message", record.message_id)
                    words = (record,)
                sources.setdefault(key, Source(hit, words))
        chosen = [sources["entry", memory_id] for memory_id in cited if ("entry", memory_id) in sources]
        return tuple(chosen or sources.values())


def _current(messages: Sequence[Message], message: Message) -> tuple[Message, ...]:
    """The messages before this one, less those that an edit replaced and what followed them."""
    current: list[Message] = []
    for earlier in messages:
        if earlier.replaces is not None:
            current = [kept for kept in current if kept.message_id < earlier.replaces]
        if earlier.message_id < message.message_id and (
            message.replaces is None or earlier.message_id < message.replaces
        ):
            current.append(earlier)
    return tuple(current)
