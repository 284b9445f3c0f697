"""The ChatAgent: Query → Generate, then Update (M2A, section 4.3).

It searches the memory and decides on changes through the MemoryManager, and reads from the bank what every prompt includes.
"""

import asyncio
from collections.abc import Container, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime

from m2a.agents.courtesies import only_thanks
from m2a.agents.found_lines import beside
from m2a.agents.in_thread import in_thread
from m2a.agents.memory_manager import MemoryManager
from m2a.agents.photo_views import PhotoViews, numbered_photos
from m2a.agents.policy import Policy
from m2a.agents.reply import Reply, ReplyDraft
from m2a.agents.state import (
    SEARCH_HITS,
    Decision,
    MemoryContext,
    Opened,
    Rejected,
    Searched,
    Step,
    TurnState,
    records_of,
)
from m2a.agents.steps import GaveUpError, UsageMeter, next_action, with_step
from m2a.agents.traces import load_changes
from m2a.memory.bank import MemoryBank
from m2a.types import (
    Action,
    ConversationPart,
    Emit,
    Failed,
    MemoryChanged,
    MemoryEntry,
    Message,
    QueryMemory,
    TurnEvent,
    Update,
    UpdateMemory,
)
from models.captioner import Captioner
from models.chat_model import CHARACTERS_PER_TOKEN, ChatModelError, MalformedReplyError, TokenUsage

GAVE_UP = (
    "I could not search my memory, because the chat model gave no usable answer. This reply may miss something that I "
    "remember."
)
NEAREST_HITS = 3  # shown to a reply if nothing is near: enough to see what the memory is about
PICTURED_HITS = 2  # best hits whose photos a reply sees; of the other hits, only the near ones
MESSAGES_BEFORE = 200  # most earlier messages of the conversation in a prompt
NOT_SEARCHED = (
    "The memory was not searched to the end: the search gave no usable step. What is not here may still be remembered."
)
OR_REPLY = "Or write your reply, which takes no call."
UNASKED_REQUEST = (
    "Remember what the user's new message tells or shows that is worth remembering, and carry out what it corrects, takes back "
    "or asks to forget. If there is nothing of this kind, finish."
)


class ChatAgent:
    """Answers one owner's messages and decides what to remember of them. It writes nothing itself."""

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
        self._photos = PhotoViews(bank, captioner, policy)
        self._context_turns = context_turns
        self._max_queries = max_queries
        self._history_tokens = history_tokens

    async def needs_updates(self, message: Message) -> bool:
        """Returns whether the reply to the message must wait for pending updates.

        It need not wait for the updates of turns that its prompt contains anyway, if the policy reads the prompt.
        """
        pending = await in_thread(self._bank.replies.pending_updates)
        if not pending or self._policy.published_stages:
            return bool(pending)
        in_prompt = {earlier.message_id for earlier in self._fitting(await in_thread(self._before, message))}
        return not in_prompt.issuperset(pending)

    async def reply(self, message: Message, now: datetime, emit: Emit) -> Reply:
        """Runs the Query and Generate stages, and emits the searches and the text of the reply as they come.

        If cancelled, it still returns what there is of the reply. If the model's service fails, the reply says so.
        """
        draft = ReplyDraft(emit)
        try:
            await self._compose(message, now, draft)
        except asyncio.CancelledError:
            return draft.finished(broken_off=True)
        except ChatModelError as error:
            return draft.finished(failure=str(error))
        return draft.finished()

    async def update(self, message: Message, reply: Message, now: datetime, meter: UsageMeter) -> Update:
        """Runs the Update stage for one exchange. Returns the checked changes, which are not written yet, and the refusals.

        Raises `GaveUpError`, and `ChatModelError` if the model's service fails.
        """
        state = self._of_newest_turns(await self._state(message, now))
        changes = await in_thread(self._changes_before, state.recent)
        state = replace(state, stage="update", reply=reply, changes=changes)
        if not self._policy.published_stages:
            state = replace(state, context=await in_thread(self._manager.found_for, reply))
        return await decide_update(self._policy, self._manager, state, meter)

    async def _compose(self, message: Message, now: datetime, draft: ReplyDraft) -> None:
        state = await self._state(message, now)
        rounds = 0
        in_prompt: Container[str] = ()
        if self._policy.published_stages:
            await self._query(self._of_newest_turns(state), draft)
        else:
            rounds = self._max_queries
            in_prompt = state.photo_numbers
            if not only_thanks(message, state.recent):
                draft.contexts.append(await self._manager.recall(state, draft.emit, nearest=NEAREST_HITS))
        state = replace(
            state,
            stage="generate",
            context=tuple(draft.contexts),
            recalled=await in_thread(self._photos.recalled, _worth_seeing(draft.contexts), state, in_prompt),
            rounds_left=rounds,
        )
        draft.photos = state.views
        while searches := await self._write_until_search(state, draft):
            state = replace(state, rounds_left=state.rounds_left - 1)
            for action in searches:
                step = await self._search_or_fetch(state, action, draft)
                state = with_step(state, step)
            records = [record for step in state.steps for record in records_of(step.observation)]
            # They follow those recalled before, so that every photo keeps its number.
            new = await in_thread(self._photos.recalled, records, state, state.photo_numbers)
            state = replace(state, recalled=(*state.recalled, *new))
            draft.photos = state.views

    async def _write_until_search(self, state: TurnState, draft: ReplyDraft) -> tuple[Action | Rejected, ...]:
        """Writes the reply until it is complete or the policy wants to search. Returns the searches, none if complete."""
        searches: tuple[Action | Rejected, ...] = ()
        try:
            async with aclosing(self._policy.reply(state)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, TokenUsage):
                        draft.meter.count(piece)
                    elif isinstance(piece, Decision):
                        searches = (piece.action, *piece.further)
                    else:
                        draft.write(piece)
        except MalformedReplyError as error:
            draft.meter.count(error.usage)
            searches = (Rejected(str(error)),)
        if searches:
            draft.end_paragraph()
        return searches if state.may_search else ()

    async def _search_or_fetch(self, state: TurnState, action: Action | Rejected, draft: ReplyDraft) -> Step:
        if isinstance(action, Rejected):
            return Step(None, Rejected(f"{action.reason} {OR_REPLY}"))
        step = await self._manager.search_or_fetch(state, action, draft.emit)
        if isinstance(step.observation, Searched | Opened):
            draft.contexts.append(await self._manager.context_of(step.observation))
        return step

    async def _query(self, state: TurnState, draft: ReplyDraft) -> None:
        for rounds_left in range(self._max_queries, 0, -1):
            try:
                action, state = await next_action(self._policy, replace(state, rounds_left=rounds_left), draft.meter)
            except GaveUpError:
                draft.contexts.append(MemoryContext(NOT_SEARCHED, (), ()))
                draft.emit(Failed("query", GAVE_UP))
                return
            if not isinstance(action, QueryMemory):
                return
            context = await self._manager.query(state, action.query, draft.meter, draft.emit)
            draft.contexts.append(context)
            state = with_step(state, Step(action, context))

    async def _state(self, message: Message, now: datetime) -> TurnState:
        """Returns the state before any search, with as much of the conversation as fits."""
        before = await in_thread(self._before, message)
        numbers = numbered_photos([*before, message])
        photos = await self._photos.of_message(message, numbers)
        earlier = await in_thread(self._photos.earlier, before, message, numbers)
        recent = self._fitting(before)
        pinned, preferences = await in_thread(lambda: (self._bank.pinned(), self._bank.standing_preferences()))
        concepts = await in_thread(self._bank.concepts)
        return TurnState(
            stage="query",
            now=now,
            message=message,
            recent=recent,
            photos=photos,
            earlier=earlier,
            pinned=tuple(pinned),
            preferences=tuple(preference for preference in preferences if preference.pinned_at is None),
            concepts=tuple(concepts),
            corrections=await in_thread(
                self._bank.corrections_of, {entry.memory_id for entry in (*pinned, *preferences)}
            ),
            revisions=await in_thread(self._bank.revisions_in, [earlier.message_id for earlier in recent]),
            is_temporary=self._bank.is_temporary,
        )

    def _before(self, message: Message) -> tuple[Message, ...]:
        """Returns the newest messages of the conversation before this one."""
        newest = self._bank.conversation(
            message.conversation_id, ConversationPart(newest=MESSAGES_BEFORE, up_to=message.message_id)
        )
        return _current(newest, message)

    def _of_newest_turns(self, state: TurnState) -> TurnState:
        """Returns the state with only the last `context_turns` of the conversation; a turn is two messages."""
        return replace(state, recent=state.recent[max(0, len(state.recent) - 2 * self._context_turns) :])

    def _changes_before(self, recent: Sequence[Message]) -> tuple[MemoryChanged, ...]:
        """Returns the changes of the latest earlier turn that changed the memory, without those that were undone."""
        for reply in reversed([message for message in recent if message.role == "assistant"]):
            if changes := load_changes(self._bank, reply.message_id):
                return tuple(change.changed for change in changes if not change.undone)
        return ()

    def _fitting(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Returns the newest messages that fit into `history_tokens`."""
        fitting: list[Message] = []
        characters = self._history_tokens * CHARACTERS_PER_TOKEN
        for earlier in reversed(messages):
            characters -= len(earlier.text)
            if characters < 0:
                break
            fitting.insert(0, earlier)
        return tuple(fitting)


async def decide_update(
    policy: Policy,
    manager: MemoryManager,
    state: TurnState,
    meter: UsageMeter,
    *,
    earlier: Sequence[Message] | None = None,
) -> Update:
    """Decides what to remember, correct or forget after an exchange. Raises like `ChatAgent.update`.

    For a message that only says thanks, nothing is decided and no model is called, unless the policy has the published stages.
    `earlier` are the earlier messages for the manager, by default those of the state. Besides the hits for the message, the
    manager gets the contexts of the state, such as the hits of the reply's searches.
    """
    recent = state.recent if earlier is None else tuple(earlier)
    if not policy.published_stages:
        if only_thanks(state.message, recent):
            return Update()
        state = replace(state, recent=recent)
        recalled = await manager.recall(state, _ignore, nearest=SEARCH_HITS)
        further = (beside(context, *_records_in(recalled)) for context in state.context)
        contexts = (recalled, *(context for context in further if context.hits))
        return await manager.update(replace(state, context=contexts), UNASKED_REQUEST, meter)
    action, state = await next_action(policy, state, meter)
    if not isinstance(action, UpdateMemory):
        return Update()
    return await manager.update(replace(state, recent=recent), action.request, meter)


def _worth_seeing(contexts: Sequence[MemoryContext]) -> list[MemoryEntry | Message]:
    """Returns the records whose photos a reply should see: of each context, the near ones and the best."""
    return [
        hit.record
        for context in contexts
        for rank, hit in enumerate(context.hits)
        if hit.is_near or rank < PICTURED_HITS
    ]


def _records_in(context: MemoryContext) -> tuple[list[Message], list[MemoryEntry]]:
    records = records_of(context)
    return (
        [record for record in records if isinstance(record, Message)],
        [record for record in records if isinstance(record, MemoryEntry)],
    )


def _ignore(_event: TurnEvent) -> None:
    """Drops an event, since nobody follows the searches of an update."""


def _current(messages: Sequence[Message], message: Message) -> tuple[Message, ...]:
    """Returns the messages before this one, without messages replaced by edits and everything that followed those."""
    current: list[Message] = []
    for earlier in messages:
        if earlier.replaces is not None:
            current = [message for message in current if message.message_id < earlier.replaces]
        if earlier.message_id < message.message_id and (
            message.replaces is None or earlier.message_id < message.replaces
        ):
            current.append(earlier)
    return tuple(current)
