"""Erases a message, a memory, a photo, a conversation or everything, from every row.

Erased content is not just withheld: it no longer exists. A message that the user names is erased as a whole, with its earlier
versions and the replies to it. A message that only repeats erased content (the text of a memory, or what a reply says about
it) stays: its row is rewritten under the same id without those words. The user's other messages stay as they are. So do stock
phrases in replies, because only words of the erased messages, memories, captions and names are searched for.

A memory that rests on an erased message stays if the user says the same in other evidence, and from then on rests on that
alone. Otherwise it is erased, with the entries that it had superseded. If the user chooses to keep memories, each gets a new
message as its evidence, which says that the user keeps it.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Table, delete, insert, select

from m2a.memory import change_log, concept_store, conversations, held_memories, photo_captions, reply_sources
from m2a.memory.embedding_cache import content_hash, forget_vectors
from m2a.memory.erasure_scope import OF_FORGETTING, ErasureScope
from m2a.memory.health import forget_dismissed_photos
from m2a.memory.quotations import Span
from m2a.memory.receipts import write_receipt
from m2a.memory.retaining import retain
from m2a.memory.revealing import revealing_spans, revealing_text, scrub_notes, words_only_in_erased
from m2a.memory.schema import (
    concept,
    concept_photo,
    held_memory,
    message,
    message_photo,
    message_reading,
    metadata,
    pending_update,
    photo,
    reply_source,
    trace,
    turn_cost,
    withheld_photo,
    withheld_words,
)
from m2a.memory.schema import entry as entry_table
from m2a.memory.schema import erasure as erasure_table
from m2a.memory.sql import grouped
from m2a.memory.titles import retitle, retitle_revealing, titles_following, with_automatic_title
from m2a.memory.withheld import FORGOTTEN, masked, merged, moved, update_readings, withhold, without_marks
from m2a.memory.words import message_words
from m2a.types import (
    Conversation,
    Erasure,
    ErasurePreview,
    MemoryEntry,
    Message,
    MessageSpan,
    Receipt,
    RecordKey,
    RewrittenMessage,
)

_OF_MESSAGE = (
    message_photo, message, trace, reply_source, turn_cost, held_memory, pending_update, message_reading, withheld_words,
    withheld_photo,
)  # fmt: skip


# The tables that survive erasing everything: the owner's name and last ids, and what the erasure itself leaves.
_KEPT = ("owner", "erasure", "receipt", "outbox", "owner_setting")


class Eraser(ErasureScope):
    """Carries out one erasure for one owner: first determines everything to be erased, then removes it."""

    def erase(self, erasure: Erasure) -> tuple[ErasurePreview, Receipt]:
        """Erases something from every row. Returns what was removed, and the receipt.

        The caller must delete the photo files. To preview an erasure, roll it back. Raises `NothingToEraseError`.
        """
        removed = self._everything(erasure) if erasure.kind == "everything" else self._part(erasure)
        return removed, write_receipt(self._unit, removed, self._by.now)

    def _part(self, erasure: Erasure) -> ErasurePreview:
        unit = self._unit
        names_before = self._names()
        self._note_what_is_named(erasure)
        supported = self._note_entries(keep_memories=erasure.keep_memories)
        retained = self._retain()
        withheld = self._withheld_texts()
        self._note_photos()
        kept = self._without_photos([*supported, *retained])
        captions = self._captions()
        losing = self._concepts_losing()
        records, places = self._number_of_records(), self._places()
        texts = [*withheld, *captions, *concept_store.all_names(unit, losing)]
        texts += [revealing_text(m.role, m.text) for m in self._messages.values()]
        texts += [f"{e.text} {e.caption}" for e in self._entries.values()]

        waiting = self._waiting(self._messages)
        self._forget_vectors()
        self._delete_photos()
        emptied = self._delete_messages()
        self._semantic.erase(unit, self._entries)
        for reduced in kept:
            self._semantic.reduce(unit, reduced, self._by)
        revealing_words = words_only_in_erased(unit, texts)
        concept_store.delete_names_with(unit, losing, revealing_words)
        keys = self._keys()
        # Forgetting already withheld everything that repeats the forgotten content.
        self._withhold_more(set() if erasure.kind == "forgotten" else self._retold(revealing_words, *places))
        changed = self._rewrite_messages()
        retitle_revealing(unit, revealing_words)
        scrub_notes(
            unit,
            revealing_words,
            set(keys),
            self._photos,
            self._forgettings,
            {rewritten.message.message_id for rewritten in changed},
        )
        names_after = self._names()
        return ErasurePreview(
            erasure,
            tuple(self._messages.values()),
            tuple(changed),
            tuple(self._entries.values()),
            tuple(memory for memory in kept if memory.memory_id not in self._retained),
            tuple(sorted(self._photos)),
            tuple(captions),
            self._names_no_longer_mentioned(
                name for key, (name, _) in names_before.items() if key not in names_after or names_after[key][0] != name
            ),
            tuple(
                name for key, (name, shown) in names_before.items() if shown and names_after.get(key) == (name, False)
            ),
            tuple(emptied),
            records,
            tuple(memory for memory in kept if memory.memory_id in self._retained),
            tuple(waiting),
        )

    def _everything(self, erasure: Erasure) -> ErasurePreview:
        unit = self._unit
        self._messages = self._logged(select(message.c.message_id).where(unit.owns(message)))
        self._entries = self._recorded(select(entry_table.c.memory_id).where(unit.owns(entry_table)))
        photos = unit.execute(select(photo.c.photo_id, photo.c.caption).where(unit.owns(photo))).all()
        self._photos = {row.photo_id for row in photos}
        names = unit.scalars(select(concept.c.name).where(unit.owns(concept)).order_by(concept.c.concept_id))
        removed = ErasurePreview(
            erasure,
            tuple(self._messages.values()),
            memories=tuple(self._entries.values()),
            photo_ids=tuple(sorted(self._photos)),
            captions=tuple(row.caption for row in photos if row.caption),
            names=tuple(names),
            conversations=tuple(conversations.listed(unit)),
            records=self._number_of_records(),
            waiting=tuple(self._waiting(self._messages)),
        )
        self._forget_vectors()
        self._allow_deletion(self._messages)
        for table in metadata.tables.values():
            if "owner" in table.c and table.name not in _KEPT:
                unit.execute(delete(table).where(unit.owns(table)))
        unit.queue_for_index("message", self._messages)
        unit.queue_for_index("entry", self._entries)
        unit.queue_for_index("photo", self._photos)
        return removed

    def _retain(self) -> list[MemoryEntry]:
        """Returns the memories that the user keeps, with a new message as evidence that says so."""
        evidence = retain(self._unit, self._raw, list(self._retained.values()), self._by.now)
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
        return [content_hash(message_text(reading)) for reading in (*logged, *captioned)]

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
        self._allow_deletion(self._messages)
        for table in _OF_MESSAGE:
            of_messages = self._unit.among(table.c.message_id, self._messages)
            self._unit.execute(delete(table).where(self._unit.owns(table), of_messages))
        self._unit.queue_for_index("message", self._messages)
        emptied = conversations.remove_empty(self._unit, self._touched)
        retitle(self._unit, automatic - emptied)
        return [listed[conversation_id] for conversation_id in sorted(emptied) if conversation_id in listed]

    def _retold(
        self, revealing_words: Collection[str], conversation_ids: Collection[str], since: int
    ) -> set[MessageSpan]:
        citing = reply_sources.replies_on(self._unit, set(self._keys()))
        return revealing_spans(
            self._unit,
            self._raw,
            revealing_words,
            citing=citing,
            conversation_ids=conversation_ids,
            since=since,
        )

    def _withhold_more(self, spans: Collection[MessageSpan]) -> None:
        """Withholds the spans, and the photos in every message that shows them, as a forgetting of their own."""
        photos = {(number, photo_id) for number, photo_id, _ in self._raw.showing(self._unit, self._photos)}
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
            of_forgettings = self._unit.among(table.c.forgetting_id, self._forgettings)
            self._unit.execute(delete(table).where(self._unit.owns(table), of_forgettings))
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
        update_readings(self._unit, logged)
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
        self._allow_deletion([number])
        for table in (message_photo, message, withheld_words):
            unit.execute(delete(table).where(self._unit.owns(table), table.c.message_id == number))
        words = " ".join(message_words(original.speaker, without_marks(text)))
        self._insert(message, [row | {"text": text, "words": words}])
        self._insert(message_photo, photos)
        self._insert(withheld_words, longest.values())
        unit.execute(delete(erasure_table).where(self._unit.owns(erasure_table), erasure_table.c.message_id == number))

    def _delete_photos(self) -> None:
        forget_dismissed_photos(self._unit, self._photos)
        for table in (photo, concept_photo):
            of_photos = table.c.photo_id.in_(sorted(self._photos))
            self._unit.execute(delete(table).where(self._unit.owns(table), of_photos))
        self._unit.queue_for_index("photo", self._photos)

    def _allow_deletion(self, message_ids: Collection[int]) -> None:
        """Allows the database triggers to let these messages be deleted."""
        of_messages = self._unit.among(erasure_table.c.message_id, message_ids)
        allowed = set(
            self._unit.scalars(select(erasure_table.c.message_id).where(self._unit.owns(erasure_table), of_messages))
        )
        new = sorted(set(message_ids) - allowed)
        self._insert(erasure_table, [{"owner": self._unit.owner, "message_id": number} for number in new])

    def _insert(self, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
        if rows := list(rows):
            self._unit.execute(insert(table), rows)


def _with_whole_quotations(words: str) -> str:
    """Returns the words with their quotation marks in pairs, and without a pair around all of them."""
    if words.count('"') % 2:
        ends_in_it = re.search(r'(?:^|[\s(])"(?=\S)[^"]*$', words)
        words = f'{words}"' if ends_in_it else f'"{words}'
    return words[1:-1] if re.fullmatch(r'"[^"]*"', words) else words
