"""ENGRAM as a system of an evaluation.

Each message goes through the router to its stores; a record belongs to who said it. A question is compared with every
store by cosine; the nearest of each type take turns, so that no type crowds another out (section 6 of the paper), what says
the same is dropped, and K remain for each speaker, the nearest first. The prompt holds a bank per speaker, each line
`time: record`.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence

from m2a.memory.words import finished_words
from m2a.systems.engram.records import Record
from m2a.systems.engram.variants import EngramVariant
from m2a.systems.engram.writer import ModelWriter, RuleWriter, Writer, day_of
from m2a.systems.metered import MeteredChatModel
from m2a.systems.model_steps import Attempts
from m2a.systems.notes import Note, Notes, in_turn, messages_of, ranked
from m2a.systems.photos_shown import captioned_line, messages_by_photo, photos_of, question_text
from m2a.systems.prompting import ask
from m2a.systems.shared import Memory, Parts
from m2a.systems.system import Answer, Meter, Question, RetrievedMessage, Usage
from m2a.types import Message

Found = tuple[Note, float]  # with its cosine

_WHOLE = "message"  # the one store where nobody routes
_BY_PHOTO = 2.0  # before every cosine


class Engram:
    """With a chat model `takes_in_by_model`; a variant that does not needs one to answer alone."""

    def __init__(self, name: str, variant: EngramVariant, memory: Memory, parts: Parts) -> None:
        self.name = name
        self.store_only = not variant.types
        self.ingestion = Usage()
        self._variant = variant
        self._memory = memory
        self._parts = parts
        self._notes = Notes(memory, name)
        self._meter = Meter()
        self._attempts = Attempts(self._meter)
        self._writer = self._make_writer()
        who = "rules" if variant.by_rules else parts.chat_model.name if parts.chat_model else "nobody"
        self.version = f"K = {variant.k}, records by {who if variant.types else 'nobody'}"

    async def observe(self, session: Sequence[Message]) -> None:
        try:
            for message in session:
                line = await captioned_line(message, self._memory, self._parts, self._attempts, self._meter)
                notes = await self._notes_of(message, line)
                await asyncio.to_thread(self._notes.add, [message.message_id], notes)
            if self._variant.photo_path:
                await asyncio.to_thread(self._memory.index)
        finally:
            self.ingestion = self._meter.usage

    async def retrieve(self, question: Question, k: int) -> list[RetrievedMessage] | None:
        words = await question_text(question, self._memory, self._parts, Meter())
        banks = await asyncio.to_thread(self._search, question, words)
        return ranked(_sources(banks), k)

    async def answer(self, question: Question, meter: Meter) -> Answer:
        assert self._parts.chat_model is not None
        began = time.perf_counter()
        words = await question_text(question, self._memory, self._parts, meter)
        searching = time.perf_counter()
        banks = await asyncio.to_thread(self._search, question, words)
        searched = time.perf_counter() - searching
        sources = _sources(banks)
        photos = await asyncio.to_thread(self._photos, sources) if self._variant.photo_path else []
        return await ask(
            self._parts.chat_model,
            question,
            _lines(banks),
            self._memory,
            meter,
            sources=sources,
            began=began,
            search_seconds=searched,
            photos=photos,
        )

    async def close(self) -> None:
        """Nothing is open."""

    async def _notes_of(self, message: Message, line: str) -> list[Note]:
        if self._writer is None:
            fields = {"speaker": message.speaker, "when": day_of(message)}
            return [Note(_store(message.speaker, _WHOLE), line, (message.message_id,), fields)]
        records = await self._writer.records(message, line, self._variant.types)
        return [_note(message, record) for record in records]

    def _search(self, question: Question, words: str) -> dict[str, list[Found]]:
        """What goes into the prompt, by speaker, the nearest first."""
        self._notes.check()
        shown = messages_by_photo(question, self._memory) if self._variant.photo_path else []
        query, k = self._notes.vector(words), self._variant.k
        rankings: dict[str, list[list[Found]]] = {}
        for store in self._notes.stores:
            speaker, _ = store.rsplit("/", 1)
            by_photo = [(note, _BY_PHOTO) for note in self._notes.resting_on(store, shown)]
            rankings.setdefault(speaker, []).append([*by_photo, *self._notes.nearest(store, query, k)][:k])
        banks = {speaker: _distinct(in_turn(types))[:k] for speaker, types in rankings.items()}
        return {speaker: sorted(bank, key=_nearness) for speaker, bank in banks.items()}

    def _photos(self, sources: Sequence[int]) -> list[tuple[str, str]]:
        messages = {message.message_id: message for message in self._memory.messages()}
        return photos_of(list(sources), messages)

    def _make_writer(self) -> Writer | None:
        if not self._variant.types:
            return None
        if self._variant.by_rules:
            return RuleWriter()
        assert self._parts.chat_model is not None
        return ModelWriter(MeteredChatModel(self._parts.chat_model, self._meter), self._attempts)


def _note(message: Message, record: Record) -> Note:
    fields = {"speaker": message.speaker, "when": record.anchor}
    return Note(_store(message.speaker, record.type), record.text, (message.message_id,), fields)


def _store(speaker: str, kind: str) -> str:
    return f"{speaker}/{kind}"


def _lines(banks: Mapping[str, Sequence[Found]]) -> list[str]:
    """A bank per speaker. That a time is not when it was said has to be told: events are kept under their own."""
    lines = ["Each line begins with the time that it is about."]
    for speaker, bank in banks.items():
        lines += [f"Memories of {speaker}:", *(f"{note.fields['when']}: {note.text}" for note, _ in bank)]
    return lines


def _distinct(found: Sequence[Found]) -> list[Found]:
    """Without those that say in the same words what one before them says."""
    first: dict[object, Found] = {}
    for note, cosine in found:
        first.setdefault(tuple(finished_words(note.text)) or id(note), (note, cosine))
    return list(first.values())


def _sources(banks: Mapping[str, Sequence[Found]]) -> tuple[int, ...]:
    """What all banks rest on, the nearest first."""
    return messages_of(note for note, _ in sorted((one for bank in banks.values() for one in bank), key=_nearness))


def _nearness(found: Found) -> float:
    return -found[1]
