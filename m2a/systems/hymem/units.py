"""The storage of HyMem: event units of a session (Level 2), and the summaries that lead to them (Level 1)."""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from m2a.agents.budget import shortened
from m2a.systems.hymem.forms import Division, Summary
from m2a.systems.model_steps import Attempts, ask_for
from m2a.systems.notes import Note
from models.chat_model import ChatModel

SUMMARIES, UNITS = "summary", "unit"

_LONGEST_UNIT = 12  # messages in a unit made by rules
_SENTENCE_TOKENS = 40
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")


@dataclass(frozen=True, slots=True)
class Unit:
    """The messages about one topic, as ids and lines, consecutive or not. A message may be in several units."""

    topic: str
    lines: tuple[tuple[int, str], ...]

    @property
    def text(self) -> str:
        return "\n".join(line for _, line in self.lines)

    @property
    def message_ids(self) -> tuple[int, ...]:
        return tuple(message_id for message_id, _ in self.lines)


class Divider(Protocol):
    """Divides a session into units, and summarises a unit."""

    async def units(self, session: Sequence[tuple[int, str]]) -> list[Unit]: ...

    async def summary(self, unit: Unit) -> tuple[str, ...]: ...


class ModelDivider:
    """Asks for topics with their messages, which may overlap, and then for a summary of each unit.

    A message in no unit joins the unit of the message before it. A session that cannot be divided is one unit, and a unit that
    cannot be summarised is its own summary. So failures are counted, but nothing is lost.
    """

    def __init__(self, chat_model: ChatModel, attempts: Attempts) -> None:
        self._chat_model = chat_model
        self._attempts = attempts

    async def units(self, session: Sequence[tuple[int, str]]) -> list[Unit]:
        numbered = [f"{number}. {line}" for number, (_, line) in enumerate(session, start=1)]
        division = await self._attempts.run(
            "division", ask_for(self._chat_model, Division, "hymem/divide", material=[("Session", numbered)])
        )
        if division is None:
            return [Unit("", tuple(session))]
        return complete([(unit.topic, unit.messages) for unit in division.units], session)

    async def summary(self, unit: Unit) -> tuple[str, ...]:
        material = [("Unit", [f"Topic: {unit.topic}", *(line for _, line in unit.lines)])]
        summary = await self._attempts.run(
            "summary", ask_for(self._chat_model, Summary, "hymem/summarise", material=material)
        )
        sentences = () if summary is None else tuple(filter(None, summary.sentences))
        return sentences or (unit.text,)


class RuleDivider:
    """Ends a unit where a message is less similar to the previous one than most messages of the session. The last message of a
    unit is also the first of the next. A summary is the first sentence of each message."""

    def __init__(self, encode: Callable[[Sequence[str]], np.ndarray]) -> None:
        self._encode = encode

    async def units(self, session: Sequence[tuple[int, str]]) -> list[Unit]:
        vectors = await asyncio.to_thread(self._encode, [line for _, line in session])
        similarities = np.sum(vectors[1:] * vectors[:-1], axis=1)
        threshold = float(similarities.mean() - similarities.std() / 2) if len(similarities) else 0.0
        units, start = [], 0
        for position in range(1, len(session)):
            if similarities[position - 1] < threshold or position - start >= _LONGEST_UNIT:
                units.append(Unit("", tuple(session[max(0, start - 1) : position])))
                start = position
        return [*units, Unit("", tuple(session[max(0, start - 1) :]))]

    async def summary(self, unit: Unit) -> tuple[str, ...]:
        return tuple(shortened(_SENTENCE_END.split(line)[0], _SENTENCE_TOKENS) for _, line in unit.lines)


def complete(parts: Sequence[tuple[str, Sequence[int]]], session: Sequence[tuple[int, str]]) -> list[Unit]:
    """Returns units for topics and their message numbers, which count from 1. Each message is put into at least one unit; numbers
    without a message are dropped."""
    members = [(topic, {n for n in numbers if 1 <= n <= len(session)}) for topic, numbers in parts]
    members = [(topic, numbers) for topic, numbers in members if numbers] or [("", set(range(1, len(session) + 1)))]
    for number in range(1, len(session) + 1):
        if not any(number in numbers for _, numbers in members):
            previous = [numbers for _, numbers in members if number - 1 in numbers]
            (previous[-1] if previous else members[0][1]).add(number)
    return [Unit(topic, tuple(session[number - 1] for number in sorted(numbers))) for topic, numbers in members]


def notes_of(unit: Unit, unit_id: int, sentences: Sequence[str], day: str) -> list[Note]:
    """Returns the note of a unit (Level 2) and of its sentences, which lead to it (Level 1)."""
    fields = {"unit": str(unit_id), "day": day}
    level_1 = [Note(SUMMARIES, sentence, unit.message_ids, fields) for sentence in sentences]
    return [Note(UNITS, unit.text, unit.message_ids, {**fields, "topic": unit.topic}), *level_1]
