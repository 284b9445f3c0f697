"""One owner's memory: the only door to the stores, the photos and the index."""

import json
import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, date, datetime
from itertools import zip_longest
from pathlib import Path

from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.exc import SQLAlchemyError

from m2a.memory.database import pending_update, trace
from m2a.memory.database import photo as photo_table
from m2a.memory.photo_decoder import DecodedPhoto, PhotoRefusedError
from m2a.memory.stores import Stores
from m2a.types import (
    Addition,
    Change,
    Concept,
    Conversation,
    Deletion,
    EntryDraft,
    EvidenceRange,
    HistoryRow,
    Hit,
    MemoryChanged,
    MemoryEntry,
    MemoryKind,
    Message,
    Photo,
    Query,
    RecordKind,
    Role,
)

STANDING_PREFERENCES = 10

logger = logging.getLogger(__name__)


class MessageRefusedError(ValueError):
    """A message is not taken; the message is a sentence for the user."""


class MemoryBank:
    """What one owner said, showed and is remembered by. Every call is for that owner alone.

    All calls block; they may come from any thread. A write is on disk when its call returns.
    """

    def __init__(self, owner: str, stores: Stores, clock: Callable[[], datetime]) -> None:
        self.owner = owner
        self._database = stores.database
        self._raw = stores.raw
        self._semantic = stores.semantic
        self._photos = stores.photos
        self._retrieval = stores.retrieval
        self._clock = clock

    # Layer 1

    def conversations(self) -> list[Conversation]:
        """Those that hold a message, the last used first."""
        with self._database.read() as connection:
            return self._raw.conversations(connection, self.owner)

    def has_conversation(self, conversation_id: str) -> bool:
        with self._database.read() as connection:
            return self._raw.has_conversation(connection, self.owner, conversation_id)

    def record(
        self,
        conversation_id: str | None,
        *,
        role: Role,
        speaker: str,
        text: str,
        photos: Sequence[bytes] = (),
        photo_names: Sequence[str | None] = (),
        said_at: datetime | None = None,
        replaces: int | None = None,
        reference: str | None = None,
    ) -> Message:
        """Store a message with its photos in one transaction; without a conversation it starts one.

        Raises `PhotoRefusedError`, `UnknownConversationError`, and `MessageRefusedError` for a message that is empty or
        whose `replaces` is not a message of the same role in that conversation; no photo's file stays behind then.
        Of several photos it says which one is refused, with its name where `photo_names` has one in its place.
        """
        if not text.strip() and not photos:
            raise MessageRefusedError("The message is empty; write something or add a photo.")
        decoded = self._decoded(photos, photo_names)
        stored: list[Photo] = []
        try:
            for photo in decoded:
                stored.append(self._photos.write_blob(self.owner, photo))  # one by one: the second may not fit the disk
            now = said_at or self._clock()
            with self._database.write() as connection:
                if conversation_id is None:
                    conversation_id = self._raw.start_conversation(connection, self.owner, now).conversation_id
                if replaces is not None:
                    self._check_replaced(connection, conversation_id, role, replaces)
                for item in stored:
                    self._photos.insert(connection, item)
                return self._raw.append(
                    connection,
                    self.owner,
                    conversation_id,
                    role=role,
                    speaker=speaker,
                    text=text,
                    photos=[item.photo_id for item in stored],
                    said_at=now,
                    replaces=replaces,
                    reference=reference,
                )
        except BaseException:
            self._take_back(stored)
            raise

    def _decoded(self, photos: Sequence[bytes], names: Sequence[str | None]) -> list[DecodedPhoto]:
        decoded: list[DecodedPhoto] = []
        for number, (data, name) in enumerate(zip_longest(photos, names[: len(photos)]), start=1):
            try:
                decoded.append(self._photos.decode(data))
            except PhotoRefusedError as error:
                if len(photos) == 1:
                    raise
                which = f"Photo {number} of {len(photos)}{f' ({name})' if name else ''}"
                raise PhotoRefusedError(f"{which}: {error}") from error
        return decoded

    def _check_replaced(self, connection: Connection, conversation_id: str, role: Role, message_id: int) -> None:
        replaced = self._raw.get(connection, self.owner, [message_id]).get(message_id)
        if replaced is None or replaced.conversation_id != conversation_id or replaced.role != role:
            raise MessageRefusedError(
                f"Message {message_id} cannot be replaced: it is not a {role} message of this chat."
            )

    def _take_back(self, photos: Sequence[Photo]) -> None:
        """Remove the files of photos that no row names, after a transaction that failed."""
        if not photos:
            return
        try:
            self._photos.remove_files(self.owner, [photo.photo_id for photo in photos])
        except (SQLAlchemyError, OSError):  # the caller is told of what failed first; `m2a repair` removes the files
            logger.warning("The files of a refused message's photos stay behind.", exc_info=True)

    def record_reply(
        self,
        conversation_id: str,
        text: str,
        *,
        speaker: str,
        photo_ids: Sequence[str] = (),
        partial: bool = False,
        steps: object,
        update_pending: bool,
    ) -> Message:
        """Store the assistant's reply, how it came about, and that its update is to come, in one transaction."""
        with self._database.write() as connection:
            message = self._raw.append(
                connection,
                self.owner,
                conversation_id,
                role="assistant",
                speaker=speaker,
                text=text,
                photos=photo_ids,
                said_at=self._clock(),
                partial=partial,
            )
            connection.execute(
                insert(trace).values(owner=self.owner, message_id=message.message_id, steps=json.dumps(steps))
            )
            if update_pending:
                connection.execute(insert(pending_update).values(owner=self.owner, message_id=message.message_id))
            return message

    def steps(self, message_id: int) -> object | None:
        """How a reply came about, as given to `record_reply`; None where nothing was recorded."""
        with self._database.read() as connection:
            steps = connection.scalar(
                select(trace.c.steps).where(trace.c.owner == self.owner, trace.c.message_id == message_id)
            )
        return None if steps is None else json.loads(steps)

    def messages(self, message_ids: Collection[int]) -> dict[int, Message]:
        with self._database.read() as connection:
            return self._raw.get(connection, self.owner, message_ids)

    def messages_in_ranges(self, ranges: Iterable[EvidenceRange]) -> list[Message]:
        """In order; overlaps merged."""
        with self._database.read() as connection:
            return self._raw.in_ranges(connection, self.owner, ranges)

    def messages_between(self, start: date | datetime, end: date | datetime) -> list[Message]:
        """Both included; a date stands for its whole day in the clock's time zone."""
        with self._database.read() as connection:
            return self._raw.between(connection, self.owner, start, end, self._clock().tzinfo or UTC)

    def conversation(
        self, conversation_id: str, *, newest: int | None = None, up_to: int | None = None
    ) -> list[Message]:
        """A conversation's messages in order: all, or the `newest`, none later than the message `up_to`."""
        with self._database.read() as connection:
            return self._raw.in_conversation(connection, self.owner, conversation_id, newest=newest, up_to=up_to)

    def find_messages(self, query: str, limit: int = 10) -> list[Message]:
        """Full-text search of the raw log, best first."""
        with self._database.read() as connection:
            return self._raw.find(connection, self.owner, query, limit)

    # Layer 2

    def entries(self, kinds: Collection[MemoryKind] | None = None) -> list[MemoryEntry]:
        with self._database.read() as connection:
            return self._semantic.all(connection, self.owner, kinds)

    def entry(self, memory_id: int) -> MemoryEntry | None:
        return self.entries_by_id([memory_id]).get(memory_id)

    def entries_by_id(self, memory_ids: Collection[int]) -> dict[int, MemoryEntry]:
        """The living entries among the ids."""
        with self._database.read() as connection:
            return self._semantic.get(connection, self.owner, memory_ids)

    def replaced_entries(self, memory_ids: Collection[int]) -> dict[int, MemoryEntry]:
        """Those among the ids that others took the place of, as they were; forgotten ones never."""
        with self._database.read() as connection:
            return self._semantic.replaced(connection, self.owner, memory_ids)

    def history(self, memory_id: int) -> list[HistoryRow]:
        """Every change of a memory, oldest first; also of a deleted one."""
        with self._database.read() as connection:
            return self._semantic.history(connection, self.owner, memory_id)

    def standing_preferences(self) -> list[MemoryEntry]:
        """The newest preferences, at most ten: they go with every prompt."""
        return self.entries(kinds=["preference"])[-STANDING_PREFERENCES:]

    def concepts(self) -> list[Concept]:
        with self._database.read() as connection:
            return self._semantic.concepts(connection, self.owner)

    def check(self, changes: Sequence[Change]) -> None:
        """Raise `RejectedWriteError` if the changes could not be written together now. Writes nothing."""
        with self._database.write() as connection:
            self._apply(connection, changes, who="check")
            connection.rollback()

    def write(self, changes: Sequence[Change], *, who: str, update_of: int | None = None) -> list[MemoryChanged]:
        """Write the changes together or not at all.

        `update_of` is the reply whose pending update this is: it counts as done in the same transaction, and
        where it was done already nothing is written and the list is empty.
        """
        with self._database.write() as connection:
            if update_of is not None:
                done = connection.execute(
                    delete(pending_update).where(
                        pending_update.c.owner == self.owner, pending_update.c.message_id == update_of
                    )
                )
                if done.rowcount == 0:
                    return []
            changed = self._apply(connection, changes, who)
            if update_of is not None and changed:
                self._record_changes(connection, update_of, changed)
            return changed

    def add(self, draft: EntryDraft, *, who: str, why: str) -> MemoryEntry:
        [changed] = self.write([Addition(draft, why)], who=who)
        assert changed.entry is not None
        return changed.entry

    def delete(self, memory_id: int, *, who: str, why: str) -> MemoryEntry:
        """Take a memory out and return it. Raises `RejectedWriteError` where there is none."""
        [changed] = self.write([Deletion(memory_id, why)], who=who)
        assert changed.previous is not None
        return changed.previous

    def _apply(self, connection: Connection, changes: Sequence[Change], who: str) -> list[MemoryChanged]:
        now = self._clock()
        changed: list[MemoryChanged] = []
        for change in changes:
            if isinstance(change, Addition):
                entry = self._semantic.add(connection, self.owner, change.draft, who=who, why=change.why, now=now)
                changed.append(MemoryChanged("added", entry))
            elif isinstance(change, Deletion):
                previous = self._semantic.delete(
                    connection, self.owner, change.memory_id, who=who, why=change.why, now=now
                )
                changed.append(MemoryChanged("deleted", None, previous))
            else:
                previous, entry = self._semantic.replace(
                    connection, self.owner, change.memory_id, change.draft, who=who, why=change.why, now=now
                )
                changed.append(MemoryChanged("replaced", entry, previous))
        return changed

    # Updates to come

    def pending_updates(self) -> list[int]:
        """The replies whose update has not been done, in order."""
        with self._database.read() as connection:
            return list(
                connection.scalars(
                    select(pending_update.c.message_id)
                    .where(pending_update.c.owner == self.owner)
                    .order_by(pending_update.c.message_id)
                )
            )

    def note_failed_update(self, message_id: int, error: str) -> int:
        """Count a failure of a pending update; how many there were."""
        with self._database.write() as connection:
            return (
                connection.scalar(
                    update(pending_update)
                    .where(pending_update.c.owner == self.owner, pending_update.c.message_id == message_id)
                    .values(failures=pending_update.c.failures + 1, last_error=error)
                    .returning(pending_update.c.failures)
                )
                or 0
            )

    def drop_pending_update(self, message_id: int) -> None:
        """Give a pending update up: nothing is remembered of that exchange but its words."""
        self.write([], who="M2A", update_of=message_id)

    def _record_changes(self, connection: Connection, message_id: int, changed: Sequence[MemoryChanged]) -> None:
        steps = connection.scalar(
            select(trace.c.steps).where(trace.c.owner == self.owner, trace.c.message_id == message_id)
        )
        if steps is None:
            return
        changes = [
            {
                "change": item.change,
                "memory_id": item.entry.memory_id if item.entry else None,
                "previous_id": item.previous.memory_id if item.previous else None,
            }
            for item in changed
        ]
        connection.execute(
            update(trace)
            .where(trace.c.owner == self.owner, trace.c.message_id == message_id)
            .values(steps=json.dumps(json.loads(steps) | {"changes": changes}))
        )

    # Retrieval

    def search(
        self,
        query: Query,
        kinds: Collection[RecordKind] = frozenset({"entry"}),
        k: int = 10,
        *,
        relevance_floor: bool = True,
    ) -> list[Hit]:
        """The one retrieval of the product. What was written before the call is found by it.

        Without `relevance_floor` the nearest come, however far: for who judges every hit.
        """
        retrieval = self._retrieval()
        return retrieval.indexer.when_current(
            self.owner,
            lambda: retrieval.retriever.search(self.owner, query, kinds, k, relevance_floor=relevance_floor),
        )

    def index(self) -> None:
        """Bring the index up to date."""
        self._retrieval().indexer.drain(self.owner)

    # Photos

    def photo(self, photo_id: str) -> Photo:
        """Raises `LookupError` for a photo that is not this owner's."""
        return self._photos.get(self.owner, photo_id)

    def photo_data(self, photo_id: str) -> bytes:
        return self._photos.data(self.owner, photo_id)

    def photo_path(self, photo_id: str) -> Path:
        return self._photos.path(self.owner, photo_id)

    def thumbnail(self, photo_id: str) -> bytes:
        return self._photos.thumbnail(self.owner, photo_id)

    def caption(self, photo_id: str) -> str:
        """The photo's caption, "" where none was made."""
        with self._database.read() as connection:
            return (
                connection.scalar(
                    select(photo_table.c.caption).where(
                        photo_table.c.owner == self.owner, photo_table.c.photo_id == photo_id
                    )
                )
                or ""
            )

    def set_caption(self, photo_id: str, caption: str) -> None:
        with self._database.write() as connection:
            connection.execute(
                update(photo_table)
                .where(photo_table.c.owner == self.owner, photo_table.c.photo_id == photo_id)
                .values(caption=caption)
            )
