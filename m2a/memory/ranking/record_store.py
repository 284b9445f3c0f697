"""What ranking needs of every record, in SQL: read for the candidates of a question alone."""

import threading
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC
from typing import Literal, NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, func, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from m2a.memory.database import Database, among, from_microseconds, rows_among, to_microseconds
from m2a.memory.ranking.encoding import CONTEXT
from m2a.memory.ranking.features import Record, Words, WordStatistics
from m2a.memory.schema import entry, entry_photo, message, message_photo, outbox, ranked_count, ranked_record, setting
from m2a.memory.withheld import is_readable, withheld_photos
from m2a.types import RecordKey, RecordKind

_MADE_BY = "ranked_records_made_by"  # the key in `setting`
_CACHED = 20_000  # records, of about 5 kB

_LONGEST_ITEM = 100  # characters; PostgreSQL takes no long keys


class RankedRecord(NamedTuple):
    """A record as it was in that version."""

    version: int
    record: Record


class Place(NamedTuple):
    """A message's conversation and its words."""

    conversation: str
    words: Words


# What `ranked_count` counts: records that hold a word; records and their words together; messages by speaker.
_Counted = Literal["entry word", "message word", "entry", "message", "speaker"]
_WORDS_OF: Mapping[RecordKind, _Counted] = {"entry": "entry word", "message": "message word"}


class RankedRecordStore:
    """The tables `ranked_record` and `ranked_count`. Methods run inside the caller's transaction. Safe to call from threads.

    Decoded records are kept in memory, the last used ones, until they change.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._decoded: OrderedDict[tuple[str, RecordKind, int], RankedRecord] = OrderedDict()
        self._speakers: dict[str, list[str]] = {}
        self._changes = 0

    # Writing

    def start(self, connection: Connection, made_by: str) -> None:
        """Begin to keep records that were made by that: others are thrown away, and `missing` names them."""
        found = connection.scalar(select(setting.c.value).where(setting.c.key == _MADE_BY))
        if found == made_by:
            return
        for table in (ranked_record, ranked_count):
            connection.execute(delete(table))
        connection.execute(delete(setting).where(setting.c.key == _MADE_BY))
        connection.execute(insert(setting).values(key=_MADE_BY, value=made_by))
        self._forget_decoded()

    def put(self, connection: Connection, owner: str, records: Mapping[RecordKey, RankedRecord]) -> None:
        """Insert or replace the records."""
        if not records:
            return
        before = self._delete(connection, owner, records)
        connection.execute(insert(ranked_record), [_values(owner, key, ranked) for key, ranked in records.items()])
        after = Counter[tuple[_Counted, str]]()
        for key, (_, record) in records.items():
            after.update(_counts(key.kind, record.speaker, record.words.words))
        after.subtract(before)
        self._count(connection, owner, after)

    def forget(self, connection: Connection, owner: str, keys: Collection[RecordKey]) -> None:
        """Remove the records, and whatever else holds a trace of them.

        The messages after a forgotten message were encoded with it: they are removed too, and the outbox is told to
        make them again. Who erases a message calls this in the same transaction.
        """
        if not keys:
            return
        after = self._encoded_with(connection, owner, keys) - set(keys)
        self._count(connection, owner, _negative(self._delete(connection, owner, {*keys, *after})))
        if after:
            rows = [{"owner": owner, "record": "message", "record_id": str(key.record_id)} for key in sorted(after)]
            connection.execute(insert(outbox), rows)

    def drop(self, connection: Connection, owner: str) -> None:
        """Remove all records of an owner."""
        for table in (ranked_record, ranked_count):
            connection.execute(delete(table).where(table.c.owner == owner))
        self._forget_decoded()

    def _delete(self, connection: Connection, owner: str, keys: Collection[RecordKey]) -> Counter[tuple[_Counted, str]]:
        """Remove the records; what they counted for."""
        counted = Counter[tuple[_Counted, str]]()
        for condition in _among(connection, owner, keys):
            columns = (ranked_record.c.kind, ranked_record.c.speaker, ranked_record.c.words)
            for kind, speaker, words in connection.execute(select(*columns).where(condition)):
                counted.update(_counts(kind, speaker, words.split()))
            connection.execute(delete(ranked_record).where(condition))
        self._forget_decoded((owner, key) for key in keys)
        return counted

    def _count(self, connection: Connection, owner: str, changes: Mapping[tuple[_Counted, str], int]) -> None:
        rows = [
            {"owner": owner, "counted": counted, "item": item, "number": change}
            for (counted, item), change in sorted(changes.items())
            if change
        ]
        if not rows:
            return
        dialect = sqlite if self._database.is_sqlite else postgresql
        statement = dialect.insert(ranked_count)
        total = ranked_count.c.number + statement.excluded.number
        keys = list(ranked_count.primary_key.columns)
        connection.execute(statement.on_conflict_do_update(index_elements=keys, set_={"number": total}), rows)
        if any(change < 0 for change in changes.values()):
            connection.execute(delete(ranked_count).where(ranked_count.c.owner == owner, ranked_count.c.number <= 0))

    def _encoded_with(self, connection: Connection, owner: str, keys: Collection[RecordKey]) -> set[RecordKey]:
        """The messages whose tokens hold traces of these."""
        found: set[RecordKey] = set()
        columns = (ranked_record.c.record_id, ranked_record.c.conversation_id)
        of_messages = [key for key in keys if key.kind == "message"]
        for condition in _among(connection, owner, of_messages):
            for message_id, conversation_id in connection.execute(select(*columns).where(condition)).all():
                following = (
                    select(message.c.message_id)
                    .where(
                        message.c.owner == owner,
                        message.c.conversation_id == conversation_id,
                        message.c.message_id > message_id,
                    )
                    .order_by(message.c.message_id)
                    .limit(CONTEXT)
                )
                found |= {RecordKey("message", number) for number in connection.scalars(following)}
        return found

    # Reading

    def get(self, connection: Connection, owner: str, keys: Collection[RecordKey]) -> dict[RecordKey, RankedRecord]:
        """Those of the records that are kept."""
        found: dict[RecordKey, RankedRecord] = {}
        with self._lock:
            changes = self._changes
            for key in keys:
                if (ranked := self._decoded.get(place := (owner, *key))) is not None:
                    self._decoded.move_to_end(place)
                    found[key] = ranked
        missing = set(keys) - found.keys()
        if not missing:
            return found
        conditions = list(_among(connection, owner, missing))
        if len(missing) > len(found) and self._fits(connection, owner):
            conditions = [ranked_record.c.owner == owner]  # so few that it takes less to read them once
        read: dict[RecordKey, RankedRecord] = {}
        for condition in conditions:
            for row in connection.execute(select(*_COLUMNS).where(condition)).all():
                key, ranked = _decoded(*row.tuple())  # type: ignore[call-arg]
                read[key] = ranked
        with self._lock:
            if self._changes == changes:  # else a row may have changed since this snapshot of the database
                self._decoded.update({(owner, *key): ranked for key, ranked in read.items()})
                while len(self._decoded) > _CACHED:
                    self._decoded.popitem(last=False)
        return found | {key: read[key] for key in missing & read.keys()}

    def _fits(self, connection: Connection, owner: str) -> bool:
        """Whether all of the owner's records are few enough to be kept in memory."""
        totals = (ranked_count.c.counted.in_(["entry", "message"]), ranked_count.c.item == "records")
        records = select(func.sum(ranked_count.c.number)).where(ranked_count.c.owner == owner, *totals)
        return (connection.scalar(records) or 0) <= _CACHED

    def places(self, connection: Connection, owner: str, message_ids: Collection[int]) -> dict[int, Place | Record]:
        """Of those of the messages that are kept, the conversation and the words."""
        found: dict[int, Place | Record] = {}
        missing = []
        with self._lock:
            for message_id in message_ids:
                ranked = self._decoded.get((owner, "message", message_id))
                if ranked is None:
                    missing.append(message_id)
                else:
                    found[message_id] = ranked.record
        columns = (ranked_record.c.record_id, ranked_record.c.conversation_id, ranked_record.c.words)
        for condition in _among(connection, owner, [RecordKey("message", message_id) for message_id in missing]):
            for message_id, conversation, words in connection.execute(select(*columns).where(condition)).all():
                found[message_id] = Place(conversation, Words.of(words.split()))
        return found

    def showing(self, connection: Connection, owner: str, keys: Collection[RecordKey]) -> set[RecordKey]:
        """Those of the records that show a photo which was not forgotten."""
        entries = {key.record_id for key in keys if key.kind == "entry"}
        messages = {key.record_id for key in keys if key.kind == "message"}
        columns = (entry_photo.c.memory_id, entry_photo.c.photo_id)
        found = {RecordKey("entry", number) for number, _ in rows_among(connection, columns, owner, entries)}
        shown = set(rows_among(connection, (message_photo.c.message_id, message_photo.c.photo_id), owner, messages))
        if shown:
            shown -= withheld_photos(connection, owner, {number for number, _ in shown})
        return found | {RecordKey("message", number) for number, _ in shown}

    def statistics(
        self, connection: Connection, owner: str, kinds: Collection[RecordKind], words: Collection[str]
    ) -> WordStatistics:
        """How often the words are in the owner's records of these kinds."""
        totals, holding = Counter[str](), Counter[str]()
        wanted = {
            "owner": owner,
            "counted": [*kinds, *(_WORDS_OF[kind] for kind in kinds)],
            "items": ["records", "words", *words],
        }
        for counted, item, number in connection.execute(_STATISTICS, wanted).all():
            (totals if counted in kinds else holding)[item] += number
        return WordStatistics(totals["records"], totals["words"], holding)

    def speakers(self, connection: Connection, owner: str) -> list[str]:
        """Everyone who said a message."""
        with self._lock:
            changes, known = self._changes, self._speakers.get(owner)
        if known is None:
            of_speakers = (ranked_count.c.owner == owner, ranked_count.c.counted == "speaker")
            known = list(connection.scalars(select(ranked_count.c.item).where(*of_speakers)))
            with self._lock:
                if self._changes == changes:
                    self._speakers[owner] = known
        return known

    def versions(self, connection: Connection, owner: str) -> dict[RecordKey, int]:
        """The version of every record that is kept."""
        columns = (ranked_record.c.kind, ranked_record.c.record_id, ranked_record.c.version)
        rows = connection.execute(select(*columns).where(ranked_record.c.owner == owner))
        return {RecordKey(kind, record_id): version for kind, record_id, version in rows}

    def owners_with_gaps(self, connection: Connection) -> set[str]:
        """Those of whom a living record is not kept, and does not wait in the outbox to be."""
        found: set[str] = set()
        for table, kind, record_id, alive in (
            (entry, "entry", entry.c.memory_id, entry.c.alive),
            (message, "message", message.c.message_id, is_readable()),
        ):
            kept = (
                select(ranked_record.c.record_id)
                .where(
                    ranked_record.c.owner == table.c.owner,
                    ranked_record.c.kind == kind,
                    ranked_record.c.record_id == record_id,
                )
                .exists()
            )
            missing = connection.execute(select(table.c.owner, record_id).where(alive, ~kept)).all()
            if missing:
                rows = connection.execute(select(outbox.c.owner, outbox.c.record_id).where(outbox.c.record == kind))
                waiting = {(owner, int(waits)) for owner, waits in rows}
                found |= {owner for owner, number in missing if (owner, number) not in waiting}
        return found

    def _forget_decoded(self, keys: Iterable[tuple[str, RecordKey]] | None = None) -> None:
        """These, or all."""
        with self._lock:
            self._changes += 1
            self._speakers.clear()
            if keys is None:
                self._decoded.clear()
            for owner, key in keys or ():
                self._decoded.pop((owner, *key), None)


def _counts(kind: RecordKind, speaker: str, words: Sequence[str]) -> dict[tuple[_Counted, str], int]:
    counts: dict[tuple[_Counted, str], int] = {(_WORDS_OF[kind], word[:_LONGEST_ITEM]): 1 for word in set(words)}
    counts |= {(kind, "records"): 1, (kind, "words"): len(words)}
    return counts | ({("speaker", speaker[:_LONGEST_ITEM]): 1} if kind == "message" else {})


def _negative(counts: Counter[tuple[_Counted, str]]) -> dict[tuple[_Counted, str], int]:
    return {key: -number for key, number in counts.items()}


def _among(connection: Connection, owner: str, keys: Collection[RecordKey]) -> Iterable[ColumnElement[bool]]:
    """Conditions that hold for the owner's records of these keys, one for each kind."""
    for kind in ("entry", "message"):
        numbers = [key.record_id for key in keys if key.kind == kind]
        if numbers:
            this = (ranked_record.c.owner == owner, ranked_record.c.kind == kind)
            yield and_(*this, among(connection, ranked_record.c.record_id, numbers))


def _values(owner: str, key: RecordKey, ranked: RankedRecord) -> dict[str, object]:
    record = ranked.record
    return {
        "owner": owner,
        "kind": key.kind,
        "record_id": key.record_id,
        "version": ranked.version,
        "conversation_id": record.conversation,
        "speaker": record.speaker,
        "said_at": to_microseconds(record.said_at.replace(tzinfo=UTC)),  # what its clock showed: questions ask for that
        "words": " ".join(record.words.words),
        "traits": record.traits.astype("<f4").tobytes(),
        "vector": record.vector.astype("<f2").tobytes(),
        "tokens": len(record.tokens).to_bytes(2, "little") + record.tokens.astype(np.int8).tobytes(),
    }


# One range of the primary key; a finished word is a stem, so that none is called as the totals are.
_STATISTICS = select(ranked_count.c.counted, ranked_count.c.item, ranked_count.c.number).where(
    ranked_count.c.owner == bindparam("owner"),
    ranked_count.c.counted.in_(bindparam("counted", expanding=True)),
    ranked_count.c.item.in_(bindparam("items", expanding=True)),
)

_COLUMNS = (
    ranked_record.c.kind,
    ranked_record.c.record_id,
    ranked_record.c.version,
    ranked_record.c.conversation_id,
    ranked_record.c.speaker,
    ranked_record.c.said_at,
    ranked_record.c.words,
    ranked_record.c.traits,
    ranked_record.c.vector,
    ranked_record.c.tokens,
)


def _decoded(
    kind: RecordKind,
    record_id: int,
    version: int,
    conversation: str,
    speaker: str,
    said_at: int,
    words: str,
    traits: bytes,
    vector: bytes,
    tokens: bytes,
) -> tuple[RecordKey, RankedRecord]:
    record = Record(
        conversation,
        record_id,
        speaker,
        from_microseconds(said_at),
        Words.of(words.split()),
        np.frombuffer(vector, dtype="<f2").astype(np.float32),
        np.frombuffer(tokens, dtype=np.int8, offset=2).reshape(int.from_bytes(tokens[:2], "little"), -1),
        np.frombuffer(traits, dtype="<f4"),
    )
    return RecordKey(kind, record_id), RankedRecord(version, record)
