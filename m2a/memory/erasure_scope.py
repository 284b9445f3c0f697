"""Determines the scope of an erasure: the messages, entries and photos that are erased, and those that lose a part."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Row, Select, Table, select

from m2a.memory import concept_store, conversations, photo_captions
from m2a.memory.attribution import Attribution
from m2a.memory.forgetting import Forgetter
from m2a.memory.kept_back import forgettings_of
from m2a.memory.quotations import Span, entry_is_stated
from m2a.memory.raw_message_store import RawMessageStore, merge_ranges
from m2a.memory.revealing import revealing_text
from m2a.memory.schema import (
    concept_photo,
    entry,
    entry_photo,
    forgotten_entry,
    kept_back,
    message,
    photo,
    trace,
    withheld_photo,
    withheld_words,
)
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.sql import grouped, has_row
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.withheld import is_kept_back
from m2a.memory.words import finished_words
from m2a.speakers import THE_USER
from m2a.types import Erasure, EvidenceRange, MemoryEntry, Message, RecordKey
from m2a.types.errors import UserError
from models.captioner import together

OF_FORGETTING = (forgotten_entry, withheld_words, withheld_photo, kept_back)


class NothingToEraseError(UserError, LookupError):
    """There is nothing to erase under that name. The message repeats the name."""


class ErasureScope:
    """The scope of one erasure for one owner. The `_note` methods collect everything to be erased before it is removed."""

    def __init__(
        self,
        raw: RawMessageStore,
        semantic: SemanticMemoryStore,
        forgetter: Forgetter,
        unit: UnitOfWork,
        now: datetime,
    ) -> None:
        from m2a.memory.ranking.record_store import RankedRecordStore  # imports libraries that only an index needs

        self._raw = raw
        self._semantic = semantic
        self._forgetter = forgetter
        self._unit = unit
        self._by = Attribution(THE_USER, "", now)
        self._ranked = RankedRecordStore()
        self._messages: dict[int, Message] = {}
        self._entries: dict[int, MemoryEntry] = {}
        self._photos: set[str] = set()
        self._forgettings: set[int] = set()
        self._touched: set[str] = set()  # conversations that lose messages
        self._retained: dict[int, MemoryEntry] = {}  # memories that the user keeps, with their remaining evidence

    # Determining the scope

    def _note_what_is_named(self, erasure: Erasure) -> None:
        match erasure:
            case Erasure("message", int(message_id)):
                self._messages = self._with_versions(message_id)
            case Erasure("conversation", str(conversation_id)):
                if not conversations.exists(self._unit, conversation_id):
                    raise NothingToEraseError(f"There is no conversation {conversation_id!r}.")
                in_conversation = self._unit.owns(message) & (message.c.conversation_id == conversation_id)
                self._messages = self._logged(select(message.c.message_id).where(in_conversation))
                self._touched = {conversation_id}
            case Erasure("memory", int(memory_id)):
                self._note_forgotten(self._forgotten_now(memory_id))
            case Erasure("photo", str(photo_id)):
                self._note_photo(photo_id)
            case Erasure("forgotten", None | int() as forgetting_id):
                self._note_forgotten(forgetting_id)
            case _:
                raise NothingToEraseError(f"There is no {erasure.kind} {erasure.id!r}.")

    def _with_versions(self, message_id: int) -> dict[int, Message]:
        """Returns a message with its earlier versions and the replies to all of them."""
        versions: dict[int, Message] = {}
        number: int | None = message_id
        while number is not None and number not in versions:
            version = self._raw.as_logged(self._unit, [number])
            if not version and not versions:
                raise NothingToEraseError(f"There is no message {message_id}.")
            versions |= version
            number = version[number].replaces if version else None
        answers = self._unit.among(trace.c.answers, versions)
        return versions | self._logged(select(trace.c.message_id).where(self._unit.owns(trace), answers))

    def _forgotten_now(self, memory_id: int) -> int:
        """Forgets a memory with everything that belongs to it, unless it is kept back. Returns the id of the forgetting."""
        if memory_id in (forgettings := forgettings_of(self._unit, [memory_id])):
            forgetting_id, _reason = forgettings[memory_id]
            return forgetting_id
        past = self._semantic.superseded(self._unit, [memory_id]).get(memory_id)
        if past is not None:
            raise NothingToEraseError(
                f"Memory {memory_id} is history; it is erased together with memory {past.superseded_by}, which replaced it."
            )
        if memory_id not in self._semantic.get(self._unit, [memory_id]):
            raise NothingToEraseError(f"There is no memory {memory_id}.")
        return self._forgetter.forget(self._unit, memory_id, (), self._by)

    def _note_forgotten(self, forgetting_id: int | None) -> None:
        for table in OF_FORGETTING:
            of_forgetting = self._unit.owns(table)
            of_forgetting &= ~is_kept_back(table) if forgetting_id is None else table.c.forgetting_id == forgetting_id
            self._forgettings |= set(self._unit.scalars(select(table.c.forgetting_id).where(of_forgetting)))
        if forgetting_id is not None and not self._forgettings:
            raise NothingToEraseError(f"There is no forgetting with number {forgetting_id}.")
        of_forgettings = self._unit.among(forgotten_entry.c.forgetting_id, self._forgettings)
        forgotten = self._recorded(
            select(forgotten_entry.c.memory_id).where(self._unit.owns(forgotten_entry), of_forgettings)
        )
        live = self._semantic.get(self._unit, forgotten)
        self._entries = {memory_id: memory for memory_id, memory in forgotten.items() if memory_id not in live}

    def _note_photo(self, photo_id: str) -> None:
        """Notes a photo and the memories that only it supports."""
        is_photo = self._unit.owns(photo) & (photo.c.photo_id == photo_id)
        if self._unit.scalar(select(photo.c.photo_id).where(is_photo)) is None:
            raise NothingToEraseError(f"There is no photo {photo_id!r}.")
        self._photos = {photo_id}
        with_photo = has_row(entry_photo, entry, "memory_id", where=entry_photo.c.photo_id == photo_id)
        rest_on_photo = self._unit.owns(entry) & (entry.c.rests_on == "shown") & with_photo
        self._entries = self._recorded(select(entry.c.memory_id).where(rest_on_photo))

    def _note_entries(self, *, keep_memories: bool) -> list[MemoryEntry]:
        """Notes the entries that are erased with the messages, or that the user keeps.

        Returns the entries that stay because of other evidence, with that evidence.
        """
        unit = self._unit
        resting = self._semantic.resting_on(unit, self._messages) - self._entries.keys()
        concepts = concept_store.concepts(unit) if resting else []
        to_retain = set[int]()
        if keep_memories:
            to_retain = {*self._semantic.get(unit, resting), *forgettings_of(unit, resting)}
        supported = []
        for memory_id, memory in self._semantic.as_recorded(unit, resting).items():
            remaining = without(memory.evidence_ids, self._messages)
            if entry_is_stated(memory, self._raw.in_ranges(unit, remaining), concepts):
                supported.append(replace(memory, evidence_ids=tuple(remaining)))
            elif memory_id in to_retain:
                self._retained[memory_id] = replace(memory, evidence_ids=tuple(remaining))
            else:
                self._entries[memory_id] = memory
        live = self._semantic.get(unit, self._entries)
        older = {number for memory_id in live for number in self._semantic.predecessors(unit, memory_id)}
        self._entries |= self._semantic.as_recorded(unit, older - self._entries.keys())
        return [memory for memory in supported if memory.memory_id not in self._entries]

    def _note_photos(self) -> None:
        """Notes the photos that no remaining message of the user shows."""
        hidden = {(row.message_id, row.photo_id) for row in self._of_forgettings(withheld_photo)}
        candidates = {photo_id for m in self._messages.values() for photo_id in m.photos}
        candidates |= {photo_id for memory in self._entries.values() for photo_id in memory.photo_ids}
        candidates |= {photo_id for _, photo_id in hidden}
        shown = {
            photo_id
            for number, photo_id, role in self._raw.showing(self._unit, candidates)
            if role == "user" and number not in self._messages and (number, photo_id) not in hidden
        }
        self._photos |= candidates - shown

    def _without_photos(self, kept: Iterable[MemoryEntry]) -> list[MemoryEntry]:
        """Returns the kept entries, and all others with one of the photos, without the erased photos."""
        reduced = {memory.memory_id: memory for memory in kept}
        with_photo = self._unit.owns(entry_photo) & entry_photo.c.photo_id.in_(sorted(self._photos))
        holding = set(self._unit.scalars(select(entry_photo.c.memory_id).where(with_photo))) - self._entries.keys()
        others = self._semantic.as_recorded(self._unit, holding)
        for memory in [reduced.get(number, others[number]) for number in sorted(holding)]:
            remaining = tuple(photo_id for photo_id in memory.photo_ids if photo_id not in self._photos)
            captions = photo_captions.captions_of(self._unit, remaining)
            caption = together(captions.get(photo_id, "") for photo_id in remaining) if memory.caption else ""
            reduced[memory.memory_id] = replace(memory, photo_ids=remaining, caption=caption)
        return [reduced[number] for number in sorted(reduced)]

    def _withheld_texts(self) -> list[str]:
        spans = self._withheld()
        logged = self._raw.as_logged(self._unit, spans)
        return [
            revealing_text(source.role, source.text[slice(*span)])
            for number, source in logged.items()
            for span in spans[number]
        ]

    def _places(self) -> tuple[set[str], int]:
        """Returns the conversations that contain the erased content, and the id of the first message that does."""
        ids = {number for memory in self._entries.values() for number in memory.evidence_message_ids()}
        ids |= {number for number, photo_id, role in self._raw.showing(self._unit, self._photos) if role == "user"}
        sources = self._raw.as_logged(self._unit, ids) | self._messages
        return {m.conversation_id for m in sources.values()}, min(sources, default=0)

    def _captions(self) -> list[str]:
        rows = select(photo.c.caption).where(self._unit.owns(photo), photo.c.photo_id.in_(sorted(self._photos)))
        return list(self._unit.scalars(rows.where(photo.c.caption != "").order_by(photo.c.photo_id)))

    def _names(self) -> dict[int, tuple[str, bool]]:
        """Returns the known names by concept id, each with whether a photo shows the concept."""
        concepts = concept_store.concepts(self._unit)
        return {concept.concept_id: (concept.name, bool(concept.photo_ids)) for concept in concepts}

    def _names_no_longer_mentioned(self, names: Iterable[str]) -> tuple[str, ...]:
        """Returns the names that are in no remaining memory, whether it is used or kept back."""
        stays = entry.c.alive | has_row(kept_back, entry, "memory_id")
        texts = self._unit.scalars(select(entry.c.text).where(self._unit.owns(entry), stays))
        remaining = [set(finished_words(text)) for text in texts]
        return tuple(name for name in names if not any(words.issuperset(finished_words(name)) for words in remaining))

    def _concepts_losing(self) -> set[int]:
        """Returns the ids of the concepts that lose an entry or a photo."""
        of_photos = select(concept_photo.c.concept_id).where(
            self._unit.owns(concept_photo), concept_photo.c.photo_id.in_(sorted(self._photos))
        )
        of_entries = {number for memory in self._entries.values() for number in memory.concept_ids}
        return of_entries | set(self._unit.scalars(of_photos))

    def _number_of_records(self) -> int:
        indexed = [memory for memory in self._entries.values() if memory.superseded_by is None]
        messages = self._raw.versions(self._unit, self._messages)
        return len(indexed) + len(messages) + len(self._photos)

    # Reading

    def _rows(self, table: Table, message_id: int) -> list[dict[str, Any]]:
        of_message = self._unit.owns(table) & (table.c.message_id == message_id)
        return [dict(row) for row in self._unit.execute(select(table).where(of_message)).mappings()]

    def _withheld(self) -> dict[int, list[Span]]:
        """Returns, by message id, the spans that the erased forgettings withhold."""
        rows = self._of_forgettings(withheld_words)
        return grouped((row.message_id, (row.first_character, row.last_character)) for row in rows)

    def _of_forgettings(self, table: Table) -> Sequence[Row]:  # type: ignore[type-arg]
        of_forgettings = self._unit.among(table.c.forgetting_id, self._forgettings)
        return self._unit.execute(select(table).where(self._unit.owns(table), of_forgettings)).all()

    def _logged(self, ids: Select[Any]) -> dict[int, Message]:
        return self._raw.as_logged(self._unit, self._unit.scalars(ids).all())

    def _recorded(self, ids: Select[Any]) -> dict[int, MemoryEntry]:
        return self._semantic.as_recorded(self._unit, self._unit.scalars(ids).all())

    def _keys(self) -> list[RecordKey]:
        return [
            *(RecordKey("message", number) for number in self._messages),
            *(RecordKey("entry", number) for number in self._entries),
        ]


def without(evidence: Iterable[EvidenceRange], message_ids: Collection[int]) -> list[EvidenceRange]:
    """Returns the ranges without the messages; a range is split where a message is taken out."""
    remaining: list[EvidenceRange] = []
    for first, last in evidence:
        start = first
        for number in sorted(number for number in message_ids if first <= number <= last):
            remaining += [EvidenceRange(start, number - 1)] if start < number else []
            start = number + 1
        remaining += [EvidenceRange(start, last)] if start <= last else []
    return merge_ranges(remaining, adjoining=False)
