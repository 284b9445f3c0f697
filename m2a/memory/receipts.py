"""What is kept of an erasure: numbers and times, no content."""

import json
from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Connection, insert, select, update

from m2a.memory.schema import receipt
from m2a.memory.sql import from_microseconds, to_microseconds
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import ErasurePreview, Receipt


def write_receipt(unit: UnitOfWork, gone: ErasurePreview, now: datetime) -> Receipt:
    """Note that it went, and that its bytes are still to be purged."""
    erased: Mapping[str, object] = {
        "counts": gone.counts,
        "message_ids": [m.message_id for m in gone.messages],
        "memory_ids": [m.memory_id for m in gone.memories],
    }
    kind, erased_at = gone.erasure.kind, to_microseconds(now)
    unit.execute(insert(receipt).values(owner=unit.owner, kind=kind, erased=json.dumps(erased), erased_at=erased_at))
    return receipts(unit)[-1]


def receipts(unit: UnitOfWork) -> list[Receipt]:
    """The owner's, the oldest first."""
    rows = unit.execute(select(receipt).where(unit.owns(receipt)).order_by(receipt.c.receipt_id))
    return [
        Receipt(
            row.receipt_id,
            row.kind,
            from_microseconds(row.erased_at),
            (erased := json.loads(row.erased))["counts"],
            tuple(erased["message_ids"]),
            tuple(erased["memory_ids"]),
            None if row.purged_at is None else from_microseconds(row.purged_at),
        )
        for row in rows
    ]


def unpurged(connection: Connection) -> list[int]:
    """The receipts, of all owners, of what the disk may still hold."""
    return list(connection.scalars(select(receipt.c.receipt_id).where(receipt.c.purged_at.is_(None))))


def note_purged(connection: Connection, receipt_ids: list[int], now: datetime) -> None:
    these = receipt.c.receipt_id.in_(receipt_ids)
    connection.execute(update(receipt).where(these).values(purged_at=to_microseconds(now)))
