"""Helpers for SQL statements that SQLite and PostgreSQL share."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, TypeVar

from sqlalchemy import ARRAY, BigInteger, Column, ColumnElement, String, any_, bindparam, cast, func, select
from sqlalchemy.types import TypeEngine

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

LISTS: Mapping[str, TypeEngine[Any]] = {"sqlite": String(), "postgresql": ARRAY(BigInteger)}  # as one parameter
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_microseconds(moment: datetime) -> int:
    """An aware datetime as microseconds since 1970 (UTC)."""
    if moment.tzinfo is None:
        raise ValueError(f"The time {moment.isoformat()} has no time zone; give one, for example UTC.")
    delta = moment - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def from_microseconds(value: int, utc_offset: int = 0) -> datetime:
    """The inverse; `utc_offset` in seconds."""
    return (_EPOCH + timedelta(microseconds=value)).astimezone(timezone(timedelta(seconds=utc_offset)))


def chunks(items: Sequence[T], size: int = 500) -> Iterator[Sequence[T]]:
    """The items in runs that fit into one statement."""
    return (items[start : start + size] for start in range(0, len(items), size))


def is_listed(dialect: str, column: Column[int], parameter: str) -> ColumnElement[bool]:
    """Whether the column is one of the numbers of a parameter, which is given as `listed` makes it."""
    return is_among(dialect, column, bindparam(parameter, type_=LISTS[dialect]))


def listed(dialect: str, numbers: Collection[int]) -> str | list[int]:
    """Numbers, however many, as one parameter of a statement."""
    return json.dumps(sorted(numbers)) if dialect == "sqlite" else sorted(numbers)


def is_among(dialect: str, column: Column[int], numbers: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether the column is one of the numbers of an expression, which holds them as `listed` makes them."""
    if dialect != "sqlite":
        return column == any_(cast(numbers, LISTS[dialect]))
    return column.in_(select(func.json_each(numbers).table_valued("value").c.value))


def grouped(rows: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Rows of (key, value) as lists of values by key, in the order of the rows."""
    lists: dict[K, list[V]] = {}
    for key, value in rows:
        lists.setdefault(key, []).append(value)
    return lists
