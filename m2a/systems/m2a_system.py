"""M2A and its ablations: the app's agents, run on the dialogues of a benchmark."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from m2a.agents.chat_agent import ChatAgent, decide_update
from m2a.agents.found_lines import context_lines
from m2a.agents.language_policy import LanguagePolicy
from m2a.agents.memory_manager import MemoryManager
from m2a.agents.offline import OfflineRules
from m2a.agents.offline.dialogues import told_by
from m2a.agents.policy import Policy
from m2a.agents.state import Decision, MemoryContext, Observation, Opened, PhotoView, Searched, TurnState
from m2a.agents.steps import GaveUpError, UsageMeter
from m2a.memory.semantic_memory_store import RejectedWriteError
from m2a.systems.base_system import BaseSystem
from m2a.systems.evaluated_bank import EvaluatedBank, QuestionBank
from m2a.systems.metered import MeteredChatModel, tokens_of
from m2a.systems.model_steps import FAILURES_IN_A_ROW
from m2a.systems.prompting import render
from m2a.systems.shared import Memory, Parts, Search
from m2a.systems.system import Answer, Meter, Question, Usage
from m2a.systems.variants import Variant
from m2a.types import (
    Addition,
    Change,
    EvidenceOpened,
    EvidenceRange,
    MemoryEntry,
    MemorySearched,
    Message,
    Query,
    RecordKind,
    Replacement,
    TurnEvent,
    Update,
)
from models.chat_model import ChatModelError, TokenUsage

Bank = TypeVar("Bank", bound=EvaluatedBank)

_QUESTION_ID = 2**62 - 1  # greater than the id of every message
CHAT_TURNS = 5  # turns that the ChatAgent sees when it decides on an update


class M2ASystem(BaseSystem):
    """M2A as an evaluated system.

    Without a chat model, the offline rules take in one message at a time, since they can only attribute it to one speaker. With a
    chat model, updates pass the consent check as in the app; refused changes are not written, and nobody is asked about them.

    If two people talk, each of them counts as a user, and statements of one never replace statements of the other. If the data
    has an assistant, its messages are replies, or proposals that the user may accept; they are never kept as the user's words.

    With `retrieval_only`, messages are kept as they are and ranked.
    """

    def __init__(self, name: str, variant: Variant, memory: Memory, parts: Parts) -> None:
        super().__init__(memory, parts)
        self.name = name
        self.store_only = parts.retrieval_only
        policy_name = OfflineRules.name if parts.chat_model is None else parts.chat_model.name
        self.version = "turns" if parts.retrieval_only else policy_name
        self._variant = variant
        self._kinds: frozenset[RecordKind] = frozenset(["message"] if parts.retrieval_only else variant.searched)
        self._failures_in_a_row = 0

    async def observe(self, session: Sequence[Message]) -> None:
        if self._parts.retrieval_only:
            await asyncio.to_thread(self._memory.index)
            return
        people = tuple(dict.fromkeys(message.speaker for message in session if message.role == "user"))
        size = self._variant.update_every if self._parts.chat_model is not None else 1
        if self._parts.chat_model is None:
            texts = [message.text for message in session if message.role == "user"]
            await asyncio.to_thread(self._parts.rules().encode_ahead, texts)
        # The messages are already recorded, so that they can be encoded for the index while the first ones are taken in.
        indexing = asyncio.create_task(asyncio.to_thread(self._memory.index))
        try:
            for start in range(0, len(session), size):
                await self._take_in(session[: start + size], start, people)
        finally:
            await indexing
        await asyncio.to_thread(self._memory.index)

    async def retrieve(self, question: Question, k: int) -> list[int] | None:
        """Returns the ids of the messages found; an entry is replaced by its evidence, in order."""
        query = Query(question.text, question.photos)
        hits = await asyncio.to_thread(
            self._search(), self._memory.owner, query, self._kinds, k, relevance_floor=self._variant.relevance_floor
        )
        message_ids: dict[int, None] = {}
        for hit in hits:
            if isinstance(hit.record, Message):
                message_ids[hit.record.message_id] = None
            else:
                message_ids |= dict.fromkeys(hit.record.evidence_message_ids())
        return list(message_ids)[:k]

    async def _answer(self, question: Question, meter: Meter) -> Answer:
        metered = self._metered(meter)
        policy = _AnsweringPolicy(self._policy(metered, style=question.instructions or render("style")))
        variant = self._variant
        bank = self._bank(QuestionBank, question.asked_at, _QUESTION_ID)
        captioner = self._parts.captioner(metered)
        agent = ChatAgent(
            bank,
            MemoryManager(bank, policy, captioner, max_rounds=variant.query_rounds),
            policy,
            captioner,
            context_turns=CHAT_TURNS,
            max_queries=variant.max_queries,
            history_tokens=variant.history_tokens,
        )
        message = Message(
            _QUESTION_ID, bank.owner, "question", "user", "user", question.text, question.photos, question.asked_at
        )
        events: list[TurnEvent] = []
        reply = await agent.reply(message, question.asked_at, events.append)
        if reply.failure is not None:
            raise ChatModelError(reply.failure)
        if reply.partial:
            raise asyncio.CancelledError  # an incomplete answer counts as none
        sources, context_tokens = policy.sources_and_tokens()
        return Answer(
            reply.text,
            sources,
            context_tokens,
            search_seconds=bank.search_seconds,
            trace=[
                *(_event_trace(event) for event in events if isinstance(event, MemorySearched | EvidenceOpened)),
                *({"context": _context_trace(context)} for context in policy.contexts),
            ],
        )

    async def _take_in(self, session: Sequence[Message], start: int, people: tuple[str, ...]) -> None:
        """Runs the Update stage for the exchange that begins at `start`. Counts a failure if the model gives no usable answer."""
        exchange = [message for message in session[start:] if message.role == "user"]
        if not exchange:
            return
        meter = Meter()
        metered = self._metered(meter)
        policy = self._policy(metered)
        bank = self._bank(EvaluatedBank, session[-1].said_at, session[-1].message_id)
        try:
            update = await self._update(bank, policy, meter, session, exchange, people)
            changes = tuple(_with_whole_evidence(change, exchange) for change in update.changes)
            if metered is None and exchange[-1].speaker != exchange[-1].role:
                changes = tuple(_attributed_to(exchange[-1].speaker, change) for change in changes)
            if changes:
                await asyncio.to_thread(lambda: bank.write(changes, who=policy.name))
            self._failures_in_a_row = 0
        except ChatModelError:
            self._failures_in_a_row += 1
            if self._failures_in_a_row >= FAILURES_IN_A_ROW:
                raise
        except (GaveUpError, RejectedWriteError):
            self.ingestion += Usage(failures=1)
        finally:
            self.ingestion += meter.usage

    async def _update(
        self,
        bank: EvaluatedBank,
        policy: Policy,
        meter: Meter,
        session: Sequence[Message],
        exchange: Sequence[Message],
        people: tuple[str, ...],
    ) -> Update:
        captioner = self._parts.captioner(self._metered(meter))
        earlier = [message for message in session if message.message_id < exchange[0].message_id]
        photos = []
        for number, photo_id in enumerate((p for message in exchange for p in message.photos), start=1):
            caption = await self._memory.caption(photo_id, self._parts, meter)
            await asyncio.to_thread(bank.photos.set_caption, photo_id, caption)
            data = await asyncio.to_thread(bank.photos.data, photo_id)
            photos.append(PhotoView(number, photo_id, caption, data, "image/jpeg"))
        message = merged(exchange)
        state = TurnState(
            stage="update",
            now=message.said_at,
            message=message,
            reply=session[-1] if session[-1].role == "assistant" else None,
            recent=_newest(earlier, CHAT_TURNS),
            people=people if len(people) > 1 else (),
            parts=exchange_texts(exchange),
            photos=tuple(photos),
            preferences=tuple(await asyncio.to_thread(bank.standing_preferences)),
            concepts=tuple(await asyncio.to_thread(bank.concepts)),
        )
        manager = MemoryManager(bank, policy, captioner, max_rounds=self._variant.update_rounds)
        newest = _newest(earlier, self._variant.context_turns)
        return await decide_update(policy, manager, state, UsageMeter(), earlier=newest)

    def _bank(self, kind: type[Bank], now: datetime, last_message: int) -> Bank:
        """Returns the memory up to this message, as the variant sees it, with a clock that always shows `now`."""
        variant = self._variant
        return kind(
            self._memory.owner,
            self._memory.stores(),
            lambda: now,
            self._search(),
            searched=variant.searched,
            last_message=last_message if variant.raw_messages else 0,
            relevance_floor=variant.relevance_floor,
        )

    def _policy(self, metered: MeteredChatModel | None, style: str = "") -> OfflineRules | LanguagePolicy:
        if metered is None:
            return self._parts.rules()
        variant = self._variant
        return LanguagePolicy(metered, published_stages=variant.published_stages, scope=variant.scope, style=style)

    def _metered(self, meter: Meter) -> MeteredChatModel | None:
        model = self._parts.chat_model
        return None if model is None else MeteredChatModel(model, meter)

    def _search(self) -> Search:
        shared, variant = self._memory.shared, self._variant
        if variant.paths == "dense":
            return shared.dense
        return shared.retrieval(variant.fusion).retriever.search


class _AnsweringPolicy:
    """The policy for answers. It records the contexts that the model was shown."""

    def __init__(self, policy: OfflineRules | LanguagePolicy) -> None:
        self._policy = policy
        self.name = policy.name
        self.judges_hits = policy.judges_hits
        self.published_stages = policy.published_stages
        self.searches_messages_in = policy.searches_messages_in
        self.consent = None  # answers write nothing
        self.follow = policy.follow
        self.decide = policy.decide
        self.sees_photos = policy.sees_photos
        self.contexts: tuple[MemoryContext, ...] = ()

    async def reply(self, state: TurnState) -> AsyncGenerator[str | TokenUsage | Decision, None]:
        self.contexts = (*state.context, *(_context_of(step.observation) for step in state.steps))
        async with aclosing(self._policy.reply(state)) as pieces:
            async for piece in pieces:
                yield piece

    def sources_and_tokens(self) -> tuple[tuple[int, ...], int]:
        """Returns the messages that the contexts rest on, best first, and the number of tokens in the contexts."""
        sources: dict[int, None] = {}
        lines: dict[str, None] = {}
        for context in self.contexts:
            lines |= dict.fromkeys(context_lines(context))
            opened = {message.message_id: message for message in context.messages}
            sources |= dict.fromkeys(opened if not context.hits else ())
            for hit in context.hits:
                if isinstance(hit.record, MemoryEntry):
                    sources |= dict.fromkeys(m for m in hit.record.evidence_message_ids() if m in opened)
                else:
                    sources[hit.record.message_id] = None
        return tuple(sources), sum(tokens_of(line) for line in lines)


def _context_of(observation: Observation) -> MemoryContext:
    """Returns the result of a search or of opening evidence as a context."""
    hits = observation.hits if isinstance(observation, Searched) else ()
    return MemoryContext("", hits, observation.messages if isinstance(observation, Opened) else ())


def _newest(messages: Sequence[Message], turns: int) -> tuple[Message, ...]:
    """Returns the newest turns, of two messages each."""
    return tuple(messages[max(0, len(messages) - 2 * turns) :])


def exchange_texts(exchange: Sequence[Message]) -> tuple[str, ...]:
    """Returns the texts of the messages, with names if there are several."""
    if len(exchange) == 1:
        return (exchange[0].text,)
    return tuple(f"{message.speaker} (message {message.message_id}): {message.text}" for message in exchange)


def merged(exchange: Sequence[Message]) -> Message:
    """Returns an exchange as one message with the id of the last."""
    return replace(
        exchange[-1],
        speaker=" and ".join(dict.fromkeys(message.speaker for message in exchange)),
        text="\n".join(exchange_texts(exchange)),
        photos=tuple(photo for message in exchange for photo in message.photos),
    )


def _with_whole_evidence(change: Change, exchange: Sequence[Message]) -> Change:
    """Returns the change with the whole exchange as evidence instead of its last message, whose id was shown."""
    if not isinstance(change, Addition | Replacement):
        return change
    first, last = exchange[0].message_id, exchange[-1].message_id
    ranges = tuple(
        EvidenceRange(min(span.first, first), span.last) if span.first <= last <= span.last else span
        for span in change.draft.evidence_ids
    )
    return replace(change, draft=replace(change.draft, evidence_ids=ranges))


def _attributed_to(speaker: str, change: Change) -> Change:
    """Returns the change with the speaker's name before the text, since the rules keep the speaker's own words."""
    if not isinstance(change, Addition | Replacement):
        return change
    return replace(change, draft=replace(change.draft, text=told_by(speaker, change.draft.text)))


def _event_trace(event: MemorySearched | EvidenceOpened) -> dict[str, object]:
    if isinstance(event, EvidenceOpened):
        return {"opened": [list(span) for span in event.ranges], "messages": len(event.messages)}
    hits = [
        {"memory": hit.record.text, "evidence": [list(span) for span in hit.record.evidence_ids]}
        if isinstance(hit.record, MemoryEntry)
        else {"message": hit.record.message_id}
        for hit in event.hits
    ]
    return {"searched": event.query.text, "photos": len(event.query.photo_ids), "found": hits}


def _context_trace(context: MemoryContext) -> dict[str, object]:
    return {"text": context.text, "complete": context.complete, "messages": [m.message_id for m in context.messages]}
