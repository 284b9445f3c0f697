"""Lists memories, one page at a time. A memory is about a subject if it is linked to it or mentions its name.

Only finding the mentioned names (`name_mentions`) reads all memories, so callers that list several times pass them as `names`.
"""

from datetime import date, datetime, time, tzinfo

from sqlalchemy import ColumnElement, func, select

from m2a.memory import reply_sources
from m2a.memory.name_mentions import NameMentions, name_mentions
from m2a.memory.schema import concept, entry, entry_concept, entry_photo
from m2a.memory.sql import from_microseconds, has_row, same_ids, to_microseconds
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import MemoryFilter, Subject


def newest_first(
    unit: UnitOfWork,
    wanted: MemoryFilter,
    zone: tzinfo,
    *,
    start: int,
    count: int,
    names: NameMentions | None = None,
) -> list[int]:
    """Returns the ids of `count` live entries that pass the filter, from `start`: pinned ones first, then the newest."""
    return list(
        unit.scalars(
            select(entry.c.memory_id)
            .where(*_conditions(unit, wanted, zone, names))
            .order_by(entry.c.pinned_at.is_(None), entry.c.recorded_at.desc(), entry.c.memory_id.desc())
            .offset(start)
            .limit(count)
        )
    )


def count(unit: UnitOfWork, wanted: MemoryFilter, zone: tzinfo, names: NameMentions | None = None) -> int:
    """Returns the number of live entries that pass the filter."""
    conditions = _conditions(unit, wanted, zone, names)
    return unit.scalar(select(func.count()).select_from(entry).where(*conditions)) or 0


def last_updated(unit: UnitOfWork) -> datetime | None:
    """Returns when the newest live entry was recorded, or None if there are none."""
    last = unit.scalar(select(func.max(entry.c.recorded_at)).where(unit.owns(entry), entry.c.alive))
    return None if last is None else from_microseconds(last)


def all_passing(unit: UnitOfWork, wanted: MemoryFilter, zone: tzinfo) -> set[int]:
    """Returns the ids of all live entries that pass the filter."""
    return set(unit.scalars(select(entry.c.memory_id).where(*_conditions(unit, wanted, zone))))


def pinned(unit: UnitOfWork) -> list[int]:
    """Returns the ids of the pinned live entries, oldest pin first."""
    are_pinned = (unit.owns(entry), entry.c.pinned_at.is_not(None), entry.c.alive)
    return list(unit.scalars(select(entry.c.memory_id).where(*are_pinned).order_by(entry.c.pinned_at)))


def subjects(unit: UnitOfWork, limit: int, names: NameMentions | None = None) -> list[Subject]:
    """Returns the subjects of the live entries, those with the most entries first."""
    names = name_mentions(unit) if names is None else names
    number, last = func.count().label("number"), func.max(entry.c.recorded_at).label("last")
    rows = unit.execute(
        select(concept.c.concept_id, concept.c.name, concept.c.kind, number, last)
        .join(entry_concept, same_ids(entry_concept, concept, "concept_id"))
        .join(entry, same_ids(entry, entry_concept, "memory_id"))
        .where(unit.owns(concept), entry.c.alive)
        .group_by(concept.c.concept_id, concept.c.name, concept.c.kind)
    )
    ranked = []
    for row in rows:
        mentioned_at = names.get(row.concept_id, {}).values()
        ranked.append((row.number + len(mentioned_at), max([row.last, *mentioned_at]), row))
    ranked.sort(key=lambda item: (-item[0], -item[1], item[2].concept_id))
    return [
        Subject(row.concept_id, row.name, row.kind, total, from_microseconds(last_recorded))
        for total, last_recorded, row in ranked[:limit]
    ]


def _recorded_or_happened(since: date, until: date, zone: tzinfo) -> ColumnElement[bool]:
    """Returns the condition that a memory was recorded, or that its event happened, between the two days."""
    first, last = (
        to_microseconds(datetime.combine(day, moment, zone)) for day, moment in ((since, time.min), (until, time.max))
    )
    happens = (entry.c.happened_last >= since.isoformat()) & (entry.c.happened_first <= until.isoformat())
    return entry.c.recorded_at.between(first, last) | happens


def _conditions(
    unit: UnitOfWork, wanted: MemoryFilter, zone: tzinfo, names: NameMentions | None = None
) -> list[ColumnElement[bool]]:
    if names is None and (wanted.subject_kind or wanted.concept_id is not None or wanted.about_nobody):
        names = name_mentions(unit)
    names = names or {}
    conditions: list[ColumnElement[bool]] = [unit.owns(entry), entry.c.alive]
    if wanted.rests_on is not None:
        conditions.append(entry.c.rests_on == wanted.rests_on)
    if wanted.since is not None or wanted.until is not None:
        conditions.append(_recorded_or_happened(wanted.since or date.min, wanted.until or date.max, zone))
    if wanted.kind is not None:
        conditions.append(entry.c.kind == wanted.kind)
    if wanted.subject_kind is not None:
        of_kind = (
            select(entry_concept.c.memory_id)
            .join(concept, same_ids(concept, entry_concept, "concept_id"))
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
        conditions.append(~has_row(entry_concept, entry, "memory_id"))
        conditions.append(
            entry.c.memory_id.not_in({memory_id for mentions in names.values() for memory_id in mentions})
        )
    if wanted.unused:
        conditions.append(~reply_sources.is_used())
    if wanted.with_photos:
        conditions.append(
            entry.c.memory_id.in_(select(entry_photo.c.memory_id).where(unit.owns(entry_photo)).distinct())
        )
    return conditions
