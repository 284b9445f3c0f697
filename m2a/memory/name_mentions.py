"""Finds memories that mention a subject by name without being linked to it, for example because they are older than it."""

import re
from collections.abc import Iterator, Mapping

from sqlalchemy import select

from m2a.memory.concept_store import concepts
from m2a.memory.schema import entry, entry_concept
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import Concept

# By concept id, the ids of the memories that mention it, each with when it was recorded, in microseconds.
NameMentions = Mapping[int, Mapping[int, int]]

_WORD = re.compile(r"\w+")


def name_mentions(unit: UnitOfWork) -> NameMentions:
    """Returns the live entries whose text contains a name of a subject, with the same capitals, without a link to it."""
    named: dict[str, list[tuple[tuple[str, ...], Concept]]] = {}
    for concept in concepts(unit):
        # Only proper names identify a subject: "my sister" may be one of two.
        for name in (concept.name, *(alias for alias in concept.aliases if alias[:1].isupper())):
            if words := _words(name):
                named.setdefault(words[0], []).append((words, concept))
    if not named:
        return {}
    links = select(entry_concept.c.memory_id, entry_concept.c.concept_id).where(unit.owns(entry_concept))
    linked = {tuple(row) for row in unit.execute(links)}
    mentions: dict[int, dict[int, int]] = {}
    texts = select(entry.c.memory_id, entry.c.recorded_at, entry.c.text).where(unit.owns(entry), entry.c.alive)
    for memory_id, recorded_at, text in unit.execute(texts):
        words = _words(text)
        if named.keys().isdisjoint(words):
            continue
        for concept in _named_in(words, named):
            if (memory_id, concept.concept_id) not in linked:
                mentions.setdefault(concept.concept_id, {})[memory_id] = recorded_at
    return mentions


def _named_in(words: tuple[str, ...], named: Mapping[str, list[tuple[tuple[str, ...], Concept]]]) -> Iterator[Concept]:
    for place, word in enumerate(words):
        for name, concept in named.get(word, ()):
            if words[place : place + len(name)] == name:
                yield concept


def _words(text: str) -> tuple[str, ...]:
    """Returns the words with their capitals, since Rose is a person and a rose is not."""
    return tuple(_WORD.findall(text))
