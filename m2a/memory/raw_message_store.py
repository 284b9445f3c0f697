"""Layer 1: the append-only log of everything said and shown."""

from collections.abc import Collection, Iterable, Sequence
from datetime import date, datetime, time, timedelta, tzinfo
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Integer,
    Row,
    Select,
    String,
    bindparam,
    cast,
    func,
    insert,
    null,
    select,
    true,
    union_all,
    update,
)

from m2a.memory.conversations import UnknownConversationError
from m2a.memory.full_text import by_bm25, holding
from m2a.memory.schema import (
    conversation,
    message,
    message_photo,
    message_reading,
    trace,
    withheld_photo,
    withheld_words,
)
from m2a.memory.sql import from_microseconds, grouped, is_listed, listed, to_microseconds
from m2a.memory.titles import title_of
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.withheld import ERASED, FORGOTTEN, Span, is_kept_back, masked, nothing_stays, read_by_owner
from m2a.memory.words import finished_words, message_words
from m2a.types import EvidenceRange, Message, Role

FIRST_VERSION = 1  # of a message, as long as nothing of it is forgotten
_NARROW = 50  # messages in a range: such ranges are read at once, as evidence mostly is of one message
_MOST_WORDS = 64  # of a search: FTS5 takes time with their square


class RawMessageStore:
    """Messages in order, per owner. Nothing here updates or deletes: database triggers refuse both.

    What was forgotten is read by nobody: words of which `FORGOTTEN` takes the place, and photos that are left out. A message
    of which nothing stays reads `FORGOTTEN` and is found by no search.

    Every list is in order of message id.
    """

    def append(
        self,
        unit: UnitOfWork,
        conversation_id: str,
        *,
        role: Role,
        speaker: str,
        text: str,
        photos: Sequence[str] = (),
        said_at: datetime,
        replaces: int | None = None,
        reference: str | None = None,
        partial: bool = False,
    ) -> Message:
        """Store one message and tell the outbox. Raises `UnknownConversationError` and, for a naive time, `ValueError`."""
        title = unit.scalar(
            select(conversation.c.title).where(
                unit.owns(conversation), conversation.c.conversation_id == conversation_id
            )
        )
        if title is None:
            raise UnknownConversationError(f"There is no conversation {conversation_id!r}.")
        microseconds = to_microseconds(said_at)
        offset = said_at.utcoffset() or timedelta(0)
        message_id = unit.next_id("message")
        unit.execute(
            insert(message).values(
                owner=unit.owner,
                message_id=message_id,
                conversation_id=conversation_id,
                role=role,
                speaker=speaker,
                text=text,
                words=" ".join(message_words(speaker, text)),
                said_at=microseconds,
                utc_offset=int(offset.total_seconds()),
                replaces=replaces,
                reference=reference,
                partial=partial,
            )
        )
        if photos:
            unit.execute(
                insert(message_photo),
                [
                    {"owner": unit.owner, "message_id": message_id, "position": position, "photo_id": photo_id}
                    for position, photo_id in enumerate(photos)
                ],
            )
            self._show_again(unit, photos)
        unit.tell_index("message", [message_id])
        if not title and role == "user":
            unit.execute(
                update(conversation)
                .where(conversation.c.conversation_id == conversation_id)
                .values(title=title_of(text, len(photos)))
            )
        return Message(
            message_id,
            unit.owner,
            conversation_id,
            role,
            speaker,
            text,
            tuple(photos),
            from_microseconds(microseconds, int(offset.total_seconds())),
            replaces,
            reference,
            partial,
        )

    def get(self, unit: UnitOfWork, message_ids: Collection[int], *, to_owner: bool = False) -> dict[int, Message]:
        """The messages among the ids that exist, by id."""
        rows = unit.rows_among(_COLUMNS, set(message_ids)) if message_ids else ()
        return {m.message_id: m for m in self._readings(unit, rows, to_owner=to_owner)}

    def as_logged(self, unit: UnitOfWork, message_ids: Collection[int]) -> dict[int, Message]:
        """The messages with what was forgotten of them: to find out what else is to be withheld, and for nothing else."""
        rows = unit.rows_among(_COLUMNS, set(message_ids)) if message_ids else ()
        return {m.message_id: m for m in self._readings(unit, rows, as_logged=True)}

    def in_ranges(self, unit: UnitOfWork, ranges: Iterable[EvidenceRange], *, to_owner: bool = False) -> list[Message]:
        """The messages in the ranges, in order of message id; overlaps are merged, so that none comes twice.

        `to_owner`, here as elsewhere: with what is only kept back, as their owner reads them and nobody else.
        """
        messages: list[Message] = []
        ids: list[int] = []
        for first, last in merge_ranges(ranges):
            if last - first < _NARROW:
                ids += range(first, last + 1)
            else:
                between = message.c.message_id.between(first, last)
                messages += self._load(unit, between, to_owner=to_owner)
        messages += self.get(unit, ids, to_owner=to_owner).values()  # of all that are narrow at once
        return sorted(messages, key=lambda found: found.message_id)

    def between(self, unit: UnitOfWork, start: date | datetime, end: date | datetime, zone: tzinfo) -> list[Message]:
        """The messages said from start to end, both included; a date stands for its whole day in the zone."""
        first = start if isinstance(start, datetime) else datetime.combine(start, time.min, zone)
        last = end if isinstance(end, datetime) else datetime.combine(end, time.max, zone)
        return self._load(unit, message.c.said_at.between(to_microseconds(first), to_microseconds(last)))

    def in_conversation(
        self,
        unit: UnitOfWork,
        conversation_id: str,
        *,
        newest: int | None = None,
        since: int = 0,
        up_to: int | None = None,
        to_owner: bool = False,
    ) -> list[Message]:
        """A conversation's messages from `since` to `up_to`, both included: all, or the `newest` so many."""
        condition = (message.c.conversation_id == conversation_id) & (message.c.message_id >= since)
        if up_to is not None:
            condition = condition & (message.c.message_id <= up_to)
        return self._load(unit, condition, newest=newest, to_owner=to_owner)

    def versions(self, unit: UnitOfWork, message_ids: Collection[int] | None = None) -> dict[int, int]:
        """The version of each message, among the ids or of all, of which something stays."""
        statement = message_versions().where(unit.owns(message))
        if message_ids is not None:
            statement = statement.where(unit.among(message.c.message_id, message_ids))
        return {message_id: version for message_id, version, stays in unit.execute(statement) if stays}

    def edited(self, unit: UnitOfWork) -> set[int]:
        """The messages in whose place the user put another, and the answers to them."""
        replaced = select(message.c.replaces).where(unit.owns(message), message.c.replaces > 0)
        found = set(unit.scalars(replaced))
        if found:
            answers = select(trace.c.message_id).where(unit.owns(trace), trace.c.answers.in_(replaced))
            found.update(unit.scalars(answers))
        return found

    def preceding(self, unit: UnitOfWork, message_ids: Collection[int]) -> dict[int, int]:
        """For each of the messages the id of the one before it in its conversation; none for the first."""
        earlier = message.alias()
        before = (
            select(func.max(earlier.c.message_id))
            .where(
                earlier.c.owner == message.c.owner,
                earlier.c.conversation_id == message.c.conversation_id,
                earlier.c.message_id < message.c.message_id,
            )
            .scalar_subquery()
        )
        rows = unit.execute(
            select(message.c.message_id, before).where(
                unit.owns(message), unit.among(message.c.message_id, message_ids)
            )
        )
        return {message_id: number for message_id, number in rows if number is not None}

    def count_before(self, unit: UnitOfWork, conversation_id: str, message_id: int) -> int:
        """How many of the conversation's messages came before that one."""
        before = (message.c.conversation_id == conversation_id, message.c.message_id < message_id)
        return unit.count(message, *before)

    def find(self, unit: UnitOfWork, query: str, limit: int) -> list[Message]:
        """Full-text search: messages with any of the words, best first (BM25).

        Of a long query the first words count. What other owners said shifts no ranking.
        """
        words = list(dict.fromkeys(finished_words(query)))[:_MOST_WORDS]
        if not words:
            return []
        held = holding(unit, words)
        ids = by_bm25(words, held, unit.count(message))[:limit]
        found = self.get(unit, ids)
        return [found[message_id] for message_id in ids]

    def with_photos(self, unit: UnitOfWork, photo_ids: Collection[str]) -> dict[str, list[int]]:
        """For each photo the ids of the messages that show it, ascending."""
        withheld = (
            select(withheld_photo.c.photo_id)
            .where(
                withheld_photo.c.owner == message_photo.c.owner,
                withheld_photo.c.message_id == message_photo.c.message_id,
                withheld_photo.c.photo_id == message_photo.c.photo_id,
            )
            .exists()
        )
        rows = unit.execute(
            select(message_photo.c.photo_id, message_photo.c.message_id)
            .where(unit.owns(message_photo), message_photo.c.photo_id.in_(list(photo_ids)), ~withheld)
            .order_by(message_photo.c.photo_id, message_photo.c.message_id)  # the order of the index, not of every row
        )
        return grouped(rows)

    @staticmethod
    def _show_again(unit: UnitOfWork, photos: Sequence[str]) -> None:
        """A photo that was forgotten is in no index; sent again, it comes back."""
        forgotten = unit.scalars(
            select(withheld_photo.c.photo_id)
            .where(unit.owns(withheld_photo), withheld_photo.c.photo_id.in_(photos))
            .distinct()
        ).all()
        unit.tell_index("photo", forgotten)

    def _load(
        self, unit: UnitOfWork, condition: object, newest: int | None = None, *, to_owner: bool = False
    ) -> list[Message]:
        query = select(*_COLUMNS).where(unit.owns(message), condition).order_by(message.c.message_id.desc())  # type: ignore[arg-type]
        if newest is not None:
            query = query.limit(newest)
        return self._readings(unit, unit.execute(query).all(), to_owner=to_owner)

    def _readings(
        self,
        unit: UnitOfWork,
        rows: Sequence[Row],  # type: ignore[type-arg]
        *,
        as_logged: bool = False,
        to_owner: bool = False,
    ) -> list[Message]:
        """The rows of messages, in any order, as they are read, or as they were logged."""
        if not rows:
            return []
        dialect = unit.dialect
        values = {"owner": unit.owner, "numbers": listed(dialect, [row.message_id for row in rows])}
        photos: dict[int, list[str]] = {}
        left: dict[int, list[str]] = {}
        spans: dict[int, list[Span]] = {}
        for message_id, _, photo_id, is_withheld, first, last in unit.execute(_parts(dialect, to_owner), values).all():
            if photo_id is None:
                spans.setdefault(message_id, []).append((first, last))
                continue
            photos.setdefault(message_id, []).append(photo_id)
            if as_logged or not is_withheld:
                left.setdefault(message_id, []).append(photo_id)
        messages = []
        for row in sorted(rows, key=lambda row: row.message_id):
            of_row = left.get(row.message_id, [])
            withheld = spans.get(row.message_id, ())
            reading = row.text if as_logged else masked(row.text, withheld)
            if nothing_stays(reading, row.text, of_row, photos.get(row.message_id, [])):
                reading = ERASED if to_owner and row.text == FORGOTTEN else FORGOTTEN
            elif to_owner:
                reading = read_by_owner(row.text, withheld)
            messages.append(_message(row, reading, of_row))
        return messages


_COLUMNS = (message.c.message_id, *(column for column in message.c if column.name != "message_id"))


@cache
def _parts(dialect: str, to_owner: bool) -> CompoundSelect[Any]:
    """What messages hold several of, in one statement: photos in their order, each withheld or not, and withheld spans."""
    forgotten_photo, forgotten_words = (
        [~is_kept_back(table)] if to_owner else [] for table in (withheld_photo, withheld_words)
    )
    withheld = (
        select(withheld_photo.c.photo_id)
        .where(
            *forgotten_photo,
            withheld_photo.c.owner == message_photo.c.owner,
            withheld_photo.c.message_id == message_photo.c.message_id,
            withheld_photo.c.photo_id == message_photo.c.photo_id,
        )
        .exists()
    )
    no_number, no_photo = cast(null(), Integer), cast(null(), String)
    photos = select(
        message_photo.c.message_id, message_photo.c.position, message_photo.c.photo_id, withheld, no_number, no_number
    ).where(message_photo.c.owner == bindparam("owner"), is_listed(dialect, message_photo.c.message_id, "numbers"))
    spans = select(
        withheld_words.c.message_id,
        no_number,
        no_photo,
        true(),
        withheld_words.c.first_character,
        withheld_words.c.last_character,
    ).where(
        withheld_words.c.owner == bindparam("owner"),
        is_listed(dialect, withheld_words.c.message_id, "numbers"),
        *forgotten_words,
    )
    return union_all(photos, spans).order_by("position")


def message_versions(*first: ColumnElement[Any]) -> Select[Any]:
    """A statement that reads, behind the `first` columns, messages' ids, their versions, and whether anything of them stays."""
    version = func.coalesce(message_reading.c.version, FIRST_VERSION)
    stays = func.coalesce(message_reading.c.words, "-") != ""
    is_its = (message_reading.c.owner == message.c.owner) & (message_reading.c.message_id == message.c.message_id)
    return select(*first, message.c.message_id, version, stays).select_from(message.outerjoin(message_reading, is_its))


def merge_ranges(ranges: Iterable[EvidenceRange], *, adjoining: bool = True) -> list[EvidenceRange]:
    """Overlapping (and adjoining) ranges as one, ascending. Adjoining ones may be of two conversations."""
    merged: list[EvidenceRange] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1].last + adjoining:
            merged[-1] = EvidenceRange(merged[-1].first, max(last, merged[-1].last))
        else:
            merged.append(EvidenceRange(first, last))
    return merged


def _message(row: Row, text: str, photos: Sequence[str]) -> Message:  # type: ignore[type-arg]
    return Message(
        row.message_id,
        row.owner,
        row.conversation_id,
        row.role,
        row.speaker,
        text,
        tuple(photos),
        from_microseconds(row.said_at, row.utc_offset),
        row.replaces,
        row.reference,
        row.partial,
    )
