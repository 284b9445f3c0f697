"""Algorithm 1 of the paper: the light module, the deep module if the light one is not enough, reflection, and a new query."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from m2a.agents.material import one_line
from m2a.systems.hymem.forms import Choice, DeepAnswer, LightAnswer, Review
from m2a.systems.hymem.units import SUMMARIES, UNITS
from m2a.systems.hymem.variants import HymemVariant
from m2a.systems.metered import tokens_of
from m2a.systems.model_steps import Filled, ask_for, run_together
from m2a.systems.notes import Note, Notes, messages_of
from models.chat_model import ChatModel, PhotoPart


@dataclass(slots=True)
class RecallResult:
    """The answer of the last round, its sources, and a trace of every round."""

    answer: str = ""
    sources: tuple[int, ...] = ()
    context_tokens: int = 0
    search_seconds: float = 0.0
    trace: list[object] = field(default_factory=list)


class Recall:
    """Answers one question. `style` says how to answer, `first` are notes that come before those found by words, and `photos` are
    shown to the model with each answer."""

    def __init__(
        self,
        chat_model: ChatModel,
        variant: HymemVariant,
        notes: Notes,
        today: str,
        style: str,
        *,
        first: Sequence[Note] = (),
        photos: Sequence[PhotoPart] = (),
    ) -> None:
        self._chat_model = chat_model
        self._variant = variant
        self._notes = notes
        self._today = today
        self._style = style
        self._first = first
        self._photos = photos
        self._pool: list[str] = []
        self._result = RecallResult()

    async def recall(self, question: str) -> RecallResult:
        """Returns the result of all rounds. Raises whatever the model's steps raise."""
        query = question
        for number in range(1, self._variant.rounds + 1):
            self._result.trace.append({"round": number, "query": query})
            is_complete = self._variant.light and await self._light(question, query)
            if not is_complete and self._variant.deep:
                await self._deep(question, query)
            self._pool.append(f"{one_line(query)} → {one_line(self._result.answer) or 'not found'}")
            if not self._variant.reflection or number == self._variant.rounds:
                break
            review = await self._review(question)
            self._result.trace.append(review.model_dump())
            if review.finished:
                break
            query = review.new_question or question
        return self._result

    async def _light(self, question: str, query: str) -> bool:
        """Runs the light module, and returns whether its answer is complete. Without a deep module, the round uses it anyway."""
        variant = self._variant
        store = SUMMARIES if variant.summaries else UNITS
        notes = await self._nearest(store, query, variant.k)
        lines = [_dated(note) for note in notes] if variant.summaries else _full_lines(notes)
        title = "Summaries" if variant.summaries else "Conversation"
        light = await self._answer(LightAnswer, "light" if variant.deep else "light_alone", question, (title, lines))
        is_complete = light.complete and bool(light.answer)
        self._result.trace.append({"light": [note.text for note in notes], "complete": is_complete})
        if is_complete or not variant.deep:
            self._record_answer(light.answer, notes, lines)
        return is_complete

    async def _deep(self, question: str, query: str) -> None:
        variant = self._variant
        candidates = await self._nearest(SUMMARIES, query, variant.candidates)
        batches = [candidates[start : start + variant.batch] for start in range(0, len(candidates), variant.batch)]
        choices = await run_together(
            self._choose(query, batch, position * variant.batch) for position, batch in enumerate(batches)
        )
        kept = [candidates[position] for positions in choices for position in positions]
        unit_ids = dict.fromkeys(int(note.fields["unit"]) for note in kept)
        units = [self._notes.in_store(UNITS)[unit_id] for unit_id in sorted(unit_ids)]
        lines = _full_lines(units)
        self._result.trace.append(
            {"candidates": len(candidates), "chosen": [n.text for n in kept], "units": len(units)}
        )
        deep = await self._answer(DeepAnswer, "deep", question, ("Conversation", lines))
        self._record_answer(deep.answer, units, lines)

    async def _answer(
        self, form: type[Filled], prompt: str, question: str, evidence: tuple[str, Sequence[str]]
    ) -> Filled:
        """Returns an answer from the evidence and from the memory pool, that is, the queries and answers of earlier rounds."""
        pool = [("Found before", list(self._pool))] if self._pool else []
        return await ask_for(
            self._chat_model,
            form,
            f"hymem/{prompt}",
            material=[*pool, evidence],
            request=f"The question: {question}",
            photos=self._photos,
            style=self._style,
            today=self._today,
        )

    async def _choose(self, query: str, batch: Sequence[Note], start: int) -> list[int]:
        """Returns the positions, among all candidates, of the summaries chosen from a batch that begins at `start`."""
        lines = [f"id {start + position}: {_dated(note)}" for position, note in enumerate(batch)]
        choice = await ask_for(
            self._chat_model,
            Choice,
            "hymem/choose",
            material=[("Summaries", lines)],
            request=f"The question: {query}",
        )
        return [position for position in dict.fromkeys(choice.ids) if start <= position < start + len(batch)]

    async def _review(self, question: str) -> Review:
        return await ask_for(
            self._chat_model,
            Review,
            "hymem/reflect",
            material=[("Answer", [self._result.answer or "No answer was found."])],
            request=f"The question: {question}",
        )

    async def _nearest(self, store: str, query: str, k: int) -> list[Note]:
        began = time.perf_counter()
        notes = await asyncio.to_thread(nearest, self._notes, store, query, k, self._first)
        self._result.search_seconds += time.perf_counter() - began
        return notes

    def _record_answer(self, answer: str, notes: Sequence[Note], lines: Sequence[str]) -> None:
        self._result.answer = answer
        self._result.sources = messages_of(notes)
        self._result.context_tokens = sum(map(tokens_of, lines))


def nearest(notes: Notes, store: str, query: str, k: int, first: Sequence[Note] = ()) -> list[Note]:
    """Returns k notes of the store: the `first` ones, then those nearest to the query."""
    by_query = [note for note, _ in notes.nearest(store, notes.vector(query), k)]
    return list({id(note): note for note in (*(note for note in first if note.store == store), *by_query)}.values())[:k]


def _dated(note: Note) -> str:
    return f"{note.fields['day']}: {note.text}"


def _full_lines(units: Sequence[Note]) -> list[str]:
    """Returns the lines of the units, each once, because units overlap."""
    return list(dict.fromkeys(line for unit in units for line in unit.text.splitlines()))
