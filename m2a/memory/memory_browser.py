"""One owner's memory as they look through it on the page: listed, filtered, found and opened."""

from collections.abc import Callable
from datetime import UTC, datetime

from m2a.memory import memory_listing, memory_summary
from m2a.memory.bank import MemoryBank
from m2a.memory.stores import Stores
from m2a.types import FoundConversation, Hit, MemoryFilter, MemoryPage, OpenedMemory, Query, Subject, SubjectSummary

MESSAGES_FOUND = 50
MESSAGES_OPENED = 20
CLOSEST = 3  # memories that are shown where none is near


class MemoryBrowser:
    """Reads what `bank` holds, and writes nothing. Every call blocks."""

    def __init__(self, bank: MemoryBank, stores: Stores, clock: Callable[[], datetime]) -> None:
        self._bank = bank
        self._owner = bank.owner
        self._database = stores.database
        self._semantic = stores.semantic
        self._clock = clock

    def page(self, wanted: MemoryFilter, *, start: int, count: int) -> MemoryPage:
        """A part of the living entries that the filter lets through, the last told first."""
        zone = self._clock().tzinfo or UTC
        with self._database.read(self._owner) as unit:
            ids = memory_listing.newest_first(unit, wanted, zone, start=start, count=count)
            entries = self._semantic.get(unit, ids)
            total = memory_listing.count(unit, wanted, zone)
        return MemoryPage(tuple(entries[number] for number in ids), total)

    def last_updated(self) -> datetime | None:
        """When the newest memory was told; None where there is none."""
        with self._database.read(self._owner) as unit:
            return memory_listing.last_updated(unit)

    def subjects(self, limit: int = 100) -> list[Subject]:
        """What the living entries are about, the most told first."""
        with self._database.read(self._owner) as unit:
            return memory_listing.subjects(unit, limit)

    def summary(self) -> list[SubjectSummary]:
        """What was told last of the subjects that are told of most, and of none."""
        with self._database.read(self._owner) as unit:
            return memory_summary.summary(unit, self._semantic, self._clock().tzinfo or UTC)

    def find(self, words: str, wanted: MemoryFilter, k: int) -> list[Hit]:
        """The memories near to the words among those that the filter lets through, best first, `k` at most.

        Where none is near, the `CLOSEST` that there are, of which no hit `is_near`.
        """
        within = None
        if wanted != MemoryFilter():
            with self._database.read(self._owner) as unit:
                within = memory_listing.all_passing(unit, wanted, self._clock().tzinfo or UTC)
            if not within:
                return []

        def found(*, relevance_floor: bool) -> list[Hit]:
            if within is None:
                return self._bank.search(Query(words), k=k, relevance_floor=relevance_floor)
            return self._bank.search_among(Query(words), within, k, relevance_floor=relevance_floor)

        hits = found(relevance_floor=True)
        near = [hit for hit in hits if hit.is_near]
        return near or (hits or found(relevance_floor=False))[:CLOSEST]

    def find_by_photo(self, photo: str | bytes, k: int) -> list[Hit]:
        """The memories with a photo that is near to a stored one, by its id, or to a picture, which is kept nowhere.

        The nearest first. Raises `PhotoRefusedError` and `LookupError`.
        """
        if isinstance(photo, str):
            return self._bank.search(Query(photo_ids=(photo,)), k=k)
        return self._bank.search(Query(pictures=(self._bank.photos.as_stored(photo),)), k=k)

    def open(self, memory_id: int) -> OpenedMemory:
        """A memory that holds, or that another took the place of, with all that belongs to it and its first messages.

        Raises `LookupError` for one that was forgotten or never was.
        """
        bank = self._bank
        kept_back = bank.kept_back_by_id([memory_id]).get(memory_id)
        found = bank.entries_by_id([memory_id]) or bank.replaced_entries([memory_id])
        found |= {memory_id: kept_back.entry} if kept_back else {}
        if memory_id not in found:
            raise LookupError(f"There is no memory {memory_id} any more.")
        entry = found[memory_id]
        evidence = bank.evidence_to_owner(entry.evidence_ids)
        shown = evidence[:MESSAGES_OPENED]
        concepts = {concept.concept_id: concept for concept in bank.concepts()} if entry.concept_ids else {}
        near = [number for number in (entry.corrects, entry.superseded_by) if number is not None]
        others = bank.entries_by_id(near) | bank.replaced_entries(near)
        return OpenedMemory(
            entry,
            tuple(shown),
            len(evidence),
            bank.preceding([message.message_id for message in shown]),
            tuple(bank.versions(memory_id)),
            tuple(bank.history(memory_id)),
            tuple(concepts[number] for number in entry.concept_ids if number in concepts),
            tuple(bank.corrections_of([memory_id]).get(memory_id, ())),
            others.get(entry.corrects or 0),
            others.get(entry.superseded_by or 0),
            kept_back,
        )

    def find_conversations(self, words: str) -> list[FoundConversation]:
        """Those with the words in their title, the last used first, then those in which something said fits, best first.

        Each with the message that fits best, where one does.
        """
        bank = self._bank
        known = {one.conversation_id: one for one in bank.conversations()}
        titled = [one for one in known.values() if words.casefold() in one.title.casefold()]
        found = {one.conversation_id: FoundConversation(one, None) for one in titled}
        for message in bank.find_messages(words, limit=MESSAGES_FOUND):
            place = known[message.conversation_id]
            if place.conversation_id not in found or found[place.conversation_id].message is None:
                found[place.conversation_id] = FoundConversation(place, message)
        return list(found.values())
