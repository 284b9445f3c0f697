"""Summarises the memory: the newest memories about each of the most frequent subjects, in their own words."""

from collections.abc import Sequence
from datetime import tzinfo

from m2a.memory import memory_listing
from m2a.memory.entry_reader import EntryReader
from m2a.memory.naming import Naming
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import MemoryFilter, Subject, SubjectSummary

SUBJECTS = 6  # at most; memories about no subject follow them
LINES = 3  # memories about each subject


def summary(
    unit: UnitOfWork, reader: EntryReader, zone: tzinfo, subjects: Sequence[Subject], names: Naming
) -> list[SubjectSummary]:
    """Returns the first of the subjects with their newest memories, and last the memories about no subject.

    A memory appears under one subject only.
    """
    listed: list[int] = []
    summaries = []
    for subject in (*subjects[:SUBJECTS], None):
        of_subject = MemoryFilter(concept_id=subject.concept_id) if subject else MemoryFilter(about_nobody=True)
        count = LINES + len(listed)
        newest = memory_listing.newest_first(unit, of_subject, zone, start=0, count=count, names=names)
        ids = [memory_id for memory_id in newest if memory_id not in listed][:LINES]
        if not ids:
            continue
        listed += ids
        entries = reader.get(unit, ids)
        total = subject.memories if subject else memory_listing.count(unit, of_subject, zone, names)
        last = subject.last_updated if subject else max(entry.recorded_at for entry in entries.values())
        summaries.append(SubjectSummary(subject, tuple(entries[memory_id] for memory_id in ids), total, last))
    return summaries
