"""Makes changes to a memory, and undoes them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, TypeVar

from m2a.memory import kept_back
from m2a.memory.attribution import Attribution
from m2a.memory.change_log import close_questions, dump_changed
from m2a.memory.forgetting import Forgetter
from m2a.memory.keeper import KEEPING_CHANGES, Keeper
from m2a.memory.semantic_memory_store import RejectedWriteError, SemanticMemoryStore
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.words import finished_words
from m2a.types import (
    Addition,
    Change,
    DateInterval,
    EntryDraft,
    EvidenceRange,
    Forgetting,
    Keeping,
    KeepingBack,
    MemoryChanged,
    MemoryEntry,
    Replacement,
    Restoration,
    Supersession,
)

AnyChange = TypeVar("AnyChange", bound=Change | Keeping)


@dataclass(frozen=True, slots=True)
class WrittenChange:
    """A change that was made, and its form in the trace of the reply."""

    changed: MemoryChanged
    stored: dict[str, Any]


class ChangeWriter:
    """Makes and undoes changes. Every method may raise `RejectedWriteError`."""

    def __init__(self, semantic: SemanticMemoryStore, forgetter: Forgetter) -> None:
        self._semantic = semantic
        self._forgetter = forgetter
        self.keeper = Keeper(semantic, forgetter)

    def apply(
        self, unit: UnitOfWork, changes: Sequence[Change | Keeping], *, who: str, now: datetime
    ) -> list[WrittenChange]:
        """Makes the changes in order, and returns those that had an effect."""
        # Spans refer to the messages as they read now. Convert them all first: each change may withhold words and so shift
        # the spans of the next.
        return self.apply_to_log(unit, [self.in_log(unit, change) for change in changes], who=who, now=now)

    def check_additions(self, unit: UnitOfWork, additions: Sequence[Addition]) -> None:
        """Checks additions without making them: none depends on another."""
        for addition in additions:
            self._semantic.check(unit, addition.draft)

    def in_log(self, unit: UnitOfWork, change: AnyChange) -> AnyChange:
        """Returns the change with its spans converted from messages as they read now to messages as logged."""
        if isinstance(change, Forgetting | KeepingBack):
            return replace(change, spans=tuple(sorted(self._forgetter.in_log(unit, change.spans))))
        return change

    def apply_to_log(
        self, unit: UnitOfWork, changes: Sequence[Change | Keeping], *, who: str, now: datetime
    ) -> list[WrittenChange]:
        """Like `apply`, for changes whose spans refer to messages as logged."""
        by = Attribution(who, "", now)
        written: list[WrittenChange] = []
        asked_ids = [change.memory_id for change in changes if isinstance(change, KeepingBack) and change.asks]
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
                case KeepingBack(asks=True) if change.memory_id in kept_back.in_same_question(unit, [change.memory_id]):
                    pass  # already kept back, together with another memory that it corrects
                case _:
                    changed = self.keeper.apply(unit, change, who=who, now=now, also_forgotten=asked_ids)
                    written.append(_written(*changed))
        return written

    def undo(self, unit: UnitOfWork, stored: Mapping[str, Any], *, who: str, now: datetime) -> None:
        """Undoes a change, given its form in the trace."""
        by = Attribution(who, "taken back", now)
        memory_id, previous_id = stored["memory_id"], stored["previous_id"]
        match stored["change"]:
            case change if change in KEEPING_CHANGES:
                self.keeper.undo(unit, stored, by)
            case "forgotten":
                self._forgetter.undo(unit, stored["forgetting_id"], by)
                kept = stored.get("kept_corrections", ())
                for correction_id in self._semantic.get(unit, kept):
                    self._semantic.set_corrected_entry(unit, correction_id, previous_id)
            case "restored":
                successor_id = stored["successor_id"]
                if successor_id not in self._semantic.get(unit, [successor_id]):
                    raise RejectedWriteError(f"Memory {successor_id}, which had replaced it, no longer exists.")
                self._semantic.supersede_again(unit, stored["along"], successor_id, by)
            case "replaced" if not stored.get("is_new"):
                self._check_superseded(unit, previous_id)
                self._semantic.revive(unit, stored["along"], by)
                if "before" in stored:
                    self._semantic.undo_renewal(unit, _loaded(memory_id, unit.owner, stored["before"]), by)
                elif memory_id in self._semantic.get(unit, [memory_id]):
                    self._semantic.set_corrected_entry(unit, memory_id, stored["corrected"])
            case "replaced":
                self._check_superseded(unit, previous_id)
                self._semantic.withdraw(unit, memory_id, by)
                self._semantic.revive(unit, stored.get("along", [previous_id]), by)
            case _ if "before" in stored:
                self._semantic.undo_renewal(unit, _loaded(memory_id, unit.owner, stored["before"]), by)
                released_id = stored.get("freed")
                if released_id is not None and released_id in self._semantic.get(unit, [released_id]):
                    self._semantic.set_corrected_entry(unit, released_id, memory_id)
            case _:
                self._semantic.withdraw(unit, memory_id, by)

    def _add(self, unit: UnitOfWork, change: Addition, by: Attribution) -> WrittenChange:
        existing = self._semantic.saying(unit, change.draft.text)
        released_id = None
        if existing is not None and change.draft.corrects is not None:
            released_id = self._semantic.correction_of(unit, existing.memory_id, change.draft.corrects)
        entry = self._write(unit, change.draft, existing, by.because(change.why))
        live = self._semantic.get(unit, [*change.rivals, *([entry.corrects] if entry.corrects else [])])
        previous = live.get(change.draft.corrects) if change.draft.corrects is not None else None
        rivals = tuple(live[i] for i in change.rivals if i in live and i not in (entry.memory_id, entry.corrects))
        changed = MemoryChanged("corrected" if previous else "added", entry, previous, rivals)
        return _written(changed, {"before": _dumped(existing), "freed": released_id} if existing else {})

    def _write(self, unit: UnitOfWork, draft: EntryDraft, existing: MemoryEntry | None, by: Attribution) -> MemoryEntry:
        if existing is None:
            return self._semantic.add_new(unit, draft, by)
        return self._semantic.renew(unit, existing, draft, by)

    def _replace(self, unit: UnitOfWork, change: Replacement, by: Attribution) -> WrittenChange:
        older = self._semantic.live_entry(unit, change.memory_id)
        draft: EntryDraft = change.draft
        if draft.corrects == older.memory_id:
            draft = replace(draft, corrects=None)
        existing = self._semantic.saying(unit, draft.text)
        if existing is not None and existing.memory_id == older.memory_id:
            return self._add(unit, Addition(draft, change.why), by)
        newer = self._write(unit, draft, existing, by.because(change.why))
        superseded = self._semantic.supersede(unit, older.memory_id, newer.memory_id, by.because(change.why))
        newer = self._semantic.get(unit, [newer.memory_id])[newer.memory_id]
        undo: dict[str, object] = {"is_new": existing is None, "along": superseded}
        if existing is not None:
            undo["before"] = _dumped(existing)
        return _written(MemoryChanged("replaced", newer, older), undo)

    def _supersede(self, unit: UnitOfWork, change: Supersession, by: Attribution) -> list[WrittenChange]:
        past = self._semantic.superseded(unit, [change.memory_id])
        if change.memory_id in past and past[change.memory_id].superseded_by == change.successor_id:
            return []
        before = self._semantic.get(unit, [change.memory_id, change.successor_id])
        superseded = self._semantic.supersede(unit, change.memory_id, change.successor_id, by.because(change.why))
        successor = self._semantic.get(unit, [change.successor_id])[change.successor_id]
        undo = {"is_new": False, "along": superseded, "corrected": before[change.successor_id].corrects}
        return [_written(MemoryChanged("replaced", successor, before[change.memory_id]), undo)]

    def _forget(self, unit: UnitOfWork, change: Forgetting, by: Attribution) -> list[WrittenChange]:
        """Forgets each named entry as a change of its own, which can be undone by itself; all of them withhold the spans.

        The rest that stays is added first, because words and photos that a live entry rests on are not withheld. If the user
        was asked about an entry, this is the answer: the other entries of that question are used again.
        """
        spans = set(change.spans)
        asked_forgettings = kept_back.in_same_question(unit, change.memory_ids)
        for asked_id in asked_forgettings.keys() & set(change.memory_ids):
            spans |= self._forgetter.request_spans(unit, asked_forgettings[asked_id])
        for forgetting_id in set(asked_forgettings.values()):
            self._forgetter.undo(unit, forgetting_id, by.because("taken back"))
        close_questions(unit, asked_forgettings.values())
        named = self._semantic.get(unit, change.memory_ids)
        if unknown := set(change.memory_ids) - named.keys():
            raise RejectedWriteError(f"There is no memory {min(unknown)}.")
        if not change.memory_ids and not change.spans:
            raise RejectedWriteError("There is nothing to forget; name a memory or some words of a message.")
        rest = (
            []
            if change.rest is None
            else [self._add(unit, Addition(change.rest, "the user asked to forget another part"), by)]
        )
        kept = [] if change.rest is None else self._corrections_of_rest(unit, named, change.rest)
        for correction in kept:
            self._semantic.set_corrected_entry(unit, correction, rest[0].stored["memory_id"])
        written: list[WrittenChange] = []
        memory_ids: list[int | None] = [*dict.fromkeys(change.memory_ids)]
        for memory_id in memory_ids or [None]:
            if memory_id is not None and memory_id not in self._semantic.get(unit, [memory_id]):
                # It was already forgotten together with one before it.
                undo = {"forgetting_id": written[-1].stored["forgetting_id"]}
            else:
                forgetting_id = self._forgetter.forget(unit, memory_id, spans, by.because(change.why))
                corrections = self._forgetter.count_forgotten_corrections(unit, forgetting_id)
                undo = {"forgetting_id": forgetting_id, "taken_along": corrections}
                undo |= {"kept_corrections": kept} if kept else {}
            previous = None if memory_id is None else named[memory_id]
            written.append(_written(MemoryChanged("forgotten", None, previous), undo))
        return [*written, *rest]

    def _corrections_of_rest(self, unit: UnitOfWork, entries: Mapping[int, MemoryEntry], rest: EntryDraft) -> list[int]:
        """Returns the ids of the corrections that share words with the rest and none with the forgotten part.

        If a number is forgotten, a correction with a number is not kept: "It's 950 now" may give the forgotten rent.
        """
        rest_words = set(finished_words(rest.text))
        forgotten = {word for entry in entries.values() for word in finished_words(entry.text)} - rest_words
        corrections = self._semantic.corrections_of(unit, list(entries))
        return [
            correction.memory_id
            for group in corrections.values()
            for correction in group
            if (words := set(finished_words(correction.text))) & rest_words
            and not words & forgotten
            and not (_have_number(words) and _have_number(forgotten))
        ]

    def _restore(self, unit: UnitOfWork, change: Restoration, by: Attribution) -> list[WrittenChange]:
        if change.memory_id in self._semantic.get(unit, [change.memory_id]):
            return []
        past = self._semantic.superseded(unit, [change.memory_id]).get(change.memory_id)
        restored_ids = self._semantic.restore(unit, change.memory_id, by.because(change.why))
        restored = self._semantic.get(unit, [change.memory_id])[change.memory_id]
        undo = {"along": restored_ids, "successor_id": past.superseded_by if past else None}
        return [_written(MemoryChanged("restored", restored), undo)]

    def _check_superseded(self, unit: UnitOfWork, memory_id: int) -> None:
        is_live = memory_id in self._semantic.get(unit, [memory_id])
        if not is_live and memory_id not in self._semantic.superseded(unit, [memory_id]):
            raise RejectedWriteError(f"Memory {memory_id} was forgotten meanwhile; undo that first.")


def _have_number(words: Collection[str]) -> bool:
    return any(character.isdigit() for word in words for character in word)


def _written(changed: MemoryChanged, undo: Mapping[str, object]) -> WrittenChange:
    return WrittenChange(changed, dump_changed(changed, undo))


def _dumped(entry: MemoryEntry) -> dict[str, object]:
    """Returns the values that renewing an entry changes, for undoing that; they contain no text."""
    return {
        "recorded_at": entry.recorded_at.isoformat(),
        "evidence": [list(span) for span in entry.evidence_ids],
        "photo_ids": list(entry.photo_ids),
        "rests_on": entry.rests_on,
        "corrects": entry.corrects,
        "happened": [day.isoformat() for day in entry.happened] if entry.happened else None,
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
