"""The trace of a reply: how it came about. It is stored with the reply as JSON and loaded for the page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from m2a.memory.bank import MemoryBank
from m2a.memory.change_log import NOTHING_SEARCHED
from m2a.types import Hit, MemoryChanged, MemoryEntry, MemorySearched, Message, NotKept, Query, RecordedChange, Source


@dataclass(frozen=True, slots=True)
class Explanation:
    """The searches and sources of a reply, what the memory kept after it, and what it did not keep.

    Memories that were replaced meanwhile appear as they were. Forgotten ones are left out, and a change to one only says that it
    was made. A refusal that was carried out after all is among the changes; refusals that the user rejected are separate.
    """

    searches: tuple[MemorySearched, ...] = ()
    sources: tuple[Source, ...] = ()
    changes: tuple[RecordedChange, ...] = ()
    not_kept: tuple[NotKept, ...] = ()
    unasked: int = 0
    rejected: tuple[NotKept, ...] = ()


def dump_trace(searches: Sequence[MemorySearched], sources: Sequence[Source]) -> dict[str, Any]:
    return {
        "searches": [
            {
                "text": search.query.text,
                "photo_ids": list(search.query.photo_ids),
                "hits": [_dump_hit(hit) for hit in search.hits],
            }
            for search in searches
        ],
        "sources": [
            {"hit": _dump_hit(source.hit), "message_ids": [message.message_id for message in source.messages]}
            for source in sources
        ],
    }


def load_trace(bank: MemoryBank, message_id: int, *, to_owner: bool = False) -> Explanation:
    """Loads the explanation of a reply, which is empty for a message without a trace.

    With `to_owner`, it includes kept-back memories, which only their owner may read.
    """
    steps = bank.replies.steps(message_id)
    if not isinstance(steps, dict):
        return Explanation()
    records = _Records(bank, steps, to_owner)
    return Explanation(
        searches=tuple(
            MemorySearched(
                Query(search["text"], tuple(search["photo_ids"])),
                tuple(hit for stored in search["hits"] if (hit := records.hit(stored))),
            )
            for search in steps["searches"]
        ),
        sources=tuple(
            Source(hit, records.messages_of(source["message_ids"]))
            for source in steps["sources"]
            if (hit := records.hit(source["hit"]))
        ),
        changes=records.changes(steps),
        not_kept=_not_kept(bank, message_id, steps, rejected=False),
        rejected=_not_kept(bank, message_id, steps, rejected=True),
        unasked=steps.get("unasked", 0),
    )


def load_changes(bank: MemoryBank, message_id: int) -> tuple[RecordedChange, ...]:
    """Loads the changes of an explanation without what its searches found. Does not include kept-back memories."""
    steps = bank.replies.steps(message_id)
    if not isinstance(steps, dict) or not steps.get("changes"):
        return ()
    return _Records(bank, {**steps, **NOTHING_SEARCHED}, to_owner=False).changes(steps)


def _not_kept(bank: MemoryBank, reply_id: int, steps: Mapping[str, Any], *, rejected: bool) -> tuple[NotKept, ...]:
    """Returns the refusals that were not carried out after all: those that the user rejected, or the others."""
    said_in = bank.replies.answered(reply_id) if steps.get("refusals") else None
    return tuple(
        NotKept(
            stored["text"],
            stored["reason"],
            None if stored["change"] is None else number,
            stored.get("held", "check"),
            said_in,
        )
        for number, stored in enumerate(steps.get("refusals", ()))
        if not stored.get("done") and bool(stored.get("rejected")) == rejected
    )


class _Records:
    """The records that a trace refers to, loaded at once."""

    def __init__(self, bank: MemoryBank, steps: Mapping[str, Any], to_owner: bool) -> None:
        hits = [hit for search in steps["searches"] for hit in search["hits"]]
        hits += [source["hit"] for source in steps["sources"]]
        message_ids = {hit["id"] for hit in hits if hit["kind"] == "message"}
        message_ids |= {message_id for source in steps["sources"] for message_id in source["message_ids"]}
        memory_ids = {hit["id"] for hit in hits if hit["kind"] == "entry"}
        memory_ids |= {
            memory_id
            for change in steps.get("changes", ())
            for memory_id in (change["memory_id"], change["previous_id"], *change.get("rival_ids", ()))
            if memory_id is not None
        }
        self._messages = bank.messages(message_ids)
        self._live = bank.entries_by_id(memory_ids)
        self._entries = bank.replaced_entries(memory_ids) | self._live
        if to_owner and memory_ids:
            self._entries |= {number: held.entry for number, held in bank.kept_back_by_id(memory_ids).items()}

    def hit(self, stored: Mapping[str, Any]) -> Hit | None:
        record: Message | MemoryEntry | None = (
            self._entries.get(stored["id"]) if stored["kind"] == "entry" else self._messages.get(stored["id"])
        )
        return None if record is None else Hit(record, stored["score"], stored["ranks"], stored["similarity"])

    def messages_of(self, message_ids: Sequence[int]) -> tuple[Message, ...]:
        return tuple(self._messages[message_id] for message_id in message_ids if message_id in self._messages)

    def changes(self, steps: Mapping[str, Any]) -> tuple[RecordedChange, ...]:
        """Returns the changes of a trace, without those whose entry was erased, forgotten or kept back meanwhile."""
        return tuple(
            RecordedChange(
                number,
                change,
                bool(stored.get("undone")),
                stored.get("forgetting_id"),
                stored.get("taken_along", 0),
            )
            for number, stored in enumerate(steps.get("changes", ()))
            if not stored.get("erased") and (change := self._change(stored)) is not None
        )

    def _change(self, stored: Mapping[str, Any]) -> MemoryChanged | None:
        """Returns the change, or None if its entry was forgotten or kept back meanwhile."""
        entry = self._entries.get(stored["memory_id"])
        is_kept_back = stored["change"] in ("withheld", "asked")
        subject = self._entries.get(stored["previous_id"]) if is_kept_back else entry
        is_answered = stored["change"] == "asked" and stored.get("undone")
        if is_answered and stored["previous_id"] not in self._live:
            return None
        if stored["change"] != "forgotten" and subject is None and not stored.get("undone"):
            return None
        rivals: tuple[MemoryEntry, ...] = ()
        if stored["memory_id"] in self._live:
            rivals = tuple(self._live[rival] for rival in stored.get("rival_ids", ()) if rival in self._live)
        return MemoryChanged(stored["change"], entry, self._entries.get(stored["previous_id"]), rivals)


def _dump_hit(hit: Hit) -> dict[str, Any]:
    is_entry = isinstance(hit.record, MemoryEntry)
    return {
        "kind": "entry" if is_entry else "message",
        "id": hit.record.memory_id if isinstance(hit.record, MemoryEntry) else hit.record.message_id,
        "score": hit.score,
        "ranks": dict(hit.ranks),
        "similarity": dict(hit.similarity),
    }
