"""Layer 2: what is remembered. Every entry names the raw messages that support it; every change leaves a history row."""

from collections.abc import Collection, Iterable, Sequence
from datetime import date, datetime

from sqlalchemy import (
    Connection,
    delete,
    insert,
    select,
    update,
)

from m2a.memory import concept_store
from m2a.memory.database import among, next_id, to_microseconds
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
    outbox,
    photo,
)
from m2a.types import (
    DateInterval,
    EntryChange,
    EntryDraft,
    EvidenceRange,
    MemoryEntry,
)
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

    Every method runs inside the caller's transaction. An entry is alive, or superseded (`successor_id` names what took its
    place), or gone: forgotten or undone. Entries come in order of memory id, and only living ones where nothing else is said.
    """

    def add(
        self, connection: Connection, owner: str, draft: EntryDraft, *, who: str, why: str, now: datetime
    ) -> MemoryEntry:
        """Write an entry with its history row and tell the outbox. Raises `RejectedWriteError`.

        What a living entry already says renews that entry: it becomes the newest, with the new evidence beside the old.
        """
        text = draft.text.strip()
        if not text:
            raise RejectedWriteError("A memory needs a text.")
        evidence = tuple(merge_ranges(draft.evidence_ids, adjoining=False))
        self._check_evidence(connection, owner, evidence)
        self._check_photos(connection, owner, draft.photo_ids)
        if draft.corrects is not None:
            self._living(connection, owner, draft.corrects)
        known = self.saying(connection, owner, text)
        if known is not None:
            return self._renew(connection, owner, known, draft, evidence, who=who, why=why, now=now)
        memory_id = next_id(connection, owner, "memory")
        connection.execute(
            insert(entry).values(
                owner=owner,
                memory_id=memory_id,
                version=1,
                alive=True,
                kind=draft.kind,
                text=text,
                folded_hash=folded_hash(text),
                caption=draft.caption,
                recorded_at=to_microseconds(now),
                rests_on=draft.rests_on,
                corrects=draft.corrects,
                **_days(draft.happened),
            )
        )
        self._put_parts(connection, owner, memory_id, evidence, draft.photo_ids)
        for mention in draft.concepts:
            concept_store.link(connection, owner, memory_id, mention, draft.photo_ids, who, evidence[-1].last)
        self._record(connection, owner, memory_id, "added", who, why, now)
        return self._living(connection, owner, memory_id)

    def _renew(
        self,
        connection: Connection,
        owner: str,
        known: MemoryEntry,
        draft: EntryDraft,
        evidence: Sequence[EvidenceRange],
        *,
        who: str,
        why: str,
        now: datetime,
    ) -> MemoryEntry:
        corrects = draft.corrects if draft.corrects not in (None, known.memory_id) else known.corrects
        if corrects is not None and (behind := self.correction_of(connection, owner, known.memory_id, corrects)):
            self.tie(
                connection, owner, behind, None
            )  # what is said again holds again, and no longer as what was corrected
        values = {"rests_on": "stated" if "stated" in (draft.rests_on, known.rests_on) else draft.rests_on}
        self._change(
            connection, owner, known.memory_id, **values, corrects=corrects, recorded_at=to_microseconds(now),
            **_days(draft.happened or known.happened),
        )  # fmt: skip
        ranges = merge_ranges((*known.evidence_ids, *evidence), adjoining=False)
        self._put_parts(connection, owner, known.memory_id, ranges, (*known.photo_ids, *draft.photo_ids))
        for mention in draft.concepts:
            concept_store.link(connection, owner, known.memory_id, mention, draft.photo_ids, who, evidence[-1].last)
        self._record(connection, owner, known.memory_id, "added", who, why, now)
        return self._living(connection, owner, known.memory_id)

    def take_renewal_back(
        self, connection: Connection, owner: str, before: MemoryEntry, *, who: str, why: str, now: datetime
    ) -> None:
        """Let a living entry be as it was before it was told again. Raises `RejectedWriteError`."""
        self._living(connection, owner, before.memory_id)
        self._change(
            connection, owner, before.memory_id, rests_on=before.rests_on, corrects=before.corrects,
            recorded_at=to_microseconds(before.recorded_at), **_days(before.happened),
        )  # fmt: skip
        self._put_parts(connection, owner, before.memory_id, before.evidence_ids, before.photo_ids)
        self._record(connection, owner, before.memory_id, "undone", who, why, now)

    def supersede(
        self,
        connection: Connection,
        owner: str,
        memory_id: int,
        successor_id: int,
        *,
        who: str,
        why: str,
        now: datetime,
    ) -> list[int]:
        """Put a living entry in the place of another, and of those that correct it. Returns what was superseded.

        What the older one corrects, the newer one corrects from now on. Raises `RejectedWriteError`, also where the newer
        one is not what the user stated and the older one is.
        """
        older, newer = (self._living(connection, owner, number) for number in (memory_id, successor_id))
        if memory_id == successor_id:
            raise RejectedWriteError(f"Memory {memory_id} cannot take its own place.")
        if older.rests_on == "stated" and newer.rests_on != "stated":
            raise RejectedWriteError(
                f"Memory {memory_id} is what the user stated; what is {newer.rests_on} cannot take its place."
            )
        superseded = [memory_id]
        for number in superseded:
            ties = self.corrections_of(connection, owner, [number]).get(number, [])
            superseded += [tie.memory_id for tie in ties if tie.memory_id not in (successor_id, *superseded)]
        for number in superseded:
            self._change(connection, owner, number, alive=False, successor_id=successor_id)
            self._record(connection, owner, number, "superseded", who, why, now, successor_id)
        self._hand_on(connection, owner, older, newer)
        if newer.corrects in (None, *superseded) and older.corrects != newer.corrects:
            self.tie(connection, owner, successor_id, older.corrects if older.corrects != successor_id else None)
        return superseded

    def keep(
        self,
        connection: Connection,
        owner: str,
        memory_id: int,
        change: EntryChange,
        *,
        pinned_at: datetime | None,
        used_until: date | None,
        who: str,
        why: str,
        now: datetime,
    ) -> MemoryEntry:
        """Say of a living entry since when it is pinned, and its last day. Raises `RejectedWriteError`."""
        self._living(connection, owner, memory_id)
        self._put_keeping(connection, owner, memory_id, pinned_at, used_until)
        self._record(connection, owner, memory_id, change, who, why, now)
        return self._living(connection, owner, memory_id)

    def _hand_on(self, connection: Connection, owner: str, older: MemoryEntry, newer: MemoryEntry) -> None:
        """What takes the place of a pinned entry is pinned, and has its last day, where it has none of its own."""
        if older.pinned_at or older.used_until:
            pinned_at, used_until = newer.pinned_at or older.pinned_at, newer.used_until or older.used_until
            self._put_keeping(connection, owner, newer.memory_id, pinned_at, used_until)

    @staticmethod
    def _put_keeping(
        connection: Connection, owner: str, memory_id: int, pinned_at: datetime | None, used_until: date | None
    ) -> None:
        """That changes nothing of what it says: no new version."""
        this = (entry.c.owner == owner) & (entry.c.memory_id == memory_id)
        since = None if pinned_at is None else to_microseconds(pinned_at)
        last_day = None if used_until is None else used_until.isoformat()
        connection.execute(update(entry).where(this).values(pinned_at=since, used_until=last_day))

    def restore(
        self, connection: Connection, owner: str, memory_id: int, *, who: str, why: str, now: datetime
    ) -> list[int]:
        """Bring a superseded entry back, with its corrections that went with it. Returns what lives again."""
        found = self.superseded(connection, owner, [memory_id]).get(memory_id)
        if found is None:
            raise RejectedWriteError(f"There is no superseded memory {memory_id}.")
        if (known := self.saying(connection, owner, found.text)) is not None:
            raise RejectedWriteError(f"Memory {known.memory_id} already says this.")
        restored = [memory_id]
        for number in restored:
            restored += connection.scalars(
                select(entry.c.memory_id).where(
                    entry.c.owner == owner, entry.c.corrects == number, entry.c.successor_id == found.superseded_by
                )
            ).all()
        return self.revive(connection, owner, restored, who=who, why=why, now=now)

    def delete(
        self,
        connection: Connection,
        owner: str,
        memory_id: int,
        *,
        who: str,
        why: str,
        now: datetime,
        change: EntryChange = "deleted",
    ) -> MemoryEntry:
        """Take a living entry out and return it as it was; its history says `change`. Raises `RejectedWriteError`."""
        found = self._living(connection, owner, memory_id)
        self._change(connection, owner, memory_id, alive=False)
        self._record(connection, owner, memory_id, change, who, why, now)
        return found

    def revive(
        self, connection: Connection, owner: str, memory_ids: Iterable[int], *, who: str, why: str, now: datetime
    ) -> list[int]:
        """Let entries that are not alive live again, but those that a living one repeats. Returns which do."""
        revived = []
        for found in self.gone(connection, owner, list(memory_ids)):
            if self.saying(connection, owner, found.text) is None:
                self._change(connection, owner, found.memory_id, alive=True, successor_id=None)
                self._record(connection, owner, found.memory_id, "restored", who, why, now)
                revived.append(found.memory_id)
        return revived

    def supersede_again(
        self, connection: Connection, owner: str, memory_ids: Iterable[int], successor_id: int, *, who: str, why: str,
        now: datetime,
    ) -> None:  # fmt: skip
        """Take back that entries were restored."""
        for memory_id in memory_ids:
            self._living(connection, owner, memory_id)
            self._change(connection, owner, memory_id, alive=False, successor_id=successor_id)
            self._record(connection, owner, memory_id, "superseded", who, why, now, successor_id)

    def correction_of(self, connection: Connection, owner: str, memory_id: int, among: int) -> int | None:
        """The living entry that corrects `memory_id`, of those that `among` is and corrects, one after the other."""
        passed: set[int] = set()
        found = self.get(connection, owner, [among]).get(among)
        while found is not None and found.corrects is not None and found.memory_id not in passed:
            if found.corrects == memory_id:
                return found.memory_id
            passed.add(found.memory_id)
            found = self.get(connection, owner, [found.corrects]).get(found.corrects)
        return None

    def tie(self, connection: Connection, owner: str, memory_id: int, corrects: int | None) -> None:
        """Say which entry a living one corrects a part of. That changes nothing of what it says: no new version."""
        this = (entry.c.owner == owner) & (entry.c.memory_id == memory_id)
        connection.execute(update(entry).where(this).values(corrects=corrects))

    def withdraw(
        self, connection: Connection, owner: str, memory_id: int, *, who: str, why: str, now: datetime
    ) -> list[int]:
        """Take an entry out that should not have been written, whether it lives or was superseded. Returns what lives again.

        What a living one had superseded lives again; what a superseded one had superseded has the same successor as it.
        """
        successor = self.superseded(connection, owner, [memory_id])
        if successor:
            heir = successor[memory_id].superseded_by
            relinked = (entry.c.owner == owner) & (entry.c.successor_id == memory_id)
            connection.execute(update(entry).where(relinked).values(successor_id=heir))
            self._change(connection, owner, memory_id, successor_id=None)
            self._record(connection, owner, memory_id, "undone", who, why, now)
            return []
        self._living(connection, owner, memory_id)
        self._change(connection, owner, memory_id, alive=False)
        self._record(connection, owner, memory_id, "undone", who, why, now)
        older = connection.scalars(
            select(entry.c.memory_id)
            .where(entry.c.owner == owner, entry.c.successor_id == memory_id, ~is_forgotten(entry))
            .order_by(entry.c.memory_id)
        ).all()
        return self.revive(connection, owner, older, who=who, why=why, now=now)

    def reduce(
        self, connection: Connection, owner: str, reduced: MemoryEntry, *, who: str, why: str, now: datetime
    ) -> None:
        """Let an entry, alive or not, rest on less evidence, and hold fewer photos, than it did; its links rest on what stays."""
        self._change(connection, owner, reduced.memory_id, caption=reduced.caption)
        self._put_parts(connection, owner, reduced.memory_id, reduced.evidence_ids, reduced.photo_ids)
        links = (concept_photo.c.owner == owner) & (concept_photo.c.memory_id == reduced.memory_id)
        connection.execute(delete(concept_photo).where(links, concept_photo.c.photo_id.not_in(reduced.photo_ids)))
        connection.execute(update(concept_photo).where(links).values(message_id=reduced.evidence_ids[-1].last))
        self._record(connection, owner, reduced.memory_id, "reduced", who, why, now)

    def erase(self, connection: Connection, owner: str, memory_ids: Collection[int]) -> None:
        """Remove the entries, alive or not, with their history. What they had taken the place of has their own successor."""
        for memory_id in sorted(memory_ids):  # one after the other: an heir may be among them
            this = (entry.c.owner == owner) & (entry.c.memory_id == memory_id)
            heir = connection.scalar(select(entry.c.successor_id).where(this))
            following = (entry.c.owner == owner) & (entry.c.successor_id == memory_id)
            connection.execute(update(entry).where(following).values(successor_id=heir))
        connection.execute(
            update(entry)
            .where(entry.c.owner == owner, among(connection, entry.c.corrects, memory_ids))
            .values(corrects=None)
        )
        connection.execute(
            update(entry_history)
            .where(entry_history.c.owner == owner, among(connection, entry_history.c.successor_id, memory_ids))
            .values(successor_id=None)
        )
        for table in (*_OF_ENTRY, entry):
            connection.execute(
                delete(table).where(table.c.owner == owner, among(connection, table.c.memory_id, memory_ids))
            )
        rows = [{"owner": owner, "record": "entry", "record_id": str(memory_id)} for memory_id in sorted(memory_ids)]
        if rows:
            connection.execute(insert(outbox), rows)

    def _living(self, connection: Connection, owner: str, memory_id: int) -> MemoryEntry:
        found = self.get(connection, owner, [memory_id]).get(memory_id)
        if found is None:
            raise RejectedWriteError(f"There is no memory {memory_id}.")
        return found

    @staticmethod
    def _change(connection: Connection, owner: str, memory_id: int, **values: object) -> None:
        """Give the entry the values and a new version."""
        connection.execute(
            update(entry)
            .where(entry.c.owner == owner, entry.c.memory_id == memory_id)
            .values(version=entry.c.version + 1, **values)
        )

    @staticmethod
    def _put_parts(
        connection: Connection,
        owner: str,
        memory_id: int,
        evidence: Iterable[EvidenceRange],
        photo_ids: Iterable[str],
    ) -> None:
        """Let the entry rest on this evidence and hold these photos."""
        this = {"owner": owner, "memory_id": memory_id}
        for table in (entry_evidence, entry_photo):
            connection.execute(delete(table).where(table.c.owner == owner, table.c.memory_id == memory_id))
        connection.execute(
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
            connection.execute(insert(entry_photo), photos)

    def _check_evidence(self, connection: Connection, owner: str, evidence: Sequence[EvidenceRange]) -> None:
        if not evidence:
            raise RejectedWriteError("A memory needs evidence: the ids of the messages that support it.")
        for first, last in evidence:
            if first > last:
                raise RejectedWriteError(f"The evidence range [{first}, {last}] ends before it starts.")
            rows = connection.execute(
                select(message.c.message_id, message.c.conversation_id).where(
                    message.c.owner == owner, message.c.message_id.between(first, last)
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

    def _check_photos(self, connection: Connection, owner: str, photo_ids: Collection[str]) -> None:
        known = set(
            connection.scalars(
                select(photo.c.photo_id).where(photo.c.owner == owner, photo.c.photo_id.in_(list(photo_ids)))
            )
        )
        for photo_id in photo_ids:
            if photo_id not in known:
                raise RejectedWriteError(f"There is no photo {photo_id!r}.")

    @staticmethod
    def _record(
        connection: Connection,
        owner: str,
        memory_id: int,
        change: EntryChange,
        who: str,
        why: str,
        now: datetime,
        successor_id: int | None = None,
    ) -> None:
        """Note a change that was made, and tell the index."""
        this = (entry.c.owner == owner, entry.c.memory_id == memory_id)
        version, text = connection.execute(select(entry.c.version, entry.c.text).where(*this)).one()
        connection.execute(
            insert(entry_history).values(
                owner=owner,
                memory_id=memory_id,
                version=version,
                change=change,
                text=text,
                who=who,
                why=why,
                changed_at=to_microseconds(now),
                successor_id=successor_id,
            )
        )
        connection.execute(insert(outbox).values(owner=owner, record="entry", record_id=str(memory_id)))


def _days(happened: DateInterval | None) -> dict[str, str | None]:
    first, last = (happened.first.isoformat(), happened.last.isoformat()) if happened else (None, None)
    return {"happened_first": first, "happened_last": last}
