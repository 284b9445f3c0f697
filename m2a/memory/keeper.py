"""Pins memories, gives them a last day, keeps them back and lets them be used again; and takes that back."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from m2a.memory import kept_back
from m2a.memory.attribution import Attribution
from m2a.memory.forgetting import Forgetter
from m2a.memory.schema import entry
from m2a.memory.semantic_memory_store import RejectedWriteError, SemanticMemoryStore
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import Dating, EntryChange, Keeping, KeepingBack, MemoryChanged, MemoryEntry, Pinning, Return

PINS = 10  # they go with every prompt
LONGEST_PIN = 1_000  # characters
KEPT = ("pinned", "unpinned", "dated", "withheld", "returned")  # the changes that are made here


class Keeper:
    """Every method raises `RejectedWriteError`."""

    def __init__(self, semantic: SemanticMemoryStore, forgetter: Forgetter) -> None:
        self._semantic = semantic
        self._forgetter = forgetter

    def apply(
        self, unit: UnitOfWork, change: Keeping, *, who: str, now: datetime
    ) -> tuple[MemoryChanged, dict[str, Any]]:
        """Make the change. Returns it, with what it takes to undo it."""
        by = Attribution(who, change.why, now)
        match change:
            case Pinning():
                return self._pin(unit, change, by)
            case Dating():
                return self._date(unit, change, by)
            case KeepingBack():
                found = self._living(unit, change.memory_id)
                forgetting_id = self._forgetter.forget(unit, found.memory_id, (), by, keeping="unmentioned")
                undo = {"forgetting_id": forgetting_id, "taken_along": self._forgetter.taken_along(unit, forgetting_id)}
                return MemoryChanged("withheld", None, found), undo
            case Return():
                return self._return(unit, change, by)

    def undo(self, unit: UnitOfWork, stored: Mapping[str, Any], by: Attribution) -> None:
        """Take a change back, as the trace keeps it."""
        match stored["change"]:
            case "withheld":
                at_work = kept_back.forgetting_of(unit, stored["previous_id"])
                if at_work is None or at_work[0] != stored["forgetting_id"]:
                    raise RejectedWriteError("That memory is used again already.")
                self._forgetter.take_back(unit, stored["forgetting_id"], by)
            case "returned":
                found = self._living(unit, stored["memory_id"])
                self._forgetter.forget(unit, found.memory_id, (), by, keeping=stored["reason"])
            case "dated":
                found = self._living(unit, stored["memory_id"])
                before = stored["used_until"]
                last_day = date.fromisoformat(before) if before else None
                self._semantic.keep(unit, found.memory_id, "dated", by, pinned_at=found.pinned_at, used_until=last_day)
            case _:
                found = self._living(unit, stored["memory_id"])
                is_pinned = stored["change"] == "unpinned"
                self._pin(unit, Pinning(found.memory_id, is_pinned, by.why), by)

    def expire(self, unit: UnitOfWork, today: date, now: datetime) -> int:
        """Keep back every memory whose last day is past. Returns how many."""
        past = kept_back.past_their_day(unit, today)
        by = Attribution("M2A", "its last day is past", now)
        for memory_id in past:
            if memory_id in self._semantic.get(unit, [memory_id]):  # it may have gone with one before it
                self._forgetter.forget(unit, memory_id, (), by, keeping="expired", leaving=past)
        return len(past)

    def _pin(self, unit: UnitOfWork, change: Pinning, by: Attribution) -> tuple[MemoryChanged, dict[str, Any]]:
        found = self._living(unit, change.memory_id)
        if change.is_pinned and found.pinned_at is None:
            if unit.count(entry, entry.c.alive, entry.c.pinned_at.is_not(None)) >= PINS:
                raise RejectedWriteError(f"{PINS} memories are pinned, and no more can be; unpin one of them first.")
            if len(found.text) > LONGEST_PIN:
                raise RejectedWriteError(
                    f"A pinned memory goes along with every answer, so it has {LONGEST_PIN:,} characters at most; this one "
                    f"has {len(found.text):,}. Shorten it with Edit first."
                )
        what: EntryChange = "pinned" if change.is_pinned else "unpinned"
        since = (found.pinned_at or by.now) if change.is_pinned else None
        kept = self._semantic.keep(unit, found.memory_id, what, by, pinned_at=since, used_until=found.used_until)
        return MemoryChanged("pinned" if change.is_pinned else "unpinned", kept, found), {}

    def _date(self, unit: UnitOfWork, change: Dating, by: Attribution) -> tuple[MemoryChanged, dict[str, Any]]:
        found = self._living(unit, change.memory_id)
        if change.used_until is not None and change.used_until < by.now.date():
            raise RejectedWriteError(
                f"The last day, {change.used_until}, is past; choose today or a later day, or Don’t mention."
            )
        kept = self._semantic.keep(
            unit, found.memory_id, "dated", by, pinned_at=found.pinned_at, used_until=change.used_until
        )
        before = found.used_until.isoformat() if found.used_until else None
        return MemoryChanged("dated", kept, found), {"used_until": before}

    def _return(self, unit: UnitOfWork, change: Return, by: Attribution) -> tuple[MemoryChanged, dict[str, Any]]:
        at_work = kept_back.forgetting_of(unit, change.memory_id)
        if at_work is None:
            raise RejectedWriteError("This memory is not kept back any more.")
        forgetting_id, reason = at_work
        self._forgetter.take_back(unit, forgetting_id, by)
        found = self._semantic.get(unit, [change.memory_id]).get(change.memory_id)
        if found is None:
            raise RejectedWriteError("Another memory says the same by now, and is used; this one stays kept back.")
        if found.used_until is not None and found.used_until < by.now.date():
            found = self._semantic.keep(unit, found.memory_id, "dated", by, pinned_at=found.pinned_at, used_until=None)
        return MemoryChanged("returned", found, found), {"reason": reason}

    def _living(self, unit: UnitOfWork, memory_id: int) -> MemoryEntry:
        found = self._semantic.get(unit, [memory_id]).get(memory_id)
        if found is None:
            raise RejectedWriteError(
                "This memory is not there any more; it was changed, forgotten or kept back meanwhile."
            )
        return found
