"""Memories that the user keeps although the messages that they rest on are erased.

Each gets a new message as its evidence, which says that the user keeps it. So every memory has evidence, and nothing is quoted
that nobody said.
"""

from collections.abc import Sequence
from datetime import datetime

from m2a.memory import change_log, conversations
from m2a.memory.kept_back import forgettings_of
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.withheld import withhold
from m2a.speakers import ASSISTANT, USER
from m2a.types import EvidenceRange, MemoryEntry, MessageSpan

CHANGES_IN_MEMORY = "Changes in Memory"  # the title of the conversation that records manual changes
RETAINED_BECAUSE = "I keep this, although I erased the words that it came from: "


def retain(
    unit: UnitOfWork, raw: RawMessageStore, entries: Sequence[MemoryEntry], now: datetime
) -> dict[int, EvidenceRange]:
    """Records that the user keeps the entries. Returns, by memory id, the message that says so.

    The message shows the photos of the entry. Where the entry is kept back, so are its words and photos in the message.
    """
    if not entries:
        return {}
    conversation_id = changes_in_memory(unit, now)
    place = unit, conversation_id
    evidence = {}
    forgettings = forgettings_of(unit, [entry.memory_id for entry in entries])
    for entry in entries:
        message = raw.append(
            *place,
            role="user",
            speaker=USER,
            text=f"{RETAINED_BECAUSE}{entry.text}",
            photos=entry.photo_ids,
            said_at=now,
        )
        evidence[entry.memory_id] = EvidenceRange(message.message_id, message.message_id)
        if entry.memory_id in forgettings:
            words = MessageSpan(message.message_id, len(RETAINED_BECAUSE), len(message.text))
            photos = [(message.message_id, photo_id) for photo_id in message.photos]
            forgetting_id, _reason = forgettings[entry.memory_id]
            withhold(unit, forgetting_id, [words] if entry.text else [], photos)
    kept = f"{len(evidence)} memories" if len(evidence) > 1 else "this memory"
    reply = raw.append(*place, role="assistant", speaker=ASSISTANT, text=f"I keep {kept}.", said_at=now)
    answers = evidence[entries[-1].memory_id].last
    change_log.record(unit, reply.message_id, change_log.NOTHING_SEARCHED, answers=answers)
    return evidence


def changes_in_memory(unit: UnitOfWork, now: datetime) -> str:
    """Returns the id of the conversation that records manual changes, which begins with the first one."""
    conversation_id = conversations.titled(unit, CHANGES_IN_MEMORY)
    return conversation_id or conversations.start(unit, now, title=CHANGES_IN_MEMORY).conversation_id
