"""The pending memory updates after replies."""

from sqlalchemy import ColumnElement, delete, insert, select, update

from m2a.memory.schema import pending_update
from m2a.memory.unit_of_work import UnitOfWork


def mark_pending(unit: UnitOfWork, reply_id: int) -> None:
    """Marks the update of a reply as pending."""
    unit.execute(insert(pending_update).values(owner=unit.owner, message_id=reply_id))


def pending(unit: UnitOfWork, *, set_aside: bool = False) -> list[int]:
    """Returns the replies with a pending update, in order; with `set_aside`, those whose update was set aside."""
    rows = select(pending_update.c.message_id).where(
        unit.owns(pending_update), pending_update.c.set_aside.is_(set_aside)
    )
    return list(unit.scalars(rows.order_by(pending_update.c.message_id)))


def finish(unit: UnitOfWork, reply_id: int) -> bool:
    """Marks an update as done. Returns False if it already was."""
    return unit.execute(delete(pending_update).where(_of_reply(unit, reply_id))).rowcount > 0


def note_failure(unit: UnitOfWork, reply_id: int, error: str) -> int:
    """Records a failure. Returns the number of failures so far."""
    counted = (
        update(pending_update)
        .where(_of_reply(unit, reply_id))
        .values(failures=pending_update.c.failures + 1, last_error=error)
        .returning(pending_update.c.failures)
    )
    return unit.scalar(counted) or 0


def set_aside(unit: UnitOfWork, reply_id: int) -> None:
    unit.execute(update(pending_update).where(_of_reply(unit, reply_id)).values(set_aside=True))


def retry(unit: UnitOfWork) -> int:
    """Makes all updates that were set aside pending again, without their failures. Returns their number."""
    are_set_aside = unit.owns(pending_update) & pending_update.c.set_aside
    return unit.execute(update(pending_update).where(are_set_aside).values(set_aside=False, failures=0)).rowcount


def _of_reply(unit: UnitOfWork, reply_id: int) -> ColumnElement[bool]:
    return unit.owns(pending_update) & (pending_update.c.message_id == reply_id)
