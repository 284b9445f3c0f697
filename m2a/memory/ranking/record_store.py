"""Stores in SQL what ranking needs of every record. It is read only for the candidates of a question."""

import threading
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC
from typing import Any, Literal, NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, Connection, Row, and_, bindparam, delete, func, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from m2a.memory.ranking.encoding import CONTEXT
from m2a.memory.ranking.features import RankedPassage, Words, WordStatistics
from m2a.memory.schema import entry, entry_photo, message, message_photo, outbox, ranked_count, ranked_record, setting
from m2a.memory.sql import from_microseconds, to_microseconds
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.withheld import is_readable, withheld_photos
from m2a.types import RecordKey, RecordKind

_MADE_BY = "ranked_records_made_by"  # the key in `setting`
_CACHED = 20_000  # passages, of about 5 kB

_LONGEST_ITEM = 100  # characters; PostgreSQL takes no long keys


class Surroundings(NamedTuple):
    """What the neighbours of a record need of it: its conversation and the words of its passages."""

    conversation: str
    passages: Sequence[Words]


class RankedRecord(NamedTuple):
    """A record as it was in that version: its passages in order, at least one, and what its neighbours need."""

    version: int
    passages: Sequence[RankedPassage]
    surroundings: Surroundings

    @classmethod
    def of(cls, version: int, passages: Sequence[RankedPassage]) -> "RankedRecord":
        return cls(version, passages, Surroundings(passages[0].conversation, [passage.words for passage in passages]))


# What `ranked_count` counts: records that hold a word; records and their words together; messages by speaker.
_Counted = Literal["entry word", "message word", "entry", "message", "speaker"]
_WORDS_OF: Mapping[RecordKind, _Counted] = {"entry": "entry word", "message": "message word"}


class RankedRecordStore:
    """The tables `ranked_record` and `ranked_count`. Safe to call from threads.

    Decoded records are kept in memory, the last used ones, until they change.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._decoded: OrderedDict[tuple[str, RecordKind, int], RankedRecord] = OrderedDict()
        self._decoded_passages = 0
        self._speakers: dict[str, list[str]] = {}
        self._changes = 0

    # Writing

    def discard_if_outdated(self, connection: Connection, made_by: str) -> None:
        """Deletes all records if another encoder made them; `owners_with_gaps` then names every owner."""
        stored = connection.scalar(select(setting.c.value).where(setting.c.key == _MADE_BY))
        if stored == made_by:
            return
        for table in (ranked_record, ranked_count):
            connection.execute(delete(table))
        connection.execute(delete(setting).where(setting.c.key == _MADE_BY))
        connection.execute(insert(setting).values(key=_MADE_BY, value=made_by))
        self._forget_decoded()

    def put(self, unit: UnitOfWork, records: Mapping[RecordKey, RankedRecord]) -> None:
        """Inserts or replaces the records."""
        if not records:
            return
        before = self._delete(unit, records)
        unit.execute(insert(ranked_record), [_values(unit.owner, key, ranked) for key, ranked in records.items()])
        after = Counter[tuple[_Counted, str]]()
        for key, ranked in records.items():
            words = [passage.words for passage in ranked.surroundings.passages]
            after.update(_counts(key.kind, ranked.passages[0].speaker, words))
        after.subtract(before)
        self._count(unit, after)

    def forget(self, unit: UnitOfWork, keys: Collection[RecordKey]) -> None:
        """Removes the records, and whatever else holds a trace of them.

        The messages after a forgotten message were encoded together with it, so they are removed too and queued to be made
        again. When a message is erased, this must be called in the same transaction.
        """
        if not keys:
            return
        after = self._encoded_with(unit, keys) - set(keys)
        removed = self._delete(unit, {*keys, *after})
        self._count(unit, {counted: -number for counted, number in removed.items()})
        unit.queue_for_index("message", (key.record_id for key in sorted(after)))

    def drop(self, unit: UnitOfWork) -> None:
        """Removes all records of an owner."""
        for table in (ranked_record, ranked_count):
            unit.execute(delete(table).where(unit.owns(table)))
        self._forget_decoded()

    def _delete(self, unit: UnitOfWork, keys: Collection[RecordKey]) -> Counter[tuple[_Counted, str]]:
        """Removes the records, and returns what they had added to the counts."""
        counted = Counter[tuple[_Counted, str]]()
        for condition in _among(unit, keys):
            columns = (ranked_record.c.kind, ranked_record.c.speaker, ranked_record.c.words)
            rows = unit.execute(select(*columns).where(condition)).all()
            for kind, speaker, words in rows:
                counted.update(_counts(kind, speaker, [passage.split() for passage in words.split("\n")]))
            if rows:
                unit.execute(delete(ranked_record).where(condition))
        self._forget_decoded((unit.owner, key) for key in keys)
        return counted

    def _count(self, unit: UnitOfWork, changes: Mapping[tuple[_Counted, str], int]) -> None:
        rows = [
            {"owner": unit.owner, "counted": counted, "item": item, "number": change}
            for (counted, item), change in sorted(changes.items())
            if change
        ]
        if not rows:
            return
        dialect = sqlite if unit.dialect == "sqlite" else postgresql
        statement = dialect.insert(ranked_count)
        total = ranked_count.c.number + statement.excluded.number
        keys = list(ranked_count.primary_key.columns)
        unit.execute(statement.on_conflict_do_update(index_elements=keys, set_={"number": total}), rows)
        if any(change < 0 for change in changes.values()):
            unit.execute(delete(ranked_count).where(unit.owns(ranked_count), ranked_count.c.number <= 0))

    def _encoded_with(self, unit: UnitOfWork, keys: Collection[RecordKey]) -> set[RecordKey]:
        """Returns the messages that were encoded together with any of these."""
        later: set[RecordKey] = set()
        columns = (ranked_record.c.record_id, ranked_record.c.conversation_id)
        of_messages = [key for key in keys if key.kind == "message"]
        for condition in _among(unit, of_messages):
            for message_id, conversation_id in unit.execute(select(*columns).where(condition)).all():
                following = (
                    select(message.c.message_id)
                    .where(
                        unit.owns(message),
                        message.c.conversation_id == conversation_id,
                        message.c.message_id > message_id,
                    )
                    .order_by(message.c.message_id)
                    .limit(CONTEXT)
                )
                later |= {RecordKey("message", number) for number in unit.scalars(following)}
        return later

    # Reading

    def get(self, unit: UnitOfWork, keys: Collection[RecordKey]) -> dict[RecordKey, RankedRecord]:
        """Returns the stored records among the keys."""
        decoded: dict[RecordKey, RankedRecord] = {}
        with self._lock:
            changes = self._changes
            for key in keys:
                if (ranked := self._decoded.get(place := (unit.owner, *key))) is not None:
                    self._decoded.move_to_end(place)
                    decoded[key] = ranked
        missing = set(keys) - decoded.keys()
        if not missing:
            return decoded
        conditions = list(_among(unit, missing))
        if len(missing) > len(decoded) and self._fits(unit):
            conditions = [unit.owns(ranked_record)]  # so few that reading all of them at once is faster
        read: dict[RecordKey, RankedRecord] = {}
        for condition in conditions:
            for row in unit.execute(select(ranked_record).where(condition)).all():
                key, ranked = _decoded(row)
                read[key] = ranked
        with self._lock:
            if self._changes == changes:  # else a row may have changed since this snapshot of the database
                for key, ranked in read.items():
                    if (unit.owner, *key) not in self._decoded:
                        self._decoded[unit.owner, *key] = ranked
                        self._decoded_passages += len(ranked.passages)
                while self._decoded_passages > _CACHED:
                    self._decoded_passages -= len(self._decoded.popitem(last=False)[1].passages)
        return decoded | {key: read[key] for key in missing & read.keys()}

    def _fits(self, unit: UnitOfWork) -> bool:
        """Returns whether all of the owner's records fit in memory."""
        totals = (ranked_count.c.counted.in_(["entry", "message"]), ranked_count.c.item == "records")
        records = select(func.sum(ranked_count.c.number)).where(unit.owns(ranked_count), *totals)
        return (unit.scalar(records) or 0) <= _CACHED

    def surroundings(self, unit: UnitOfWork, message_ids: Collection[int]) -> dict[int, Surroundings]:
        """Returns the conversation and the words of the stored messages among the ids."""
        surroundings: dict[int, Surroundings] = {}
        missing = []
        with self._lock:
            for message_id in message_ids:
                ranked = self._decoded.get((unit.owner, "message", message_id))
                if ranked is None:
                    missing.append(message_id)
                else:
                    surroundings[message_id] = ranked.surroundings
        columns = (ranked_record.c.record_id, ranked_record.c.conversation_id, ranked_record.c.words)
        for condition in _among(unit, [RecordKey("message", message_id) for message_id in missing]):
            for message_id, conversation, words in unit.execute(select(*columns).where(condition)).all():
                surroundings[message_id] = Surroundings(conversation, _passages_in(words))
        return surroundings

    def showing(self, unit: UnitOfWork, keys: Collection[RecordKey]) -> set[RecordKey]:
        """Returns the records that show a photo which is not forgotten."""
        entries = {key.record_id for key in keys if key.kind == "entry"}
        messages = {key.record_id for key in keys if key.kind == "message"}
        columns = (entry_photo.c.memory_id, entry_photo.c.photo_id)
        showing = {RecordKey("entry", number) for number, _ in unit.rows_among(columns, entries)}
        shown = set(unit.rows_among((message_photo.c.message_id, message_photo.c.photo_id), messages))
        if shown:
            shown -= withheld_photos(unit, {number for number, _ in shown})
        return showing | {RecordKey("message", number) for number, _ in shown}

    def statistics(self, unit: UnitOfWork, kinds: Collection[RecordKind], words: Collection[str]) -> WordStatistics:
        """Returns how many of the owner's records of these kinds contain each of the words."""
        totals, record_counts = Counter[str](), Counter[str]()
        wanted = {
            "owner": unit.owner,
            "counted": [*kinds, *(_WORDS_OF[kind] for kind in kinds)],
            "items": ["records", "words", *words],
        }
        for counted, item, number in unit.execute(_STATISTICS, wanted).all():
            (totals if counted in kinds else record_counts)[item] += number
        return WordStatistics(totals["records"], totals["words"], record_counts)

    def speakers(self, unit: UnitOfWork) -> list[str]:
        """Returns the speakers of all messages."""
        with self._lock:
            changes, speakers = self._changes, self._speakers.get(unit.owner)
        if speakers is None:
            of_speakers = (unit.owns(ranked_count), ranked_count.c.counted == "speaker")
            speakers = list(unit.scalars(select(ranked_count.c.item).where(*of_speakers)))
            with self._lock:
                if self._changes == changes:
                    self._speakers[unit.owner] = speakers
        return speakers

    def versions(self, unit: UnitOfWork) -> dict[RecordKey, int]:
        """Returns the version of every stored record."""
        columns = (ranked_record.c.kind, ranked_record.c.record_id, ranked_record.c.version)
        rows = unit.execute(select(*columns).where(unit.owns(ranked_record)))
        return {RecordKey(kind, record_id): version for kind, record_id, version in rows}

    def owners_with_gaps(self, connection: Connection) -> set[str]:
        """Returns the owners with a live record that is neither stored here nor waiting in the outbox."""
        owners: set[str] = set()
        for table, kind, record_id, alive in (
            (entry, "entry", entry.c.memory_id, entry.c.alive),
            (message, "message", message.c.message_id, is_readable()),
        ):
            is_stored = (
                select(ranked_record.c.record_id)
                .where(
                    ranked_record.c.owner == table.c.owner,
                    ranked_record.c.kind == kind,
                    ranked_record.c.record_id == record_id,
                )
                .exists()
            )
            missing = connection.execute(select(table.c.owner, record_id).where(alive, ~is_stored)).all()
            if missing:
                rows = connection.execute(select(outbox.c.owner, outbox.c.record_id).where(outbox.c.record == kind))
                waiting = {(owner, int(waits)) for owner, waits in rows}
                owners |= {owner for owner, number in missing if (owner, number) not in waiting}
        return owners

    def _forget_decoded(self, keys: Iterable[tuple[str, RecordKey]] | None = None) -> None:
        """Forgets the decoded form of these records, or of all."""
        with self._lock:
            self._changes += 1
            self._speakers.clear()
            if keys is None:
                self._decoded.clear()
                self._decoded_passages = 0
            for owner, key in keys or ():
                if (ranked := self._decoded.pop((owner, *key), None)) is not None:
                    self._decoded_passages -= len(ranked.passages)


def _counts(kind: RecordKind, speaker: str, passages: Sequence[Sequence[str]]) -> Counter[tuple[_Counted, str]]:
    counts = Counter[tuple[_Counted, str]]()
    for words in passages:
        counts.update({(_WORDS_OF[kind], word[:_LONGEST_ITEM]) for word in words})
    counts.update({(kind, "records"): len(passages), (kind, "words"): sum(map(len, passages))})
    if kind == "message":
        counts["speaker", speaker[:_LONGEST_ITEM]] += 1
    return counts


def _among(unit: UnitOfWork, keys: Collection[RecordKey]) -> Iterable[ColumnElement[bool]]:
    """Yields a condition for the owner's records with these keys, one per kind."""
    for kind in ("entry", "message"):
        numbers = [key.record_id for key in keys if key.kind == kind]
        if numbers:
            of_kind = (unit.owns(ranked_record), ranked_record.c.kind == kind)
            yield and_(*of_kind, unit.among(ranked_record.c.record_id, numbers))


def _values(owner: str, key: RecordKey, ranked: RankedRecord) -> dict[str, object]:
    passages = ranked.passages
    record = passages[0]
    counts = np.array([len(passage.tokens) for passage in passages], dtype="<u2")
    tokens = np.concatenate([passage.tokens for passage in passages]).astype(np.int8)
    return {
        "owner": owner,
        "kind": key.kind,
        "record_id": key.record_id,
        "version": ranked.version,
        "conversation_id": record.conversation,
        "speaker": record.speaker,
        # Questions refer to the local time of the speaker.
        "said_at": to_microseconds(record.said_at.replace(tzinfo=UTC)),
        "words": "\n".join(" ".join(passage.words.words) for passage in passages),
        "traits": np.stack([passage.traits for passage in passages]).astype("<f4").tobytes(),
        "vector": np.stack([passage.vector for passage in passages]).astype("<f2").tobytes(),
        "tokens": counts.tobytes() + tokens.tobytes(),
    }


# One range of the primary key, since no stem equals "records" or "words", the items of the totals.
_STATISTICS = select(ranked_count.c.counted, ranked_count.c.item, ranked_count.c.number).where(
    ranked_count.c.owner == bindparam("owner"),
    ranked_count.c.counted.in_(bindparam("counted", expanding=True)),
    ranked_count.c.item.in_(bindparam("items", expanding=True)),
)


def _decoded(row: Row[Any]) -> tuple[RecordKey, RankedRecord]:
    words_of = _passages_in(row.words)
    number = len(words_of)
    counts = np.frombuffer(row.tokens, dtype="<u2", count=number).astype(int)
    tokens_of = np.frombuffer(row.tokens, dtype=np.int8, offset=2 * number).reshape(counts.sum(), -1)
    said_at = from_microseconds(row.said_at)
    passages = [
        RankedPassage(row.conversation_id, row.record_id, row.speaker, said_at, *of_passage, at)
        for at, of_passage in enumerate(
            zip(
                words_of,
                np.frombuffer(row.vector, dtype="<f2").astype(np.float32).reshape(number, -1),
                np.split(tokens_of, np.cumsum(counts)[:-1]),
                np.frombuffer(row.traits, dtype="<f4").reshape(number, -1),
                strict=True,
            )
        )
    ]
    return RecordKey(row.kind, row.record_id), RankedRecord.of(row.version, passages)


def _passages_in(words: str) -> list[Words]:
    """Returns the words of each passage, which are separated by line breaks."""
    return [Words.of(passage.split()) for passage in words.split("\n")]
