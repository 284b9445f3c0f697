"""Looks up which records a search may return, and in which version."""

from collections.abc import Collection
from functools import cache
from typing import Any

from sqlalchemy import CompoundSelect, bindparam, false, select, true, union_all

from m2a.memory.raw_message_store import message_versions
from m2a.memory.schema import entry, message
from m2a.memory.sql import is_listed, listed
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import RecordKey


def record_versions(unit: UnitOfWork, keys: Collection[RecordKey]) -> dict[RecordKey, int]:
    """Returns the versions of the live entries among the keys, and of the messages of which something remains."""
    dialect = unit.dialect
    rows = unit.execute(
        _statement(dialect),
        {
            "owner": unit.owner,
            "memory_ids": listed(dialect, [key.record_id for key in keys if key.kind == "entry"]),
            "message_ids": listed(dialect, [key.record_id for key in keys if key.kind == "message"]),
        },
    ).all()
    return {
        RecordKey("entry" if is_entry else "message", record_id): version
        for is_entry, record_id, version, is_searchable in rows
        if is_searchable
    }


@cache
def _statement(dialect: str) -> CompoundSelect[Any]:
    # `alive` is selected instead of being a condition, which would make SQLite scan all live entries.
    entries = select(true(), entry.c.memory_id, entry.c.version, entry.c.alive).where(
        entry.c.owner == bindparam("owner"), is_listed(dialect, entry.c.memory_id, "memory_ids")
    )
    messages = message_versions(false()).where(
        message.c.owner == bindparam("owner"), is_listed(dialect, message.c.message_id, "message_ids")
    )
    return union_all(entries, messages)
