"""Layer 2: what is remembered. Every entry names the raw messages that support it; every change leaves a history row."""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from datetime import date, datetime
from typing import Any

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

from m2a.memory.database import (
    chunks,
    concept,
    concept_alias,
    concept_photo,
    entry,
    entry_concept,
    entry_evidence,
    entry_history,
    entry_photo,
    from_microseconds,
    grouped,
    message,
    next_id,
    outbox,
    photo,
    rows_among,
    to_microseconds,
)
from m2a.memory.raw_message_store import merge_ranges
from m2a.types import (
    Concept,
    ConceptMention,
    DateInterval,
    EntryDraft,
    EvidenceRange,
    HistoryRow,
    MemoryEntry,
    MemoryKind,
)


class RejectedWriteError(ValueError):
    """The proposed change is wrong (unknown evidence, a duplicate, no such memory); the message tells its writer why."""


class SemanticMemoryStore:
    """Entries, their history and the concepts they are about, per owner.

    Every method runs inside the caller's transaction. Entries come in order of memory id, deleted ones never.
    """

    def add(
        self, connection: Connection, owner: str, draft: EntryDraft, *, who: str, why: str, now: datetime
    ) -> MemoryEntry:
        """Write an entry with its history row and tell the outbox. Raises `RejectedWriteError`."""
        text = draft.text.strip()
        if not text:
            raise RejectedWriteError("A memory needs a text.")
        evidence = tuple(merge_ranges(draft.evidence_ids, adjoining=False))
        self._check_evidence(connection, owner, evidence)
        self._check_photos(connection, owner, draft.photo_ids)
        duplicate = connection.scalar(
            select(entry.c.memory_id).where(
                entry.c.owner == owner, entry.c.alive, entry.c.folded_hash == _folded_hash(text)
            )
        )
        if duplicate is not None:
            raise RejectedWriteError(f"Memory {duplicate} already says this.")
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
                happened_first=draft.happened.first.isoformat() if draft.happened else None,
                happened_last=draft.happened.last.isoformat() if draft.happened else None,
            )
        )
        connection.execute(
            insert(entry_evidence),
            [
                {"owner": owner, "memory_id": memory_id, "position": position, "first_id": first, "last_id": last}
                for position, (first, last) in enumerate(evidence)
            ],
        )
        if draft.photo_ids:
            connection.execute(
                insert(entry_photo),
                [
                    {"owner": owner, "memory_id": memory_id, "position": position, "photo_id": photo_id}
                    for position, photo_id in enumerate(dict.fromkeys(draft.photo_ids))
                ],
            )
        for mention in draft.concepts:
            self._link(connection, owner, memory_id, mention, draft.photo_ids, who, evidence[-1].last)
        self._record(connection, owner, memory_id, 1, "added", text, who, why, now)
        return self.get(connection, owner, [memory_id])[memory_id]

    def replace(
        self,
        connection: Connection,
        owner: str,
        memory_id: int,
        draft: EntryDraft,
        *,
        who: str,
        why: str,
        now: datetime,
    ) -> tuple[MemoryEntry, MemoryEntry]:
        """Put a new entry in the place of an old one, with an update record that holds both (M2A, appendix D.2).

        Returns the old and the new. Raises `RejectedWriteError`.
        """
        previous = self._bury(connection, owner, memory_id, who=who, why=why, now=now)
        entry_now = self.add(connection, owner, draft, who=who, why=why, now=now)
        record = EntryDraft(
            text=f'Changed on {now.date().isoformat()}: "{previous.text}" became "{entry_now.text}".',
            evidence_ids=(*previous.evidence_ids, *entry_now.evidence_ids),
            kind="update record",
        )
        recorded = self.add(connection, owner, record, who=who, why=why, now=now)
        connection.execute(
            update(entry)
            .where(entry.c.owner == owner, entry.c.memory_id.in_([memory_id, recorded.memory_id]))
            .values(successor_id=entry_now.memory_id)
        )
        return previous, entry_now

    def delete(
        self, connection: Connection, owner: str, memory_id: int, *, who: str, why: str, now: datetime
    ) -> MemoryEntry:
        """Take an entry out of the memory and return it as it was. Raises `RejectedWriteError` if there is none.

        The records of how it came about go with it: they would still tell what it said.
        """
        found = self._bury(connection, owner, memory_id, who=who, why=why, now=now)
        predecessors = [memory_id]
        while predecessors:
            rows = connection.execute(
                select(entry.c.memory_id, entry.c.alive).where(
                    entry.c.owner == owner, entry.c.successor_id.in_(predecessors)
                )
            ).all()
            for row in rows:
                if row.alive:
                    self._bury(connection, owner, row.memory_id, who=who, why=why, now=now)
            predecessors = [row.memory_id for row in rows if not row.alive]
        return found

    def replaced(self, connection: Connection, owner: str, memory_ids: Collection[int]) -> dict[int, MemoryEntry]:
        """The entries among the ids that are no more because others took their place, as they were.

        An entry whose last successor was forgotten is forgotten with it.
        """
        living: dict[int, bool] = {}
        for memory_id in memory_ids:
            successor = memory_id
            while True:
                row = connection.execute(
                    select(entry.c.alive, entry.c.successor_id).where(
                        entry.c.owner == owner, entry.c.memory_id == successor
                    )
                ).first()
                if row is None or row.alive or row.successor_id is None:
                    living[memory_id] = bool(row is not None and row.alive and successor != memory_id)
                    break
                successor = row.successor_id
        ids = [memory_id for memory_id, alive in living.items() if alive]
        return {e.memory_id: e for e in self._load(connection, owner, entry.c.memory_id.in_(ids), alive=False)}

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
        """Every change of one memory, oldest first; also of a deleted one."""
        rows = connection.execute(
            select(entry_history)
            .where(entry_history.c.owner == owner, entry_history.c.memory_id == memory_id)
            .order_by(entry_history.c.history_id)
        )
        return [
            HistoryRow(
                row.history_id,
                row.memory_id,
                row.version,
                row.change,
                row.text,
                row.who,
                row.why,
                from_microseconds(row.changed_at),
            )
            for row in rows
        ]

    def concepts(self, connection: Connection, owner: str) -> list[Concept]:
        """Everything that the user named, in the order in which it was named."""
        aliases: dict[int, list[str]] = {}
        for concept_id, alias in connection.execute(
            select(concept_alias.c.concept_id, concept_alias.c.alias)
            .where(concept_alias.c.owner == owner)
            .order_by(concept_alias.c.alias)
        ):
            aliases.setdefault(concept_id, []).append(alias)
        photos: dict[int, list[str]] = {}
        for concept_id, photo_id in connection.execute(
            select(concept_photo.c.concept_id, concept_photo.c.photo_id)
            .where(concept_photo.c.owner == owner)
            .order_by(concept_photo.c.message_id, concept_photo.c.photo_id)
        ):
            photos.setdefault(concept_id, []).append(photo_id)
        rows = connection.execute(select(concept).where(concept.c.owner == owner).order_by(concept.c.concept_id))
        return [
            Concept(
                row.concept_id,
                owner,
                row.name,
                tuple(aliases.get(row.concept_id, ())),
                row.kind,
                tuple(photos.get(row.concept_id, ())),
            )
            for row in rows
        ]

    def _bury(
        self, connection: Connection, owner: str, memory_id: int, *, who: str, why: str, now: datetime
    ) -> MemoryEntry:
        found = self.get(connection, owner, [memory_id]).get(memory_id)
        if found is None:
            raise RejectedWriteError(f"There is no memory {memory_id}.")
        this = (entry.c.owner == owner) & (entry.c.memory_id == memory_id)
        connection.execute(update(entry).where(this).values(alive=False, version=entry.c.version + 1))
        connection.execute(
            delete(concept_photo).where(concept_photo.c.owner == owner, concept_photo.c.memory_id == memory_id)
        )
        connection.execute(
            delete(entry_concept).where(entry_concept.c.owner == owner, entry_concept.c.memory_id == memory_id)
        )
        self._drop_unused_concepts(connection, owner, found.concept_ids)
        self._record(connection, owner, memory_id, found.version + 1, "deleted", found.text, who, why, now)
        return found

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

    def _link(
        self,
        connection: Connection,
        owner: str,
        memory_id: int,
        mention: ConceptMention,
        photo_ids: Iterable[str],
        who: str,
        message_id: int,
    ) -> None:
        """Tie the entry and its photos to the concept of that name, which is made if there is none."""
        concept_id = self._concept_id(connection, owner, mention)
        for alias in mention.aliases:
            folded = fold_name(alias)
            taken = connection.scalar(
                select(concept_alias.c.alias).where(
                    concept_alias.c.owner == owner,
                    concept_alias.c.concept_id == concept_id,
                    concept_alias.c.folded_alias == folded,
                )
            )
            if taken is None and folded != fold_name(mention.name):
                connection.execute(
                    insert(concept_alias).values(owner=owner, concept_id=concept_id, alias=alias, folded_alias=folded)
                )
        _insert_once(connection, entry_concept, owner=owner, memory_id=memory_id, concept_id=concept_id)
        for photo_id in photo_ids:
            _insert_once(
                connection,
                concept_photo,
                {"who": who, "message_id": message_id, "memory_id": memory_id},
                owner=owner,
                concept_id=concept_id,
                photo_id=photo_id,
            )

    def _concept_id(self, connection: Connection, owner: str, mention: ConceptMention) -> int:
        folded = fold_name(mention.name)
        by_name = connection.scalar(
            select(concept.c.concept_id).where(concept.c.owner == owner, concept.c.folded_name == folded)
        )
        if by_name is not None:
            return int(by_name)
        by_alias = connection.scalar(
            select(concept_alias.c.concept_id)
            .where(concept_alias.c.owner == owner, concept_alias.c.folded_alias == folded)
            .order_by(concept_alias.c.concept_id)
        )
        if by_alias is not None:
            return int(by_alias)
        concept_id = next_id(connection, owner, "concept")
        connection.execute(
            insert(concept).values(
                owner=owner, concept_id=concept_id, name=mention.name.strip(), folded_name=folded, kind=mention.kind
            )
        )
        return concept_id

    def _drop_unused_concepts(self, connection: Connection, owner: str, concept_ids: Iterable[int]) -> None:
        for concept_id in concept_ids:
            used = connection.scalar(
                select(entry_concept.c.memory_id).where(
                    entry_concept.c.owner == owner, entry_concept.c.concept_id == concept_id
                )
            )
            if used is None:
                for table in (concept_alias, concept_photo, concept):
                    connection.execute(delete(table).where(table.c.owner == owner, table.c.concept_id == concept_id))

    def _record(
        self,
        connection: Connection,
        owner: str,
        memory_id: int,
        version: int,
        change: str,
        text: str,
        who: str,
        why: str,
        now: datetime,
    ) -> None:
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


def fold_name(name: str) -> str:
    """The form under which two spellings of a name are the same."""
    return " ".join(name.casefold().split())


def _insert_once(connection: Connection, table, values: dict | None = None, **key) -> None:  # type: ignore[no-untyped-def,type-arg]
    this = [table.c[name] == value for name, value in key.items()]
    if connection.execute(select(table).where(*this)).first() is None:
        connection.execute(insert(table).values(**key, **(values or {})))


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
    )
