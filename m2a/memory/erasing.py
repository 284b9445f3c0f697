"""Erasing: what goes with a message, a memory, a photo, a conversation, or everything, and how it goes from every row.

What is erased is not withheld, it is no more. Messages that are named go whole, with their earlier versions and the replies to
them. Where a message stays and words of it go (what a memory says, what a reply tells of what is erased), its row is written
anew without them, under its own id. The user's other messages stay as they are.

A memory that rests on an erased message stays where the user says the same in another message that it rests on, and rests on
that alone from then on; else it goes, with what it had taken the place of.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, Table, delete, insert, select

from m2a.memory import concept_store, photo_captions
from m2a.memory.database import Database, among, grouped, next_id
from m2a.memory.embedding_cache import EmbeddingCache, content_hash
from m2a.memory.forgetting import Forgetter
from m2a.memory.health import forget_dismissed_photos
from m2a.memory.quotations import Span, sentence_spans
from m2a.memory.raw_message_store import RawMessageStore, merge_ranges
from m2a.memory.receipts import write_receipt
from m2a.memory.restoration import is_said
from m2a.memory.retelling import citing_replies, retelling_spans, scrub_notes, words_left_alone
from m2a.memory.schema import (
    concept,
    concept_photo,
    entry,
    entry_photo,
    erasure,
    forgotten_entry,
    message,
    message_photo,
    message_reading,
    metadata,
    outbox,
    pending_update,
    photo,
    trace,
    turn_cost,
    withheld_photo,
    withheld_words,
)
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.withheld import FORGOTTEN, masked, moved, renew, withhold, without_marks
from m2a.memory.words import message_words
from m2a.types import (
    Conversation,
    Erasure,
    ErasurePreview,
    EvidenceRange,
    MemoryEntry,
    Message,
    MessageSpan,
    Receipt,
    RecordKey,
    RewrittenMessage,
)
from models.captioner import together

_BY_THE_USER = {"who": "the user", "why": ""}
_OF_MESSAGE = (
    message_photo,
    message,
    trace,
    turn_cost,
    pending_update,
    message_reading,
    withheld_words,
    withheld_photo,
)
_OF_FORGETTING = (forgotten_entry, withheld_words, withheld_photo)
# What stays of an owner of whom everything is erased: the name, the numbers given out, and what the act leaves.
_KEPT = ("owner", "erasure", "receipt", "outbox")


class NothingToEraseError(LookupError):
    """There is no such thing to erase; the message names it."""


class Eraser:
    """Erases, inside the caller's transaction; a preview is the same, rolled back."""

    def __init__(
        self, database: Database, raw: RawMessageStore, semantic: SemanticMemoryStore, forgetter: Forgetter
    ) -> None:
        self._database = database
        self._raw = raw
        self._semantic = semantic
        self._forgetter = forgetter

    def erase(
        self, connection: Connection, owner: str, erased: Erasure, now: datetime
    ) -> tuple[ErasurePreview, Receipt]:
        """Take it out of every row; what went, and the receipt. The files of its photos are the caller's to remove.

        Raises `NothingToEraseError`.
        """
        work = _Work(self._database, self._raw, self._semantic, self._forgetter, connection, owner, now)
        gone = work.everything(erased) if erased.kind == "everything" else work.part(erased)
        return gone, write_receipt(connection, owner, gone, now)


class _Work:
    """One erasure of one owner. What is found to go is noted first, then taken out."""

    def __init__(
        self,
        database: Database,
        raw: RawMessageStore,
        semantic: SemanticMemoryStore,
        forgetter: Forgetter,
        connection: Connection,
        owner: str,
        now: datetime,
    ) -> None:
        from m2a.memory.ranking.record_store import RankedRecordStore  # it loads what only an index needs

        self._raw = raw
        self._semantic = semantic
        self._forgetter = forgetter
        self._connection = connection
        self._owner = owner
        self._by: dict[str, Any] = {**_BY_THE_USER, "now": now}
        self._ranked = RankedRecordStore(database)
        self._embeddings = EmbeddingCache(database)
        self._messages: dict[int, Message] = {}
        self._entries: dict[int, MemoryEntry] = {}
        self._photos: set[str] = set()
        self._forgettings: set[int] = set()
        self._touched: set[str] = set()  # conversations that lose messages

    def part(self, erased: Erasure) -> ErasurePreview:
        connection, owner = self._connection, self._owner
        known = self._names()
        self._note_what_is_named(erased)
        kept = self._note_entries()
        withheld = self._withheld_texts()
        self._note_photos()
        kept = self._without_photos(kept)
        captions = self._captions()
        losing = self._concepts_losing()
        records, places = self._number_of_records(), self._places()
        texts = [*withheld, *captions, *concept_store.all_names(connection, owner, losing)]
        texts += [m.text for m in self._messages.values()]
        texts += [f"{e.text} {e.caption}" for e in self._entries.values()]

        self._forget_vectors()
        self._delete_photos()
        conversations = self._delete_messages()
        self._semantic.erase(connection, owner, self._entries)
        for reduced in kept:
            self._semantic.reduce(connection, owner, reduced, **self._by)
        telling = words_left_alone(connection, owner, texts)
        concept_store.delete_unsaid(connection, owner, losing, telling)
        keys = self._keys()
        # What tells of something forgotten was withheld with it.
        self._withhold_more(set() if erased.kind == "forgotten" else self._retold(telling, *places))
        changed = self._rewrite_messages()
        scrub_notes(connection, owner, telling, set(keys), self._photos, self._forgettings)
        left = self._names()
        return ErasurePreview(
            erased,
            tuple(self._messages.values()),
            tuple(changed),
            tuple(self._entries.values()),
            tuple(kept),
            tuple(sorted(self._photos)),
            tuple(captions),
            tuple(name for key, (name, _) in known.items() if key not in left or left[key][0] != name),
            tuple(name for key, (name, shown) in known.items() if shown and left.get(key) == (name, False)),
            tuple(conversations),
            records,
        )

    def everything(self, erased: Erasure) -> ErasurePreview:
        connection, owner = self._connection, self._owner
        self._messages = self._logged(select(message.c.message_id).where(message.c.owner == owner))
        self._entries = self._recorded(select(entry.c.memory_id).where(entry.c.owner == owner))
        photos = connection.execute(select(photo.c.photo_id, photo.c.caption).where(photo.c.owner == owner)).all()
        self._photos = {row.photo_id for row in photos}
        names = connection.scalars(
            select(concept.c.name).where(concept.c.owner == owner).order_by(concept.c.concept_id)
        )
        gone = ErasurePreview(
            erased,
            tuple(self._messages.values()),
            memories=tuple(self._entries.values()),
            photo_ids=tuple(sorted(self._photos)),
            captions=tuple(row.caption for row in photos if row.caption),
            names=tuple(names),
            conversations=tuple(self._raw.conversations(connection, owner)),
            records=self._number_of_records(),
        )
        self._forget_vectors()
        self._let_go(self._messages)
        for table in metadata.tables.values():
            if "owner" in table.c and table.name not in _KEPT:
                connection.execute(delete(table).where(table.c.owner == owner))
        self._tell_index("message", self._messages)
        self._tell_index("entry", self._entries)
        self._tell_index("photo", self._photos)
        return gone

    # What goes

    def _note_what_is_named(self, erased: Erasure) -> None:
        match erased:
            case Erasure("message", int(message_id)):
                self._messages = self._with_versions(message_id)
            case Erasure("conversation", str(conversation_id)):
                if not self._raw.has_conversation(self._connection, self._owner, conversation_id):
                    raise NothingToEraseError(f"There is no conversation {conversation_id!r}.")
                this = (message.c.owner == self._owner) & (message.c.conversation_id == conversation_id)
                self._messages = self._logged(select(message.c.message_id).where(this))
                self._touched = {conversation_id}
            case Erasure("memory", int(memory_id)):
                self._note_forgotten(self._forgotten_now(memory_id))
            case Erasure("photo", str(photo_id)):
                self._note_photo(photo_id)
            case Erasure("forgotten", None | int() as forgetting_id):
                self._note_forgotten(forgetting_id)
            case _:
                raise NothingToEraseError(f"There is no {erased.kind} {erased.id!r}.")

    def _with_versions(self, message_id: int) -> dict[int, Message]:
        """A message with the versions before it, and the replies to them."""
        found: dict[int, Message] = {}
        number: int | None = message_id
        while number is not None and number not in found:
            version = self._raw.as_logged(self._connection, self._owner, [number])
            if not version and not found:
                raise NothingToEraseError(f"There is no message {message_id}.")
            found |= version
            number = version[number].replaces if version else None
        answers = among(self._connection, trace.c.answers, found)
        return found | self._logged(select(trace.c.message_id).where(trace.c.owner == self._owner, answers))

    def _forgotten_now(self, memory_id: int) -> int:
        """Forget a memory, with all that is forgotten with it."""
        past = self._semantic.superseded(self._connection, self._owner, [memory_id]).get(memory_id)
        if past is not None:
            raise NothingToEraseError(
                f"Memory {memory_id} is history; it goes with memory {past.superseded_by}, which took its place."
            )
        if memory_id not in self._semantic.get(self._connection, self._owner, [memory_id]):
            raise NothingToEraseError(f"There is no memory {memory_id}.")
        return self._forgetter.forget(self._connection, self._owner, memory_id, (), **self._by)

    def _note_forgotten(self, forgetting_id: int | None) -> None:
        for table in _OF_FORGETTING:
            this = table.c.owner == self._owner
            if forgetting_id is not None:
                this &= table.c.forgetting_id == forgetting_id
            self._forgettings |= set(self._connection.scalars(select(table.c.forgetting_id).where(this)))
        if forgetting_id is not None and not self._forgettings:
            raise NothingToEraseError(f"Nothing is forgotten under number {forgetting_id}.")
        these = among(self._connection, forgotten_entry.c.forgetting_id, self._forgettings)
        found = self._recorded(select(forgotten_entry.c.memory_id).where(forgotten_entry.c.owner == self._owner, these))
        living = self._semantic.get(self._connection, self._owner, found)
        self._entries = {number: one for number, one in found.items() if number not in living}

    def _note_photo(self, photo_id: str) -> None:
        """A photo, and the memories that it alone supports."""
        this = (photo.c.owner == self._owner) & (photo.c.photo_id == photo_id)
        if self._connection.scalar(select(photo.c.photo_id).where(this)) is None:
            raise NothingToEraseError(f"There is no photo {photo_id!r}.")
        self._photos = {photo_id}
        held = (entry_photo.c.owner == entry.c.owner) & (entry_photo.c.memory_id == entry.c.memory_id)
        these = (entry.c.owner == self._owner) & (entry_photo.c.photo_id == photo_id) & (entry.c.rests_on == "shown")
        self._entries = self._recorded(select(entry.c.memory_id).join(entry_photo, held).where(these))

    def _note_entries(self) -> list[MemoryEntry]:
        """Note the entries that go with the messages. Returns those that stay all the same, with the evidence that is left."""
        connection, owner = self._connection, self._owner
        resting = self._semantic.resting_on(connection, owner, self._messages) - self._entries.keys()
        concepts = self._semantic.concepts(connection, owner) if resting else []
        kept = []
        for memory_id, found in self._semantic.as_recorded(connection, owner, resting).items():
            left = _without(found.evidence_ids, self._messages)
            told = [m for m in self._raw.in_ranges(connection, owner, left) if m.role == "user"]
            named = [one for one in concepts if one.concept_id in found.concept_ids]
            sentences = [found.text[slice(*span)] for span in sentence_spans(found.text)]
            if told and sentences and all(is_said(sentence, told, named) for sentence in sentences):
                kept.append(replace(found, evidence_ids=tuple(left)))
            else:
                self._entries[memory_id] = found
        living = self._semantic.get(connection, owner, self._entries)
        older = {number for memory_id in living for number in self._semantic.predecessors(connection, owner, memory_id)}
        self._entries |= self._semantic.as_recorded(connection, owner, older - self._entries.keys())
        return [found for found in kept if found.memory_id not in self._entries]

    def _note_photos(self) -> None:
        """Note the photos that no message of the user shows any more."""
        hidden = {(row.message_id, row.photo_id) for row in self._of_forgettings(withheld_photo)}
        candidates = {photo_id for m in self._messages.values() for photo_id in m.photos}
        candidates |= {photo_id for found in self._entries.values() for photo_id in found.photo_ids}
        candidates |= {photo_id for _, photo_id in hidden}
        shown = {
            photo_id
            for number, photo_id, role in self._showing(candidates)
            if role == "user" and number not in self._messages and (number, photo_id) not in hidden
        }
        self._photos |= candidates - shown

    def _without_photos(self, kept: Iterable[MemoryEntry]) -> list[MemoryEntry]:
        """The entries that stay, and all others that hold one of the photos, as they are to be from now on."""
        reduced = {found.memory_id: found for found in kept}
        lost = (entry_photo.c.owner == self._owner) & entry_photo.c.photo_id.in_(sorted(self._photos))
        holding = set(self._connection.scalars(select(entry_photo.c.memory_id).where(lost))) - self._entries.keys()
        others = self._semantic.as_recorded(self._connection, self._owner, holding)
        for found in [reduced.get(number, others[number]) for number in sorted(holding)]:
            left = tuple(photo_id for photo_id in found.photo_ids if photo_id not in self._photos)
            captions = photo_captions.captions_of(self._connection, self._owner, left)
            caption = together(captions.get(photo_id, "") for photo_id in left) if found.caption else ""
            reduced[found.memory_id] = replace(found, photo_ids=left, caption=caption)
        return [reduced[number] for number in sorted(reduced)]

    def _withheld_texts(self) -> list[str]:
        spans = self._withheld()
        logged = self._raw.as_logged(self._connection, self._owner, spans)
        return [logged[number].text[slice(*span)] for number in logged for span in spans[number]]

    def _places(self) -> tuple[set[str], int]:
        """The conversations in which it was said or shown, and the first message that did."""
        ids = {number for found in self._entries.values() for span in found.evidence_ids for number in range(*span)}
        ids |= {span.last for found in self._entries.values() for span in found.evidence_ids}
        ids |= {number for number, photo_id, role in self._showing(self._photos) if role == "user"}
        said = self._raw.as_logged(self._connection, self._owner, ids) | self._messages
        return {m.conversation_id for m in said.values()}, min(said, default=0)

    def _captions(self) -> list[str]:
        rows = select(photo.c.caption).where(photo.c.owner == self._owner, photo.c.photo_id.in_(sorted(self._photos)))
        return list(self._connection.scalars(rows.where(photo.c.caption != "").order_by(photo.c.photo_id)))

    def _names(self) -> dict[int, tuple[str, bool]]:
        """The names that are known, each with whether a photo shows it."""
        return {
            one.concept_id: (one.name, bool(one.photo_ids))
            for one in self._semantic.concepts(self._connection, self._owner)
        }

    def _concepts_losing(self) -> set[int]:
        """The concepts that lose an entry or a photo."""
        of_photos = select(concept_photo.c.concept_id).where(
            concept_photo.c.owner == self._owner, concept_photo.c.photo_id.in_(sorted(self._photos))
        )
        of_entries = {number for found in self._entries.values() for number in found.concept_ids}
        return of_entries | set(self._connection.scalars(of_photos))

    def _number_of_records(self) -> int:
        told = [found for found in self._entries.values() if found.superseded_by is None]
        messages = self._raw.versions(self._connection, self._owner, self._messages)
        return len(told) + len(messages) + len(self._photos)

    # How it goes

    def _forget_vectors(self) -> None:
        """Out of the cache of vectors, and out of what ranking keeps; those of earlier readings go with the purge."""
        from m2a.memory.indexer import entry_text

        hashes = [content_hash(entry_text(found)) for found in self._entries.values()]
        hashes += [*self._hashes(self._messages.values()), *self._photos]
        self._embeddings.forget(self._connection, hashes)
        self._ranked.forget(self._connection, self._owner, self._keys())

    def _hashes(self, messages: Iterable[Message]) -> list[str]:
        """Of what the messages' vectors are of, with and without the captions of their photos."""
        from m2a.memory.indexer import message_text

        logged = list(messages)
        captioned = photo_captions.with_captions(self._connection, self._owner, logged)
        return [content_hash(message_text(one)) for one in (*logged, *captioned)]

    def _delete_messages(self) -> list[Conversation]:
        """Returns the conversations that go with them."""
        known = {c.conversation_id: c for c in self._raw.conversations(self._connection, self._owner)}
        self._let_go(self._messages)
        for table in _OF_MESSAGE:
            these = among(self._connection, table.c.message_id, self._messages)
            self._connection.execute(delete(table).where(table.c.owner == self._owner, these))
        self._tell_index("message", self._messages)
        self._touched |= {m.conversation_id for m in self._messages.values()}
        emptied = self._raw.retitle(self._connection, self._owner, self._touched)
        return [known[conversation_id] for conversation_id in sorted(emptied) if conversation_id in known]

    def _retold(self, telling: Collection[str], conversation_ids: Collection[str], since: int) -> set[MessageSpan]:
        citing = citing_replies(self._connection, self._owner, set(self._keys()))
        return retelling_spans(
            self._connection,
            self._owner,
            self._raw,
            telling,
            citing=citing,
            conversation_ids=conversation_ids,
            since=since,
        )

    def _withhold_more(self, spans: Collection[MessageSpan]) -> None:
        """Withhold the spans, and the photos wherever they are shown, in a forgetting of their own."""
        photos = {(number, photo_id) for number, photo_id, _ in self._showing(self._photos)}
        if spans or photos:
            forgetting_id = next_id(self._connection, self._owner, "forgetting")
            withhold(self._connection, self._owner, forgetting_id, spans, photos)
            self._forgettings.add(forgetting_id)

    def _rewrite_messages(self) -> list[RewrittenMessage]:
        """Write the messages anew without what the forgettings withhold of them; as they were, with what they lost."""
        words = self._withheld()
        photos = grouped((row.message_id, row.photo_id) for row in self._of_forgettings(withheld_photo))
        logged = self._raw.as_logged(self._connection, self._owner, words.keys() | photos.keys())
        for table in _OF_FORGETTING:
            these = among(self._connection, table.c.forgetting_id, self._forgettings)
            self._connection.execute(delete(table).where(table.c.owner == self._owner, these))
        changed = []
        self._embeddings.forget(self._connection, self._hashes(logged.values()))
        for number, found in logged.items():
            self._rewrite(found, words.get(number, []), photos.get(number, []))
            lost = sorted(set(words.get(number, [])))
            changed.append(RewrittenMessage(found, tuple(found.text[slice(*span)] for span in lost)))
        gone = (withheld_photo.c.owner == self._owner) & withheld_photo.c.photo_id.in_(sorted(self._photos))
        self._connection.execute(delete(withheld_photo).where(gone))
        renew(self._connection, self._owner, logged)
        self._ranked.forget(self._connection, self._owner, [RecordKey("message", number) for number in logged])
        return changed

    def _rewrite(self, found: Message, spans: Collection[Span], photo_ids: Collection[str]) -> None:
        """Layer 1 takes no change of a row: it is let go, and comes back under its id with less in it."""
        connection, number = self._connection, found.message_id
        [row] = self._rows(message, number)
        photos = [one for one in self._rows(message_photo, number) if one["photo_id"] not in photo_ids]
        text = masked(found.text, spans)
        if not text.strip() and not photos:
            text = FORGOTTEN
        longest: dict[tuple[int, int], dict[str, Any]] = {}
        for one in self._rows(withheld_words, number):
            for first, last in moved((one["first_character"], one["last_character"]), found.text, spans):
                place = (one["forgetting_id"], first)
                if place not in longest or longest[place]["last_character"] < last:
                    longest[place] = one | {"first_character": first, "last_character": last}
        self._let_go([number])
        for table in (message_photo, message, withheld_words):
            connection.execute(delete(table).where(table.c.owner == self._owner, table.c.message_id == number))
        words = " ".join(message_words(found.speaker, without_marks(text)))
        self._insert(message, [row | {"text": text, "words": words}])
        self._insert(message_photo, photos)
        self._insert(withheld_words, longest.values())
        connection.execute(delete(erasure).where(erasure.c.owner == self._owner, erasure.c.message_id == number))

    def _delete_photos(self) -> None:
        forget_dismissed_photos(self._connection, self._owner, self._photos)
        for table in (photo, concept_photo):
            these = table.c.photo_id.in_(sorted(self._photos))
            self._connection.execute(delete(table).where(table.c.owner == self._owner, these))
        self._tell_index("photo", self._photos)

    def _let_go(self, message_ids: Collection[int]) -> None:
        """Have the triggers let the messages' rows go."""
        listed = among(self._connection, erasure.c.message_id, message_ids)
        known = set(
            self._connection.scalars(select(erasure.c.message_id).where(erasure.c.owner == self._owner, listed))
        )
        new = sorted(set(message_ids) - known)
        self._insert(erasure, [{"owner": self._owner, "message_id": number} for number in new])

    def _tell_index(self, record: str, record_ids: Iterable[int | str]) -> None:
        rows = [{"owner": self._owner, "record": record, "record_id": str(one)} for one in record_ids]
        self._insert(outbox, rows)

    def _insert(self, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
        if rows := list(rows):
            self._connection.execute(insert(table), rows)

    # Reading

    def _rows(self, table: Table, message_id: int) -> list[dict[str, Any]]:
        these = (table.c.owner == self._owner) & (table.c.message_id == message_id)
        return [dict(row) for row in self._connection.execute(select(table).where(these)).mappings()]

    def _withheld(self) -> dict[int, list[Span]]:
        """What the forgettings that are erased withhold of each message."""
        rows = self._of_forgettings(withheld_words)
        return grouped((row.message_id, (row.first_character, row.last_character)) for row in rows)

    def _of_forgettings(self, table: Table) -> Sequence[Row]:  # type: ignore[type-arg]
        these = among(self._connection, table.c.forgetting_id, self._forgettings)
        return self._connection.execute(select(table).where(table.c.owner == self._owner, these)).all()

    def _showing(self, photo_ids: Collection[str]) -> list[tuple[int, str, str]]:
        """Which messages show any of the photos: (message id, photo id, role)."""
        its = (message.c.owner == message_photo.c.owner) & (message.c.message_id == message_photo.c.message_id)
        rows = select(message_photo.c.message_id, message_photo.c.photo_id, message.c.role).join(message, its)
        these = (message_photo.c.owner == self._owner) & message_photo.c.photo_id.in_(sorted(photo_ids))
        return [(number, photo_id, role) for number, photo_id, role in self._connection.execute(rows.where(these))]

    def _logged(self, ids: Select[Any]) -> dict[int, Message]:
        return self._raw.as_logged(self._connection, self._owner, self._connection.scalars(ids).all())

    def _recorded(self, ids: Select[Any]) -> dict[int, MemoryEntry]:
        return self._semantic.as_recorded(self._connection, self._owner, self._connection.scalars(ids).all())

    def _keys(self) -> list[RecordKey]:
        return [
            *(RecordKey("message", number) for number in self._messages),
            *(RecordKey("entry", number) for number in self._entries),
        ]


def _without(evidence: Iterable[EvidenceRange], message_ids: Collection[int]) -> list[EvidenceRange]:
    """The ranges less the messages: they split where one is taken out."""
    left: list[EvidenceRange] = []
    for first, last in evidence:
        start = first
        for number in sorted(number for number in message_ids if first <= number <= last):
            left += [EvidenceRange(start, number - 1)] if start < number else []
            start = number + 1
        left += [EvidenceRange(start, last)] if start <= last else []
    return merge_ranges(left, adjoining=False)
