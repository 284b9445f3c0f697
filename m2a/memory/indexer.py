"""Brings the index up to date with SQL. After a crash at any point, a record is late, but never lost, doubled or leaked."""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from sqlalchemy import ColumnElement, Connection, String, Table, bindparam, cast, delete, func, insert, literal, select

from m2a.memory.database import Database
from m2a.memory.embedding_cache import EmbeddingCache, content_hash, keep_only_vectors
from m2a.memory.index import MemoryIndex
from m2a.memory.index_rows import PhotoRow, TextRow, row_key
from m2a.memory.index_schema import Space
from m2a.memory.milvus import IndexUnavailableError
from m2a.memory.photo_captions import with_captions
from m2a.memory.photo_store import PhotoDamagedError, PhotoNotFoundError
from m2a.memory.photo_vectors import PHOTOS_AT_ONCE, PhotoVectors
from m2a.memory.ranking.encoding import CONTEXT, InContext, RecordEncoder
from m2a.memory.ranking.record_store import RankedRecord, RankedRecordStore
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.schema import entry, message, outbox, photo
from m2a.memory.schema import owner as owner_table
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.sql import chunks, grouped
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.withheld import FORGOTTEN, forgotten_photos, is_readable, photos_left, without_marks
from m2a.memory.words import finished_words, message_words
from m2a.types import ConversationPart, MemoryEntry, Message, RecordKey
from models.text_encoder import TextEncoder

T = TypeVar("T")
RecordType = Literal["entry", "message", "photo"]

_BATCH = 500

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between the index and SQL: a record is missing, has another version, or should not be there."""

    owner: str
    record: RecordType
    record_id: str
    problem: Literal["missing", "stale", "extra"]


def entry_text(entry: MemoryEntry) -> str:
    """Returns the text of an entry's vector: text and caption, as published (M2A, section 3.3). The text includes its date."""
    return f"{entry.text} {entry.caption}".strip()


def message_text(message: Message) -> str:
    """Returns the text of a message's vector. It includes the date, because questions name dates and messages do not."""
    return f"{message.speaker}: {message.text} ({message.said_at:%-d %B %Y})"


class Indexer:
    """Writes the changes in the outbox to the index. An owner's rows may have one indexer; its threads take turns per owner.

    A row of the outbox only says that a record changed. The indexer looks up the record in SQL: a live record is put into the
    index, and a record that is gone is deleted. So it does no harm to do this twice or late.

    With a `record_encoder`, it also keeps in `ranked` what ranking needs of each record. It does that first, so that whatever
    the index finds can be ranked.
    """

    def __init__(
        self,
        database: Database,
        raw: RawMessageStore,
        semantic: SemanticMemoryStore,
        index: MemoryIndex,
        text_encoder: TextEncoder,
        photo_vectors: PhotoVectors,
        ranked: RankedRecordStore,
        record_encoder: RecordEncoder | None,
    ) -> None:
        self._database = database
        self._raw = raw
        self._semantic = semantic
        self._index = index
        self._text_encoder = text_encoder
        self._photo_vectors = photo_vectors
        self._ranked = ranked
        self._record_encoder = record_encoder
        self._embeddings = EmbeddingCache(database)
        self._lock = threading.Lock()
        self._loss_check = threading.Lock()
        self._owner_locks: dict[str, threading.Lock] = {}
        self._emptied = 0  # counts how often the index was emptied
        self._loss_checked = False

    def drain(self, owner: str | None = None, *, is_cancelled: Callable[[], bool] = lambda: False) -> int:
        """Writes the changes of one owner, or of all, to the index, and returns their number.

        Returns when the index has everything that was written before the call, or once it `is_cancelled`. A photo whose file is
        damaged stays in the outbox and is logged. If the index fails, it is recovered once.
        """
        try:
            return self._drain(owner, is_cancelled)
        except IndexUnavailableError:
            self.recover()
            return self._drain(owner, is_cancelled)

    def when_current(self, owner: str, read: Callable[[], T]) -> T:
        """Calls `read` when the index has all of the owner's records that were written before, and returns its result.

        If the index fails, it is recovered once.
        """
        recovered = False
        while True:
            with self._lock_of(owner):  # not in the middle of a rebuild
                emptied = self._emptied
            self.drain(owner)
            try:
                result = read()
            except IndexUnavailableError:
                if recovered:
                    raise
                recovered = True
                self.recover()
                continue
            if self._emptied == emptied:
                return result

    def recover(self) -> None:
        """Reopens an index that fails, with an empty file if its file is damaged. The next `drain` fills it again.

        Raises `IndexUnavailableError` if that does not help.
        """
        _log.warning("The index failed and is reopened.")
        with self._no_drains():
            self._emptied += 1
            self._loss_checked = False
            self._index.recover()

    def faults(self) -> list[str]:
        """Returns a sentence for each fault in the index. `recover` and `drain` repair them."""
        with self._no_drains():
            self._emptied += 1  # rows that it cannot read are missing from now on
            self._loss_checked = False
            return self._index.faults()

    def purge(self) -> None:
        """Brings the index up to date, and removes what was deleted from its file and from the cache of vectors."""
        self.drain()
        with self._no_drains():
            with self._database.transaction() as connection:
                keep_only_vectors(connection, self._hashes_in_use(connection))
            self._index.purge()

    def _hashes_in_use(self, connection: Connection) -> set[str]:
        hashes: set[str] = set()
        for owner in connection.scalars(select(owner_table.c.owner)).all():
            unit = UnitOfWork(connection, owner)
            _texts, photos = self._living(unit)
            hashes |= photos.keys()
            hashes |= {content_hash(entry_text(memory)) for memory in self._semantic.all(unit)}
            for batch in chunks(sorted(self._raw.versions(unit)), _BATCH):
                read = list(self._raw.get(unit, batch).values())
                captioned = with_captions(unit, read)
                hashes |= {content_hash(message_text(_searchable(m))) for m in captioned}
        return hashes

    def backlog(self, owner: str | None = None) -> int:
        """Returns the number of changes that are not in the index yet; 0 means that it is complete."""
        of_owner = () if owner is None else (outbox.c.owner == owner,)
        with self._database.snapshot() as connection:
            return connection.scalar(select(func.count()).select_from(outbox).where(*of_owner)) or 0

    def rebuild(self, *, is_cancelled: Callable[[], bool] = lambda: False) -> int:
        """Empties the index, fills it from SQL and returns the number of records. Returns early once it `is_cancelled`.

        The next `drain` adds what a crash or a cancellation left out.
        """
        # Without this lock, a drain could cross off the outbox what is dropped from the index here.
        with self._no_drains():
            self._emptied += 1
            with self._database.transaction() as connection:
                owners = connection.scalars(select(owner_table.c.owner)).all()
                units = [UnitOfWork(connection, owner) for owner in owners]
                for unit in units:
                    self._ranked.drop(unit)
                records = sum(map(self._enqueue_all, units))
            try:
                self._index.drop()
            except IndexUnavailableError:
                self._index.recover()
                self._index.drop()
        self.drain(is_cancelled=is_cancelled)
        return records

    def differences(self, owner: str) -> list[Difference]:
        """Compares every row of the owner's index with SQL, except what waits in the outbox."""
        with self._lock_of(owner):
            with self._database.read(owner) as unit:
                queued = unit.execute(select(outbox.c.record, outbox.c.record_id).where(unit.owns(outbox)))
                waiting = {(row.record, row.record_id) for row in queued}
                texts, photos = self._living(unit)
                ranked = {row_key(key): version for key, version in self._ranked.versions(unit).items()}
            differences = [
                Difference(owner, *_record_of(key), problem)
                for key, problem in _compare(texts, self._index.versions(owner, "text"))
            ]
            differences += [
                Difference(owner, *_record_of(key), problem)
                for key, problem in _compare(texts, ranked)
                if problem == "extra" or self._record_encoder is not None
            ]
            for space in self._photo_spaces:
                differences += [
                    Difference(owner, "photo", photo_id, problem)
                    for photo_id, problem in _compare(photos, self._index.versions(owner, space))
                ]
        unique = {(difference.record, difference.record_id): difference for difference in differences}
        return [difference for key, difference in unique.items() if key not in waiting]

    def _living(self, unit: UnitOfWork) -> tuple[dict[str, int], dict[str, int]]:
        """Returns the versions of the texts and photos that the index should hold, by its keys."""
        entries = unit.execute(select(entry.c.memory_id, entry.c.version).where(unit.owns(entry), entry.c.alive))
        texts = {f"entry:{memory_id}": version for memory_id, version in entries}
        messages = self._raw.versions(unit)
        texts |= {f"message:{message_id}": version for message_id, version in messages.items()}
        photos = set(unit.scalars(select(photo.c.photo_id).where(unit.owns(photo))))
        return texts, dict.fromkeys(photos - forgotten_photos(unit), 1)

    def repair(self, differences: Iterable[Difference]) -> None:
        """Repairs the records in the index."""
        self._enqueue(differences)
        self.drain()

    def _enqueue(self, differences: Iterable[Difference]) -> None:
        rows = [
            {"owner": difference.owner, "record": difference.record, "record_id": difference.record_id}
            for difference in differences
        ]
        if rows:
            with self._database.transaction() as connection:
                connection.execute(insert(outbox), rows)

    @property
    def _photo_spaces(self) -> tuple[Space, ...]:
        return ("photo",) if self._index.encoders.word_dimensions is None else ("photo", "photo_text")

    def _lock_of(self, owner: str) -> threading.Lock:
        """Returns the owner's lock. Each owner has one, so that one owner's photos do not make others wait."""
        with self._lock:
            return self._owner_locks.setdefault(owner, threading.Lock())

    @contextmanager
    def _no_drains(self) -> Iterator[None]:
        """Prevents all writes to the index."""
        with self._lock, ExitStack() as locks:  # `_lock` prevents new owner locks
            for lock in self._owner_locks.values():
                locks.enter_context(lock)
            yield

    def _drain(self, owner: str | None, is_cancelled: Callable[[], bool]) -> int:
        self._refill_lost_records()
        owners = [owner] if owner is not None else self._owners_with_changes()
        return sum(self._drain_owner(key, is_cancelled) for key in owners)

    def _owners_with_changes(self) -> list[str]:
        with self._database.snapshot() as connection:
            return list(
                connection.scalars(
                    select(outbox.c.owner).group_by(outbox.c.owner).order_by(func.min(outbox.c.sequence))
                )
            )

    def _drain_owner(self, owner: str, is_cancelled: Callable[[], bool]) -> int:
        with self._lock_of(owner):
            done, last = 0, 0
            while not is_cancelled() and (batch := self._next_batch(owner, last)):
                last = batch[-1].sequence
                finished = self._apply(owner, batch)
                with self._database.write(owner) as unit:
                    unit.execute(delete(outbox).where(outbox.c.sequence.in_(finished)))
                done += len(finished)
            return done

    def _next_batch(self, owner: str, after: int) -> Sequence:  # type: ignore[type-arg]
        with self._database.read(owner) as unit:
            return unit.execute(_NEXT_BATCH, {"owner": owner, "after": after}).all()

    def _apply(self, owner: str, changes: Sequence) -> list[int]:  # type: ignore[type-arg]
        """Writes one owner's changes to the index. Returns the sequence numbers of those that are done."""
        memory_ids, message_ids, photo_ids = (
            list(dict.fromkeys(change.record_id for change in changes if change.record == record))
            for record in ("entry", "message", "photo")
        )
        with self._database.read(owner) as unit:
            entries = self._semantic.get(unit, [int(memory_id) for memory_id in memory_ids])
            versions = self._raw.versions(unit, [int(message_id) for message_id in message_ids])
            read = list(self._raw.get(unit, versions).values())
            messages = [_searchable(m) for m in with_captions(unit, read)]
            photos = photos_left(unit, photo_ids)
        deleted = [RecordKey("entry", int(i)) for i in memory_ids if int(i) not in entries]
        deleted += [RecordKey("message", int(i)) for i in message_ids if int(i) not in versions]
        self._keep_for_ranking(owner, list(entries.values()), messages, versions, deleted)
        self._index.put(owner, self._text_rows(list(entries.values()), messages, versions))
        self._index.delete(owner, deleted)
        damaged = self._put_photos(owner, [photo_id for photo_id in photo_ids if photo_id in photos])
        self._index.delete_photos(owner, [photo_id for photo_id in photo_ids if photo_id not in photos])
        return [c.sequence for c in changes if not (c.record == "photo" and c.record_id in damaged)]

    def _text_rows(
        self, entries: Sequence[MemoryEntry], messages: Sequence[Message], versions: Mapping[int, int]
    ) -> list[TextRow]:
        if not entries and not messages:
            return []
        vectors = self._embeddings.texts(self._text_encoder, [*map(entry_text, entries), *map(message_text, messages)])
        rows = [
            TextRow(RecordKey("entry", e.memory_id), e.version, vector, finished_words(entry_text(e)))
            for e, vector in zip(entries, vectors, strict=False)
        ]
        return rows + [
            TextRow(
                RecordKey("message", m.message_id), versions[m.message_id], vector, message_words(m.speaker, m.text)
            )
            for m, vector in zip(messages, vectors[len(entries) :], strict=True)
        ]

    def _keep_for_ranking(
        self,
        owner: str,
        entries: Sequence[MemoryEntry],
        messages: Sequence[Message],
        versions: Mapping[int, int],
        deleted: Sequence[RecordKey],
    ) -> None:
        """Stores the data that ranking needs of the records. Encodes before the transaction, which locks the database."""
        ranked: dict[RecordKey, RankedRecord] = {}
        encoder = self._record_encoder
        if encoder is not None:
            of_entries = encoder.entries(entries, [entry_text(e) for e in entries])
            of_messages = encoder.messages(self._in_context(owner, messages))
            ranked |= {
                RecordKey("entry", e.memory_id): RankedRecord.of(e.version, passages)
                for e, passages in zip(entries, of_entries, strict=True)
            }
            ranked |= {
                RecordKey("message", passages[0].number): RankedRecord.of(versions[passages[0].number], passages)
                for passages in of_messages
            }
        if ranked or deleted:
            with self._database.write(owner) as unit:
                self._ranked.forget(unit, deleted)
                self._ranked.put(unit, ranked)

    def _in_context(self, owner: str, messages: Sequence[Message]) -> list[InContext]:
        in_context = []
        with self._database.read(owner) as unit:
            for conversation_id, own in grouped((m.conversation_id, m) for m in messages).items():
                wanted = {m.message_id for m in own}
                first, last = min(wanted), max(wanted)
                position = self._raw.count(unit, conversation_id, up_to=first - 1)
                before = self._raw.in_conversation(
                    unit, conversation_id, ConversationPart(newest=CONTEXT, up_to=first - 1)
                )
                run = self._raw.in_conversation(unit, conversation_id, ConversationPart(since=first, up_to=last))
                everything = [_searchable(m) for m in with_captions(unit, (*before, *run))]
                for at, item in enumerate(everything[len(before) :], start=len(before)):
                    if item.message_id in wanted:
                        context = everything[max(at - CONTEXT, 0) : at]
                        in_context.append(InContext(item, context, position + at - len(before)))
        return in_context

    def _put_photos(self, owner: str, photo_ids: Sequence[str]) -> set[str]:
        """Puts the photos into the index. Returns the damaged ones, which are left out."""
        damaged: set[str] = set()
        for batch in chunks(photo_ids, PHOTOS_AT_ONCE):
            try:
                self._index.put_photos(owner, self._photo_rows(owner, batch))
            except (PhotoDamagedError, PhotoNotFoundError, OSError):
                for photo_id in batch:  # one by one, so that a bad photo does not keep others out
                    try:
                        self._index.put_photos(owner, self._photo_rows(owner, [photo_id]))
                    except (PhotoDamagedError, PhotoNotFoundError, OSError) as error:
                        damaged.add(photo_id)
                        _log.warning("Photo %s cannot be indexed: %s", photo_id, error)
        return damaged

    def _photo_rows(self, owner: str, photo_ids: Sequence[str]) -> list[PhotoRow]:
        vectors = self._photo_vectors.of(owner, photo_ids)
        word_vectors = self._photo_vectors.for_words(owner, photo_ids)
        for_words = [None] * len(photo_ids) if word_vectors is None else word_vectors
        return [PhotoRow(*row) for row in zip(photo_ids, vectors, for_words, strict=True)]

    def _refill_lost_records(self) -> None:
        """Fills the index again if its file was deleted, damaged or partly dropped, so that it never looks like an empty memory.

        Runs before this process first writes to the index, and after the index was reopened.
        """
        with self._loss_check:
            if self._loss_checked:
                return
            with self._database.snapshot() as connection:
                owners = connection.scalars(select(owner_table.c.owner)).all()
                living = {owner: self._living(UnitOfWork(connection, owner)) for owner in owners}
            gaps = self._owners_with_gaps()
            self._loss_checked = True  # set before looking, because a repair meanwhile resets it
            try:
                for owner, (texts, photos) in living.items():
                    if owner in gaps:
                        with self._database.write(owner) as unit:
                            self._enqueue_all(unit)
                    elif self._index.count(owner, "text") != len(texts) or any(
                        self._index.count(owner, space) != len(photos) for space in self._photo_spaces
                    ):
                        self._enqueue(self.differences(owner))
            except BaseException:
                self._loss_checked = False
                raise

    def _owners_with_gaps(self) -> set[str]:
        """Returns the owners with records that lack the data for ranking, or have it from another encoder."""
        if self._record_encoder is None:
            return set()
        with self._database.transaction() as connection:
            self._ranked.discard_if_outdated(connection, self._record_encoder.made_by)
        with self._database.snapshot() as connection:
            return self._ranked.owners_with_gaps(connection)

    @staticmethod
    def _enqueue_all(unit: UnitOfWork) -> int:
        """Queues every live record of the owner that is not queued yet. Returns the number of live records."""
        records = 0
        sources: list[tuple[Table, ColumnElement[str], RecordType, list[ColumnElement[bool]]]] = [
            (entry, cast(entry.c.memory_id, String), "entry", [entry.c.alive.is_(True)]),
            (message, cast(message.c.message_id, String), "message", [is_readable()]),
            (photo, photo.c.photo_id, "photo", [photo.c.photo_id.not_in(forgotten_photos(unit))]),
        ]
        for table, record_id, record, conditions in sources:
            waiting = select(outbox.c.record_id).where(unit.owns(outbox), outbox.c.record == record)
            rows = select(table.c.owner, literal(record), record_id).where(unit.owns(table), *conditions)
            missing = rows.where(record_id.not_in(waiting))
            unit.execute(insert(outbox).from_select(["owner", "record", "record_id"], missing))
            records += unit.count(table, *conditions)
        return records


_NEXT_BATCH = (
    select(outbox)
    .where(outbox.c.owner == bindparam("owner"), outbox.c.sequence > bindparam("after"))
    .order_by(outbox.c.sequence)
    .limit(_BATCH)
)


def _searchable(message: Message) -> Message:
    """Returns the message as it is searched, without the marks of forgotten words."""
    return replace(message, text=without_marks(message.text)) if FORGOTTEN in message.text else message


def _compare(
    expected: dict[str, int], actual: dict[str, int]
) -> Iterable[tuple[str, Literal["missing", "stale", "extra"]]]:
    for key, version in expected.items():
        if key not in actual:
            yield key, "missing"
        elif actual[key] != version:
            yield key, "stale"
    for key in actual.keys() - expected.keys():
        yield key, "extra"


def _record_of(key: str) -> tuple[RecordType, str]:
    record, _, record_id = key.partition(":")
    return record, record_id  # type: ignore[return-value]
