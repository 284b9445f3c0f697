"""What goes with what is erased: the messages, entries and photos of it, and what stays and loses a part of it."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Row, Select, Table, select

from m2a.memory import concept_store, conversations, photo_captions
from m2a.memory.attribution import Attribution
from m2a.memory.forgetting import Forgetter
from m2a.memory.quotations import Span, sentence_spans
from m2a.memory.raw_message_store import RawMessageStore, merge_ranges
from m2a.memory.restoration import is_said
from m2a.memory.retelling import told_by
from m2a.memory.schema import (
    concept_photo,
    entry,
    entry_photo,
    forgotten_entry,
    kept_back,
    message,
    message_photo,
    photo,
    trace,
    withheld_photo,
    withheld_words,
)
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.sql import grouped
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.withheld import is_kept_back
from m2a.types import Concept, Erasure, EvidenceRange, MemoryEntry, Message, RecordKey
from m2a.types.errors import UserError
from models.captioner import together

OF_FORGETTING = (forgotten_entry, withheld_words, withheld_photo, kept_back)


class NothingToEraseError(UserError, LookupError):
    """There is no such thing to erase; the message names it."""


class ErasureScope:
    """What goes in one erasure of one owner: it is noted first, and then taken out."""

    def __init__(
        self,
        raw: RawMessageStore,
        semantic: SemanticMemoryStore,
        forgetter: Forgetter,
        unit: UnitOfWork,
        now: datetime,
    ) -> None:
        from m2a.memory.ranking.record_store import RankedRecordStore  # it loads what only an index needs

        self._raw = raw
        self._semantic = semantic
        self._forgetter = forgetter
        self._unit = unit
        self._by = Attribution("the user", "", now)
        self._ranked = RankedRecordStore()
        self._messages: dict[int, Message] = {}
        self._entries: dict[int, MemoryEntry] = {}
        self._photos: set[str] = set()
        self._forgettings: set[int] = set()
        self._touched: set[str] = set()  # conversations that lose messages
        self._retained: dict[int, MemoryEntry] = {}  # with the evidence that is left of them

    # What goes

    def _note_what_is_named(self, erased: Erasure) -> None:
        match erased:
            case Erasure("message", int(message_id)):
                self._messages = self._with_versions(message_id)
            case Erasure("conversation", str(conversation_id)):
                if not conversations.exists(self._unit, conversation_id):
                    raise NothingToEraseError(f"There is no conversation {conversation_id!r}.")
                this = self._unit.owns(message) & (message.c.conversation_id == conversation_id)
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
            version = self._raw.as_logged(self._unit, [number])
            if not version and not found:
                raise NothingToEraseError(f"There is no message {message_id}.")
            found |= version
            number = version[number].replaces if version else None
        answers = self._unit.among(trace.c.answers, found)
        return found | self._logged(select(trace.c.message_id).where(self._unit.owns(trace), answers))

    def _forgotten_now(self, memory_id: int) -> int:
        """Forget a memory, with all that is forgotten with it; one that is kept back went out of use before."""
        this = self._unit.owns(kept_back) & (kept_back.c.memory_id == memory_id)
        forgetting_id = self._unit.scalar(select(kept_back.c.forgetting_id).where(this))
        if forgetting_id is not None:
            return int(forgetting_id)
        past = self._semantic.superseded(self._unit, [memory_id]).get(memory_id)
        if past is not None:
            raise NothingToEraseError(
                f"Memory {memory_id} is history; it goes with memory {past.superseded_by}, which took its place."
            )
        if memory_id not in self._semantic.get(self._unit, [memory_id]):
            raise NothingToEraseError(f"There is no memory {memory_id}.")
        return self._forgetter.forget(self._unit, memory_id, (), self._by)

    def _note_forgotten(self, forgetting_id: int | None) -> None:
        for table in OF_FORGETTING:
            this = self._unit.owns(table)
            this &= ~is_kept_back(table) if forgetting_id is None else table.c.forgetting_id == forgetting_id
            self._forgettings |= set(self._unit.scalars(select(table.c.forgetting_id).where(this)))
        if forgetting_id is not None and not self._forgettings:
            raise NothingToEraseError(f"Nothing is forgotten under number {forgetting_id}.")
        these = self._unit.among(forgotten_entry.c.forgetting_id, self._forgettings)
        found = self._recorded(select(forgotten_entry.c.memory_id).where(self._unit.owns(forgotten_entry), these))
        living = self._semantic.get(self._unit, found)
        self._entries = {number: one for number, one in found.items() if number not in living}

    def _note_photo(self, photo_id: str) -> None:
        """A photo, and the memories that it alone supports."""
        this = self._unit.owns(photo) & (photo.c.photo_id == photo_id)
        if self._unit.scalar(select(photo.c.photo_id).where(this)) is None:
            raise NothingToEraseError(f"There is no photo {photo_id!r}.")
        self._photos = {photo_id}
        held = (entry_photo.c.owner == entry.c.owner) & (entry_photo.c.memory_id == entry.c.memory_id)
        these = self._unit.owns(entry) & (entry_photo.c.photo_id == photo_id) & (entry.c.rests_on == "shown")
        self._entries = self._recorded(select(entry.c.memory_id).join(entry_photo, held).where(these))

    def _note_entries(self, *, keep_memories: bool) -> list[MemoryEntry]:
        """Note the entries that go with the messages, or that the user keeps. Returns those that stay on what else was said,
        with the evidence that is left."""
        unit = self._unit
        resting = self._semantic.resting_on(unit, self._messages) - self._entries.keys()
        concepts = concept_store.concepts(unit) if resting else []
        holding = self._semantic.get(unit, resting) if keep_memories else {}
        kept = []
        for memory_id, found in self._semantic.as_recorded(unit, resting).items():
            left = without(found.evidence_ids, self._messages)
            if is_said_in(found, self._raw.in_ranges(unit, left), concepts):
                kept.append(replace(found, evidence_ids=tuple(left)))
            elif memory_id in holding:
                self._retained[memory_id] = replace(found, evidence_ids=tuple(left))
            else:
                self._entries[memory_id] = found
        living = self._semantic.get(unit, self._entries)
        older = {number for memory_id in living for number in self._semantic.predecessors(unit, memory_id)}
        self._entries |= self._semantic.as_recorded(unit, older - self._entries.keys())
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
        lost = self._unit.owns(entry_photo) & entry_photo.c.photo_id.in_(sorted(self._photos))
        holding = set(self._unit.scalars(select(entry_photo.c.memory_id).where(lost))) - self._entries.keys()
        others = self._semantic.as_recorded(self._unit, holding)
        for found in [reduced.get(number, others[number]) for number in sorted(holding)]:
            left = tuple(photo_id for photo_id in found.photo_ids if photo_id not in self._photos)
            captions = photo_captions.captions_of(self._unit, left)
            caption = together(captions.get(photo_id, "") for photo_id in left) if found.caption else ""
            reduced[found.memory_id] = replace(found, photo_ids=left, caption=caption)
        return [reduced[number] for number in sorted(reduced)]

    def _withheld_texts(self) -> list[str]:
        spans = self._withheld()
        logged = self._raw.as_logged(self._unit, spans)
        return [told_by(one.role, one.text[slice(*span)]) for number, one in logged.items() for span in spans[number]]

    def _places(self) -> tuple[set[str], int]:
        """The conversations in which it was said or shown, and the first message that did."""
        ids = {number for found in self._entries.values() for number in found.evidence_message_ids()}
        ids |= {number for number, photo_id, role in self._showing(self._photos) if role == "user"}
        said = self._raw.as_logged(self._unit, ids) | self._messages
        return {m.conversation_id for m in said.values()}, min(said, default=0)

    def _captions(self) -> list[str]:
        rows = select(photo.c.caption).where(self._unit.owns(photo), photo.c.photo_id.in_(sorted(self._photos)))
        return list(self._unit.scalars(rows.where(photo.c.caption != "").order_by(photo.c.photo_id)))

    def _names(self) -> dict[int, tuple[str, bool]]:
        """The names that are known, each with whether a photo shows it."""
        return {one.concept_id: (one.name, bool(one.photo_ids)) for one in concept_store.concepts(self._unit)}

    def _concepts_losing(self) -> set[int]:
        """The concepts that lose an entry or a photo."""
        of_photos = select(concept_photo.c.concept_id).where(
            self._unit.owns(concept_photo), concept_photo.c.photo_id.in_(sorted(self._photos))
        )
        of_entries = {number for found in self._entries.values() for number in found.concept_ids}
        return of_entries | set(self._unit.scalars(of_photos))

    def _number_of_records(self) -> int:
        told = [found for found in self._entries.values() if found.superseded_by is None]
        messages = self._raw.versions(self._unit, self._messages)
        return len(told) + len(messages) + len(self._photos)

    # Reading

    def _rows(self, table: Table, message_id: int) -> list[dict[str, Any]]:
        these = self._unit.owns(table) & (table.c.message_id == message_id)
        return [dict(row) for row in self._unit.execute(select(table).where(these)).mappings()]

    def _withheld(self) -> dict[int, list[Span]]:
        """What the forgettings that are erased withhold of each message."""
        rows = self._of_forgettings(withheld_words)
        return grouped((row.message_id, (row.first_character, row.last_character)) for row in rows)

    def _of_forgettings(self, table: Table) -> Sequence[Row]:  # type: ignore[type-arg]
        these = self._unit.among(table.c.forgetting_id, self._forgettings)
        return self._unit.execute(select(table).where(self._unit.owns(table), these)).all()

    def _showing(self, photo_ids: Collection[str]) -> list[tuple[int, str, str]]:
        """Which messages show any of the photos: (message id, photo id, role)."""
        its = (message.c.owner == message_photo.c.owner) & (message.c.message_id == message_photo.c.message_id)
        rows = select(message_photo.c.message_id, message_photo.c.photo_id, message.c.role).join(message, its)
        these = self._unit.owns(message_photo) & message_photo.c.photo_id.in_(sorted(photo_ids))
        return [(number, photo_id, role) for number, photo_id, role in self._unit.execute(rows.where(these))]

    def _logged(self, ids: Select[Any]) -> dict[int, Message]:
        return self._raw.as_logged(self._unit, self._unit.scalars(ids).all())

    def _recorded(self, ids: Select[Any]) -> dict[int, MemoryEntry]:
        return self._semantic.as_recorded(self._unit, self._unit.scalars(ids).all())

    def _keys(self) -> list[RecordKey]:
        return [
            *(RecordKey("message", number) for number in self._messages),
            *(RecordKey("entry", number) for number in self._entries),
        ]


def is_said_in(found: MemoryEntry, messages: Sequence[Message], concepts: Sequence[Concept]) -> bool:
    """Whether the user says in the messages all that the entry says."""
    told = [message for message in messages if message.role == "user"]
    named = [one for one in concepts if one.concept_id in found.concept_ids]
    sentences = [found.text[slice(*span)] for span in sentence_spans(found.text)]
    return bool(told and sentences) and all(is_said(sentence, told, named) for sentence in sentences)


def without(evidence: Iterable[EvidenceRange], message_ids: Collection[int]) -> list[EvidenceRange]:
    """The ranges less the messages: they split where one is taken out."""
    left: list[EvidenceRange] = []
    for first, last in evidence:
        start = first
        for number in sorted(number for number in message_ids if first <= number <= last):
            left += [EvidenceRange(start, number - 1)] if start < number else []
            start = number + 1
        left += [EvidenceRange(start, last)] if start <= last else []
    return merge_ranges(left, adjoining=False)
