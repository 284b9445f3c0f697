"""GAM as a system of an evaluation."""

import asyncio
import time
from collections.abc import Callable, Sequence

from m2a.systems.gam.forms import Plan
from m2a.systems.gam.memorizer import Memoist, Memorizer, ModelMemoist, RuleMemoist, newest
from m2a.systems.gam.pages import MEMOS, PAGES, PageStore
from m2a.systems.gam.researcher import Research, Researcher, search
from m2a.systems.gam.variants import GamVariant
from m2a.systems.metered import MeteredChatModel
from m2a.systems.model_steps import Attempts
from m2a.systems.notes import Notes, ranked
from m2a.systems.photos_shown import captioned_line, messages_by_photo, photos_of, question_text
from m2a.systems.prompting import ask, day
from m2a.systems.shared import Memory, Parts
from m2a.systems.system import Answer, Meter, Question, RetrievedMessage, Usage
from m2a.types import Message

_MEMORY_SHARE = 2  # of a prompt's window, what the memos take at most is one in so many


class Gam:
    """`retrieve` asks no model: the question itself is keywords and vector query, and pages give their messages in order."""

    def __init__(self, name: str, variant: GamVariant, memory: Memory, parts: Parts) -> None:
        self.name = name
        self.store_only = not variant.memory
        self.ingestion = Usage()
        self._variant = variant
        self._memory = memory
        self._parts = parts
        self._notes = Notes(memory, name, without_vectors=(PAGES, MEMOS))
        self._store = PageStore(self._notes)
        self._window = parts.window // _MEMORY_SHARE
        self._meter = Meter()
        self._attempts = Attempts(self._meter)
        self._memorizer = Memorizer(variant, self._memoist(), self._notes)
        who = "rules" if variant.by_rules else parts.chat_model.name if parts.chat_model else "nobody"
        searched = f"{variant.rounds} rounds, {variant.pages} pages" if variant.research else "no research"
        self.version = f"{searched}, memos by {who if variant.memory else 'nobody'}"

    async def observe(self, session: Sequence[Message]) -> None:
        try:
            lines = [
                (
                    message.message_id,
                    await captioned_line(message, self._memory, self._parts, self._attempts, self._meter),
                )
                for message in session
            ]
            for message_ids, notes in await self._memorizer.take(lines):
                await asyncio.to_thread(self._notes.add, message_ids, notes)
            if self._variant.photo_path:
                await asyncio.to_thread(self._memory.index)
        finally:
            self.ingestion = self._meter.usage

    async def retrieve(self, question: Question, k: int) -> list[RetrievedMessage] | None:
        if not self._variant.retrieves:
            return None
        await asyncio.to_thread(self._notes.check)
        words = await question_text(question, self._memory, self._parts, Meter())
        plan = Plan(info_needs=(), keywords=(words,), vector_queries=(words,))
        pages = await search(self._store, self._variant, plan, self._by_photo(question))
        found = dict.fromkeys(message_id for page_id in pages for message_id in self._store.page(page_id).message_ids)
        return ranked(list(found), k)

    async def answer(self, question: Question, meter: Meter) -> Answer:
        assert self._parts.chat_model is not None
        began = time.perf_counter()
        await asyncio.to_thread(self._notes.check)
        words = await question_text(question, self._memory, self._parts, meter)
        result = Research()
        lines = newest(self._store.memos, self._window)
        if self._variant.research:
            result = await self._researcher(question, meter).research(words)
            lines = [line for line in result.content.splitlines() if line.strip()]
        if self._variant.output == "pages":
            lines += [line for page in result.pages for line in page.lines]
        lines += result.passages
        sources = list(dict.fromkeys(message_id for page in result.pages for message_id in page.message_ids))
        return await ask(
            self._parts.chat_model,
            question,
            lines,
            self._memory,
            meter,
            sources=sources,
            began=began,
            search_seconds=result.search_seconds,
            photos=await asyncio.to_thread(self._photos, sources) if self._variant.photo_path else [],
            trace=result.trace,
        )

    async def close(self) -> None:
        """Nothing is open."""

    def _researcher(self, question: Question, meter: Meter) -> Researcher:
        assert self._parts.chat_model is not None
        metered = MeteredChatModel(self._parts.chat_model, meter)
        today = day(question.asked_at)
        return Researcher(metered, self._variant, self._store, self._window, today, self._by_photo(question))

    def _by_photo(self, question: Question) -> Callable[[], list[int]] | None:
        if not self._variant.photo_path:
            return None
        return lambda: self._store.by_messages(messages_by_photo(question, self._memory))

    def _photos(self, sources: Sequence[int]) -> list[tuple[str, str]]:
        messages = {message.message_id: message for message in self._memory.messages()}
        return photos_of(list(sources), messages)

    def _memoist(self) -> Memoist | None:
        if not self._variant.memory:
            return None
        if self._variant.by_rules:
            return RuleMemoist()
        assert self._parts.chat_model is not None
        return ModelMemoist(MeteredChatModel(self._parts.chat_model, self._meter), self._attempts, self._window)
