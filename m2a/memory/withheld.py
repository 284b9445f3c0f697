"""The forgotten words and photos of messages. The log keeps them, but no reader, search or index sees them."""

from collections.abc import Collection, Iterable, Sequence

from sqlalchemy import ColumnElement, Table, delete, insert, or_, select, update

from m2a.memory.quotations import Span
from m2a.memory.schema import (
    entry,
    entry_photo,
    kept_back,
    message,
    message_photo,
    message_reading,
    photo,
    withheld_photo,
    withheld_words,
)
from m2a.memory.sql import chunks, grouped, has_row, same_ids
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.words import message_words
from m2a.types import ERASED as ERASED
from m2a.types import FORGOTTEN as FORGOTTEN
from m2a.types import MessageSpan

_PLACEHOLDER = "\0" * len(FORGOTTEN)  # occurs in no text, and leaves all spans where they were


def masked(text: str, spans: Iterable[Span]) -> str:
    """Returns the text with `FORGOTTEN` in place of each span; only `FORGOTTEN` if no letter or digit remains."""
    kept, parts = "", list[str]()
    position = 0
    for first, last in merged(text, spans):
        kept += text[position:first]
        parts += [text[position:first], FORGOTTEN]
        position = last
    if not parts:
        return text
    kept += text[position:]
    parts.append(text[position:])
    return "".join(parts) if any(character.isalnum() for character in without_marks(kept)) else FORGOTTEN


def read_by_owner(text: str, spans: Iterable[Span]) -> str:
    """Like `masked`, but with `ERASED` in place of what an erasure has removed from the text."""
    return masked(text.replace(FORGOTTEN, _PLACEHOLDER), spans).replace(_PLACEHOLDER, ERASED)


def without_marks(text: str) -> str:
    """Returns a masked text without its marks, for searching."""
    return text.replace(FORGOTTEN, " ")


def as_logged(span: Span, text: str, withheld: Iterable[Span]) -> Span:
    """Converts a span in the masked text to a span in the logged text."""
    runs, position, shown = list[tuple[int, int, int]](), 0, 0
    for first, last in merged(text, withheld):
        runs.append((shown, position, first - position))
        shown += first - position + len(FORGOTTEN)
        position = last
    runs.append((shown, position, len(text) - position))

    def logged(place: int, *, is_end: bool) -> int:
        for start, origin, length in reversed(runs):
            if place > start or (place == start and not is_end):
                return origin + min(place - start, length)
        return 0

    return logged(span[0], is_end=False), logged(span[1], is_end=True)


def moved(span: Span, text: str, erased: Iterable[Span]) -> list[Span]:
    """Returns the spans in `masked(text, erased)` of what remains of a span in the text."""
    runs = merged(text, erased)
    if masked(text, runs) == FORGOTTEN:
        return []
    remaining = []
    for first, last in _outside(merged(text, [span]), runs):
        shift = sum(len(FORGOTTEN) - (until - since) for since, until in runs if until <= first)
        remaining.append((first + shift, last + shift))
    return remaining


def _outside(spans: Iterable[Span], runs: Sequence[Span]) -> list[Span]:
    """Returns the parts of the spans that no run covers."""
    parts = list(spans)
    for since, until in runs:
        parts = [
            part
            for first, last in parts
            for part in ((first, min(last, since)), (max(first, until), last))
            if part[0] < part[1]
        ]
    return parts


def is_kept_back(table: Table) -> ColumnElement[bool]:
    """Returns the condition that a row's forgetting only keeps its entry back, so that the owner still sees what it withholds."""
    return has_row(kept_back, table, "forgetting_id")


def withheld_spans(unit: UnitOfWork, message_ids: Collection[int]) -> dict[int, list[Span]]:
    """Returns, by message id, the withheld spans."""
    columns = (withheld_words.c.message_id, withheld_words.c.first_character, withheld_words.c.last_character)
    rows = unit.rows_among(columns, message_ids)
    return grouped((message_id, (first, last)) for message_id, first, last in rows)


def withheld_photos(unit: UnitOfWork, message_ids: Collection[int]) -> set[tuple[int, str]]:
    """Returns the (message id, photo id) pairs of the messages that are withheld."""
    columns = (withheld_photo.c.message_id, withheld_photo.c.photo_id)
    return {(message_id, photo_id) for message_id, photo_id in unit.rows_among(columns, message_ids)}


def withheld_from_owner(unit: UnitOfWork, message_id: int) -> tuple[list[Span], set[str]]:
    """Returns the spans and photos of a message that are forgotten, and not only kept back."""
    words, photos = (
        unit.execute(select(table).where(unit.owns(table), table.c.message_id == message_id, ~is_kept_back(table)))
        for table in (withheld_words, withheld_photo)
    )
    return [(row.first_character, row.last_character) for row in words], {row.photo_id for row in photos}


def is_readable() -> ColumnElement[bool]:
    """Returns the condition that anything of a row of `message` remains."""
    return ~has_row(message_reading, message, "message_id", where=message_reading.c.words == "")


def is_partly_kept_back() -> ColumnElement[bool]:
    """Returns the condition that anything of a row of `message` is only kept back, so that its owner still sees it."""
    return or_(
        *(
            has_row(table, message, "message_id", where=is_kept_back(table))
            for table in (withheld_words, withheld_photo)
        )
    )


def forgotten_photos(unit: UnitOfWork, photo_ids: Collection[str] | None = None) -> set[str]:
    """Returns the forgotten photos, of all or among the ids, that no message and no memory shows any more."""
    if photo_ids is not None and not photo_ids:
        return set()
    withheld = select(withheld_photo.c.photo_id).where(unit.owns(withheld_photo)).distinct()
    candidates = set(unit.scalars(withheld))
    if photo_ids is not None:
        candidates &= set(photo_ids)
    if not candidates:
        return set()
    is_withheld = has_row(withheld_photo, message_photo, "message_id", "photo_id")
    in_messages = select(message_photo.c.photo_id).where(unit.owns(message_photo), ~is_withheld)
    in_entries = (
        select(entry_photo.c.photo_id)
        .join(entry, same_ids(entry, entry_photo, "memory_id"))
        .where(unit.owns(entry_photo), entry.c.alive)
    )
    for chunk in chunks(sorted(candidates)):
        candidates -= set(unit.scalars(in_messages.where(message_photo.c.photo_id.in_(chunk))))
        candidates -= set(unit.scalars(in_entries.where(entry_photo.c.photo_id.in_(chunk))))
    return candidates


def photos_left(unit: UnitOfWork, photo_ids: Collection[str]) -> set[str]:
    """Returns the photos among the ids that were neither erased nor forgotten."""
    if not photo_ids:
        return set()
    among_ids = unit.owns(photo) & photo.c.photo_id.in_(sorted(photo_ids))
    stored = set(unit.scalars(select(photo.c.photo_id).where(among_ids)))
    return stored - forgotten_photos(unit, stored)


def withhold(
    unit: UnitOfWork, forgetting_id: int, spans: Collection[MessageSpan], photos: Collection[tuple[int, str]]
) -> None:
    """Withholds words and (message id, photo id) pairs, and queues all changed messages for the index."""
    longest: dict[tuple[int, int], int] = {}
    for span in spans:
        start = (span.message_id, span.first)
        longest[start] = max(span.last, longest.get(start, 0))
    key = {"owner": unit.owner, "forgetting_id": forgetting_id}
    if longest:
        rows = [
            {**key, "message_id": message_id, "first_character": first, "last_character": last}
            for (message_id, first), last in sorted(longest.items())
        ]
        unit.execute(insert(withheld_words), rows)
    if photos:
        unit.execute(insert(withheld_photo), [{**key, "message_id": m, "photo_id": p} for m, p in set(photos)])
    update_readings(unit, {span.message_id for span in spans} | {message_id for message_id, _ in photos})
    unit.queue_for_index("photo", sorted({photo_id for _, photo_id in photos}))


def withheld_by(unit: UnitOfWork, forgetting_id: int) -> set[int]:
    """Returns the messages of which a forgetting withholds something."""
    messages = set[int]()
    for table in (withheld_words, withheld_photo):
        of_forgetting = unit.owns(table) & (table.c.forgetting_id == forgetting_id)
        messages |= set(unit.scalars(select(table.c.message_id).where(of_forgetting)))
    return messages


def release(unit: UnitOfWork, forgetting_id: int) -> None:
    """Gives back what a forgetting withheld, unless another forgetting withholds it too."""
    messages = withheld_by(unit, forgetting_id)
    photos = unit.scalars(
        select(withheld_photo.c.photo_id).where(
            unit.owns(withheld_photo), withheld_photo.c.forgetting_id == forgetting_id
        )
    ).all()
    for table in (withheld_words, withheld_photo):
        unit.execute(delete(table).where(unit.owns(table), table.c.forgetting_id == forgetting_id))
    update_readings(unit, messages)
    unit.queue_for_index("photo", sorted(set(photos)))


def update_readings(unit: UnitOfWork, message_ids: Collection[int]) -> None:
    """Gives a new version to the messages, and to the messages after them that are indexed together with them."""
    from m2a.memory.ranking.encoding import CONTEXT  # imports libraries that only an index needs

    if not message_ids:
        return
    columns = (message.c.message_id, message.c.conversation_id, message.c.speaker, message.c.text)
    rows = unit.rows_among(columns, message_ids)
    spans = withheld_spans(unit, message_ids)
    hidden = withheld_photos(unit, message_ids)
    of_photos = unit.rows_among((message_photo.c.message_id, message_photo.c.photo_id), message_ids)
    shown: dict[int, list[str]] = grouped((message_id, photo_id) for message_id, photo_id in of_photos)
    readings: dict[int, str | None] = {}
    for message_id, _conversation_id, speaker, text in rows:
        reading = masked(text, spans.get(message_id, ()))
        photos = [photo_id for photo_id in shown.get(message_id, ()) if (message_id, photo_id) not in hidden]
        if is_entirely_forgotten(reading, text, photos, shown.get(message_id, ())):
            readings[message_id] = ""
        elif reading != text:
            readings[message_id] = " ".join(message_words(speaker, without_marks(reading)))
        else:
            readings[message_id] = None
    for message_id, conversation_id, _speaker, _text in rows:
        following = select(message.c.message_id).where(
            unit.owns(message), message.c.conversation_id == conversation_id, message.c.message_id > message_id
        )
        for number in unit.scalars(following.order_by(message.c.message_id).limit(CONTEXT)).all():
            if number not in readings:
                readings[number] = unit.scalar(
                    select(message_reading.c.words).where(
                        unit.owns(message_reading), message_reading.c.message_id == number
                    )
                )
    for message_id, words in readings.items():
        of_message = unit.owns(message_reading) & (message_reading.c.message_id == message_id)
        renewed = update(message_reading).where(of_message).values(version=message_reading.c.version + 1, words=words)
        if unit.execute(renewed).rowcount == 0:
            unit.execute(
                insert(message_reading).values(owner=unit.owner, message_id=message_id, version=2, words=words)
            )
    unit.queue_for_index("message", readings)


def is_entirely_forgotten(reading: str, text: str, photos: Sequence[str], logged_photos: Sequence[str]) -> bool:
    """Returns whether neither words nor photos of a message remain. One that was empty from the start is not forgotten."""
    return not photos and (reading == FORGOTTEN or (bool(logged_photos) and not text.strip()))


def merged(text: str, spans: Iterable[Span]) -> list[Span]:
    """Returns the spans in order and cut to the text, merging those with only spaces between them."""
    joined: list[Span] = []
    for first, last in sorted((max(first, 0), min(last, len(text))) for first, last in spans):
        if first >= last:
            continue
        if joined and (first <= joined[-1][1] or not text[joined[-1][1] : first].strip()):
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined
