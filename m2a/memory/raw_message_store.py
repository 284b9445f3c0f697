"""Layer 1: the append-only log of everything said and shown."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta, tzinfo
from uuid import uuid4

from sqlalchemy import Connection, Row, func, insert, select, text, update

from m2a.memory.database import (
    Database,
    chunks,
    conversation,
    from_microseconds,
    grouped,
    message,
    message_photo,
    next_id,
    outbox,
    rows_among,
    to_microseconds,
)
from m2a.memory.words import finished_words, message_words
from m2a.types import Conversation, EvidenceRange, Message, Role

TITLE_LENGTH = 60
_MOST_WORDS = 64  # of a search: FTS5 takes time with their square


class UnknownConversationError(LookupError):
    """The conversation is not this owner's, or does not exist."""


class RawMessageStore:
    """Messages in order, per owner. Nothing here updates or deletes: database triggers refuse both.

    Methods that take a connection run inside the caller's transaction; every list is in order of message id.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def start_conversation(self, connection: Connection, owner: str, started_at: datetime) -> Conversation:
        conversation_id = uuid4().hex
        connection.execute(
            insert(conversation).values(
                owner=owner, conversation_id=conversation_id, title="", started_at=to_microseconds(started_at)
            )
        )
        return Conversation(conversation_id, owner, "", started_at, None)

    def append(
        self,
        connection: Connection,
        owner: str,
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
        title = connection.scalar(
            select(conversation.c.title).where(
                conversation.c.owner == owner, conversation.c.conversation_id == conversation_id
            )
        )
        if title is None:
            raise UnknownConversationError(f"There is no conversation {conversation_id!r}.")
        microseconds = to_microseconds(said_at)
        offset = said_at.utcoffset() or timedelta(0)
        message_id = next_id(connection, owner, "message")
        connection.execute(
            insert(message).values(
                owner=owner,
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
            connection.execute(
                insert(message_photo),
                [
                    {"owner": owner, "message_id": message_id, "position": position, "photo_id": photo_id}
                    for position, photo_id in enumerate(photos)
                ],
            )
        connection.execute(insert(outbox).values(owner=owner, record="message", record_id=str(message_id)))
        if not title and role == "user":
            connection.execute(
                update(conversation)
                .where(conversation.c.conversation_id == conversation_id)
                .values(title=_title(text, len(photos)))
            )
        return Message(
            message_id,
            owner,
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

    def get(self, connection: Connection, owner: str, message_ids: Collection[int]) -> dict[int, Message]:
        """The messages among the ids that exist, by id."""
        found: dict[int, Message] = {}
        for chunk in chunks(sorted(set(message_ids))):
            found |= {m.message_id: m for m in self._load(connection, owner, message.c.message_id.in_(chunk))}
        return found

    def in_ranges(self, connection: Connection, owner: str, ranges: Iterable[EvidenceRange]) -> list[Message]:
        """The messages in the ranges; overlaps are merged, so that none comes twice."""
        messages: list[Message] = []
        for first, last in merge_ranges(ranges):
            messages += self._load(connection, owner, message.c.message_id.between(first, last))
        return messages

    def between(
        self, connection: Connection, owner: str, start: date | datetime, end: date | datetime, zone: tzinfo
    ) -> list[Message]:
        """The messages said from start to end, both included; a date stands for its whole day in the zone."""
        first = start if isinstance(start, datetime) else datetime.combine(start, time.min, zone)
        last = end if isinstance(end, datetime) else datetime.combine(end, time.max, zone)
        return self._load(connection, owner, message.c.said_at.between(to_microseconds(first), to_microseconds(last)))

    def in_conversation(
        self,
        connection: Connection,
        owner: str,
        conversation_id: str,
        *,
        newest: int | None = None,
        since: int = 0,
        up_to: int | None = None,
    ) -> list[Message]:
        """A conversation's messages from `since` to `up_to`, both included: all, or the `newest` so many."""
        condition = (message.c.conversation_id == conversation_id) & (message.c.message_id >= since)
        if up_to is not None:
            condition = condition & (message.c.message_id <= up_to)
        return self._load(connection, owner, condition, newest=newest)

    def existing(self, connection: Connection, owner: str, message_ids: Collection[int]) -> set[int]:
        """Those among the ids that are messages of the owner."""
        return {message_id for (message_id,) in rows_among(connection, (message.c.message_id,), owner, message_ids)}

    def count_before(self, connection: Connection, owner: str, conversation_id: str, message_id: int) -> int:
        """How many of the conversation's messages came before that one."""
        return (
            connection.scalar(
                select(func.count()).where(
                    message.c.owner == owner,
                    message.c.conversation_id == conversation_id,
                    message.c.message_id < message_id,
                )
            )
            or 0
        )

    def find(self, connection: Connection, owner: str, query: str, limit: int) -> list[Message]:
        """Full-text search: messages with any of the words, best first (BM25 in SQLite, ts_rank in PostgreSQL).

        Of a long query the first words count. What other owners said shifts no ranking.
        """
        words = list(dict.fromkeys(finished_words(query)))[:_MOST_WORDS]
        if not words:
            return []
        if self._database.is_sqlite:
            rows = connection.execute(
                text(
                    "SELECT message_id, words FROM message_words WHERE message_words MATCH :words AND owner = :owner "
                    "ORDER BY message_id"
                ),
                {"words": "words : (" + " OR ".join(f'"{word}"' for word in words) + ")", "owner": owner},
            )
            holding = {message_id: of_message.split() for message_id, of_message in rows}
            total = connection.scalar(select(func.count()).where(message.c.owner == owner)) or 0
            ids = _by_bm25(words, holding, total)[:limit]
        else:
            rows = connection.execute(
                text(
                    "SELECT message_id FROM message, to_tsquery('simple', :words) AS query "
                    "WHERE owner = :owner AND to_tsvector('simple', words) @@ query "
                    "ORDER BY ts_rank(to_tsvector('simple', words), query) DESC, message_id LIMIT :limit"
                ),
                {"words": " | ".join(words), "owner": owner, "limit": limit},
            )
            ids = [message_id for (message_id,) in rows]
        found = self.get(connection, owner, ids)
        return [found[message_id] for message_id in ids]

    def with_photos(self, connection: Connection, owner: str, photo_ids: Collection[str]) -> dict[str, list[int]]:
        """For each photo the ids of the messages that show it, ascending."""
        rows = connection.execute(
            select(message_photo.c.photo_id, message_photo.c.message_id)
            .where(message_photo.c.owner == owner, message_photo.c.photo_id.in_(list(photo_ids)))
            .order_by(message_photo.c.photo_id, message_photo.c.message_id)  # the order of the index, not of every row
        )
        return grouped(rows.tuples())

    def conversations(self, connection: Connection, owner: str) -> list[Conversation]:
        """The owner's conversations that hold a message, the last used first."""
        last = func.max(message.c.said_at).label("last")
        rows = connection.execute(
            select(conversation, last)
            .join(message, message.c.conversation_id == conversation.c.conversation_id)
            .where(conversation.c.owner == owner, message.c.owner == owner)
            .group_by(conversation.c.conversation_id)
            .order_by(last.desc())
        )
        return [
            Conversation(
                row.conversation_id, owner, row.title, from_microseconds(row.started_at), from_microseconds(row.last)
            )
            for row in rows
        ]

    def has_conversation(self, connection: Connection, owner: str, conversation_id: str) -> bool:
        return (
            connection.scalar(
                select(conversation.c.conversation_id).where(
                    conversation.c.owner == owner, conversation.c.conversation_id == conversation_id
                )
            )
            is not None
        )

    def _load(self, connection: Connection, owner: str, condition: object, newest: int | None = None) -> list[Message]:
        query = select(message).where(message.c.owner == owner, condition).order_by(message.c.message_id.desc())  # type: ignore[arg-type]
        if newest is not None:
            query = query.limit(newest)
        rows = list(reversed(connection.execute(query).all()))
        photos: dict[int, list[str]] = {}
        for chunk in chunks([row.message_id for row in rows]):
            for message_id, photo_id in connection.execute(
                select(message_photo.c.message_id, message_photo.c.photo_id)
                .where(message_photo.c.owner == owner, message_photo.c.message_id.in_(chunk))
                .order_by(message_photo.c.message_id, message_photo.c.position)
            ):
                photos.setdefault(message_id, []).append(photo_id)
        return [_message(row, photos.get(row.message_id, [])) for row in rows]


def merge_ranges(ranges: Iterable[EvidenceRange], *, adjoining: bool = True) -> list[EvidenceRange]:
    """Overlapping (and adjoining) ranges as one, ascending. Adjoining ones may be of two conversations."""
    merged: list[EvidenceRange] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1].last + adjoining:
            merged[-1] = EvidenceRange(merged[-1].first, max(last, merged[-1].last))
        else:
            merged.append(EvidenceRange(first, last))
    return merged


def _by_bm25(wanted: Collection[str], holding: Mapping[int, Sequence[str]], total: int) -> list[int]:
    """The messages that hold any of the wanted words, among `total` messages, best first; equals in the order given.

    FTS5 has a BM25 of its own, which counts everyone's messages. With its constants, and an idf that is never negative;
    the mean length is that of the messages given.
    """
    counts = {message_id: Counter(words) for message_id, words in holding.items()}
    frequency = {word: sum(word in found for found in counts.values()) for word in wanted}
    rarity = {word: math.log((total - n + 0.5) / (n + 0.5) + 1) for word, n in frequency.items()}
    mean = sum(map(len, holding.values())) / len(holding) if holding else 1.0
    k1, b = 1.2, 0.75

    def score(message_id: int) -> float:
        found, norm = counts[message_id], k1 * (1 - b + b * len(holding[message_id]) / mean)
        return sum(rarity[word] * found[word] * (k1 + 1) / (found[word] + norm) for word in wanted)

    return sorted(holding, key=score, reverse=True)


def _message(row: Row, photos: Sequence[str]) -> Message:  # type: ignore[type-arg]
    return Message(
        row.message_id,
        row.owner,
        row.conversation_id,
        row.role,
        row.speaker,
        row.text,
        tuple(photos),
        from_microseconds(row.said_at, row.utc_offset),
        row.replaces,
        row.reference,
        row.partial,
    )


def _title(text: str, photos: int) -> str:
    words = re.sub(r"\s+", " ", text).strip()
    if not words:
        return "A photo" if photos == 1 else f"{photos} photos"
    return words if len(words) <= TITLE_LENGTH else words[: TITLE_LENGTH - 1].rstrip() + "…"
