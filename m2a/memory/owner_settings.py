"""What an owner set. Every function runs inside the caller's transaction."""

import json
from typing import get_args

from sqlalchemy import Connection, delete, insert, select

from m2a.memory.schema import owner_setting
from m2a.types import Category, MemoryRule

_RULE = "memory_rule"


def memory_rule(connection: Connection, owner: str) -> MemoryRule:
    """When memories are written; by default at once, and no card numbers, passwords and keys."""
    found = read(connection, owner, _RULE)
    if found is None:
        return MemoryRule()
    stored = json.loads(found)
    never = frozenset(one for one in get_args(Category) if one in stored["never"])
    return MemoryRule(bool(stored["after_review"]), never)


def set_memory_rule(connection: Connection, owner: str, rule: MemoryRule) -> None:
    value = json.dumps({"after_review": rule.after_review, "never": sorted(rule.never)})
    write(connection, owner, _RULE, value)


def read(connection: Connection, owner: str, key: str) -> str | None:
    value: str | None = connection.scalar(
        select(owner_setting.c.value).where(owner_setting.c.owner == owner, owner_setting.c.key == key)
    )
    return value


def write(connection: Connection, owner: str, key: str, value: str) -> None:
    connection.execute(delete(owner_setting).where(owner_setting.c.owner == owner, owner_setting.c.key == key))
    connection.execute(insert(owner_setting).values(owner=owner, key=key, value=value))
