"""Layer 2: what is remembered. Every entry names the raw messages that support it; every change leaves a history row."""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from datetime import date, datetime
from typing import Any, Literal

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Row,
    Select,
    String,
    Table,
    bindparam,
    cast,
    delete,
    insert,
    null,
    select,
    union_all,
    update,
)

from m2a.memory import concept_store
from m2a.memory.concept_store import fold_name
from m2a.memory.database import chunks, from_microseconds, grouped, next_id, rows_among, to_microseconds
from m2a.memory.raw_message_store import merge_ranges
from m2a.memory.schema import (
    entry,
    entry_concept,
    entry_evidence,
    entry_history,
    entry_photo,
    forgotten_entry,
    message,
    outbox,
    photo,
)
from m2a.memory.withheld import FORGOTTEN
from m2a.types import (
    Concept,
    DateInterval,
    EntryDraft,
    EvidenceRange,
    HistoryRow,
    MemoryEntry,
    MemoryKind,
)

_Change = Literal["added", "superseded", "deleted", "undone", "restored"]


class RejectedWriteError(ValueError):
    """The proposed change is wrong (unknown evidence, no such memory, too weak); the message tells its writer why."""


class SemanticMemoryStore:
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
                folded_hash=_folded_hash(text),
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

    def saying(self, connection: Connection, owner: str, text: str) -> MemoryEntry | None:
        """The living entry that says the same in the same words."""
        memory_id = connection.scalar(
            select(entry.c.memory_id).where(
                entry.c.owner == owner, entry.c.alive, entry.c.folded_hash == _folded_hash(text.strip())
            )
        )
        return None if memory_id is None else self._living(connection, owner, memory_id)

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
        if newer.corrects in (None, *superseded) and older.corrects != newer.corrects:
            self.tie(connection, owner, successor_id, older.corrects if older.corrects != successor_id else None)
        return superseded

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
        self, connection: Connection, owner: str, memory_id: int, *, who: str, why: str, now: datetime
    ) -> MemoryEntry:
        """Take a living entry out for good and return it as it was. Raises `RejectedWriteError` if there is none."""
        found = self._living(connection, owner, memory_id)
        self._change(connection, owner, memory_id, alive=False)
        self._record(connection, owner, memory_id, "deleted", who, why, now)
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

    def tie(self, connection: Connection, owner: str, memory_id: int, corrects: int | None) -> None:
        """Say which entry a living one corrects a part of. That changes nothing of what it says: no new version."""
        this = (entry.c.owner == owner) & (entry.c.memory_id == memory_id)
        connection.execute(update(entry).where(this).values(corrects=corrects))

    def predecessors(self, connection: Connection, owner: str, memory_id: int) -> list[int]:
        """What the entry superseded, what that had superseded, and so on; the newest first."""
        found = [memory_id]
        for number in found:
            found += connection.scalars(
                select(entry.c.memory_id)
                .where(entry.c.owner == owner, entry.c.successor_id == number)
                .order_by(entry.c.memory_id.desc())
            ).all()
        return found[1:]

    def superseded(self, connection: Connection, owner: str, memory_ids: Collection[int]) -> dict[int, MemoryEntry]:
        """The entries among the ids of which others took the place, as they were. Forgotten ones are not among them."""
        found: dict[int, MemoryEntry] = {}
        for chunk in chunks(sorted(set(memory_ids))):
            these = entry.c.memory_id.in_(chunk) & entry.c.successor_id.is_not(None) & ~_is_forgotten(entry)
            found |= {e.memory_id: e for e in self._load(connection, owner, these, alive=False)}
        return found

    def gone(self, connection: Connection, owner: str, memory_ids: Collection[int]) -> list[MemoryEntry]:
        """Those among the ids that are not alive, forgotten ones too: to take a change back, and for nothing else."""
        return self._load(connection, owner, entry.c.memory_id.in_(list(memory_ids)), alive=False)

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
            .where(entry.c.owner == owner, entry.c.successor_id == memory_id, ~_is_forgotten(entry))
            .order_by(entry.c.memory_id)
        ).all()
        return self.revive(connection, owner, older, who=who, why=why, now=now)

    def superseded_in(
        self, connection: Connection, owner: str, message_ids: Collection[int]
    ) -> dict[int, list[MemoryEntry]]:
        """For each message the superseded entries that rest on it."""
        if not message_ids:
            return {}
        superseded = (
            select(entry_evidence.c.memory_id, entry_evidence.c.first_id, entry_evidence.c.last_id)
            .join(entry, (entry.c.owner == entry_evidence.c.owner) & (entry.c.memory_id == entry_evidence.c.memory_id))
            .where(entry.c.owner == owner, ~entry.c.alive, entry.c.successor_id.is_not(None))
            .where(entry_evidence.c.first_id <= max(message_ids), entry_evidence.c.last_id >= min(message_ids))
            .order_by(entry_evidence.c.memory_id)
        )
        ranges = connection.execute(superseded).all()
        entries = self.superseded(connection, owner, {row.memory_id for row in ranges})
        return grouped(
            (message_id, entries[row.memory_id])
            for row in ranges
            if row.memory_id in entries
            for message_id in sorted(set(message_ids))
            if row.first_id <= message_id <= row.last_id
        )

    def corrections_of(
        self, connection: Connection, owner: str, memory_ids: Collection[int]
    ) -> dict[int, list[MemoryEntry]]:
        """For each entry the living ones that correct a part of it."""
        ids = {number for _, number in rows_among(connection, (entry.c.corrects, entry.c.memory_id), owner, memory_ids)}
        return grouped((found.corrects or 0, found) for found in self.get(connection, owner, ids).values())

    def get(self, connection: Connection, owner: str, memory_ids: Collection[int]) -> dict[int, MemoryEntry]:
        """The living entries among the ids, by id."""
        found: dict[int, MemoryEntry] = {}
        for chunk in chunks(sorted(set(memory_ids))):
            found |= {e.memory_id: e for e in self._load(connection, owner, entry.c.memory_id.in_(chunk))}
        return found

    def versions(self, connection: Connection, owner: str, memory_ids: Collection[int]) -> dict[int, int]:
        """The version of each living entry among the ids."""
        # Whether it is alive is asked here: for SQLite it would be a reason to go through all that are.
        columns = (entry.c.memory_id, entry.c.version, entry.c.alive)
        rows = rows_among(connection, columns, owner, memory_ids)
        return {memory_id: version for memory_id, version, alive in rows if alive}

    def all(self, connection: Connection, owner: str, kinds: Collection[MemoryKind] | None = None) -> list[MemoryEntry]:
        """Every living entry, of the given kinds if there are any."""
        return self._load(connection, owner, entry.c.kind.in_(list(kinds)) if kinds else entry.c.alive)

    def with_photos(self, connection: Connection, owner: str, photo_ids: Collection[str]) -> dict[str, list[int]]:
        """For each photo the ids of the living entries that hold it, ascending."""
        rows = connection.execute(
            select(entry_photo.c.photo_id, entry_photo.c.memory_id)
            .join(entry, (entry.c.owner == entry_photo.c.owner) & (entry.c.memory_id == entry_photo.c.memory_id))
            .where(entry_photo.c.owner == owner, entry_photo.c.photo_id.in_(list(photo_ids)), entry.c.alive)
            .order_by(entry_photo.c.photo_id, entry_photo.c.memory_id)  # the order of the index, not of every row
        )
        return grouped(rows.tuples())

    def with_concepts(self, connection: Connection, owner: str, concept_ids: Collection[int]) -> list[MemoryEntry]:
        """The living entries about any of the concepts."""
        ids = connection.scalars(
            select(entry_concept.c.memory_id).where(
                entry_concept.c.owner == owner, entry_concept.c.concept_id.in_(list(concept_ids))
            )
        ).all()
        return list(self.get(connection, owner, ids).values())

    def history(self, connection: Connection, owner: str, memory_id: int) -> list[HistoryRow]:
        """Every change of one memory, oldest first; of a forgotten one without words."""
        rows = connection.execute(
            select(entry_history, _is_forgotten(entry_history).label("is_forgotten"))
            .where(entry_history.c.owner == owner, entry_history.c.memory_id == memory_id)
            .order_by(entry_history.c.history_id)
        )
        return [
            HistoryRow(
                row.history_id,
                row.memory_id,
                row.version,
                row.change,
                FORGOTTEN if row.is_forgotten else row.text,
                row.who,
                "" if row.is_forgotten else row.why,
                from_microseconds(row.changed_at),
                row.successor_id,
            )
            for row in rows
        ]

    def concepts(self, connection: Connection, owner: str) -> list[Concept]:
        """Everything that the living entries name, in the order in which it was named."""
        return concept_store.concepts(connection, owner)

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
        change: _Change,
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

    def _load(self, connection: Connection, owner: str, condition: object, *, alive: bool = True) -> list[MemoryEntry]:
        rows = connection.execute(
            select(entry).where(entry.c.owner == owner, entry.c.alive.is_(alive), condition).order_by(entry.c.memory_id)  # type: ignore[arg-type]
        ).all()
        photos: dict[int, list[str]] = {}
        evidence: dict[int, list[EvidenceRange]] = {}
        concepts: dict[int, list[int]] = {}
        for ids in chunks([row.memory_id for row in rows]):
            for memory_id, _, photo_id, first, last in connection.execute(_PARTS, {"owner": owner, "ids": ids}):
                if photo_id is not None:
                    photos.setdefault(memory_id, []).append(photo_id)
                elif last is not None:
                    evidence.setdefault(memory_id, []).append(EvidenceRange(first, last))
                else:
                    concepts.setdefault(memory_id, []).append(first)
        return [
            _entry(row, photos.get(row.memory_id, ()), evidence.get(row.memory_id, ()), concepts.get(row.memory_id, ()))
            for row in rows
        ]


def _part(table: Table, position: ColumnElement[int], *columns: ColumnElement[Any]) -> Select[Any]:
    these = (table.c.owner == bindparam("owner"), table.c.memory_id.in_(bindparam("ids", expanding=True)))
    return select(table.c.memory_id, position.label("position"), *columns).where(*these)


# What entries hold several of, in one statement: a photo, else the first and last message of a range, else a concept.
_NO_NUMBER, _NO_PHOTO = cast(null(), BigInteger), cast(null(), String)
_PARTS = union_all(
    _part(entry_photo, entry_photo.c.position, entry_photo.c.photo_id, _NO_NUMBER, _NO_NUMBER),
    _part(entry_evidence, entry_evidence.c.position, _NO_PHOTO, entry_evidence.c.first_id, entry_evidence.c.last_id),
    _part(entry_concept, entry_concept.c.concept_id, _NO_PHOTO, entry_concept.c.concept_id, _NO_NUMBER),
).order_by("position")


def _folded_hash(text: str) -> str:
    """The same for two texts that say the same in the same words."""
    return hashlib.sha256(fold_name(text).encode("utf-8", "surrogatepass")).hexdigest()


def _is_forgotten(table: Table) -> ColumnElement[bool]:
    return (
        select(forgotten_entry.c.memory_id)
        .where(forgotten_entry.c.owner == table.c.owner, forgotten_entry.c.memory_id == table.c.memory_id)
        .exists()
    )


def _days(happened: DateInterval | None) -> dict[str, str | None]:
    first, last = (happened.first.isoformat(), happened.last.isoformat()) if happened else (None, None)
    return {"happened_first": first, "happened_last": last}


def _entry(
    row: Row,  # type: ignore[type-arg]
    photos: Sequence[str],
    evidence: Sequence[EvidenceRange],
    concepts: Sequence[int],
) -> MemoryEntry:
    happened = (
        DateInterval(date.fromisoformat(row.happened_first), date.fromisoformat(row.happened_last))
        if row.happened_first
        else None
    )
    return MemoryEntry(
        row.memory_id,
        row.owner,
        row.version,
        row.kind,
        row.text,
        row.caption,
        tuple(photos),
        tuple(evidence),
        tuple(concepts),
        from_microseconds(row.recorded_at),
        happened,
        row.rests_on,
        row.corrects,
        row.successor_id,
    )
