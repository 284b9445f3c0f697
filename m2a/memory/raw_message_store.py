"""Layer 1: the append-only log of all messages and photos."""

from collections.abc import Collection, Iterable, Sequence
from datetime import date, datetime, time, timedelta, tzinfo
from functools import cache
from types import SimpleNamespace
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
    literal,
    null,
    or_,
    select,
    true,
    union_all,
    update,
)

from m2a.memory.conversations import UnknownConversationError
from m2a.memory.full_text import by_bm25, messages_containing
from m2a.memory.quotations import Span
from m2a.memory.schema import (
    conversation,
    message,
    message_photo,
    message_reading,
    trace,
    withheld_photo,
    withheld_words,
)
from m2a.memory.sql import (
    from_microseconds,
    grouped,
    has_row,
    is_in_parameter,
    list_parameter,
    same_ids,
    to_microseconds,
)
from m2a.memory.titles import title_of
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.withheld import ERASED, FORGOTTEN, is_entirely_forgotten, is_kept_back, masked, read_by_owner
from m2a.memory.words import finished_words, message_words
from m2a.types import WHOLE, ConversationPart, EvidenceRange, Message, Role

FIRST_VERSION = 1  # the version of a message until something in it is forgotten
_NARROW = 50  # ranges of fewer messages are read together by id, since most evidence is a single message
_ENDS = ".!?…。！？\n\r"  # of a sentence or a line
_MOST_WORDS = 64  # in a search, since the time of FTS5 grows with the square of their number


class RawMessageStore:
    """The messages of each owner, in order. Nothing here updates or deletes messages: database triggers refuse both.

    Forgotten content is never returned: `FORGOTTEN` replaces forgotten words, and forgotten photos are left out. A message of
    which nothing remains reads `FORGOTTEN` and appears in no search. With `to_owner`, content that is only kept back is
    returned too; use it only for what the owner reads.

    Lists are in order of message id, except those of `find` and `showing`.
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
        """Stores a message and queues it for the index. Raises `UnknownConversationError`, and `ValueError` for a naive time."""
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
        values = {
            "owner": unit.owner,
            "message_id": message_id,
            "conversation_id": conversation_id,
            "role": role,
            "speaker": speaker,
            "text": text,
            "said_at": microseconds,
            "utc_offset": int(offset.total_seconds()),
            "replaces": replaces,
            "reference": reference,
            "partial": partial,
        }
        unit.execute(insert(message).values(**values, words=" ".join(message_words(speaker, text))))
        if photos:
            unit.execute(
                insert(message_photo),
                [
                    {"owner": unit.owner, "message_id": message_id, "position": position, "photo_id": photo_id}
                    for position, photo_id in enumerate(photos)
                ],
            )
            self._requeue_forgotten_photos(unit, photos)
        unit.queue_for_index("message", [message_id])
        if not title and role == "user":
            unit.execute(
                update(conversation)
                .where(conversation.c.conversation_id == conversation_id)
                .values(title=title_of(text, len(photos)))
            )
        return _message(SimpleNamespace(**values), text, photos)

    def get(self, unit: UnitOfWork, message_ids: Collection[int], *, to_owner: bool = False) -> dict[int, Message]:
        """Returns the existing messages among the ids, by id."""
        rows = unit.rows_among(_COLUMNS, set(message_ids)) if message_ids else ()
        return {m.message_id: m for m in self._readings(unit, rows, to_owner=to_owner)}

    def as_logged(self, unit: UnitOfWork, message_ids: Collection[int]) -> dict[int, Message]:
        """Returns the messages including what was forgotten. Use it only to find out what else must be withheld or erased."""
        rows = unit.rows_among(_COLUMNS, set(message_ids)) if message_ids else ()
        return {m.message_id: m for m in self._readings(unit, rows, as_logged=True)}

    def in_ranges(self, unit: UnitOfWork, ranges: Iterable[EvidenceRange], *, to_owner: bool = False) -> list[Message]:
        """Returns the messages in the ranges; a message in several ranges comes once."""
        messages: list[Message] = []
        ids: list[int] = []
        for first, last in merge_ranges(ranges):
            if last - first < _NARROW:
                ids += range(first, last + 1)
            else:
                between = message.c.message_id.between(first, last)
                messages += self._load(unit, between, to_owner=to_owner)
        messages += self.get(unit, ids, to_owner=to_owner).values()  # all narrow ranges in one query
        return sorted(messages, key=lambda reading: reading.message_id)

    def between(self, unit: UnitOfWork, start: date, end: date, zone: tzinfo) -> list[Message]:
        """Returns the messages of the days from `start` to `end` inclusive, in the time zone."""
        first, last = datetime.combine(start, time.min, zone), datetime.combine(end, time.max, zone)
        return self._load(unit, message.c.said_at.between(to_microseconds(first), to_microseconds(last)))

    def in_conversation(
        self,
        unit: UnitOfWork,
        conversation_id: str,
        part: ConversationPart = WHOLE,
        *,
        to_owner: bool = False,
    ) -> list[Message]:
        """Returns a part of a conversation, in order."""
        query = select(*_COLUMNS).where(unit.owns(message), *_within(conversation_id, part))
        query = query.order_by(message.c.message_id if part.newest is None else message.c.message_id.desc())
        query = query.limit(part.oldest if part.newest is None else part.newest)
        return self._readings(unit, unit.execute(query).all(), to_owner=to_owner)

    def versions(self, unit: UnitOfWork, message_ids: Collection[int] | None = None) -> dict[int, int]:
        """Returns the version of each message, of all or among the ids, except those of which nothing remains."""
        statement = message_versions().where(unit.owns(message))
        if message_ids is not None:
            statement = statement.where(unit.among(message.c.message_id, message_ids))
        return {message_id: version for message_id, version, remains in unit.execute(statement) if remains}

    def edited(self, unit: UnitOfWork) -> set[int]:
        """Returns the ids of messages that the user replaced by editing, and of the answers to them."""
        replaced = select(message.c.replaces).where(unit.owns(message), message.c.replaces > 0)
        message_ids = set(unit.scalars(replaced))
        if message_ids:
            answers = select(trace.c.message_id).where(unit.owns(trace), trace.c.answers.in_(replaced))
            message_ids.update(unit.scalars(answers))
        return message_ids

    def preceding(self, unit: UnitOfWork, message_ids: Collection[int]) -> dict[int, int]:
        """Returns, by message id, the id of the preceding message of the same conversation; first messages are left out."""
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
        return {message_id: preceding_id for message_id, preceding_id in rows if preceding_id is not None}

    def count(self, unit: UnitOfWork, conversation_id: str, *, since: int = 0, up_to: int | None = None) -> int:
        """Returns the number of a conversation's messages from `since` to `up_to` inclusive."""
        return unit.count(message, *_within(conversation_id, ConversationPart(since=since, up_to=up_to)))

    def may_have_long_message(self, unit: UnitOfWork, sentences: int) -> bool:
        """Returns whether a message of the user may have at least this many sentences, judged by end marks and line breaks."""
        length = func.length(message.c.text)
        ends = sum((length - func.length(func.replace(message.c.text, end, "")) for end in _ENDS), literal(0))
        may_be_long = select(message.c.message_id).where(
            unit.owns(message), message.c.role == "user", ends >= sentences - 1
        )
        return unit.scalar(may_be_long.limit(1)) is not None

    def find(self, unit: UnitOfWork, query: str, limit: int) -> list[Message]:
        """Returns the messages that contain any of the words, best match first (BM25).

        Only the first words of a long query count. Other owners' messages do not affect the ranking.
        """
        words = list(dict.fromkeys(finished_words(query)))[:_MOST_WORDS]
        if not words:
            return []
        matches = messages_containing(unit, words)
        ids = by_bm25(words, matches, unit.count(message))[:limit]
        messages = self.get(unit, ids)
        return [messages[message_id] for message_id in ids]

    def with_photos(self, unit: UnitOfWork, photo_ids: Collection[str]) -> dict[str, list[int]]:
        """Returns, by photo id, the ids of the messages that show it, ascending."""
        withheld = has_row(withheld_photo, message_photo, "message_id", "photo_id")
        rows = unit.execute(
            select(message_photo.c.photo_id, message_photo.c.message_id)
            .where(unit.owns(message_photo), message_photo.c.photo_id.in_(list(photo_ids)), ~withheld)
            .order_by(message_photo.c.photo_id, message_photo.c.message_id)  # the order of an index, so no sorting
        )
        return grouped(rows)

    def showing(self, unit: UnitOfWork, photo_ids: Collection[str]) -> list[tuple[int, str, Role]]:
        """Returns (message id, photo id, role) for every message that shows one of the photos, also where it is withheld."""
        columns = (message_photo.c.message_id, message_photo.c.photo_id, message.c.role)
        rows = unit.execute(
            select(*columns)
            .join(message, same_ids(message, message_photo, "message_id"))
            .where(unit.owns(message_photo), message_photo.c.photo_id.in_(sorted(photo_ids)))
        )
        return [(message_id, photo_id, role) for message_id, photo_id, role in rows]

    @staticmethod
    def _requeue_forgotten_photos(unit: UnitOfWork, photos: Sequence[str]) -> None:
        """Queues forgotten photos that are shown again for the index, which had dropped them."""
        forgotten = unit.scalars(
            select(withheld_photo.c.photo_id)
            .where(unit.owns(withheld_photo), withheld_photo.c.photo_id.in_(photos))
            .distinct()
        ).all()
        unit.queue_for_index("photo", forgotten)

    def _load(self, unit: UnitOfWork, condition: ColumnElement[bool], *, to_owner: bool = False) -> list[Message]:
        query = select(*_COLUMNS).where(unit.owns(message), condition)
        return self._readings(unit, unit.execute(query).all(), to_owner=to_owner)

    def _readings(
        self,
        unit: UnitOfWork,
        rows: Sequence[Row],  # type: ignore[type-arg]
        *,
        as_logged: bool = False,
        to_owner: bool = False,
    ) -> list[Message]:
        """Returns messages for the rows, which may be in any order: as they are read, or `as_logged`, as they were stored."""
        if not rows:
            return []
        dialect = unit.dialect
        with_parts = [row.message_id for row in rows if row.has_parts]
        values = {"owner": unit.owner, "numbers": list_parameter(dialect, with_parts)}
        parts = unit.execute(_parts(dialect, to_owner), values).all() if with_parts else ()
        photos: dict[int, list[str]] = {}
        readable_photos: dict[int, list[str]] = {}
        spans: dict[int, list[Span]] = {}
        for message_id, _, photo_id, is_withheld, first, last in parts:
            if photo_id is None:
                spans.setdefault(message_id, []).append((first, last))
                continue
            photos.setdefault(message_id, []).append(photo_id)
            if as_logged or not is_withheld:
                readable_photos.setdefault(message_id, []).append(photo_id)
        messages = []
        for row in sorted(rows, key=lambda row: row.message_id):
            photo_ids = readable_photos.get(row.message_id, [])
            withheld = spans.get(row.message_id, ())
            reading = row.text if as_logged else masked(row.text, withheld)
            if is_entirely_forgotten(reading, row.text, photo_ids, photos.get(row.message_id, [])):
                reading = ERASED if to_owner and row.text == FORGOTTEN else FORGOTTEN
            elif to_owner:
                reading = read_by_owner(row.text, withheld)
            messages.append(_message(row, reading, photo_ids))
        return messages


# Whether a message has photos or withheld words, so that those of most messages, which have neither, are not asked for.
_HAS_PARTS = or_(*(has_row(table, message, "message_id") for table in (message_photo, withheld_words))).label(
    "has_parts"
)
_COLUMNS = (
    message.c.message_id,
    *(column for column in message.c if column.name != "message_id"),
    _HAS_PARTS,
)


def _within(conversation_id: str, part: ConversationPart) -> tuple[ColumnElement[bool], ...]:
    condition = (message.c.conversation_id == conversation_id, message.c.message_id >= part.since)
    return condition if part.up_to is None else (*condition, message.c.message_id <= part.up_to)


@cache
def _parts(dialect: str, to_owner: bool) -> CompoundSelect[Any]:
    """Returns one statement for the photos of messages, each with whether it is withheld, and for their withheld spans."""
    photo_counts, words_count = (
        ~is_kept_back(table) if to_owner else true() for table in (withheld_photo, withheld_words)
    )
    withheld = has_row(withheld_photo, message_photo, "message_id", "photo_id", where=photo_counts)
    no_number, no_photo = cast(null(), Integer), cast(null(), String)
    photos = select(
        message_photo.c.message_id, message_photo.c.position, message_photo.c.photo_id, withheld, no_number, no_number
    ).where(
        message_photo.c.owner == bindparam("owner"), is_in_parameter(dialect, message_photo.c.message_id, "numbers")
    )
    spans = select(
        withheld_words.c.message_id,
        no_number,
        no_photo,
        true(),
        withheld_words.c.first_character,
        withheld_words.c.last_character,
    ).where(
        withheld_words.c.owner == bindparam("owner"),
        is_in_parameter(dialect, withheld_words.c.message_id, "numbers"),
        words_count,
    )
    return union_all(photos, spans).order_by("position")


def message_versions(*first: ColumnElement[Any]) -> Select[Any]:
    """Returns a query for the `first` columns, message ids, their versions, and whether anything of the message remains."""
    version = func.coalesce(message_reading.c.version, FIRST_VERSION)
    stays = func.coalesce(message_reading.c.words, "-") != ""
    readings = message.outerjoin(message_reading, same_ids(message_reading, message, "message_id"))
    return select(*first, message.c.message_id, version, stays).select_from(readings)


def merge_ranges(ranges: Iterable[EvidenceRange], *, adjoining: bool = True) -> list[EvidenceRange]:
    """Merges overlapping ranges, and `adjoining` ones too, which may belong to two conversations. Returns them ascending."""
    merged: list[EvidenceRange] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1].last + adjoining:
            merged[-1] = EvidenceRange(merged[-1].first, max(last, merged[-1].last))
        else:
            merged.append(EvidenceRange(first, last))
    return merged


def _message(row: Any, text: str, photos: Sequence[str]) -> Message:
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
