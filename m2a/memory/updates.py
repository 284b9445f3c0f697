"""Which replies still have to be taken into the memory. Every function runs inside the caller's transaction."""

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from m2a.memory.schema import pending_update


def await_update(connection: Connection, owner: str, reply_id: int) -> None:
    """Note that the update of a reply is to come."""
    connection.execute(insert(pending_update).values(owner=owner, message_id=reply_id))


def pending(connection: Connection, owner: str, *, set_aside: bool = False) -> list[int]:
    """The replies whose update is to be done, in order; or those whose update was set aside."""
    rows = select(pending_update.c.message_id).where(
        pending_update.c.owner == owner, pending_update.c.set_aside.is_(set_aside)
    )
    return list(connection.scalars(rows.order_by(pending_update.c.message_id)))


def finish(connection: Connection, owner: str, reply_id: int) -> bool:
    """Count an update as done; False where it was."""
    return connection.execute(delete(pending_update).where(_this(owner, reply_id))).rowcount > 0


def note_failure(connection: Connection, owner: str, reply_id: int, error: str) -> int:
    """Count a failure; how many there were."""
    counted = (
        update(pending_update)
        .where(_this(owner, reply_id))
        .values(failures=pending_update.c.failures + 1, last_error=error)
        .returning(pending_update.c.failures)
    )
    return connection.scalar(counted) or 0


def set_aside(connection: Connection, owner: str, reply_id: int) -> None:
    connection.execute(update(pending_update).where(_this(owner, reply_id)).values(set_aside=True))


def retry(connection: Connection, owner: str) -> int:
    """Let those that were set aside be done again, as if they had never failed; how many."""
    waiting = (pending_update.c.owner == owner) & pending_update.c.set_aside
    return connection.execute(update(pending_update).where(waiting).values(set_aside=False, failures=0)).rowcount


def _this(owner: str, reply_id: int) -> ColumnElement[bool]:
    return (pending_update.c.owner == owner) & (pending_update.c.message_id == reply_id)
