"""Helpers for SQL statements that run on both SQLite and PostgreSQL."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, TypeVar

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Exists,
    FromClause,
    String,
    and_,
    any_,
    bindparam,
    cast,
    func,
    select,
)
from sqlalchemy.types import TypeEngine

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

LIST_TYPES: Mapping[str, TypeEngine[Any]] = {"sqlite": String(), "postgresql": ARRAY(BigInteger)}  # as one parameter
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_microseconds(moment: datetime) -> int:
    """Returns an aware datetime as microseconds since 1970 (UTC). Raises `ValueError` for a naive one."""
    if moment.tzinfo is None:
        raise ValueError(f"The time {moment.isoformat()} has no time zone; add one, for example UTC.")
    delta = moment - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def from_microseconds(value: int, utc_offset: int = 0) -> datetime:
    """Returns the datetime of `to_microseconds`, with a `utc_offset` in seconds."""
    moment = _EPOCH + timedelta(microseconds=value)
    return moment.astimezone(timezone(timedelta(seconds=utc_offset))) if utc_offset else moment


def chunks(items: Sequence[T], size: int = 500) -> Iterator[Sequence[T]]:
    """Yields the items in chunks that fit into one statement."""
    return (items[start : start + size] for start in range(0, len(items), size))


def same_ids(table: FromClause, other: FromClause, *ids: str) -> ColumnElement[bool]:
    """Returns the condition that rows of two tables have the same owner and the same ids."""
    return and_(*(table.c[name] == other.c[name] for name in ("owner", *ids)))


def has_row(table: FromClause, other: FromClause, *ids: str, where: ColumnElement[bool] | None = None) -> Exists:
    """Returns the condition that the table has a row, also meeting `where`, with the owner and the ids of the row of `other`."""
    rows = select(table.c.owner).where(same_ids(table, other, *ids))
    return (rows if where is None else rows.where(where)).exists()


def is_in_parameter(dialect: str, column: ColumnElement[int], parameter: str) -> ColumnElement[bool]:
    """Returns the condition that the column is one of the numbers in a parameter, whose value comes from `list_parameter`."""
    return is_in(dialect, column, bindparam(parameter, type_=LIST_TYPES[dialect]))


def list_parameter(dialect: str, numbers: Collection[int]) -> str | list[int]:
    """Returns any number of integers as the value of one parameter."""
    return json.dumps(sorted(numbers)) if dialect == "sqlite" else sorted(numbers)


def is_in(dialect: str, column: ColumnElement[int], numbers: ColumnElement[Any]) -> ColumnElement[bool]:
    """Returns the condition that the column is one of the numbers in an expression of the form that `list_parameter` returns."""
    if dialect != "sqlite":
        return column == any_(cast(numbers, LIST_TYPES[dialect]))
    return column.in_(select(func.json_each(numbers).table_valued("value").c.value))


def grouped(rows: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Groups (key, value) rows into lists of values by key, in the order of the rows."""
    lists: dict[K, list[V]] = {}
    for key, value in rows:
        lists.setdefault(key, []).append(value)
    return lists
