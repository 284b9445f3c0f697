"""Which memories name a subject without being tied to it: told before it had its name, or by who gave none."""

import re
from collections.abc import Iterator, Mapping

from sqlalchemy import select

from m2a.memory.concept_store import concepts
from m2a.memory.schema import entry, entry_concept
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import Concept

# By subject the memories, each with when it was recorded, in microseconds.
Naming = Mapping[int, Mapping[int, int]]

_WORD = re.compile(r"\w+")


def naming(unit: UnitOfWork) -> Naming:
    """The living entries whose text names a subject that they are not tied to, by one of its names as it is written."""
    named: dict[str, list[tuple[tuple[str, ...], Concept]]] = {}
    for concept in concepts(unit):
        # "My sister" may be any of two; who goes by a name of their own is nobody else.
        for name in (concept.name, *(alias for alias in concept.aliases if alias[:1].isupper())):
            if words := _words(name):
                named.setdefault(words[0], []).append((words, concept))
    if not named:
        return {}
    tied = select(entry_concept.c.memory_id, entry_concept.c.concept_id).where(unit.owns(entry_concept))
    is_tied = {tuple(row) for row in unit.execute(tied)}
    found: dict[int, dict[int, int]] = {}
    texts = select(entry.c.memory_id, entry.c.recorded_at, entry.c.text).where(unit.owns(entry), entry.c.alive)
    for memory_id, recorded_at, text in unit.execute(texts):
        words = _words(text)
        if named.keys().isdisjoint(words):
            continue
        for concept in _named_in(words, named):
            if (memory_id, concept.concept_id) not in is_tied:
                found.setdefault(concept.concept_id, {})[memory_id] = recorded_at
    return found


def _named_in(words: tuple[str, ...], named: Mapping[str, list[tuple[tuple[str, ...], Concept]]]) -> Iterator[Concept]:
    for place, word in enumerate(words):
        for name, concept in named.get(word, ()):
            if words[place : place + len(name)] == name:
                yield concept


def _words(text: str) -> tuple[str, ...]:
    """With their capitals: Rose is somebody, and a rose is not."""
    return tuple(_WORD.findall(text))
