"""Withholds the words of entries that were forgotten under schema version 1, which did not withhold words."""

from sqlalchemy import Connection, delete, select

from m2a.memory import change_log
from m2a.memory.database import Database
from m2a.memory.forgetting import Forgetter
from m2a.memory.migrations import FORGOTTEN_BEFORE_WITHHOLDING
from m2a.memory.quotations import matching_sentences
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.schema import forgotten_entry, setting
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.sql import grouped
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import MessageSpan


def withhold_forgotten_entries(database: Database) -> None:
    """Withholds the words of entries that were forgotten under schema version 1, and of the requests to forget them.

    Does nothing if this is already done.
    """
    is_due = setting.c.key == FORGOTTEN_BEFORE_WITHHOLDING
    with database.snapshot() as connection:
        if connection.scalar(select(setting.c.value).where(is_due)) is None:
            return
    with database.transaction() as connection:
        if connection.execute(delete(setting).where(is_due)).rowcount:
            _withhold_forgotten_entries(connection)


def _withhold_forgotten_entries(connection: Connection) -> None:
    raw, semantic = RawMessageStore(), SemanticMemoryStore()
    forgetter = Forgetter(raw, semantic)
    rows = connection.execute(
        select(forgotten_entry.c.owner, forgotten_entry.c.forgetting_id, forgotten_entry.c.memory_id).order_by(
            forgotten_entry.c.owner, forgotten_entry.c.forgetting_id
        )
    ).all()
    for (owner, forgetting_id), memory_ids in grouped(((row[0], row[1]), row[2]) for row in rows).items():
        unit = UnitOfWork(connection, owner)
        entries = semantic.not_live(unit, memory_ids)
        requests = set[MessageSpan]()
        asking = [
            answers
            for _reply_id, answers, steps in change_log.traces(unit)
            if any(change.get("forgetting_id") == forgetting_id for change in steps.get("changes", ()))
        ]
        for request in raw.as_logged(unit, asking).values():
            spans = {span for gone in entries for span in matching_sentences(gone.text, request.text)}
            requests |= {MessageSpan(request.message_id, *span) for span in spans}
        forgetter.withhold(unit, forgetting_id, entries, requests)
