"""What is known, by subject: of each of those told of most the newest memories, in their own words. Nothing here reads all."""

from datetime import tzinfo

from m2a.memory import memory_listing
from m2a.memory.entry_reader import EntryReader
from m2a.memory.naming import naming
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import MemoryFilter, SubjectSummary

SUBJECTS = 6  # most that are summed up; behind them the memories that name none
LINES = 3  # memories of each


def summary(unit: UnitOfWork, reader: EntryReader, zone: tzinfo) -> list[SubjectSummary]:
    """The subjects that are told of most, and at last what names none. Each memory stands under one subject alone."""
    told: list[int] = []
    found = []
    names = naming(unit)
    named = memory_listing.subjects(unit, SUBJECTS, names)
    for subject in [*named, None]:
        wanted = MemoryFilter(concept_id=subject.concept_id) if subject else MemoryFilter(about_nobody=True)
        count = LINES + len(told)
        newest = memory_listing.newest_first(unit, wanted, zone, start=0, count=count, names=names)
        ids = [number for number in newest if number not in told][:LINES]
        if not ids:
            continue
        told += ids
        entries = reader.get(unit, ids)
        number = subject.memories if subject else memory_listing.count(unit, wanted, zone, names)
        last = subject.last_updated if subject else max(one.recorded_at for one in entries.values())
        found.append(SubjectSummary(subject, tuple(entries[i] for i in ids), number, last))
    return found
