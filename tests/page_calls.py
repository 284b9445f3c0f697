"""Arguments of the page's handlers, and memories to call them on."""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, TypeVar

from m2a import Assistant
from m2a.memory.bank import MemoryBank
from m2a.memory.owners import owner_named
from m2a.types import (
    ConceptMention,
    EntryDraft,
    EvidenceRange,
    MemoryEntry,
)

Output = TypeVar("Output")


def request(assistant: Assistant, tab: str = "tab", **query: str) -> Any:
    return SimpleNamespace(username=assistant.local_owner, session_hash=tab, query_params=query)


def other_user(assistant: Assistant, **query: str) -> Any:
    """Returns a request of another user than the assistant's own."""
    owner = owner_named(assistant.stores.database, "other")
    return SimpleNamespace(username=owner, session_hash="tab", query_params=query)


async def all_of(outputs: AsyncIterator[Output]) -> list[Output]:
    return [output async for output in outputs]


async def last_of(outputs: AsyncIterator[Output]) -> Output:
    return (await all_of(outputs))[-1]


def click(**data: object) -> Any:
    return SimpleNamespace(**data)


def told(
    bank: MemoryBank, text: str, *, name: str = "", picture: bytes | None = None, rests_on: Any = "stated"
) -> MemoryEntry:
    message = bank.record(None, role="user", speaker="You", text=f"I say: {text}", photos=[picture] if picture else [])
    concepts = (ConceptMention(name, "pet"),) if name else ()
    evidence = (EvidenceRange(message.message_id, message.message_id),)
    draft = EntryDraft(text, evidence, concepts=concepts, photo_ids=message.photos, rests_on=rests_on)
    return bank.add(draft, who="M2A", why="the user said so")
