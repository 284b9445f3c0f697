"""Messages that the user edited: the older version stays in the log, and the memories that rest on it alone are kept, or taken
back."""

from dataclasses import replace
from datetime import datetime

from sqlalchemy import select

from m2a.memory import updates
from m2a.memory.attribution import Attribution
from m2a.memory.concept_store import concepts
from m2a.memory.erasure_scope import is_said_in, without
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.schema import trace
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.unit_of_work import UnitOfWork
from m2a.speakers import THE_USER
from m2a.types import EvidenceRange, MemoryEntry


def resting_on(
    unit: UnitOfWork, raw: RawMessageStore, semantic: SemanticMemoryStore, message_id: int
) -> list[tuple[MemoryEntry, tuple[EvidenceRange, ...]]]:
    """The living entries that rest on a message or on the replies to it, each with the evidence that says the same elsewhere."""
    ids = {message_id, *replies_to(unit, message_id)}
    living = semantic.get(unit, semantic.resting_on(unit, ids))
    named = concepts(unit) if living else []
    found = []
    for one in living.values():
        left = tuple(without(one.evidence_ids, ids))
        is_supported = is_said_in(one, raw.in_ranges(unit, left), named)
        found.append((one, left if is_supported else ()))
    return found


def take_back(
    unit: UnitOfWork, raw: RawMessageStore, semantic: SemanticMemoryStore, message_id: int, *, now: datetime
) -> None:
    """Take out the entries that nothing but the message supports: what they had taken the place of holds again. The others
    rest on less. An update after a reply to it that is still to come does not."""
    by = Attribution(THE_USER, "the user edited what it came from", now)
    for one, left in resting_on(unit, raw, semantic, message_id):
        if left:
            semantic.reduce(unit, replace(one, evidence_ids=left), by)
        else:
            semantic.withdraw(unit, one.memory_id, by)
    for reply_id in replies_to(unit, message_id):
        updates.finish(unit, reply_id)


def replies_to(unit: UnitOfWork, message_id: int) -> list[int]:
    """The ids of the replies to a message, the oldest first."""
    answers = unit.owns(trace) & (trace.c.answers == message_id)
    return list(unit.scalars(select(trace.c.message_id).where(answers).order_by(trace.c.message_id)))
