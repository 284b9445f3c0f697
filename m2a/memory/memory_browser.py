"""Lists, filters, searches and opens one owner's memory for the page."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from m2a.memory import memory_listing
from m2a.memory.bank import MemoryBank
from m2a.memory.name_mentions import NameMentions, name_mentions
from m2a.memory.stores import Stores
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import FoundConversation, Hit, MemoryFilter, MemoryPage, OpenedMemory, Query, Subject, SubjectSummary

SUBJECTS = 100
SUMMARISED_SUBJECTS = 6  # the most frequent
MEMORIES_PER_SUBJECT = 3  # in the summary
MESSAGES_FOUND = 50
MESSAGES_OPENED = 20
CLOSEST = 3  # memories to show if none is relevant


class MemoryBrowser:
    """A read-only view of a bank. Every call blocks."""

    def __init__(self, bank: MemoryBank, stores: Stores, clock: Callable[[], datetime]) -> None:
        self._bank = bank
        self._owner = bank.owner
        self._database = stores.database
        self._semantic = stores.semantic
        self._clock = clock

    def page(self, wanted: MemoryFilter, *, start: int, count: int) -> MemoryPage:
        """Returns `count` of the live entries that pass the filter, from `start`: pinned ones first, then the newest."""
        zone = self._clock().tzinfo or UTC
        with self._database.read(self._owner) as unit:
            ids = memory_listing.newest_first(unit, wanted, zone, start=start, count=count)
            entries = self._semantic.get(unit, ids)
            total = memory_listing.count(unit, wanted, zone)
        return MemoryPage(tuple(entries[number] for number in ids), total)

    def last_updated(self) -> datetime | None:
        """Returns when the newest memory was recorded, or None if there are none."""
        with self._database.read(self._owner) as unit:
            return memory_listing.last_updated(unit)

    def subjects(self) -> list[Subject]:
        """Returns the subjects of the live entries, those with the most entries first."""
        with self._database.read(self._owner) as unit:
            return memory_listing.subjects(unit, SUBJECTS)

    def overview(self) -> tuple[list[Subject], list[SubjectSummary]]:
        """Returns the same subjects, and the newest memories about the most frequent of them, and about none."""
        with self._database.read(self._owner) as unit:
            names = name_mentions(unit)  # reads all memories
            subjects = memory_listing.subjects(unit, SUBJECTS, names)
            return subjects, self._summary(unit, subjects, names)

    def _summary(self, unit: UnitOfWork, subjects: Sequence[Subject], names: NameMentions) -> list[SubjectSummary]:
        """Returns the first of the subjects with their newest memories, and last the memories about no subject.

        A memory appears under one subject only.
        """
        zone = self._clock().tzinfo or UTC
        listed: list[int] = []
        summaries = []
        for subject in (*subjects[:SUMMARISED_SUBJECTS], None):
            of_subject = MemoryFilter(concept_id=subject.concept_id) if subject else MemoryFilter(about_nobody=True)
            count = MEMORIES_PER_SUBJECT + len(listed)
            newest = memory_listing.newest_first(unit, of_subject, zone, start=0, count=count, names=names)
            ids = [memory_id for memory_id in newest if memory_id not in listed][:MEMORIES_PER_SUBJECT]
            if not ids:
                continue
            listed += ids
            entries = self._semantic.get(unit, ids)
            total = subject.memories if subject else memory_listing.count(unit, of_subject, zone, names)
            last = subject.last_updated if subject else max(entry.recorded_at for entry in entries.values())
            summaries.append(SubjectSummary(subject, tuple(entries[memory_id] for memory_id in ids), total, last))
        return summaries

    def find(self, words: str, wanted: MemoryFilter, k: int) -> list[Hit]:
        """Returns at most `k` memories that are relevant to the words and pass the filter, best first.

        If none is relevant, returns the `CLOSEST` few, whose `is_near` is False.
        """
        within = None
        if wanted != MemoryFilter():
            with self._database.read(self._owner) as unit:
                within = memory_listing.all_passing(unit, wanted, self._clock().tzinfo or UTC)
            if not within:
                return []

        [hits] = self._bank.search_all([Query(words)], k=k, within=within)
        if near := [hit for hit in hits if hit.is_near]:
            return near
        if not hits:
            [hits] = self._bank.search_all([Query(words)], k=k, relevance_floor=False, within=within)
        return hits[:CLOSEST]

    def find_by_photo(self, photo: str | bytes, k: int) -> list[Hit]:
        """Returns the memories whose photos are similar to a photo, most similar first.

        The photo is the id of a stored one, or the bytes of a picture, which is not kept. Raises `PhotoRefusedError` and
        `LookupError`.
        """
        if isinstance(photo, str):
            return self._bank.search(Query(photo_ids=(photo,)), k=k)
        return self._bank.search(Query(pictures=(self._bank.photos.as_stored(photo),)), k=k)

    def open(self, memory_id: int) -> OpenedMemory:
        """Returns a live or superseded memory with everything that belongs to it, and the first messages it rests on.

        Raises `LookupError` if there is no such memory, or if it was forgotten.
        """
        bank = self._bank
        kept_back = bank.kept_back_by_id([memory_id]).get(memory_id)
        entries = bank.entries_by_id([memory_id]) or bank.replaced_entries([memory_id])
        entry = kept_back.entry if kept_back else entries.get(memory_id)
        if entry is None:
            raise LookupError(f"Memory {memory_id} no longer exists.")
        evidence = bank.evidence_to_owner(entry.evidence_ids)
        shown = evidence[:MESSAGES_OPENED]
        concepts = {concept.concept_id: concept for concept in bank.concepts()} if entry.concept_ids else {}
        related_ids = [related for related in (entry.corrects, entry.superseded_by) if related is not None]
        related_entries = bank.entries_by_id(related_ids) | bank.replaced_entries(related_ids)
        return OpenedMemory(
            entry,
            tuple(shown),
            len(evidence),
            bank.preceding([message.message_id for message in shown]),
            tuple(bank.versions(memory_id)),
            tuple(bank.history(memory_id)),
            tuple(concepts[number] for number in entry.concept_ids if number in concepts),
            tuple(bank.corrections_of([memory_id]).get(memory_id, ())),
            related_entries.get(entry.corrects or 0),
            related_entries.get(entry.superseded_by or 0),
            kept_back,
        )

    def find_conversations(self, words: str) -> list[FoundConversation]:
        """Returns the conversations with the words in their title, most recently used first, then those with matching messages,
        best match first. Each comes with its best matching message, if any."""
        conversations = {conversation.conversation_id: conversation for conversation in self._bank.conversations()}
        matches = {
            conversation_id: FoundConversation(conversation, None)
            for conversation_id, conversation in conversations.items()
            if words.casefold() in conversation.title.casefold()
        }
        for message in self._bank.find_messages(words, limit=MESSAGES_FOUND):
            conversation_id = message.conversation_id
            if conversation_id not in matches or matches[conversation_id].message is None:
                matches[conversation_id] = FoundConversation(conversations[conversation_id], message)
        return list(matches.values())
