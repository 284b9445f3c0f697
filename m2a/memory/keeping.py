"""Memories that the user keeps although the messages that they rest on are erased: from then on each rests on a message of that
day, which says so. No memory is without evidence, and nothing is quoted that nobody said."""

from collections.abc import Sequence
from datetime import datetime

from m2a.memory import change_log, conversations
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.unit_of_work import UnitOfWork
from m2a.speakers import ASSISTANT, USER
from m2a.types import EvidenceRange, MemoryEntry

CHANGES_IN_MEMORY = "Changes in Memory"  # the title of the conversation in which changes by hand are recorded
KEPT = "I keep this, although I erased the words that it came from: "


def keep(
    unit: UnitOfWork, raw: RawMessageStore, entries: Sequence[MemoryEntry], now: datetime
) -> dict[int, EvidenceRange]:
    """Record that the user keeps the entries; for each the message that says so.

    It shows the photos of the entry, which stay with it.
    """
    if not entries:
        return {}
    conversation_id = changes_in_memory(unit, raw, now)
    place = unit, conversation_id
    said = {}
    for one in entries:
        message = raw.append(
            *place, role="user", speaker=USER, text=f"{KEPT}{one.text}", photos=one.photo_ids, said_at=now
        )
        said[one.memory_id] = EvidenceRange(message.message_id, message.message_id)
    many = f"{len(said)} memories" if len(said) > 1 else "this memory"
    reply = raw.append(*place, role="assistant", speaker=ASSISTANT, text=f"I keep {many}.", said_at=now)
    answers = said[entries[-1].memory_id].last
    change_log.record(unit, reply.message_id, change_log.NOTHING_SEARCHED, answers=answers)
    return said


def changes_in_memory(unit: UnitOfWork, raw: RawMessageStore, now: datetime) -> str:
    """The conversation in which changes by hand are recorded; it is begun with the first."""
    found = conversations.titled(unit, CHANGES_IN_MEMORY)
    return found or conversations.start(unit, now, title=CHANGES_IN_MEMORY).conversation_id
