"""Memories that are kept but used in no answer: those that the owner asked not to mention, those that have expired, and those
that the owner may have asked to forget and has yet to decide on.

Only the owner's own page may show them.
"""

from collections.abc import Collection
from datetime import date

from sqlalchemy import ColumnElement, func, select

from m2a.memory.entry_reader import EntryReader
from m2a.memory.schema import entry, entry_photo, kept_back
from m2a.memory.sql import from_microseconds, has_row, same_ids
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import KeptBack, KeptBackReason


def counts(unit: UnitOfWork) -> dict[KeptBackReason, int]:
    """Returns the number of kept-back entries for each reason."""
    rows = select(kept_back.c.reason, func.count()).where(unit.owns(kept_back)).group_by(kept_back.c.reason)
    return {row[0]: row[1] for row in unit.execute(rows)}


def listed(
    unit: UnitOfWork,
    reader: EntryReader,
    *,
    reason: KeptBackReason | None = None,
    words: str = "",
    start: int = 0,
    count: int,
) -> list[KeptBack]:
    """Returns the kept-back entries that contain all the words, for one reason or any, most recently kept back first."""
    conditions: list[ColumnElement[bool]] = [unit.owns(kept_back)]
    if reason is not None:
        conditions.append(kept_back.c.reason == reason)
    conditions += [entry.c.text.icontains(word, autoescape=True) for word in words.split()]
    rows = unit.execute(
        select(kept_back.c.memory_id, kept_back.c.reason, kept_back.c.kept_at)
        .join(entry, same_ids(entry, kept_back, "memory_id"))
        .where(*conditions)
        .order_by(kept_back.c.kept_at.desc(), kept_back.c.memory_id.desc())
        .offset(start)
        .limit(count)
    ).all()
    entries = reader.as_recorded(unit, [row.memory_id for row in rows])
    return [KeptBack(entries[row.memory_id], row.reason, from_microseconds(row.kept_at)) for row in rows]


def among_ids(unit: UnitOfWork, reader: EntryReader, memory_ids: Collection[int]) -> dict[int, KeptBack]:
    """Returns the kept-back entries among the ids, by id."""
    rows = unit.rows_among((kept_back.c.memory_id, kept_back.c.reason, kept_back.c.kept_at), memory_ids)
    entries = reader.as_recorded(unit, [row.memory_id for row in rows])
    return {row.memory_id: KeptBack(entries[row.memory_id], row.reason, from_microseconds(row.kept_at)) for row in rows}


def has_photo(unit: UnitOfWork, photo_id: str) -> bool:
    """Returns whether a kept-back entry has the photo."""
    with_photo = (
        unit.owns(entry_photo),
        entry_photo.c.photo_id == photo_id,
        has_row(kept_back, entry_photo, "memory_id"),
    )
    return unit.scalar(select(entry_photo.c.memory_id).where(*with_photo).limit(1)) is not None


def in_same_question(unit: UnitOfWork, memory_ids: Collection[int]) -> dict[int, int]:
    """Returns, by memory id, the forgettings of all entries that the user is asked to choose among together with any of these."""
    is_asked = unit.owns(kept_back) & (kept_back.c.reason == "asked")
    times = select(kept_back.c.kept_at).where(is_asked, kept_back.c.memory_id.in_(sorted(memory_ids)))
    rows = unit.execute(
        select(kept_back.c.memory_id, kept_back.c.forgetting_id).where(is_asked, kept_back.c.kept_at.in_(times))
    )
    return {row.memory_id: row.forgetting_id for row in rows}


def forgettings_of(unit: UnitOfWork, memory_ids: Collection[int]) -> dict[int, tuple[int, KeptBackReason]]:
    """Returns, by memory id, the forgettings that keep back the entries among the ids, each with its reason."""
    rows = unit.rows_among((kept_back.c.memory_id, kept_back.c.forgetting_id, kept_back.c.reason), memory_ids)
    return {row.memory_id: (row.forgetting_id, row.reason) for row in rows}


def past_their_day(unit: UnitOfWork, today: date) -> list[int]:
    """Returns the ids of the live entries whose last day is before today."""
    past = (unit.owns(entry), entry.c.used_until < today.isoformat(), entry.c.alive)
    return list(unit.scalars(select(entry.c.memory_id).where(*past).order_by(entry.c.memory_id)))
