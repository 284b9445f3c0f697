"""Memories that were not written but can still be kept: those that wait for review, those of a category that the owner never
wants remembered, and those that were refused.

The table stores only their places; their text is in the traces of the replies.
"""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, case, delete, insert, select

from m2a.memory.schema import held_memory
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import Addition, Held, HeldPlace, Refusal, Replacement

_MAX_PLACES = 10_000
_ORDER: dict[Held, int] = {"review": 0, "category": 1, "check": 2}


def note(unit: UnitOfWork, reply_id: int, first: int, refusals: Sequence[Refusal]) -> None:
    """Stores the places of the refusals, numbered from `first`, that would have become memories."""
    rows = [
        {"owner": unit.owner, "message_id": reply_id, "number": number, "held": refusal.held}
        for number, refusal in enumerate(refusals, start=first)
        if isinstance(refusal.change, Addition | Replacement)
    ]
    if rows:
        unit.execute(insert(held_memory), rows)


def places(unit: UnitOfWork) -> list[HeldPlace]:
    """Returns the places: first those that wait for review, then those of excluded categories, then the refused ones."""
    rows = unit.execute(
        select(held_memory.c.message_id, held_memory.c.number, held_memory.c.held)
        .where(unit.owns(held_memory))
        .order_by(case(_ORDER, value=held_memory.c.held), held_memory.c.message_id, held_memory.c.number)
        .limit(_MAX_PLACES)
    )
    return [HeldPlace(*row) for row in rows]


def settle(unit: UnitOfWork, reply_id: int, number: int) -> None:
    """Removes a place after the owner's decision."""
    unit.execute(delete(held_memory).where(_at_place(unit, reply_id, number)))


def reopen(unit: UnitOfWork, reply_id: int, number: int, held: Held) -> None:
    """Adds a place back, so that the owner decides again."""
    settle(unit, reply_id, number)
    unit.execute(insert(held_memory).values(owner=unit.owner, message_id=reply_id, number=number, held=held))


def _at_place(unit: UnitOfWork, reply_id: int, number: int) -> ColumnElement[bool]:
    return unit.owns(held_memory) & (held_memory.c.message_id == reply_id) & (held_memory.c.number == number)
