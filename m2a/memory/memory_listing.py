"""Lists what is remembered, a page at a time. A memory is about a subject that it is tied to, or that it names.

Nothing here reads all of it but the names in it: whoever lists more than once hands them in.
"""

from datetime import datetime, time, tzinfo

from sqlalchemy import ColumnElement, func, select

from m2a.memory import reply_sources
from m2a.memory.naming import Naming, naming
from m2a.memory.schema import concept, entry, entry_concept, entry_photo
from m2a.memory.sql import from_microseconds, to_microseconds
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import MemoryFilter, Subject


def newest_first(
    unit: UnitOfWork,
    wanted: MemoryFilter,
    zone: tzinfo,
    *,
    start: int,
    count: int,
    names: Naming | None = None,
) -> list[int]:
    """The ids of the living entries that the filter lets through, pinned ones first, then the last told: `count` from `start`."""
    return list(
        unit.scalars(
            select(entry.c.memory_id)
            .where(*_conditions(unit, wanted, zone, names))
            .order_by(entry.c.pinned_at.is_(None), entry.c.recorded_at.desc(), entry.c.memory_id.desc())
            .offset(start)
            .limit(count)
        )
    )


def count(unit: UnitOfWork, wanted: MemoryFilter, zone: tzinfo, names: Naming | None = None) -> int:
    """How many living entries the filter lets through."""
    these = _conditions(unit, wanted, zone, names)
    return unit.scalar(select(func.count()).select_from(entry).where(*these)) or 0


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


def subjects(unit: UnitOfWork, limit: int, names: Naming | None = None) -> list[Subject]:
    """What the living entries are about, the most told first."""
    names = naming(unit) if names is None else names
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
    )
    found = []
    for row in rows:
        named = names.get(row.concept_id, {}).values()
        found.append((row.number + len(named), max([row.last, *named]), row))
    found.sort(key=lambda one: (-one[0], -one[1], one[2].concept_id))
    return [
        Subject(row.concept_id, row.name, row.kind, total, from_microseconds(told))
        for total, told, row in found[:limit]
    ]


def _conditions(
    unit: UnitOfWork, wanted: MemoryFilter, zone: tzinfo, names: Naming | None = None
) -> list[ColumnElement[bool]]:
    if names is None and (wanted.subject_kind or wanted.concept_id is not None or wanted.about_nobody):
        names = naming(unit)
    names = names or {}
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
        kind = select(concept.c.concept_id).where(unit.owns(concept), concept.c.kind == wanted.subject_kind)
        naming_kind = [memory_id for number in unit.scalars(kind) for memory_id in names.get(number, ())]
        conditions.append(entry.c.memory_id.in_(of_kind) | entry.c.memory_id.in_(naming_kind))
    if wanted.concept_id is not None:
        about = select(entry_concept.c.memory_id).where(
            unit.owns(entry_concept), entry_concept.c.concept_id == wanted.concept_id
        )
        conditions.append(entry.c.memory_id.in_(about) | entry.c.memory_id.in_([*names.get(wanted.concept_id, ())]))
    if wanted.about_nobody:
        conditions.append(
            ~select(entry_concept.c.concept_id)
            .where(entry_concept.c.owner == entry.c.owner, entry_concept.c.memory_id == entry.c.memory_id)
            .exists()
        )
        conditions.append(entry.c.memory_id.not_in({number for of_one in names.values() for number in of_one}))
    if wanted.unused:
        conditions.append(~reply_sources.is_used())
    if wanted.with_photos:
        conditions.append(
            entry.c.memory_id.in_(select(entry_photo.c.memory_id).where(unit.owns(entry_photo)).distinct())
        )
    return conditions
