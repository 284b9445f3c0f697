"""Arguments of the page's handlers, and memories to call them on."""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

from m2a import Assistant
from m2a.memory.bank import MemoryBank
from m2a.memory.owners import owner_named
from m2a.types import (
    ConceptMention,
    EntryDraft,
    EvidenceRange,
    MemoryEntry,
)
from m2a.ui.chat_panel import Update

HOSTILE = (
    "<script>window.ran = 1</script>",
    "\"><img src=x onerror='window.ran = 1'>",
    "' onfocus='window.ran = 1' autofocus='",
    "</textarea><svg onload=window.ran=1>",
    "{{constructor}} ${window.ran = 1} javascript:window.ran=1",
)


def request(assistant: Assistant, tab: str = "tab", **query: str) -> Any:
    return SimpleNamespace(username=assistant.local_owner, session_hash=tab, query_params=query)


def other_user(assistant: Assistant) -> Any:
    """Returns a request of another user than the assistant's own."""
    owner = owner_named(assistant.stores.database, "other")
    return SimpleNamespace(username=owner, session_hash="tab", query_params={})


async def all_of(updates: AsyncIterator[Update]) -> list[Update]:
    return [update async for update in updates]


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
