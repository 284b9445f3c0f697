"""GAM as a system of an evaluation."""

import asyncio
from collections.abc import Sequence
from functools import partial

from m2a.systems.gam.forms import Plan
from m2a.systems.gam.memorizer import Memorizer, MemoWriter, ModelMemoWriter, RuleMemoWriter, newest_memos
from m2a.systems.gam.pages import MEMOS, PAGES, PageStore, lines_of
from m2a.systems.gam.researcher import Research, Researcher, search
from m2a.systems.gam.variants import GamVariant
from m2a.systems.metered import MeteredChatModel
from m2a.systems.notes import messages_of
from m2a.systems.prompting import ask, day
from m2a.systems.published_system import PublishedSystem
from m2a.systems.shared import Memory, Parts
from m2a.systems.system import Answer, Meter, Question
from m2a.types import Message


class Gam(PublishedSystem):
    """GAM. `retrieve` calls no model: the question is both keywords and vector query, and pages give their messages in order."""

    def __init__(self, name: str, variant: GamVariant, memory: Memory, parts: Parts) -> None:
        super().__init__(name, variant, memory, parts, without_vectors=(PAGES, MEMOS))
        self.store_only = not variant.memory
        searched = f"{variant.rounds} rounds, {variant.pages} pages" if variant.research else "no research"
        self.version = f"{searched}, memos by {self._decider if variant.memory else 'nobody'}"
        self._variant = variant
        self._store = PageStore(self._notes)
        self._window = parts.window // 2  # memos take at most half of a prompt's window
        self._memorizer = Memorizer(variant, self._make_memo_writer(), self._notes)

    async def retrieve(self, question: Question, k: int) -> list[int] | None:
        if not self._variant.retrieves:
            return None
        await asyncio.to_thread(self._notes.check)
        words = await self._words_of(question, Meter())
        plan = Plan(info_needs=(), keywords=(words,), vector_queries=(words,))
        pages = await search(self._store, self._variant, plan, partial(self._by_photo, question))
        return list(messages_of(map(self._store.page, pages))[:k])

    async def _answer(self, question: Question, meter: Meter) -> Answer:
        await asyncio.to_thread(self._notes.check)
        words = await self._words_of(question, meter)
        result = Research()
        lines = newest_memos(self._store.memos, self._window)
        if self._variant.research:
            result = await self._researcher(question, meter).research(words)
            lines = [line for line in result.content.splitlines() if line.strip()]
        if self._variant.output == "pages":
            lines += lines_of(result.pages)
        lines += result.passages
        sources = messages_of(result.pages)
        return await ask(
            self._chat_model,
            question,
            lines,
            self._memory,
            meter,
            sources=sources,
            search_seconds=result.search_seconds,
            photos=await asyncio.to_thread(self._photos, sources),
            trace=result.trace,
        )

    async def _take_in(self, session: Sequence[Message], lines: Sequence[str]) -> None:
        ids = [message.message_id for message in session]
        for message_ids, notes in await self._memorizer.notes_of(list(zip(ids, lines, strict=True))):
            await asyncio.to_thread(self._notes.add, message_ids, notes)

    def _researcher(self, question: Question, meter: Meter) -> Researcher:
        metered = MeteredChatModel(self._chat_model, meter)
        today = day(question.asked_at)
        return Researcher(metered, self._variant, self._store, self._window, today, partial(self._by_photo, question))

    def _by_photo(self, question: Question) -> list[int]:
        return self._store.by_messages(self._messages_by_photo(question))

    def _make_memo_writer(self) -> MemoWriter | None:
        if not self._variant.memory:
            return None
        if self._variant.by_rules:
            return RuleMemoWriter()
        return ModelMemoWriter(self._ingestion_model, self._attempts, self._window)
