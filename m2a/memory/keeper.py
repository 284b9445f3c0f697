"""Pins memories, sets their last day, keeps them back from answers and allows them again, and undoes these changes."""

from collections.abc import Collection, Mapping
from datetime import date, datetime
from typing import Any

from m2a.memory import kept_back
from m2a.memory.attribution import Attribution
from m2a.memory.change_log import close_questions
from m2a.memory.forgetting import Forgetter
from m2a.memory.schema import entry
from m2a.memory.semantic_memory_store import RejectedWriteError, SemanticMemoryStore
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import EntryChange, Expiry, Keeping, KeepingBack, MemoryChanged, MemoryEntry, Pinning, Return

PINS = 10  # at most, since every prompt includes them
LONGEST_PIN = 1_000  # characters
KEEPING_CHANGES = ("pinned", "unpinned", "dated", "withheld", "asked", "returned")  # the kinds of changes made here


class Keeper:
    """Changes how memories are kept. Every method may raise `RejectedWriteError`."""

    def __init__(self, semantic: SemanticMemoryStore, forgetter: Forgetter) -> None:
        self._semantic = semantic
        self._forgetter = forgetter

    def apply(
        self, unit: UnitOfWork, change: Keeping, *, who: str, now: datetime, also_forgotten: Collection[int] = ()
    ) -> tuple[MemoryChanged, dict[str, Any]]:
        """Makes the change. Returns it with the data needed to undo it. `also_forgotten` are kept back with it."""
        by = Attribution(who, change.why, now)
        match change:
            case Pinning():
                return self._pin(unit, change, by)
            case Expiry():
                return self._set_last_day(unit, change, by)
            case KeepingBack():
                memory = self._live_entry(unit, change.memory_id)
                forgetting_id = self._forgetter.forget(
                    unit,
                    memory.memory_id,
                    change.spans,
                    by,
                    keeping="asked" if change.asks else "unmentioned",
                    also_forgotten=also_forgotten,
                )
                undo = {
                    "forgetting_id": forgetting_id,
                    "taken_along": self._forgetter.count_forgotten_corrections(unit, forgetting_id),
                }
                return MemoryChanged("asked" if change.asks else "withheld", None, memory), undo
            case Return():
                return self._return(unit, change, by)

    def undo(self, unit: UnitOfWork, stored: Mapping[str, Any], by: Attribution) -> None:
        """Undoes a change, given its form in the trace."""
        match stored["change"]:
            case "withheld" | "asked":
                current = kept_back.forgettings_of(unit, [stored["previous_id"]]).get(stored["previous_id"])
                if current is None or current[0] != stored["forgetting_id"]:
                    raise RejectedWriteError("This memory is already used again.")
                self._forgetter.undo(unit, stored["forgetting_id"], by)
            case "returned":
                memory = self._live_entry(unit, stored["memory_id"])
                self._forgetter.forget(unit, memory.memory_id, (), by, keeping=stored["reason"])
            case "dated":
                memory = self._live_entry(unit, stored["memory_id"])
                before = stored["used_until"]
                last_day = date.fromisoformat(before) if before else None
                self._semantic.set_pin_and_last_day(
                    unit, memory.memory_id, "dated", by, pinned_at=memory.pinned_at, used_until=last_day
                )
            case _:
                memory = self._live_entry(unit, stored["memory_id"])
                is_pinned = stored["change"] == "unpinned"
                self._pin(unit, Pinning(memory.memory_id, is_pinned, by.why), by)

    def expire(self, unit: UnitOfWork, today: date, now: datetime) -> int:
        """Keeps back all memories whose last day has passed. Returns their number."""
        expired = kept_back.past_their_day(unit, today)
        by = Attribution("M2A", "its last day is past", now)
        for memory_id in expired:
            if memory_id in self._semantic.get(unit, [memory_id]):  # it may have been kept back with an earlier one
                self._forgetter.forget(unit, memory_id, (), by, keeping="expired", also_forgotten=expired)
        return len(expired)

    def _pin(self, unit: UnitOfWork, change: Pinning, by: Attribution) -> tuple[MemoryChanged, dict[str, Any]]:
        memory = self._live_entry(unit, change.memory_id)
        if change.is_pinned and memory.pinned_at is None:
            if unit.count(entry, entry.c.alive, entry.c.pinned_at.is_not(None)) >= PINS:
                raise RejectedWriteError(f"Only {PINS} memories can be pinned; unpin one of them first.")
            if len(memory.text) > LONGEST_PIN:
                raise RejectedWriteError(
                    f"A pinned memory goes along with every answer, so it may have at most {LONGEST_PIN:,} characters; this "
                    f"one has {len(memory.text):,}. Shorten it with Edit first."
                )
        what: EntryChange = "pinned" if change.is_pinned else "unpinned"
        since = (memory.pinned_at or by.now) if change.is_pinned else None
        new = self._semantic.set_pin_and_last_day(
            unit, memory.memory_id, what, by, pinned_at=since, used_until=memory.used_until
        )
        return MemoryChanged("pinned" if change.is_pinned else "unpinned", new, memory), {}

    def _set_last_day(self, unit: UnitOfWork, change: Expiry, by: Attribution) -> tuple[MemoryChanged, dict[str, Any]]:
        memory = self._live_entry(unit, change.memory_id)
        if change.used_until is not None and change.used_until < by.now.date():
            raise RejectedWriteError(
                f"The last day, {change.used_until}, is in the past; choose today or a later day, or use Don’t mention."
            )
        new = self._semantic.set_pin_and_last_day(
            unit, memory.memory_id, "dated", by, pinned_at=memory.pinned_at, used_until=change.used_until
        )
        before = memory.used_until.isoformat() if memory.used_until else None
        return MemoryChanged("dated", new, memory), {"used_until": before}

    def _return(self, unit: UnitOfWork, change: Return, by: Attribution) -> tuple[MemoryChanged, dict[str, Any]]:
        current = kept_back.forgettings_of(unit, [change.memory_id]).get(change.memory_id)
        if current is None:
            raise RejectedWriteError("This memory is no longer kept back.")
        forgetting_id, reason = current
        self._forgetter.undo(unit, forgetting_id, by)
        close_questions(unit, [forgetting_id])
        memory = self._semantic.get(unit, [change.memory_id]).get(change.memory_id)
        if memory is None:
            raise RejectedWriteError("Another memory now says the same and is used; this one stays unused.")
        if memory.used_until is not None and memory.used_until < by.now.date():
            memory = self._semantic.set_pin_and_last_day(
                unit, memory.memory_id, "dated", by, pinned_at=memory.pinned_at, used_until=None
            )
        return MemoryChanged("returned", memory, memory), {"reason": reason}

    def _live_entry(self, unit: UnitOfWork, memory_id: int) -> MemoryEntry:
        memory = self._semantic.get(unit, [memory_id]).get(memory_id)
        if memory is None:
            raise RejectedWriteError("This memory no longer exists; it was changed, forgotten or kept back meanwhile.")
        return memory
