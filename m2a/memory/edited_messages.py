"""Messages that the user edited. The older version stays in the log; the memories that rest on it alone can be withdrawn."""

from dataclasses import replace
from datetime import datetime

from sqlalchemy import select

from m2a.memory import updates
from m2a.memory.attribution import Attribution
from m2a.memory.concept_store import concepts
from m2a.memory.erasure_scope import without
from m2a.memory.quotations import entry_is_stated
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.schema import trace
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.unit_of_work import UnitOfWork
from m2a.speakers import THE_USER
from m2a.types import EvidenceRange, MemoryEntry


def resting_on(
    unit: UnitOfWork, raw: RawMessageStore, semantic: SemanticMemoryStore, message_id: int
) -> list[tuple[MemoryEntry, tuple[EvidenceRange, ...]]]:
    """Returns the live entries that rest on a message or its replies, each with its other evidence that says the same."""
    ids = {message_id, *replies_to(unit, message_id)}
    entries = semantic.get(unit, semantic.resting_on(unit, ids))
    all_concepts = concepts(unit) if entries else []
    resting = []
    for entry in entries.values():
        other_evidence = tuple(without(entry.evidence_ids, ids))
        is_supported = entry_is_stated(entry, raw.in_ranges(unit, other_evidence), all_concepts)
        resting.append((entry, other_evidence if is_supported else ()))
    return resting


def take_back(
    unit: UnitOfWork, raw: RawMessageStore, semantic: SemanticMemoryStore, message_id: int, *, now: datetime
) -> None:
    """Withdraws the entries that only this message supports, and revives those that they had replaced.

    Entries with other evidence lose this message as evidence. Cancels the pending updates of the replies to the message.
    """
    by = Attribution(THE_USER, "the user edited what it came from", now)
    for entry, other_evidence in resting_on(unit, raw, semantic, message_id):
        if other_evidence:
            semantic.reduce(unit, replace(entry, evidence_ids=other_evidence), by)
        else:
            semantic.withdraw(unit, entry.memory_id, by)
    for reply_id in replies_to(unit, message_id):
        updates.finish(unit, reply_id)


def replies_to(unit: UnitOfWork, message_id: int) -> list[int]:
    """Returns the ids of the replies to a message, oldest first."""
    answers = unit.owns(trace) & (trace.c.answers == message_id)
    return list(unit.scalars(select(trace.c.message_id).where(answers).order_by(trace.c.message_id)))
