"""The receipts of erasures, which hold ids and times but no content."""

import json
from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Connection, insert, select, update

from m2a.memory.schema import receipt
from m2a.memory.sql import from_microseconds, to_microseconds
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import ErasurePreview, Receipt


def write_receipt(unit: UnitOfWork, removed: ErasurePreview, now: datetime) -> Receipt:
    """Records an erasure, whose bytes are still to be purged. Returns the receipt."""
    erased: Mapping[str, object] = {
        "counts": removed.counts,
        "message_ids": [m.message_id for m in removed.messages],
        "memory_ids": [m.memory_id for m in removed.memories],
    }
    kind, erased_at = removed.erasure.kind, to_microseconds(now)
    unit.execute(insert(receipt).values(owner=unit.owner, kind=kind, erased=json.dumps(erased), erased_at=erased_at))
    return receipts(unit)[-1]


def receipts(unit: UnitOfWork) -> list[Receipt]:
    """Returns the owner's receipts, oldest first."""
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
    """Returns the ids of the receipts, of all owners, whose content the disk may still contain."""
    return list(connection.scalars(select(receipt.c.receipt_id).where(receipt.c.purged_at.is_(None))))


def note_purged(connection: Connection, receipt_ids: list[int], now: datetime) -> None:
    of_receipts = receipt.c.receipt_id.in_(receipt_ids)
    connection.execute(update(receipt).where(of_receipts).values(purged_at=to_microseconds(now)))
