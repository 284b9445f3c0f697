"""Lists what is remembered, a page at a time: nothing here reads all of it."""

from datetime import datetime, time, tzinfo

from sqlalchemy import ColumnElement, func, select

from m2a.memory.schema import concept, entry, entry_concept, entry_photo
from m2a.memory.sql import from_microseconds, to_microseconds
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import MemoryFilter, Subject


def newest_first(unit: UnitOfWork, wanted: MemoryFilter, zone: tzinfo, *, start: int, count: int) -> list[int]:
    """The ids of the living entries that the filter lets through, pinned ones first, then the last told: `count` from `start`."""
    return list(
        unit.scalars(
            select(entry.c.memory_id)
            .where(*_conditions(unit, wanted, zone))
            .order_by(entry.c.pinned_at.is_(None), entry.c.recorded_at.desc(), entry.c.memory_id.desc())
            .offset(start)
            .limit(count)
        )
    )


def count(unit: UnitOfWork, wanted: MemoryFilter, zone: tzinfo) -> int:
    """How many living entries the filter lets through."""
    return unit.scalar(select(func.count()).select_from(entry).where(*_conditions(unit, wanted, zone))) or 0


def last_updated(unit: UnitOfWork) -> datetime | None:
    """When the newest of the living entries was told."""
    last = unit.scalar(select(func.max(entry.c.recorded_at)).where(unit.owns(entry), entry.c.alive))
    return None if last is None else from_microseconds(last)


def all_passing(unit: UnitOfWork, wanted: MemoryFilter, zone: tzinfo) -> set[int]:
    """The ids of all living entries that the filter lets through."""
    return set(unit.scalars(select(entry.c.memory_id).where(*_conditions(unit, wanted, zone))))


def pinned(unit: UnitOfWork) -> list[int]:
    """The living entries that are pinned, the oldest pin first."""
    these = (unit.owns(entry), entry.c.pinned_at.is_not(None), entry.c.alive)
    return list(unit.scalars(select(entry.c.memory_id).where(*these).order_by(entry.c.pinned_at)))


def subjects(unit: UnitOfWork, limit: int) -> list[Subject]:
    """What the living entries name, the most told first."""
    number, last = func.count().label("number"), func.max(entry.c.recorded_at).label("last")
    rows = unit.execute(
        select(concept.c.concept_id, concept.c.name, concept.c.kind, number, last)
        .join(
            entry_concept,
            (entry_concept.c.owner == concept.c.owner) & (entry_concept.c.concept_id == concept.c.concept_id),
        )
        .join(entry, (entry.c.owner == entry_concept.c.owner) & (entry.c.memory_id == entry_concept.c.memory_id))
        .where(unit.owns(concept), entry.c.alive)
        .group_by(concept.c.concept_id, concept.c.name, concept.c.kind)
        .order_by(number.desc(), last.desc(), concept.c.concept_id)
        .limit(limit)
    )
    return [Subject(row.concept_id, row.name, row.kind, row.number, from_microseconds(row.last)) for row in rows]


def _conditions(unit: UnitOfWork, wanted: MemoryFilter, zone: tzinfo) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [unit.owns(entry), entry.c.alive]
    if wanted.rests_on is not None:
        conditions.append(entry.c.rests_on == wanted.rests_on)
    if wanted.since is not None:
        conditions.append(entry.c.recorded_at >= to_microseconds(datetime.combine(wanted.since, time.min, zone)))
    if wanted.until is not None:
        conditions.append(entry.c.recorded_at <= to_microseconds(datetime.combine(wanted.until, time.max, zone)))
    if wanted.kind is not None:
        conditions.append(entry.c.kind == wanted.kind)
    if wanted.subject_kind is not None:
        of_kind = (
            select(entry_concept.c.memory_id)
            .join(
                concept,
                (concept.c.owner == entry_concept.c.owner) & (concept.c.concept_id == entry_concept.c.concept_id),
            )
            .where(unit.owns(entry_concept), concept.c.kind == wanted.subject_kind)
        )
        conditions.append(entry.c.memory_id.in_(of_kind))
    if wanted.concept_id is not None:
        about = select(entry_concept.c.memory_id).where(
            unit.owns(entry_concept), entry_concept.c.concept_id == wanted.concept_id
        )
        conditions.append(entry.c.memory_id.in_(about))
    if wanted.about_nobody:
        conditions.append(
            ~select(entry_concept.c.concept_id)
            .where(entry_concept.c.owner == entry.c.owner, entry_concept.c.memory_id == entry.c.memory_id)
            .exists()
        )
    if wanted.with_photos:
        conditions.append(
            entry.c.memory_id.in_(select(entry_photo.c.memory_id).where(unit.owns(entry_photo)).distinct())
        )
    return conditions
