"""The settings of an owner."""

import json
from datetime import datetime
from typing import get_args

from sqlalchemy import delete, insert, select

from m2a.memory.schema import owner_setting
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import Category, MemoryRule

_RULE = "memory_rule"
_HEALTH_CHECKED = "health_checked_at"


def memory_rule(unit: UnitOfWork) -> MemoryRule:
    """Returns the rule for when memories are written; by default at once, but no card numbers, passwords or keys."""
    value = read(unit, _RULE)
    if value is None:
        return MemoryRule()
    stored = json.loads(value)
    never = frozenset(category for category in get_args(Category) if category in stored["never"])
    return MemoryRule(bool(stored["after_review"]), never)


def set_memory_rule(unit: UnitOfWork, rule: MemoryRule) -> None:
    value = json.dumps({"after_review": rule.after_review, "never": sorted(rule.never)})
    write(unit, _RULE, value)


def health_checked_at(unit: UnitOfWork) -> datetime | None:
    """Returns when the memory was last checked; None if it never was."""
    value = read(unit, _HEALTH_CHECKED)
    return None if value is None else datetime.fromisoformat(value)


def note_health_check(unit: UnitOfWork, now: datetime) -> None:
    write(unit, _HEALTH_CHECKED, now.isoformat())


def read(unit: UnitOfWork, key: str) -> str | None:
    value: str | None = unit.scalar(
        select(owner_setting.c.value).where(unit.owns(owner_setting), owner_setting.c.key == key)
    )
    return value


def write(unit: UnitOfWork, key: str, value: str) -> None:
    unit.execute(delete(owner_setting).where(unit.owns(owner_setting), owner_setting.c.key == key))
    unit.execute(insert(owner_setting).values(owner=unit.owner, key=key, value=value))
