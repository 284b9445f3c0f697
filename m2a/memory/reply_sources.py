"""The memories and messages that replies rest on, in rows that can be queried from either side. Traces hold the same in JSON."""

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import ColumnElement, delete, insert, select

from m2a.memory.schema import entry, reply_source
from m2a.memory.sql import grouped
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import RecordKey

_FROM_RECORD = (reply_source.c.record_id, reply_source.c.kind, reply_source.c.message_id)
_FROM_REPLY = (reply_source.c.message_id, reply_source.c.kind, reply_source.c.record_id)


def note(unit: UnitOfWork, reply_id: int, steps: Mapping[str, Any]) -> None:
    """Stores the sources of a new reply from its trace."""
    hits = [source["hit"] for source in steps.get("sources", ())]
    rows = [
        {"owner": unit.owner, "message_id": reply_id, "kind": kind, "record_id": number}
        for kind, number in sorted({(hit["kind"], hit["id"]) for hit in hits})
    ]
    if rows:
        unit.execute(insert(reply_source), rows)


def replies_on(unit: UnitOfWork, records: Collection[RecordKey]) -> set[int]:
    """Returns the ids of the replies that rest on any of the records."""
    rows = unit.rows_among(_FROM_RECORD, {key.record_id for key in records})
    return {reply_id for number, kind, reply_id in rows if RecordKey(kind, number) in records}


def memories_under(unit: UnitOfWork, reply_ids: Collection[int]) -> dict[int, list[int]]:
    """Returns, by reply id, the ids of the memories that the reply rests on."""
    rows = unit.rows_among(_FROM_REPLY, reply_ids)
    return grouped((reply_id, number) for reply_id, kind, number in rows if kind == "entry")


def used_memories(unit: UnitOfWork) -> set[int]:
    """Returns the ids of all memories that a reply rests on."""
    used = unit.owns(reply_source) & (reply_source.c.kind == "entry")
    return set(unit.scalars(select(reply_source.c.record_id).where(used).distinct()))


def is_used() -> ColumnElement[bool]:
    """Returns the condition that a reply rests on the entry in the row."""
    conditions = (
        reply_source.c.owner == entry.c.owner,
        reply_source.c.kind == "entry",
        reply_source.c.record_id == entry.c.memory_id,
    )
    return select(reply_source.c.message_id).where(*conditions).exists()


def erase(unit: UnitOfWork, records: Collection[RecordKey]) -> None:
    """Deletes the records from the sources of all replies."""
    for kind in ("entry", "message"):
        numbers = {key.record_id for key in records if key.kind == kind}
        of_kind = (reply_source.c.kind == kind) & unit.among(reply_source.c.record_id, numbers)
        unit.execute(delete(reply_source).where(unit.owns(reply_source), of_kind))
