"""Reads the memories: live entries, superseded ones, and their history."""

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from datetime import date
from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    CompoundSelect,
    Row,
    Select,
    String,
    Table,
    bindparam,
    cast,
    null,
    select,
    union_all,
)

from m2a.memory.concept_store import fold_name
from m2a.memory.schema import entry, entry_concept, entry_evidence, entry_history, entry_photo, forgotten_entry
from m2a.memory.sql import chunks, from_microseconds, grouped, has_row, is_in_parameter, list_parameter, same_ids
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.withheld import FORGOTTEN, is_kept_back
from m2a.types import DateInterval, EvidenceRange, HistoryRow, MemoryEntry, MemoryKind


class EntryReader:
    """Reads the entries of each owner and their history.

    Methods return entries in order of memory id, and only live ones unless they say otherwise.
    """

    def get(self, unit: UnitOfWork, memory_ids: Collection[int]) -> dict[int, MemoryEntry]:
        """Returns the live entries among the ids, by id."""
        rows = unit.rows_among(_COLUMNS, set(memory_ids)) if memory_ids else ()
        return {e.memory_id: e for e in self._whole(unit, [row for row in rows if row.alive])}

    def evidence(self, unit: UnitOfWork, memory_ids: Collection[int]) -> dict[int, list[EvidenceRange]]:
        """Returns, by memory id, the ranges of messages that the entry rests on."""
        columns = (entry_evidence.c.memory_id, entry_evidence.c.first_id, entry_evidence.c.last_id)
        rows = unit.rows_among(columns, memory_ids)
        return grouped((memory_id, EvidenceRange(first, last)) for memory_id, first, last in rows)

    def all(self, unit: UnitOfWork, kinds: Collection[MemoryKind] | None = None) -> list[MemoryEntry]:
        """Returns all live entries, or those of the given kinds."""
        return self._load(unit, entry.c.kind.in_(list(kinds)) if kinds else entry.c.alive)

    def saying(self, unit: UnitOfWork, text: str) -> MemoryEntry | None:
        """Returns the live entry with the same text, ignoring case and spacing, if there is one."""
        memory_id = unit.scalar(
            select(entry.c.memory_id).where(
                unit.owns(entry), entry.c.alive, entry.c.folded_hash == folded_hash(text.strip())
            )
        )
        return None if memory_id is None else self.get(unit, [memory_id])[memory_id]

    def superseded(self, unit: UnitOfWork, memory_ids: Collection[int]) -> dict[int, MemoryEntry]:
        """Returns the superseded entries among the ids, as they were, without forgotten ones."""
        entries: dict[int, MemoryEntry] = {}
        for chunk in chunks(sorted(set(memory_ids))):
            are_superseded = entry.c.memory_id.in_(chunk) & entry.c.successor_id.is_not(None) & ~is_forgotten(entry)
            entries |= {e.memory_id: e for e in self._load(unit, are_superseded, alive=False)}
        return entries

    def revisions_in(self, unit: UnitOfWork, message_ids: Collection[int]) -> dict[int, list[MemoryEntry]]:
        """Returns, by message id, the superseded entries that rest on that message, and then the live entries that correct a part
        of a live entry that rests on it. A message on which the correction rests itself is left out."""
        if not message_ids:
            return {}
        ids = {"owner": unit.owner, "first": min(message_ids), "last": max(message_ids)}
        superseded, corrected = (unit.execute(rows, ids).all() for rows in (_SUPERSEDED_BETWEEN, _CORRECTED_BETWEEN))
        revisions = self.superseded(unit, {row.memory_id for row in superseded})
        revisions |= self.get(unit, {row.memory_id for row in corrected})
        return grouped(
            (message_id, revision)
            for message_id in sorted(set(message_ids))
            for row in (*superseded, *corrected)
            if row.first_id <= message_id <= row.last_id and (revision := revisions.get(row.memory_id)) is not None
            if revision.superseded_by is not None or not revision.rests_on_message(message_id)
        )

    def not_live(self, unit: UnitOfWork, memory_ids: Collection[int]) -> list[MemoryEntry]:
        """Returns the entries among the ids that are superseded, forgotten or undone. Use it only to undo changes."""
        return self._load(unit, entry.c.memory_id.in_(list(memory_ids)), alive=False)

    def resting_with(self, unit: UnitOfWork, entries: Collection[MemoryEntry]) -> list[MemoryEntry]:
        """Returns the live entries with a range of evidence that starts at the same message as one of these entries'."""
        firsts = {first for memory in entries for first, _ in memory.evidence_ids}
        if not firsts:
            return []
        columns = (entry_evidence.c.first_id, entry_evidence.c.memory_id)
        ids = {memory_id for _, memory_id in unit.rows_among(columns, firsts)}
        return list(self.get(unit, ids).values())

    def as_recorded(self, unit: UnitOfWork, memory_ids: Collection[int]) -> dict[int, MemoryEntry]:
        """Returns the entries among the ids, live or not, including forgotten ones. Do not use them in answers."""
        rows = unit.rows_among(_COLUMNS, set(memory_ids)) if memory_ids else ()
        return {e.memory_id: e for e in self._whole(unit, rows)}

    def resting_on(self, unit: UnitOfWork, message_ids: Collection[int]) -> set[int]:
        """Returns the ids of the entries, live or not, that have any of the messages in their evidence."""
        if not message_ids:
            return set()
        ordered = sorted(message_ids)
        rows = unit.execute(
            select(entry_evidence.c.memory_id, entry_evidence.c.first_id, entry_evidence.c.last_id).where(
                unit.owns(entry_evidence),
                entry_evidence.c.first_id <= ordered[-1],
                entry_evidence.c.last_id >= ordered[0],
            )
        )
        return {
            memory_id for memory_id, first, last in rows if bisect_left(ordered, first) < bisect_right(ordered, last)
        }

    def corrections_of(self, unit: UnitOfWork, memory_ids: Collection[int]) -> dict[int, list[MemoryEntry]]:
        """Returns, by memory id, the live entries that correct a part of that entry."""
        ids = {memory_id for _, memory_id in unit.rows_among((entry.c.corrects, entry.c.memory_id), memory_ids)}
        return grouped((correction.corrects or 0, correction) for correction in self.get(unit, ids).values())

    def predecessors(self, unit: UnitOfWork, memory_id: int) -> list[int]:
        """Returns the ids of the entries that this one superseded, of those that they superseded, and so on, newest first."""
        ids = [memory_id]
        for successor_id in ids:  # grows in the loop
            ids += unit.scalars(
                select(entry.c.memory_id)
                .where(unit.owns(entry), entry.c.successor_id == successor_id)
                .order_by(entry.c.memory_id.desc())
            ).all()
        return ids[1:]

    def with_photos(self, unit: UnitOfWork, photo_ids: Collection[str]) -> dict[str, list[int]]:
        """Returns, by photo id, the ids of the live entries with that photo, ascending."""
        rows = unit.execute(
            select(entry_photo.c.photo_id, entry_photo.c.memory_id)
            .join(entry, same_ids(entry, entry_photo, "memory_id"))
            .where(unit.owns(entry_photo), entry_photo.c.photo_id.in_(list(photo_ids)), entry.c.alive)
            .order_by(entry_photo.c.photo_id, entry_photo.c.memory_id)  # the order of an index, so no sorting
        )
        return grouped(rows)

    def history(self, unit: UnitOfWork, memory_id: int) -> list[HistoryRow]:
        """Returns all changes to a memory, oldest first. A forgotten memory has no text, unless it is only kept back."""
        rows = unit.execute(
            select(entry_history, is_forgotten(entry_history, for_good=True).label("is_forgotten"))
            .where(unit.owns(entry_history), entry_history.c.memory_id == memory_id)
            .order_by(entry_history.c.history_id)
        )
        return [
            HistoryRow(
                row.version,
                row.change,
                FORGOTTEN if row.is_forgotten else row.text,
                row.who,
                "" if row.is_forgotten else row.why,
                from_microseconds(row.changed_at),
                row.successor_id,
            )
            for row in rows
        ]

    def _load(self, unit: UnitOfWork, condition: object, *, alive: bool = True) -> list[MemoryEntry]:
        rows = unit.execute(
            select(entry).where(unit.owns(entry), entry.c.alive.is_(alive), condition).order_by(entry.c.memory_id)  # type: ignore[arg-type]
        ).all()
        return self._whole(unit, rows)

    def _whole(self, unit: UnitOfWork, rows: Sequence[Row]) -> list[MemoryEntry]:  # type: ignore[type-arg]
        """Returns entries for the rows, which may be in any order, with their photos, evidence and concepts."""
        if not rows:
            return []
        dialect = unit.dialect
        values = {"owner": unit.owner, "numbers": list_parameter(dialect, [row.memory_id for row in rows])}
        photos: dict[int, list[str]] = {}
        evidence: dict[int, list[EvidenceRange]] = {}
        concepts: dict[int, list[int]] = {}
        for memory_id, _, photo_id, first, last in unit.execute(_parts(dialect), values).all():
            if photo_id is not None:
                photos.setdefault(memory_id, []).append(photo_id)
            elif last is not None:
                evidence.setdefault(memory_id, []).append(EvidenceRange(first, last))
            else:
                concepts.setdefault(memory_id, []).append(first)
        return [
            _entry(row, photos.get(row.memory_id, ()), evidence.get(row.memory_id, ()), concepts.get(row.memory_id, ()))
            for row in sorted(rows, key=lambda row: row.memory_id)
        ]


_COLUMNS = (entry.c.memory_id, *(column for column in entry.c if column.name != "memory_id"))


# Starts from the few superseded entries, because with a join SQLite reads the evidence of all entries.
_SUPERSEDED_BETWEEN = (
    select(entry_evidence.c.memory_id, entry_evidence.c.first_id, entry_evidence.c.last_id)
    .where(
        entry_evidence.c.owner == bindparam("owner"),
        entry_evidence.c.memory_id.in_(
            select(entry.c.memory_id).where(
                entry.c.owner == bindparam("owner"), ~entry.c.alive, entry.c.successor_id.is_not(None)
            )
        ),
        entry_evidence.c.first_id <= bindparam("last"),
        entry_evidence.c.last_id >= bindparam("first"),
    )
    .order_by(entry_evidence.c.memory_id)
)

# The evidence of the live entries that others correct, each range with the id of the correction.
_CORRECTION, _CORRECTED = entry.alias(), entry.alias()
_CORRECTED_BETWEEN = (
    select(_CORRECTION.c.memory_id, entry_evidence.c.first_id, entry_evidence.c.last_id)
    .join(_CORRECTED, (_CORRECTED.c.owner == _CORRECTION.c.owner) & (_CORRECTED.c.memory_id == _CORRECTION.c.corrects))
    .join(
        entry_evidence,
        (entry_evidence.c.owner == _CORRECTION.c.owner) & (entry_evidence.c.memory_id == _CORRECTION.c.corrects),
    )
    .where(
        _CORRECTION.c.owner == bindparam("owner"),
        _CORRECTION.c.corrects.is_not(None),
        _CORRECTION.c.alive,
        _CORRECTED.c.alive,
        entry_evidence.c.first_id <= bindparam("last"),
        entry_evidence.c.last_id >= bindparam("first"),
    )
    .order_by(_CORRECTION.c.memory_id)
)


@cache
def _parts(dialect: str) -> CompoundSelect[Any]:
    """Returns one statement for the parts of entries. A row is a photo, or a range of messages, or else a concept."""
    no_number, no_photo = cast(null(), BigInteger), cast(null(), String)

    def part(table: Table, position: ColumnElement[int], *columns: ColumnElement[Any]) -> Select[Any]:
        of_entries = (table.c.owner == bindparam("owner"), is_in_parameter(dialect, table.c.memory_id, "numbers"))
        return select(table.c.memory_id, position.label("position"), *columns).where(*of_entries)

    return union_all(
        part(entry_photo, entry_photo.c.position, entry_photo.c.photo_id, no_number, no_number),
        part(entry_evidence, entry_evidence.c.position, no_photo, entry_evidence.c.first_id, entry_evidence.c.last_id),
        part(entry_concept, entry_concept.c.concept_id, no_photo, entry_concept.c.concept_id, no_number),
    ).order_by("position")


def folded_hash(text: str) -> str:
    """Returns a hash that is equal for texts that differ only in case and spacing."""
    return hashlib.sha256(fold_name(text).encode("utf-8", "surrogatepass")).hexdigest()


def is_forgotten(table: Table, *, for_good: bool = False) -> ColumnElement[bool]:
    """Returns the condition that the entry in the row is forgotten or kept back; with `for_good`, only forgotten."""
    return has_row(forgotten_entry, table, "memory_id", where=~is_kept_back(forgotten_entry) if for_good else None)


def _entry(
    row: Row,  # type: ignore[type-arg]
    photos: Sequence[str],
    evidence: Sequence[EvidenceRange],
    concepts: Sequence[int],
) -> MemoryEntry:
    happened = (
        DateInterval(date.fromisoformat(row.happened_first), date.fromisoformat(row.happened_last))
        if row.happened_first
        else None
    )
    return MemoryEntry(
        row.memory_id,
        row.owner,
        row.version,
        row.kind,
        row.text,
        row.caption,
        tuple(photos),
        tuple(evidence),
        tuple(concepts),
        from_microseconds(row.recorded_at),
        happened,
        row.rests_on,
        row.corrects,
        row.successor_id,
        None if row.pinned_at is None else from_microseconds(row.pinned_at),
        date.fromisoformat(row.used_until) if row.used_until else None,
    )
