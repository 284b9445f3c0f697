"""A memory system with a dialogue in it."""

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from m2a.benchmarks import read_locomo
from m2a.systems import registry
from m2a.systems.shared import Memory, Parts, Utterance
from m2a.systems.system import Answer, MemorySystem, Meter, Question
from m2a.types import Message
from tests.dialogues import write_dialogues
from tests.scripted_model import Prompt

NOW = datetime(2023, 6, 3, 12, 0, tzinfo=UTC)


class Place:
    """A memory system with the dialogue in it."""

    def __init__(self, parts: Parts, memory: Memory, system: MemorySystem, messages: Sequence[Message]) -> None:
        self.parts = parts
        self.memory = memory
        self.system = system
        self.references = {message.message_id: message.reference for message in messages}

    async def found(self, text: str, *photos: Path, k: int = 10) -> list[str | None]:
        message_ids = await self.system.retrieve(self.question(text, *photos), k)
        assert message_ids is not None
        return [self.references[message_id] for message_id in message_ids]

    def question(self, text: str, *photos: Path) -> Question:
        ids = self.memory.add_photos(photos)
        return Question(text, NOW, tuple(ids[path] for path in photos))

    async def answer(self, text: str) -> Answer:
        return await self.system.answer(self.question(text), Meter())

    def rows(self) -> dict[str, int]:
        """Returns the number of rows in each table of the memory."""
        with sqlite3.connect(self.parts.stores.folder / "memory.db") as database:
            return {
                table: database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                for table in (
                    "message",
                    "entry",
                    "entry_history",
                    "photo",
                    "conversation",
                    "trace",
                    "pending_update",
                    "outbox",
                )
            }


async def told(
    folder: Path, name: str, parts: Parts, sessions: Sequence[Sequence[Utterance]] | None = None, **options: Any
) -> Place:
    """Returns the system with a dialogue in it: that of `tests.dialogues`, or these sessions."""
    folder.mkdir(exist_ok=True)
    if sessions is None:
        dialogue = read_locomo(write_dialogues(folder, **options)).dialogues[0]
        sessions = [
            [
                Utterance(t.reference, t.role, t.speaker, t.text, t.said_at, tuple(p.path for p in t.photos if p.path))
                for t in session.turns
            ]
            for session in dialogue.sessions
        ]
    memory = parts.stores.fresh_memory(name)
    system = await registry.open_system(name, memory, parts)
    messages: list[Message] = []
    for session in sessions:
        recorded = memory.record(session)
        await system.observe(recorded)
        messages += recorded
    return Place(parts, memory, system, messages)


async def opened_again(place: Place) -> Place:
    """Returns the same system on the same memory, as another start would open it."""
    memory = place.parts.stores.memory(place.memory.owner)
    system = await registry.open_system(place.system.name, memory, place.parts)
    return Place(place.parts, memory, system, memory.messages())


def choose(prompt: Prompt) -> tuple[str, Mapping[str, Any]]:
    """Remembers every message in full, and searches for the words of the question."""
    if prompt.stage == "query":
        return ("answer", {}) if prompt.steps else ("query_memory", {"query": prompt.said})
    if prompt.stage == "update":
        return "update_memory", {"request": "Remember it."}
    if prompt.stage == "manage update":
        if prompt.steps:
            return "finish", {}
        last = prompt.message_id
        return "add_memory", {"text": prompt.said.replace("\n", " "), "evidence_ids": [[last, last]]}
    if not prompt.steps:
        return "search_semantic_memories", {"query": prompt.request}
    return "finish", {"context": "Found.", "memory_ids": list(prompt.memories)[:2]}
