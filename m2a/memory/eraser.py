"""Removes erased content from every row, and from the messages that stay."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Table, delete, insert, select

from m2a.memory import change_log, conversations, held_memories, photo_captions, reply_sources
from m2a.memory.embedding_cache import content_hash, forget_vectors
from m2a.memory.erasure_scope import OF_FORGETTING, ErasureScope
from m2a.memory.health import forget_dismissed_photos
from m2a.memory.keeping import keep
from m2a.memory.quotations import Span
from m2a.memory.retelling import retelling_spans
from m2a.memory.schema import (
    concept_photo,
    erasure,
    held_memory,
    message,
    message_photo,
    message_reading,
    pending_update,
    photo,
    reply_source,
    trace,
    turn_cost,
    withheld_photo,
    withheld_words,
)
from m2a.memory.sql import grouped
from m2a.memory.titles import retitle, titles_following, with_automatic_title
from m2a.memory.withheld import FORGOTTEN, masked, merged, moved, renew, withhold, without_marks
from m2a.memory.words import message_words
from m2a.types import Conversation, MemoryEntry, Message, MessageSpan, RecordKey, RewrittenMessage

_OF_MESSAGE = (
    message_photo, message, trace, reply_source, turn_cost, held_memory, pending_update, message_reading, withheld_words,
    withheld_photo,
)  # fmt: skip


class ErasureRemoval(ErasureScope):
    """Removes everything that `ErasureScope` has noted."""

    def _keep(self) -> list[MemoryEntry]:
        """Returns the memories that the user keeps, with a new message as evidence that says so."""
        evidence = keep(self._unit, self._raw, list(self._retained.values()), self._by.now)
        return [
            replace(memory, evidence_ids=(*memory.evidence_ids, evidence[memory_id]))
            for memory_id, memory in self._retained.items()
        ]

    def _forget_vectors(self) -> None:
        """Deletes the cached vectors and the ranking's data. The purge removes the vectors of earlier versions."""
        from m2a.memory.indexer import entry_text

        hashes = [content_hash(entry_text(entry)) for entry in self._entries.values()]
        hashes += [*self._hashes(self._messages.values()), *self._photos]
        forget_vectors(self._unit.connection, hashes)
        self._ranked.forget(self._unit, self._keys())

    def _hashes(self, messages: Iterable[Message]) -> list[str]:
        """Returns the hashes of the encoded texts of the messages, with and without the captions of their photos."""
        from m2a.memory.indexer import message_text

        logged = list(messages)
        captioned = photo_captions.with_captions(self._unit, logged)
        return [content_hash(message_text(message)) for message in (*logged, *captioned)]

    def _waiting(self, reply_ids: Collection[int]) -> list[str]:
        """Returns the texts of the undecided memories in the updates of these replies."""
        texts = []
        for place in held_memories.places(self._unit):
            if place.reply_id in reply_ids:
                stored = (change_log.read_steps(self._unit, place.reply_id) or {})["refusals"][place.number]
                texts.append(change_log.load_refusals(self._unit, [stored], self._forgetter)[0].text)
        return texts

    def _delete_messages(self) -> list[Conversation]:
        """Deletes the messages. Returns the conversations that disappear with them."""
        listed = {c.conversation_id: c for c in conversations.listed(self._unit)}
        self._touched |= {m.conversation_id for m in self._messages.values()}
        automatic = with_automatic_title(self._unit, self._touched)
        self._let_go(self._messages)
        for table in _OF_MESSAGE:
            these = self._unit.among(table.c.message_id, self._messages)
            self._unit.execute(delete(table).where(self._unit.owns(table), these))
        self._unit.tell_index("message", self._messages)
        emptied = conversations.remove_empty(self._unit, self._touched)
        retitle(self._unit, automatic - emptied)
        return [listed[conversation_id] for conversation_id in sorted(emptied) if conversation_id in listed]

    def _retold(self, telling: Collection[str], conversation_ids: Collection[str], since: int) -> set[MessageSpan]:
        citing = reply_sources.replies_on(self._unit, set(self._keys()))
        return retelling_spans(
            self._unit,
            self._raw,
            telling,
            citing=citing,
            conversation_ids=conversation_ids,
            since=since,
        )

    def _withhold_more(self, spans: Collection[MessageSpan]) -> None:
        """Withholds the spans, and the photos in every message that shows them, as a forgetting of their own."""
        photos = {(number, photo_id) for number, photo_id, _ in self._showing(self._photos)}
        if spans or photos:
            forgetting_id = self._unit.next_id("forgetting")
            touched = {span.message_id for span in spans} | {number for number, _ in photos}
            with titles_following(self._unit, touched):
                withhold(self._unit, forgetting_id, spans, photos)
            self._forgettings.add(forgetting_id)

    def _rewrite_messages(self) -> list[RewrittenMessage]:
        """Rewrites messages without what the erased forgettings withhold. Returns them as they were, with the removed words."""
        words = self._withheld()
        photos = grouped((row.message_id, row.photo_id) for row in self._of_forgettings(withheld_photo))
        logged = self._raw.as_logged(self._unit, words.keys() | photos.keys())
        for table in OF_FORGETTING:
            these = self._unit.among(table.c.forgetting_id, self._forgettings)
            self._unit.execute(delete(table).where(self._unit.owns(table), these))
        changed = []
        forget_vectors(self._unit.connection, self._hashes(logged.values()))
        for number, original in logged.items():
            self._rewrite(original, words.get(number, []), photos.get(number, []))
            removed = merged(original.text, words.get(number, []))
            changed.append(
                RewrittenMessage(
                    original, tuple(_with_whole_quotations(original.text[slice(*span)]) for span in removed)
                )
            )
        is_erased = self._unit.owns(withheld_photo) & withheld_photo.c.photo_id.in_(sorted(self._photos))
        self._unit.execute(delete(withheld_photo).where(is_erased))
        renew(self._unit, logged)
        self._ranked.forget(self._unit, [RecordKey("message", number) for number in logged])
        return changed

    def _rewrite(self, original: Message, spans: Collection[Span], photo_ids: Collection[str]) -> None:
        """Deletes the row of a message and inserts it again with less content, since Layer 1 allows no updates."""
        unit, number = self._unit, original.message_id
        [row] = self._rows(message, number)
        photos = [
            photo_row for photo_row in self._rows(message_photo, number) if photo_row["photo_id"] not in photo_ids
        ]
        text = masked(original.text, spans)
        if not text.strip() and not photos:
            text = FORGOTTEN
        longest: dict[tuple[int, int], dict[str, Any]] = {}
        for withheld in self._rows(withheld_words, number):
            span = (withheld["first_character"], withheld["last_character"])
            for first, last in moved(span, original.text, spans):
                key = (withheld["forgetting_id"], first)
                if key not in longest or longest[key]["last_character"] < last:
                    longest[key] = withheld | {"first_character": first, "last_character": last}
        self._let_go([number])
        for table in (message_photo, message, withheld_words):
            unit.execute(delete(table).where(self._unit.owns(table), table.c.message_id == number))
        words = " ".join(message_words(original.speaker, without_marks(text)))
        self._insert(message, [row | {"text": text, "words": words}])
        self._insert(message_photo, photos)
        self._insert(withheld_words, longest.values())
        unit.execute(delete(erasure).where(self._unit.owns(erasure), erasure.c.message_id == number))

    def _delete_photos(self) -> None:
        forget_dismissed_photos(self._unit, self._photos)
        for table in (photo, concept_photo):
            these = table.c.photo_id.in_(sorted(self._photos))
            self._unit.execute(delete(table).where(self._unit.owns(table), these))
        self._unit.tell_index("photo", self._photos)

    def _let_go(self, message_ids: Collection[int]) -> None:
        """Allows the database triggers to let these messages be deleted."""
        these = self._unit.among(erasure.c.message_id, message_ids)
        allowed = set(self._unit.scalars(select(erasure.c.message_id).where(self._unit.owns(erasure), these)))
        new = sorted(set(message_ids) - allowed)
        self._insert(erasure, [{"owner": self._unit.owner, "message_id": number} for number in new])

    def _insert(self, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
        if rows := list(rows):
            self._unit.execute(insert(table), rows)


def _with_whole_quotations(words: str) -> str:
    """Returns the words with their quotation marks in pairs, and without a pair around all of them."""
    if words.count('"') % 2:
        ends_in_it = re.search(r'(?:^|[\s(])"(?=\S)[^"]*$', words)
        words = f'{words}"' if ends_in_it else f'"{words}'
    return words[1:-1] if re.fullmatch(r'"[^"]*"', words) else words
