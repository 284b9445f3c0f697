"""Makes changes of a memory, and takes them back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, TypeVar

from m2a.memory.attribution import Attribution
from m2a.memory.change_log import dump_changed
from m2a.memory.forgetting import Forgetter
from m2a.memory.keeper import KEPT, Keeper
from m2a.memory.semantic_memory_store import RejectedWriteError, SemanticMemoryStore
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import (
    Addition,
    Change,
    DateInterval,
    EntryDraft,
    EvidenceRange,
    Forgetting,
    Keeping,
    MemoryChanged,
    MemoryEntry,
    Replacement,
    Restoration,
    Supersession,
)

AnyChange = TypeVar("AnyChange", bound=Change | Keeping)


@dataclass(frozen=True, slots=True)
class WrittenChange:
    """A change that was made, and how it is kept in the trace of the reply."""

    changed: MemoryChanged
    stored: dict[str, Any]


class ChangeWriter:
    """Every method raises `RejectedWriteError`."""

    def __init__(self, semantic: SemanticMemoryStore, forgetter: Forgetter) -> None:
        self._semantic = semantic
        self._forgetter = forgetter
        self.keeper = Keeper(semantic, forgetter)

    def apply(
        self, unit: UnitOfWork, changes: Sequence[Change | Keeping], *, who: str, now: datetime
    ) -> list[WrittenChange]:
        """Make the changes, in order. What holds already is no change."""
        # Spans are of the messages as they are read now: what one change withholds would move those of the next.
        return self.apply_to_log(unit, [self.in_log(unit, change) for change in changes], who=who, now=now)

    def in_log(self, unit: UnitOfWork, change: AnyChange) -> AnyChange:
        """The change with spans of the log in the place of those of messages as they are read now."""
        if isinstance(change, Forgetting):
            return replace(change, spans=tuple(sorted(self._forgetter.in_log(unit, change.spans))))
        return change

    def apply_to_log(
        self, unit: UnitOfWork, changes: Sequence[Change | Keeping], *, who: str, now: datetime
    ) -> list[WrittenChange]:
        """As `apply`, of changes whose spans are of the log."""
        by = Attribution(who, "", now)
        written: list[WrittenChange] = []
        for change in changes:
            match change:
                case Addition():
                    written.append(self._add(unit, change, by))
                case Replacement():
                    written.append(self._replace(unit, change, by))
                case Supersession():
                    written += self._supersede(unit, change, by)
                case Forgetting():
                    written += self._forget(unit, change, by)
                case Restoration():
                    written += self._restore(unit, change, by)
                case _:
                    written.append(_written(*self.keeper.apply(unit, change, who=who, now=now)))
        return written

    def undo(self, unit: UnitOfWork, stored: Mapping[str, Any], *, who: str, now: datetime) -> None:
        """Take a change back, as it is kept in the trace."""
        by = Attribution(who, "taken back", now)
        memory_id, previous_id = stored["memory_id"], stored["previous_id"]
        match stored["change"]:
            case change if change in KEPT:
                self.keeper.undo(unit, stored, by)
            case "forgotten":
                self._forgetter.take_back(unit, stored["forgetting_id"], by)
            case "restored":
                successor_id = stored["successor_id"]
                if successor_id not in self._semantic.get(unit, [successor_id]):
                    raise RejectedWriteError(f"Memory {successor_id}, which had taken its place, is no more.")
                self._semantic.supersede_again(unit, stored["along"], successor_id, by)
            case "replaced" if not stored.get("is_new"):
                self._check_superseded(unit, previous_id)
                self._semantic.revive(unit, stored["along"], by)
                if "before" in stored:
                    self._semantic.take_renewal_back(unit, _loaded(memory_id, unit.owner, stored["before"]), by)
                elif memory_id in self._semantic.get(unit, [memory_id]):
                    self._semantic.tie(unit, memory_id, stored["corrected"])
            case "replaced":
                self._check_superseded(unit, previous_id)
                self._semantic.withdraw(unit, memory_id, by)
                self._semantic.revive(unit, stored.get("along", [previous_id]), by)
            case _ if "before" in stored:
                self._semantic.take_renewal_back(unit, _loaded(memory_id, unit.owner, stored["before"]), by)
                freed = stored.get("freed")
                if freed is not None and freed in self._semantic.get(unit, [freed]):
                    self._semantic.tie(unit, freed, memory_id)
            case _:
                self._semantic.withdraw(unit, memory_id, by)

    def _add(self, unit: UnitOfWork, change: Addition, by: Attribution) -> WrittenChange:
        known = self._semantic.saying(unit, change.draft.text)
        freed = None
        if known is not None and change.draft.corrects is not None:
            freed = self._semantic.correction_of(unit, known.memory_id, change.draft.corrects)
        found = self._semantic.add(unit, change.draft, by.because(change.why))
        living = self._semantic.get(unit, [*change.rivals, *([found.corrects] if found.corrects else [])])
        previous = living.get(change.draft.corrects) if change.draft.corrects is not None else None
        rivals = tuple(living[i] for i in change.rivals if i in living and i not in (found.memory_id, found.corrects))
        changed = MemoryChanged("corrected" if previous else "added", found, previous, rivals)
        return _written(changed, {"before": _dumped(known), "freed": freed} if known else {})

    def _replace(self, unit: UnitOfWork, change: Replacement, by: Attribution) -> WrittenChange:
        older = self._semantic.get(unit, [change.memory_id]).get(change.memory_id)
        if older is None:
            raise RejectedWriteError(f"There is no memory {change.memory_id}.")
        draft: EntryDraft = change.draft
        if draft.corrects == older.memory_id:
            draft = replace(draft, corrects=None)
        known = self._semantic.saying(unit, draft.text)
        if known is not None and known.memory_id == older.memory_id:
            return self._add(unit, Addition(draft, change.why), by)
        found = self._semantic.add(unit, draft, by.because(change.why))
        along = self._semantic.supersede(unit, older.memory_id, found.memory_id, by.because(change.why))
        found = self._semantic.get(unit, [found.memory_id])[found.memory_id]
        undo: dict[str, object] = {"is_new": known is None, "along": along}
        return _written(MemoryChanged("replaced", found, older), undo | ({"before": _dumped(known)} if known else {}))

    def _supersede(self, unit: UnitOfWork, change: Supersession, by: Attribution) -> list[WrittenChange]:
        past = self._semantic.superseded(unit, [change.memory_id])
        if change.memory_id in past and past[change.memory_id].superseded_by == change.successor_id:
            return []
        living = self._semantic.get(unit, [change.memory_id, change.successor_id])
        along = self._semantic.supersede(unit, change.memory_id, change.successor_id, by.because(change.why))
        found = self._semantic.get(unit, [change.successor_id])[change.successor_id]
        undo = {"is_new": False, "along": along, "corrected": living[change.successor_id].corrects}
        return [_written(MemoryChanged("replaced", found, living[change.memory_id]), undo)]

    def _forget(self, unit: UnitOfWork, change: Forgetting, by: Attribution) -> list[WrittenChange]:
        """Each named entry is a change of its own, that can be taken back by itself; the spans go with every one.

        What stays is added first: words and photos that a living entry rests on are not withheld.
        """
        named = self._semantic.get(unit, change.memory_ids)
        if unknown := set(change.memory_ids) - named.keys():
            raise RejectedWriteError(f"There is no memory {min(unknown)}.")
        if not change.memory_ids and not change.spans:
            raise RejectedWriteError("There is nothing to forget: name a memory or words of a message.")
        kept = (
            []
            if change.rest is None
            else [self._add(unit, Addition(change.rest, "the user asked to forget another part"), by)]
        )
        written: list[WrittenChange] = []
        memory_ids: list[int | None] = [*dict.fromkeys(change.memory_ids)]
        for memory_id in memory_ids or [None]:
            if memory_id is not None and memory_id not in self._semantic.get(unit, [memory_id]):
                # It went with one before it.
                undo = {"forgetting_id": written[-1].stored["forgetting_id"]}
            else:
                forgetting_id = self._forgetter.forget(unit, memory_id, change.spans, by.because(change.why))
                along = self._forgetter.taken_along(unit, forgetting_id)
                undo = {"forgetting_id": forgetting_id, "taken_along": along}
            previous = None if memory_id is None else named[memory_id]
            written.append(_written(MemoryChanged("forgotten", None, previous), undo))
        return [*written, *kept]

    def _restore(self, unit: UnitOfWork, change: Restoration, by: Attribution) -> list[WrittenChange]:
        if change.memory_id in self._semantic.get(unit, [change.memory_id]):
            return []
        past = self._semantic.superseded(unit, [change.memory_id]).get(change.memory_id)
        along = self._semantic.restore(unit, change.memory_id, by.because(change.why))
        found = self._semantic.get(unit, [change.memory_id])[change.memory_id]
        undo = {"along": along, "successor_id": past.superseded_by if past else None}
        return [_written(MemoryChanged("restored", found), undo)]

    def _check_superseded(self, unit: UnitOfWork, memory_id: int) -> None:
        is_living = memory_id in self._semantic.get(unit, [memory_id])
        if not is_living and memory_id not in self._semantic.superseded(unit, [memory_id]):
            raise RejectedWriteError(f"Memory {memory_id} was forgotten since; undo that first.")


def _written(changed: MemoryChanged, undo: Mapping[str, object]) -> WrittenChange:
    return WrittenChange(changed, dump_changed(changed, undo))


def _dumped(known: MemoryEntry) -> dict[str, object]:
    """What telling an entry again changes of it; no words."""
    return {
        "recorded_at": known.recorded_at.isoformat(),
        "evidence": [list(span) for span in known.evidence_ids],
        "photo_ids": list(known.photo_ids),
        "rests_on": known.rests_on,
        "corrects": known.corrects,
        "happened": [day.isoformat() for day in known.happened] if known.happened else None,
    }


def _loaded(memory_id: int, owner: str, before: Mapping[str, Any]) -> MemoryEntry:
    happened = before["happened"]
    return MemoryEntry(
        memory_id,
        owner,
        0,
        "fact",
        "",
        "",
        tuple(before["photo_ids"]),
        tuple(EvidenceRange(*span) for span in before["evidence"]),
        (),
        datetime.fromisoformat(before["recorded_at"]),
        DateInterval(*map(date.fromisoformat, happened)) if happened else None,
        before["rests_on"],
        before["corrects"],
    )
