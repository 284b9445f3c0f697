"""HyMem as a system of an evaluation."""

import asyncio
from collections.abc import Sequence

from m2a.systems.hymem.recall import Recall, nearest
from m2a.systems.hymem.units import SUMMARIES, UNITS, Divider, ModelDivider, RuleDivider, Unit, notes_of
from m2a.systems.hymem.variants import HymemVariant
from m2a.systems.metered import MeteredChatModel
from m2a.systems.model_steps import run_together
from m2a.systems.notes import Note, messages_of
from m2a.systems.prompting import MAX_PHOTOS, day, render
from m2a.systems.published_system import PublishedSystem
from m2a.systems.shared import Memory, Parts
from m2a.systems.system import Answer, Meter, Question
from m2a.types import Message
from models.chat_model import ChatModelError, PhotoPart


class Hymem(PublishedSystem):
    """HyMem. `retrieve` calls no chat model: it searches like the light module, and returns the messages of the units found."""

    store_only = False

    def __init__(self, name: str, variant: HymemVariant, memory: Memory, parts: Parts) -> None:
        super().__init__(name, variant, memory, parts, without_vectors=(UNITS,) if variant.summaries else ())
        self.version = f"k = {variant.k} and {variant.candidates}, {variant.rounds} rounds, units by {self._decider}"
        self._variant = variant
        self._level = SUMMARIES if variant.summaries else UNITS  # the level that is searched
        self._divider = self._make_divider()

    async def retrieve(self, question: Question, k: int) -> list[int] | None:
        await asyncio.to_thread(self._notes.check)
        words = await self._words_of(question, Meter())
        first = await asyncio.to_thread(self._by_photo, question)
        notes = await asyncio.to_thread(nearest, self._notes, self._level, words, self._variant.candidates, first)
        return list(messages_of(notes)[:k])

    async def _answer(self, question: Question, meter: Meter) -> Answer:
        await asyncio.to_thread(self._notes.check)
        words = await self._words_of(question, meter)
        first = await asyncio.to_thread(self._by_photo, question)
        metered = MeteredChatModel(self._chat_model, meter)
        photos = await asyncio.to_thread(self._photo_parts, question, first) if metered.sees_photos else []
        today, style = day(question.asked_at), question.instructions or render("style")
        recall = Recall(metered, self._variant, self._notes, today, style, first=first, photos=photos)
        recalled = await recall.recall(words)
        if not recalled.answer:
            raise ChatModelError("The chat model gave an empty reply.")
        return Answer(
            recalled.answer,
            recalled.sources,
            context_tokens=recalled.context_tokens,
            search_seconds=recalled.search_seconds,
            trace=recalled.trace,
        )

    async def _take_in(self, session: Sequence[Message], lines: Sequence[str]) -> None:
        ids = [message.message_id for message in session]
        units = await self._divider.units(list(zip(ids, lines, strict=True)))
        summaries = await run_together(map(self._summary, units))
        date = f"{session[0].said_at:%-d %B %Y}"
        notes = [
            note
            for unit_id, (unit, sentences) in enumerate(
                zip(units, summaries, strict=True), start=len(self._notes.in_store(UNITS))
            )
            for note in notes_of(unit, unit_id, sentences, date)
        ]
        await asyncio.to_thread(self._notes.add, ids, notes)

    async def _summary(self, unit: Unit) -> tuple[str, ...]:
        return await self._divider.summary(unit) if self._variant.summaries else ()

    def _by_photo(self, question: Question) -> list[Note]:
        return self._notes.resting_on(self._level, self._messages_by_photo(question))

    def _photo_parts(self, question: Question, first: Sequence[Note]) -> list[PhotoPart]:
        """Returns the photos of the question and of the notes that were found by photo."""
        photos = [(f"Photo {number} of the question", photo) for number, photo in enumerate(question.photos, start=1)]
        photos += self._photos(messages_of(first))[:MAX_PHOTOS]
        return [PhotoPart(label, self._memory.photo_data(photo), "image/jpeg") for label, photo in photos]

    def _make_divider(self) -> Divider:
        if self._variant.by_rules:
            return RuleDivider(lambda texts: self._memory.shared.text_encoder.encode(texts))
        return ModelDivider(self._ingestion_model, self._attempts)
