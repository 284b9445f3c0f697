"""ENGRAM as a system of an evaluation.

The router sends each message to stores by type, and each record belongs to the speaker. A question is compared with every store
by cosine. The nearest records of each type take turns, so that no type crowds out another (section 6 of the paper). Duplicates
are dropped, and K records remain per speaker, nearest first. The prompt has one bank per speaker, with lines `time: record`.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence

from m2a.memory.words import finished_words
from m2a.systems.engram.records import Record
from m2a.systems.engram.variants import EngramVariant
from m2a.systems.engram.writer import ModelWriter, RuleWriter, Writer, day_of
from m2a.systems.notes import Note, in_turn, messages_of
from m2a.systems.prompting import ask
from m2a.systems.published_system import PublishedSystem
from m2a.systems.shared import Memory, Parts
from m2a.systems.system import Answer, Meter, Question
from m2a.types import Message

ScoredNote = tuple[Note, float]  # with its cosine

_MESSAGE_STORE = "message"  # the only store if nothing is routed
_PHOTO_SCORE = 2.0  # greater than every cosine


class Engram(PublishedSystem):
    def __init__(self, name: str, variant: EngramVariant, memory: Memory, parts: Parts) -> None:
        super().__init__(name, variant, memory, parts)
        self.store_only = not variant.types
        self.version = f"K = {variant.k}, records by {self._decider if variant.types else 'nobody'}"
        self._variant = variant
        self._writer = self._make_writer()

    async def retrieve(self, question: Question, k: int) -> list[int] | None:
        words = await self._words_of(question, Meter())
        banks = await asyncio.to_thread(self._search_banks, question, words)
        return list(_sources(banks)[:k])

    async def _answer(self, question: Question, meter: Meter) -> Answer:
        words = await self._words_of(question, meter)
        began = time.perf_counter()
        banks = await asyncio.to_thread(self._search_banks, question, words)
        search_seconds = time.perf_counter() - began
        sources = _sources(banks)
        return await ask(
            self._chat_model,
            question,
            _lines(banks),
            self._memory,
            meter,
            sources=sources,
            search_seconds=search_seconds,
            photos=await asyncio.to_thread(self._photos, sources),
        )

    async def _take_in(self, session: Sequence[Message], lines: Sequence[str]) -> None:
        for message, line in zip(session, lines, strict=True):
            notes = await self._notes_of(message, line)
            await asyncio.to_thread(self._notes.add, [message.message_id], notes)

    async def _notes_of(self, message: Message, line: str) -> list[Note]:
        if self._writer is None:
            fields = {"speaker": message.speaker, "when": day_of(message)}
            return [Note(_store(message.speaker, _MESSAGE_STORE), line, (message.message_id,), fields)]
        records = await self._writer.records(message, line, self._variant.types)
        return [_note(message, record) for record in records]

    def _search_banks(self, question: Question, words: str) -> dict[str, list[ScoredNote]]:
        """Returns the notes for the prompt, by speaker, nearest first."""
        self._notes.check()
        photo_message_ids = self._messages_by_photo(question)
        query, k = self._notes.vector(words), self._variant.k
        rankings: dict[str, list[list[ScoredNote]]] = {}
        for store in self._notes.stores:
            speaker, _ = store.rsplit("/", 1)
            by_photo = [(note, _PHOTO_SCORE) for note in self._notes.resting_on(store, photo_message_ids)]
            rankings.setdefault(speaker, []).append([*by_photo, *self._notes.nearest(store, query, k)][:k])
        banks = {speaker: _distinct(in_turn(types))[:k] for speaker, types in rankings.items()}
        return {speaker: sorted(bank, key=_distance) for speaker, bank in banks.items()}

    def _make_writer(self) -> Writer | None:
        if not self._variant.types:
            return None
        if self._variant.by_rules:
            return RuleWriter()
        return ModelWriter(self._ingestion_model, self._attempts)


def _note(message: Message, record: Record) -> Note:
    fields = {"speaker": message.speaker, "when": record.anchor}
    return Note(_store(message.speaker, record.type), record.text, (message.message_id,), fields)


def _store(speaker: str, kind: str) -> str:
    return f"{speaker}/{kind}"


def _lines(banks: Mapping[str, Sequence[ScoredNote]]) -> list[str]:
    """Returns the lines of each speaker's bank, after a line that explains the times, since events have times of their own."""
    lines = ["Each line begins with the time that it is about."]
    for speaker, bank in banks.items():
        lines += [f"Memories of {speaker}:", *(f"{note.fields['when']}: {note.text}" for note, _ in bank)]
    return lines


def _distinct(scored_notes: Sequence[ScoredNote]) -> list[ScoredNote]:
    """Returns the notes without those that repeat the words of an earlier one."""
    first: dict[object, ScoredNote] = {}
    for note, cosine in scored_notes:
        first.setdefault(tuple(finished_words(note.text)) or id(note), (note, cosine))
    return list(first.values())


def _sources(banks: Mapping[str, Sequence[ScoredNote]]) -> tuple[int, ...]:
    """Returns the messages that all banks rest on, nearest first."""
    notes = sorted((scored_note for bank in banks.values() for scored_note in bank), key=_distance)
    return messages_of(note for note, _ in notes)


def _distance(scored_note: ScoredNote) -> float:
    return -scored_note[1]
