"""What was not written and can be kept after all: it waits for a review, is of a category that is not remembered, or was refused.

Its words stand in the trace of the reply; here stands where to find them.
"""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, case, delete, insert, select

from m2a.memory.schema import held_memory
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import Addition, Held, HeldPlace, Refusal, Replacement

_AT_MOST = 10_000
_ORDER: dict[Held, int] = {"review": 0, "category": 1, "check": 2}


def note(unit: UnitOfWork, reply_id: int, first: int, refusals: Sequence[Refusal]) -> None:
    """Note those of the refusals, numbered from `first` on, that would have been memories."""
    rows = [
        {"owner": unit.owner, "message_id": reply_id, "number": number, "held": refusal.held}
        for number, refusal in enumerate(refusals, start=first)
        if isinstance(refusal.change, Addition | Replacement)
    ]
    if rows:
        unit.execute(insert(held_memory), rows)


def places(unit: UnitOfWork) -> list[HeldPlace]:
    """Where to find them: first what waits for a review, then what was withheld, then what was refused; each in order."""
    rows = unit.execute(
        select(held_memory.c.message_id, held_memory.c.number, held_memory.c.held)
        .where(unit.owns(held_memory))
        .order_by(case(_ORDER, value=held_memory.c.held), held_memory.c.message_id, held_memory.c.number)
        .limit(_AT_MOST)
    )
    return [HeldPlace(*row) for row in rows]


def settle(unit: UnitOfWork, reply_id: int, number: int) -> None:
    """It was decided on."""
    unit.execute(delete(held_memory).where(_this(unit, reply_id, number)))


def reopen(unit: UnitOfWork, reply_id: int, number: int, held: Held) -> None:
    """It is to be decided on again."""
    settle(unit, reply_id, number)
    unit.execute(insert(held_memory).values(owner=unit.owner, message_id=reply_id, number=number, held=held))


def _this(unit: UnitOfWork, reply_id: int, number: int) -> ColumnElement[bool]:
    return unit.owns(held_memory) & (held_memory.c.message_id == reply_id) & (held_memory.c.number == number)
