"""Layer 2: the memories. Every entry names the raw messages that support it, and every change adds a history row."""

from collections.abc import Collection, Iterable, Sequence
from datetime import date, datetime
from typing import Any

from sqlalchemy import delete, insert, select, update

from m2a.memory import concept_store
from m2a.memory.attribution import Attribution
from m2a.memory.entry_reader import EntryReader, folded_hash, is_forgotten
from m2a.memory.raw_message_store import merge_ranges
from m2a.memory.schema import (
    concept_alias,
    concept_photo,
    entry,
    entry_concept,
    entry_evidence,
    entry_history,
    entry_photo,
    forgotten_entry,
    kept_back,
    message,
    photo,
)
from m2a.memory.sql import to_microseconds
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import DateInterval, EntryChange, EntryDraft, EvidenceRange, MemoryEntry
from m2a.types.errors import UserError

# The tables whose rows belong to an entry.
_OF_ENTRY = (
    entry_photo,
    entry_evidence,
    entry_history,
    entry_concept,
    concept_photo,
    concept_alias,
    forgotten_entry,
    kept_back,
)


class RejectedWriteError(UserError, ValueError):
    """A proposed change is not allowed, such as one with unknown evidence. The message tells its author why."""


class SemanticMemoryStore(EntryReader):
    """The entries of each owner, their history, and the concepts that they are about.

    An entry is live, superseded (`successor_id` names the entry that replaced it) or gone, that is, forgotten or undone.
    Methods return entries in order of memory id, and only live ones unless they say otherwise. Methods that change entries
    queue them for the index.
    """

    def add(self, unit: UnitOfWork, draft: EntryDraft, by: Attribution) -> MemoryEntry:
        """Writes an entry with its history row. Raises `RejectedWriteError`.

        If a live entry already says the same, that entry is renewed: it becomes the newest, and gains the new evidence.
        """
        existing = self.saying(unit, draft.text)
        return self.add_new(unit, draft, by) if existing is None else self.renew(unit, existing, draft, by)

    def check(self, unit: UnitOfWork, draft: EntryDraft) -> None:
        """Raises `RejectedWriteError` if `add` would. Writes nothing."""
        if not draft.text.strip():
            raise RejectedWriteError("A memory needs text.")
        self._check_evidence(unit, _evidence_of(draft))
        self._check_photos(unit, draft.photo_ids)
        if draft.corrects is not None:
            self.live_entry(unit, draft.corrects)

    def add_new(self, unit: UnitOfWork, draft: EntryDraft, by: Attribution) -> MemoryEntry:
        """Like `add`, for a text that no live entry says."""
        self.check(unit, draft)
        text, evidence = draft.text.strip(), _evidence_of(draft)
        memory_id = unit.next_id("memory")
        unit.execute(
            insert(entry).values(
                owner=unit.owner,
                memory_id=memory_id,
                version=1,
                alive=True,
                kind=draft.kind,
                text=text,
                folded_hash=folded_hash(text),
                caption=draft.caption,
                recorded_at=to_microseconds(by.now),
                rests_on=draft.rests_on,
                corrects=draft.corrects,
                **_days(draft.happened),
            )
        )
        self._add_parts(unit, memory_id, evidence, draft.photo_ids)
        for mention in draft.concepts:
            concept_store.link(unit, memory_id, mention, draft.photo_ids, by.who, evidence[-1].last)
        self._record(unit, memory_id, "added", by)
        return self.live_entry(unit, memory_id)

    def renew(self, unit: UnitOfWork, existing: MemoryEntry, draft: EntryDraft, by: Attribution) -> MemoryEntry:
        """Like `add`, for a text that this live entry says."""
        self.check(unit, draft)
        memory_id, evidence = existing.memory_id, _evidence_of(draft)
        corrects = draft.corrects if draft.corrects not in (None, memory_id) else existing.corrects
        if corrects is not None and (correction := self.correction_of(unit, memory_id, corrects)):
            self.set_corrected_entry(
                unit, correction, None
            )  # what is stated anew holds again and no longer counts as corrected
        ranges = merge_ranges((*existing.evidence_ids, *evidence), adjoining=False)
        self._replace_parts(unit, memory_id, ranges, (*existing.photo_ids, *draft.photo_ids))
        for mention in draft.concepts:
            concept_store.link(unit, memory_id, mention, draft.photo_ids, by.who, evidence[-1].last)
        self._change(
            unit,
            memory_id,
            "added",
            by,
            rests_on="stated" if "stated" in (draft.rests_on, existing.rests_on) else draft.rests_on,
            corrects=corrects,
            recorded_at=to_microseconds(by.now),
            **_days(draft.happened or existing.happened),
        )
        return self.live_entry(unit, memory_id)

    def undo_renewal(self, unit: UnitOfWork, before: MemoryEntry, by: Attribution) -> None:
        """Restores a live entry to its state before it was renewed. Raises `RejectedWriteError`."""
        self.live_entry(unit, before.memory_id)
        self._replace_parts(unit, before.memory_id, before.evidence_ids, before.photo_ids)
        self._change(
            unit,
            before.memory_id,
            "undone",
            by,
            rests_on=before.rests_on,
            corrects=before.corrects,
            recorded_at=to_microseconds(before.recorded_at),
            **_days(before.happened),
        )

    def supersede(self, unit: UnitOfWork, memory_id: int, successor_id: int, by: Attribution) -> list[int]:
        """Replaces a live entry, and those that correct it, with another. Returns the ids of the superseded entries.

        If the older entry corrects a third one, the newer one corrects that from now on. Raises `RejectedWriteError`, also if
        the user stated the older entry but not the newer one.
        """
        older, newer = (self.live_entry(unit, number) for number in (memory_id, successor_id))
        if memory_id == successor_id:
            raise RejectedWriteError(f"Memory {memory_id} cannot replace itself.")
        if older.rests_on == "stated" and newer.rests_on != "stated":
            raise RejectedWriteError(
                f"The user stated memory {memory_id}; a memory that is only {newer.rests_on} cannot replace it."
            )
        superseded = [memory_id]
        for number in superseded:  # grows in the loop
            corrections = self.corrections_of(unit, [number]).get(number, [])
            ids = [correction.memory_id for correction in corrections]
            superseded += [correction_id for correction_id in ids if correction_id not in (successor_id, *superseded)]
        for number in superseded:
            self._change(unit, number, "superseded", by, alive=False, successor_id=successor_id)
        self._inherit_pin_and_last_day(unit, older, newer)
        if newer.corrects in (None, *superseded) and older.corrects != newer.corrects:
            self.set_corrected_entry(unit, successor_id, older.corrects if older.corrects != successor_id else None)
        return superseded

    def set_pin_and_last_day(
        self,
        unit: UnitOfWork,
        memory_id: int,
        change: EntryChange,
        by: Attribution,
        *,
        pinned_at: datetime | None,
        used_until: date | None,
    ) -> MemoryEntry:
        """Sets when a live entry was pinned, and its last day. Raises `RejectedWriteError`."""
        self.live_entry(unit, memory_id)
        self._put_pin_and_last_day(unit, memory_id, pinned_at, used_until)
        self._record(unit, memory_id, change, by)
        return self.live_entry(unit, memory_id)

    def _inherit_pin_and_last_day(self, unit: UnitOfWork, older: MemoryEntry, newer: MemoryEntry) -> None:
        """Gives the newer entry the pin and the last day of the older one, unless it has its own."""
        if older.pinned_at or older.used_until:
            pinned_at, used_until = newer.pinned_at or older.pinned_at, newer.used_until or older.used_until
            self._put_pin_and_last_day(unit, newer.memory_id, pinned_at, used_until)

    def _put_pin_and_last_day(
        self, unit: UnitOfWork, memory_id: int, pinned_at: datetime | None, used_until: date | None
    ) -> None:
        """Sets the pin and the last day. The text stays the same, so this makes no new version."""
        since = None if pinned_at is None else to_microseconds(pinned_at)
        last_day = None if used_until is None else used_until.isoformat()
        self._set(unit, memory_id, pinned_at=since, used_until=last_day)

    def restore(self, unit: UnitOfWork, memory_id: int, by: Attribution) -> list[int]:
        """Restores a superseded entry and the corrections that were superseded with it. Returns the ids of the restored."""
        older = self.superseded(unit, [memory_id]).get(memory_id)
        if older is None:
            raise RejectedWriteError(f"There is no superseded memory {memory_id}.")
        if (existing := self.saying(unit, older.text)) is not None:
            raise RejectedWriteError(f"Memory {existing.memory_id} already says this.")
        restored = [memory_id]
        for number in restored:  # grows in the loop
            restored += unit.scalars(
                select(entry.c.memory_id).where(
                    unit.owns(entry), entry.c.corrects == number, entry.c.successor_id == older.superseded_by
                )
            ).all()
        return self.revive(unit, restored, by)

    def delete(self, unit: UnitOfWork, memory_id: int, by: Attribution, change: EntryChange = "deleted") -> MemoryEntry:
        """Deletes a live entry and returns it as it was. Its history records `change`. Raises `RejectedWriteError`."""
        deleted = self.live_entry(unit, memory_id)
        self._change(unit, memory_id, change, by, alive=False)
        return deleted

    def revive(self, unit: UnitOfWork, memory_ids: Iterable[int], by: Attribution) -> list[int]:
        """Makes entries live again, except those that a live entry repeats. Returns the ids of the revived."""
        revived = []
        for dead in self.not_live(unit, list(memory_ids)):
            if self.saying(unit, dead.text) is None:
                self._change(unit, dead.memory_id, "restored", by, alive=True, successor_id=None)
                revived.append(dead.memory_id)
        return revived

    def supersede_again(self, unit: UnitOfWork, memory_ids: Iterable[int], successor_id: int, by: Attribution) -> None:
        """Undoes the restoration of entries."""
        for memory_id in memory_ids:
            self.live_entry(unit, memory_id)
            self._change(unit, memory_id, "superseded", by, alive=False, successor_id=successor_id)

    def correction_of(self, unit: UnitOfWork, memory_id: int, first_id: int) -> int | None:
        """Returns the live entry that corrects `memory_id` directly, in the chain of corrections that starts at `first_id`."""
        visited: set[int] = set()
        current = self.get(unit, [first_id]).get(first_id)
        while current is not None and current.corrects is not None and current.memory_id not in visited:
            if current.corrects == memory_id:
                return current.memory_id
            visited.add(current.memory_id)
            current = self.get(unit, [current.corrects]).get(current.corrects)
        return None

    def set_corrected_entry(self, unit: UnitOfWork, memory_id: int, corrects: int | None) -> None:
        """Sets which entry a live one corrects a part of. The text stays the same, so this makes no new version."""
        self._set(unit, memory_id, corrects=corrects)

    def withdraw(self, unit: UnitOfWork, memory_id: int, by: Attribution) -> list[int]:
        """Removes an entry that should not have been written, live or superseded. Returns the ids of the revived entries.

        What a live entry had superseded is revived. What a superseded entry had superseded gets that entry's successor.
        """
        superseded = self.superseded(unit, [memory_id])
        if superseded:
            successor_id = superseded[memory_id].superseded_by
            relinked = unit.owns(entry) & (entry.c.successor_id == memory_id)
            unit.execute(update(entry).where(relinked).values(successor_id=successor_id))
            self._change(unit, memory_id, "undone", by, successor_id=None)
            return []
        self.live_entry(unit, memory_id)
        self._change(unit, memory_id, "undone", by, alive=False)
        older = unit.scalars(
            select(entry.c.memory_id)
            .where(unit.owns(entry), entry.c.successor_id == memory_id, ~is_forgotten(entry))
            .order_by(entry.c.memory_id)
        ).all()
        return self.revive(unit, older, by)

    def reduce(self, unit: UnitOfWork, reduced: MemoryEntry, by: Attribution) -> None:
        """Reduces the evidence, photos and caption of an entry, live or not, and adapts its links to concepts."""
        self._replace_parts(unit, reduced.memory_id, reduced.evidence_ids, reduced.photo_ids)
        links = unit.owns(concept_photo) & (concept_photo.c.memory_id == reduced.memory_id)
        unit.execute(delete(concept_photo).where(links, concept_photo.c.photo_id.not_in(reduced.photo_ids)))
        unit.execute(update(concept_photo).where(links).values(message_id=reduced.evidence_ids[-1].last))
        self._change(unit, reduced.memory_id, "reduced", by, caption=reduced.caption)

    def erase(self, unit: UnitOfWork, memory_ids: Collection[int]) -> None:
        """Removes entries, live or not, with their history. Entries that they had superseded get their successors."""
        for memory_id in sorted(memory_ids):  # one by one, since a successor may itself be among them
            is_entry = unit.owns(entry) & (entry.c.memory_id == memory_id)
            successor_id = unit.scalar(select(entry.c.successor_id).where(is_entry))
            following = unit.owns(entry) & (entry.c.successor_id == memory_id)
            unit.execute(update(entry).where(following).values(successor_id=successor_id))
        unit.execute(
            update(entry).where(unit.owns(entry), unit.among(entry.c.corrects, memory_ids)).values(corrects=None)
        )
        unit.execute(
            update(entry_history)
            .where(unit.owns(entry_history), unit.among(entry_history.c.successor_id, memory_ids))
            .values(successor_id=None)
        )
        for table in (*_OF_ENTRY, entry):
            unit.execute(delete(table).where(unit.owns(table), unit.among(table.c.memory_id, memory_ids)))
        unit.queue_for_index("entry", sorted(memory_ids))

    def live_entry(self, unit: UnitOfWork, memory_id: int) -> MemoryEntry:
        """Returns a live entry. Raises `RejectedWriteError` if there is none with this id."""
        live = self.get(unit, [memory_id]).get(memory_id)
        if live is None:
            raise RejectedWriteError(f"There is no memory {memory_id}.")
        return live

    def _change(self, unit: UnitOfWork, memory_id: int, change: EntryChange, by: Attribution, **values: Any) -> None:
        """Sets the values, increases the version and records the change."""
        self._set(unit, memory_id, version=entry.c.version + 1, **values)
        self._record(unit, memory_id, change, by, values.get("successor_id"))

    @staticmethod
    def _set(unit: UnitOfWork, memory_id: int, **values: Any) -> None:
        unit.execute(update(entry).where(unit.owns(entry), entry.c.memory_id == memory_id).values(**values))

    @classmethod
    def _replace_parts(
        cls, unit: UnitOfWork, memory_id: int, evidence: Iterable[EvidenceRange], photo_ids: Iterable[str]
    ) -> None:
        """Replaces the evidence and the photos of an entry."""
        for table in (entry_evidence, entry_photo):
            unit.execute(delete(table).where(unit.owns(table), table.c.memory_id == memory_id))
        cls._add_parts(unit, memory_id, evidence, photo_ids)

    @staticmethod
    def _add_parts(
        unit: UnitOfWork, memory_id: int, evidence: Iterable[EvidenceRange], photo_ids: Iterable[str]
    ) -> None:
        """Adds the evidence and the photos of an entry that has none."""
        key = {"owner": unit.owner, "memory_id": memory_id}
        unit.execute(
            insert(entry_evidence),
            [
                {**key, "position": position, "first_id": first, "last_id": last}
                for position, (first, last) in enumerate(evidence)
            ],
        )
        photos = [
            {**key, "position": position, "photo_id": photo_id}
            for position, photo_id in enumerate(dict.fromkeys(photo_ids))
        ]
        if photos:
            unit.execute(insert(entry_photo), photos)

    def _check_evidence(self, unit: UnitOfWork, evidence: Sequence[EvidenceRange]) -> None:
        if not evidence:
            raise RejectedWriteError("A memory needs evidence: the ids of the messages that support it.")
        for first, last in evidence:
            if first > last:
                raise RejectedWriteError(f"The evidence range [{first}, {last}] ends before it starts.")
            rows = unit.execute(
                select(message.c.message_id, message.c.conversation_id).where(
                    unit.owns(message), message.c.message_id.between(first, last)
                )
            ).all()
            ids = {row.message_id for row in rows}
            for end in (first, last):
                if end not in ids:
                    raise RejectedWriteError(
                        f"The evidence [{first}, {last}] names message {end}, which does not exist."
                    )
            if len({row.conversation_id for row in rows}) > 1:
                raise RejectedWriteError(
                    f"The evidence range [{first}, {last}] spans two conversations; give two ranges."
                )

    def _check_photos(self, unit: UnitOfWork, photo_ids: Collection[str]) -> None:
        if not photo_ids:
            return
        stored = set(
            unit.scalars(select(photo.c.photo_id).where(unit.owns(photo), photo.c.photo_id.in_(list(photo_ids))))
        )
        for photo_id in photo_ids:
            if photo_id not in stored:
                raise RejectedWriteError(f"There is no photo {photo_id!r}.")

    @staticmethod
    def _record(
        unit: UnitOfWork,
        memory_id: int,
        change: EntryChange,
        by: Attribution,
        successor_id: int | None = None,
    ) -> None:
        """Adds a history row for a change that was made, and queues the entry for the index."""
        version, text = unit.execute(
            select(entry.c.version, entry.c.text).where(unit.owns(entry), entry.c.memory_id == memory_id)
        ).one()
        unit.execute(
            insert(entry_history).values(
                owner=unit.owner,
                memory_id=memory_id,
                version=version,
                change=change,
                text=text,
                who=by.who,
                why=by.why,
                changed_at=to_microseconds(by.now),
                successor_id=successor_id,
            )
        )
        unit.queue_for_index("entry", [memory_id])


def _evidence_of(draft: EntryDraft) -> tuple[EvidenceRange, ...]:
    return tuple(merge_ranges(draft.evidence_ids, adjoining=False))


def _days(happened: DateInterval | None) -> dict[str, str | None]:
    first, last = (happened.first.isoformat(), happened.last.isoformat()) if happened else (None, None)
    return {"happened_first": first, "happened_last": last}
