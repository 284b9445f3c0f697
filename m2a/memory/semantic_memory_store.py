"""Layer 2: what is remembered. Every entry names the raw messages that support it; every change leaves a history row."""

from collections.abc import Collection, Iterable, Sequence
from datetime import date, datetime

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

# What names an entry, and is of no use without it.
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
    """The proposed change is wrong (unknown evidence, no such memory, too weak); the message tells its writer why."""


class SemanticMemoryStore(EntryReader):
    """Entries, their history and the concepts they are about, per owner.

    An entry is alive, or superseded (`successor_id` names what took its place), or gone: forgotten or undone. Entries come in
    order of memory id, and only living ones where nothing else is said.
    """

    def add(self, unit: UnitOfWork, draft: EntryDraft, by: Attribution) -> MemoryEntry:
        """Write an entry with its history row and tell the outbox. Raises `RejectedWriteError`.

        What a living entry already says renews that entry: it becomes the newest, with the new evidence beside the old.
        """
        text = draft.text.strip()
        if not text:
            raise RejectedWriteError("A memory needs a text.")
        evidence = tuple(merge_ranges(draft.evidence_ids, adjoining=False))
        self._check_evidence(unit, evidence)
        self._check_photos(unit, draft.photo_ids)
        if draft.corrects is not None:
            self._living(unit, draft.corrects)
        known = self.saying(unit, text)
        if known is not None:
            return self._renew(unit, known, draft, evidence, by)
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
        self._put_parts(unit, memory_id, evidence, draft.photo_ids)
        for mention in draft.concepts:
            concept_store.link(unit, memory_id, mention, draft.photo_ids, by.who, evidence[-1].last)
        self._record(unit, memory_id, "added", by)
        return self._living(unit, memory_id)

    def _renew(
        self,
        unit: UnitOfWork,
        known: MemoryEntry,
        draft: EntryDraft,
        evidence: Sequence[EvidenceRange],
        by: Attribution,
    ) -> MemoryEntry:
        corrects = draft.corrects if draft.corrects not in (None, known.memory_id) else known.corrects
        if corrects is not None and (behind := self.correction_of(unit, known.memory_id, corrects)):
            self.tie(unit, behind, None)  # what is said again holds again, and no longer as what was corrected
        values = {"rests_on": "stated" if "stated" in (draft.rests_on, known.rests_on) else draft.rests_on}
        self._change(
            unit,
            known.memory_id,
            **values,
            corrects=corrects,
            recorded_at=to_microseconds(by.now),
            **_days(draft.happened or known.happened),
        )
        ranges = merge_ranges((*known.evidence_ids, *evidence), adjoining=False)
        self._put_parts(unit, known.memory_id, ranges, (*known.photo_ids, *draft.photo_ids))
        for mention in draft.concepts:
            concept_store.link(unit, known.memory_id, mention, draft.photo_ids, by.who, evidence[-1].last)
        self._record(unit, known.memory_id, "added", by)
        return self._living(unit, known.memory_id)

    def take_renewal_back(self, unit: UnitOfWork, before: MemoryEntry, by: Attribution) -> None:
        """Let a living entry be as it was before it was told again. Raises `RejectedWriteError`."""
        self._living(unit, before.memory_id)
        self._change(
            unit,
            before.memory_id,
            rests_on=before.rests_on,
            corrects=before.corrects,
            recorded_at=to_microseconds(before.recorded_at),
            **_days(before.happened),
        )
        self._put_parts(unit, before.memory_id, before.evidence_ids, before.photo_ids)
        self._record(unit, before.memory_id, "undone", by)

    def supersede(self, unit: UnitOfWork, memory_id: int, successor_id: int, by: Attribution) -> list[int]:
        """Put a living entry in the place of another, and of those that correct it. Returns what was superseded.

        What the older one corrects, the newer one corrects from now on. Raises `RejectedWriteError`, also where the newer
        one is not what the user stated and the older one is.
        """
        older, newer = (self._living(unit, number) for number in (memory_id, successor_id))
        if memory_id == successor_id:
            raise RejectedWriteError(f"Memory {memory_id} cannot take its own place.")
        if older.rests_on == "stated" and newer.rests_on != "stated":
            raise RejectedWriteError(
                f"Memory {memory_id} is what the user stated; what is {newer.rests_on} cannot take its place."
            )
        superseded = [memory_id]
        for number in superseded:
            ties = self.corrections_of(unit, [number]).get(number, [])
            superseded += [tie.memory_id for tie in ties if tie.memory_id not in (successor_id, *superseded)]
        for number in superseded:
            self._change(unit, number, alive=False, successor_id=successor_id)
            self._record(unit, number, "superseded", by, successor_id)
        self._hand_on(unit, older, newer)
        if newer.corrects in (None, *superseded) and older.corrects != newer.corrects:
            self.tie(unit, successor_id, older.corrects if older.corrects != successor_id else None)
        return superseded

    def keep(
        self,
        unit: UnitOfWork,
        memory_id: int,
        change: EntryChange,
        by: Attribution,
        *,
        pinned_at: datetime | None,
        used_until: date | None,
    ) -> MemoryEntry:
        """Say of a living entry since when it is pinned, and its last day. Raises `RejectedWriteError`."""
        self._living(unit, memory_id)
        self._put_keeping(unit, memory_id, pinned_at, used_until)
        self._record(unit, memory_id, change, by)
        return self._living(unit, memory_id)

    def _hand_on(self, unit: UnitOfWork, older: MemoryEntry, newer: MemoryEntry) -> None:
        """What takes the place of a pinned entry is pinned, and has its last day, where it has none of its own."""
        if older.pinned_at or older.used_until:
            pinned_at, used_until = newer.pinned_at or older.pinned_at, newer.used_until or older.used_until
            self._put_keeping(unit, newer.memory_id, pinned_at, used_until)

    @staticmethod
    def _put_keeping(unit: UnitOfWork, memory_id: int, pinned_at: datetime | None, used_until: date | None) -> None:
        """That changes nothing of what it says: no new version."""
        this = unit.owns(entry) & (entry.c.memory_id == memory_id)
        since = None if pinned_at is None else to_microseconds(pinned_at)
        last_day = None if used_until is None else used_until.isoformat()
        unit.execute(update(entry).where(this).values(pinned_at=since, used_until=last_day))

    def restore(self, unit: UnitOfWork, memory_id: int, by: Attribution) -> list[int]:
        """Bring a superseded entry back, with its corrections that went with it. Returns what lives again."""
        found = self.superseded(unit, [memory_id]).get(memory_id)
        if found is None:
            raise RejectedWriteError(f"There is no superseded memory {memory_id}.")
        if (known := self.saying(unit, found.text)) is not None:
            raise RejectedWriteError(f"Memory {known.memory_id} already says this.")
        restored = [memory_id]
        for number in restored:
            restored += unit.scalars(
                select(entry.c.memory_id).where(
                    unit.owns(entry), entry.c.corrects == number, entry.c.successor_id == found.superseded_by
                )
            ).all()
        return self.revive(unit, restored, by)

    def delete(self, unit: UnitOfWork, memory_id: int, by: Attribution, change: EntryChange = "deleted") -> MemoryEntry:
        """Take a living entry out and return it as it was; its history says `change`. Raises `RejectedWriteError`."""
        found = self._living(unit, memory_id)
        self._change(unit, memory_id, alive=False)
        self._record(unit, memory_id, change, by)
        return found

    def revive(self, unit: UnitOfWork, memory_ids: Iterable[int], by: Attribution) -> list[int]:
        """Let entries that are not alive live again, but those that a living one repeats. Returns which do."""
        revived = []
        for found in self.gone(unit, list(memory_ids)):
            if self.saying(unit, found.text) is None:
                self._change(unit, found.memory_id, alive=True, successor_id=None)
                self._record(unit, found.memory_id, "restored", by)
                revived.append(found.memory_id)
        return revived

    def supersede_again(self, unit: UnitOfWork, memory_ids: Iterable[int], successor_id: int, by: Attribution) -> None:
        """Take back that entries were restored."""
        for memory_id in memory_ids:
            self._living(unit, memory_id)
            self._change(unit, memory_id, alive=False, successor_id=successor_id)
            self._record(unit, memory_id, "superseded", by, successor_id)

    def correction_of(self, unit: UnitOfWork, memory_id: int, among: int) -> int | None:
        """The living entry that corrects `memory_id`, of those that `among` is and corrects, one after the other."""
        passed: set[int] = set()
        found = self.get(unit, [among]).get(among)
        while found is not None and found.corrects is not None and found.memory_id not in passed:
            if found.corrects == memory_id:
                return found.memory_id
            passed.add(found.memory_id)
            found = self.get(unit, [found.corrects]).get(found.corrects)
        return None

    def tie(self, unit: UnitOfWork, memory_id: int, corrects: int | None) -> None:
        """Say which entry a living one corrects a part of. That changes nothing of what it says: no new version."""
        this = unit.owns(entry) & (entry.c.memory_id == memory_id)
        unit.execute(update(entry).where(this).values(corrects=corrects))

    def withdraw(self, unit: UnitOfWork, memory_id: int, by: Attribution) -> list[int]:
        """Take an entry out that should not have been written, whether it lives or was superseded. Returns what lives again.

        What a living one had superseded lives again; what a superseded one had superseded has the same successor as it.
        """
        successor = self.superseded(unit, [memory_id])
        if successor:
            heir = successor[memory_id].superseded_by
            relinked = unit.owns(entry) & (entry.c.successor_id == memory_id)
            unit.execute(update(entry).where(relinked).values(successor_id=heir))
            self._change(unit, memory_id, successor_id=None)
            self._record(unit, memory_id, "undone", by)
            return []
        self._living(unit, memory_id)
        self._change(unit, memory_id, alive=False)
        self._record(unit, memory_id, "undone", by)
        older = unit.scalars(
            select(entry.c.memory_id)
            .where(unit.owns(entry), entry.c.successor_id == memory_id, ~is_forgotten(entry))
            .order_by(entry.c.memory_id)
        ).all()
        return self.revive(unit, older, by)

    def reduce(self, unit: UnitOfWork, reduced: MemoryEntry, by: Attribution) -> None:
        """Let an entry, alive or not, rest on less evidence, and hold fewer photos, than it did; its links rest on what stays."""
        self._change(unit, reduced.memory_id, caption=reduced.caption)
        self._put_parts(unit, reduced.memory_id, reduced.evidence_ids, reduced.photo_ids)
        links = unit.owns(concept_photo) & (concept_photo.c.memory_id == reduced.memory_id)
        unit.execute(delete(concept_photo).where(links, concept_photo.c.photo_id.not_in(reduced.photo_ids)))
        unit.execute(update(concept_photo).where(links).values(message_id=reduced.evidence_ids[-1].last))
        self._record(unit, reduced.memory_id, "reduced", by)

    def erase(self, unit: UnitOfWork, memory_ids: Collection[int]) -> None:
        """Remove the entries, alive or not, with their history. What they had taken the place of has their own successor."""
        for memory_id in sorted(memory_ids):  # one after the other: an heir may be among them
            this = unit.owns(entry) & (entry.c.memory_id == memory_id)
            heir = unit.scalar(select(entry.c.successor_id).where(this))
            following = unit.owns(entry) & (entry.c.successor_id == memory_id)
            unit.execute(update(entry).where(following).values(successor_id=heir))
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
        unit.tell_index("entry", sorted(memory_ids))

    def _living(self, unit: UnitOfWork, memory_id: int) -> MemoryEntry:
        found = self.get(unit, [memory_id]).get(memory_id)
        if found is None:
            raise RejectedWriteError(f"There is no memory {memory_id}.")
        return found

    @staticmethod
    def _change(unit: UnitOfWork, memory_id: int, **values: object) -> None:
        """Give the entry the values and a new version."""
        unit.execute(
            update(entry)
            .where(unit.owns(entry), entry.c.memory_id == memory_id)
            .values(version=entry.c.version + 1, **values)
        )

    @staticmethod
    def _put_parts(
        unit: UnitOfWork, memory_id: int, evidence: Iterable[EvidenceRange], photo_ids: Iterable[str]
    ) -> None:
        """Let the entry rest on this evidence and hold these photos."""
        this = {"owner": unit.owner, "memory_id": memory_id}
        for table in (entry_evidence, entry_photo):
            unit.execute(delete(table).where(unit.owns(table), table.c.memory_id == memory_id))
        unit.execute(
            insert(entry_evidence),
            [
                {**this, "position": position, "first_id": first, "last_id": last}
                for position, (first, last) in enumerate(evidence)
            ],
        )
        photos = [
            {**this, "position": position, "photo_id": photo_id}
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
        known = set(
            unit.scalars(select(photo.c.photo_id).where(unit.owns(photo), photo.c.photo_id.in_(list(photo_ids))))
        )
        for photo_id in photo_ids:
            if photo_id not in known:
                raise RejectedWriteError(f"There is no photo {photo_id!r}.")

    @staticmethod
    def _record(
        unit: UnitOfWork,
        memory_id: int,
        change: EntryChange,
        by: Attribution,
        successor_id: int | None = None,
    ) -> None:
        """Note a change that was made, and tell the index."""
        this = (unit.owns(entry), entry.c.memory_id == memory_id)
        version, text = unit.execute(select(entry.c.version, entry.c.text).where(*this)).one()
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
        unit.tell_index("entry", [memory_id])


def _days(happened: DateInterval | None) -> dict[str, str | None]:
    first, last = (happened.first.isoformat(), happened.last.isoformat()) if happened else (None, None)
    return {"happened_first": first, "happened_last": last}
