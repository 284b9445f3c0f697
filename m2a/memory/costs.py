"""The costs of replies and of the memory updates after them.

A row belongs to its reply and is erased with it, so sums cover only the replies that still exist.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import date, datetime, tzinfo
from typing import Any

from sqlalchemy import ColumnElement, case, delete, func, insert, select

from m2a.memory.schema import turn_cost
from m2a.memory.sql import from_microseconds, grouped, to_microseconds
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import Cost, CostSum

_QUARTER = 15 * 60 * 1_000_000  # microseconds; every time zone differs from UTC by whole quarters of an hour
_COST = tuple(turn_cost.c[name] for name in Cost.__slots__)


def note(unit: UnitOfWork, reply_id: int, cost: Cost, now: datetime) -> None:
    """Records the cost of a stage, added to the cost of earlier attempts at it."""
    of_stage = unit.owns(turn_cost) & (turn_cost.c.message_id == reply_id) & (turn_cost.c.stage == cost.stage)
    before = unit.execute(select(*_COST).where(of_stage)).first()
    if before is not None:
        unit.execute(delete(turn_cost).where(of_stage))
        cost = _together(Cost(*before), cost)
    values = {name: getattr(cost, name) for name in Cost.__slots__}
    row = {"owner": unit.owner, "message_id": reply_id, "measured_at": to_microseconds(now), **values}
    unit.execute(insert(turn_cost).values(row))


def costs_of(unit: UnitOfWork, reply_ids: Collection[int]) -> dict[int, list[Cost]]:
    """Returns, by reply id, the recorded costs: of the reply first, then of its update."""
    rows = unit.rows_among((turn_cost.c.message_id, *_COST), reply_ids)
    return grouped(sorted(((row[0], Cost(*row[1:])) for row in rows), key=lambda row: (row[0], row[1].stage)))


def by_day(unit: UnitOfWork, zone: tzinfo, *, since: date) -> list[CostSum]:
    """Returns the sums per day from `since` on, newest first, without days that have no costs."""
    start = to_microseconds(datetime.combine(since, datetime.min.time(), zone))
    quarter = (turn_cost.c.measured_at - turn_cost.c.measured_at % _QUARTER).label("quarter")
    rows = unit.execute(
        select(quarter, *_SUMS)
        .where(unit.owns(turn_cost), turn_cost.c.measured_at >= start)
        .group_by(quarter)
        .order_by(quarter.desc())
    )
    days: dict[date, CostSum] = {}
    for begins, *sums in rows:
        day = from_microseconds(begins).astimezone(zone).date()
        quarter_sum = _cost_sum(day, sums)
        days[day] = _added(days[day], quarter_sum) if day in days else quarter_sum
    return list(days.values())


def total(unit: UnitOfWork) -> CostSum:
    """Returns the sum of all recorded costs."""
    row = unit.execute(select(*_SUMS).where(unit.owns(turn_cost))).one()
    return _cost_sum(None, row)


def _sum(value: ColumnElement[Any]) -> ColumnElement[Any]:
    return func.coalesce(func.sum(value), 0)


_SUMS = (
    _sum(case((turn_cost.c.stage == "reply", 1), else_=0)),
    _sum(turn_cost.c.seconds),
    _sum(turn_cost.c.calls),
    _sum(turn_cost.c.input_tokens),
    _sum(turn_cost.c.output_tokens),
    _sum(turn_cost.c.dollars),
    _sum(case((turn_cost.c.input_tokens.is_(None), turn_cost.c.calls), else_=0)),
    _sum(case((turn_cost.c.dollars.is_(None), turn_cost.c.calls), else_=0)),
)


def _cost_sum(day: date | None, sums: Sequence[Any]) -> CostSum:
    replies, seconds, calls, read, written, dollars, uncounted, unpriced = sums
    counts = (int(calls), int(read), int(written))
    return CostSum(day, int(replies), float(seconds), *counts, float(dollars), int(uncounted), int(unpriced))


def _together(before: Cost, now: Cost) -> Cost:
    dollars = [cost.dollars for cost in (before, now) if cost.calls]
    return replace(
        now,
        seconds=before.seconds + now.seconds,
        calls=before.calls + now.calls,
        input_tokens=_sum_if_known(before.input_tokens, now.input_tokens),
        output_tokens=_sum_if_known(before.output_tokens, now.output_tokens),
        dollars=None if not dollars or None in dollars else sum(filter(None, dollars)),
    )


def _sum_if_known(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


def _added(first: CostSum, second: CostSum) -> CostSum:
    names = [name for name in CostSum.__slots__ if name != "day"]
    return replace(first, **{name: getattr(first, name) + getattr(second, name) for name in names})
