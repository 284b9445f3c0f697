"""Which replies still have to be taken into the memory."""

from sqlalchemy import ColumnElement, delete, insert, select, update

from m2a.memory.schema import pending_update
from m2a.memory.unit_of_work import UnitOfWork


def await_update(unit: UnitOfWork, reply_id: int) -> None:
    """Note that the update of a reply is to come."""
    unit.execute(insert(pending_update).values(owner=unit.owner, message_id=reply_id))


def pending(unit: UnitOfWork, *, set_aside: bool = False) -> list[int]:
    """The replies whose update is to be done, in order; or those whose update was set aside."""
    rows = select(pending_update.c.message_id).where(
        unit.owns(pending_update), pending_update.c.set_aside.is_(set_aside)
    )
    return list(unit.scalars(rows.order_by(pending_update.c.message_id)))


def finish(unit: UnitOfWork, reply_id: int) -> bool:
    """Count an update as done; False where it was."""
    return unit.execute(delete(pending_update).where(_this(unit, reply_id))).rowcount > 0


def note_failure(unit: UnitOfWork, reply_id: int, error: str) -> int:
    """Count a failure; how many there were."""
    counted = (
        update(pending_update)
        .where(_this(unit, reply_id))
        .values(failures=pending_update.c.failures + 1, last_error=error)
        .returning(pending_update.c.failures)
    )
    return unit.scalar(counted) or 0


def set_aside(unit: UnitOfWork, reply_id: int) -> None:
    unit.execute(update(pending_update).where(_this(unit, reply_id)).values(set_aside=True))


def retry(unit: UnitOfWork) -> int:
    """Let those that were set aside be done again, as if they had never failed; how many."""
    waiting = unit.owns(pending_update) & pending_update.c.set_aside
    return unit.execute(update(pending_update).where(waiting).values(set_aside=False, failures=0)).rowcount


def _this(unit: UnitOfWork, reply_id: int) -> ColumnElement[bool]:
    return unit.owns(pending_update) & (pending_update.c.message_id == reply_id)
