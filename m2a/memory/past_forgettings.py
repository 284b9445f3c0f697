"""The acts of forgetting that can still be undone or erased, without their words."""

import json
from collections.abc import Collection, Mapping

from sqlalchemy import select

from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.schema import forgotten_entry, trace, withheld_photo, withheld_words
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.withheld import is_kept_back
from m2a.types import PastForgetting

_TRACES_AT_ONCE = 200


def count(unit: UnitOfWork) -> int:
    """Returns the number of acts of forgetting, without those that only keep a memory back."""
    return len(_ids(unit))


def listed(unit: UnitOfWork, raw: RawMessageStore, *, start: int, count: int) -> list[PastForgetting]:
    """Returns the acts of forgetting, newest first."""
    ids = sorted(_ids(unit), reverse=True)[start : start + count]
    rows = unit.rows_among((forgotten_entry.c.forgetting_id, forgotten_entry.c.was_alive), ids)
    memories = [number for number, was_alive in rows if was_alive]
    places = _places(unit, ids)
    replies = raw.get(unit, {reply_id for reply_id, _ in places.values()})
    reports = {number: (replies[reply], change) for number, (reply, change) in places.items() if reply in replies}
    return [PastForgetting(number, memories.count(number), *reports.get(number, (None, 0))) for number in ids]


def _ids(unit: UnitOfWork) -> set[int]:
    ids = set[int]()
    for table in (forgotten_entry, withheld_words, withheld_photo):
        is_forgotten = unit.owns(table) & ~is_kept_back(table)
        ids |= set(unit.scalars(select(table.c.forgetting_id).where(is_forgotten).distinct()))
    return ids


def _places(unit: UnitOfWork, ids: Collection[int]) -> Mapping[int, tuple[int, int]]:
    """Returns, by the id of each forgetting, the reply that reports it, and the number of its change there.

    Reads the newest traces first, and no more than needed, because the newest forgettings are usually wanted.
    """
    places: dict[int, tuple[int, int]] = {}
    before: int | None = None
    while len(places) < len(ids):
        older = [] if before is None else [trace.c.message_id < before]
        rows = unit.execute(
            select(trace.c.message_id, trace.c.steps)
            .where(unit.owns(trace), trace.c.changes > 0, *older)
            .order_by(trace.c.message_id.desc())
            .limit(_TRACES_AT_ONCE)
        ).all()
        if not rows:
            break
        for reply_id, steps in rows:
            for number, change in reversed(list(enumerate(json.loads(steps).get("changes", ())))):
                if change["change"] == "forgotten" and change.get("forgetting_id") in ids and not change.get("undone"):
                    places[change["forgetting_id"]] = reply_id, number
        before = rows[-1].message_id
    return places
