"""All that can be read of one owner's memory."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

from m2a.memory import (
    concept_store,
    conversations,
    edited_messages,
    kept_back,
    memory_listing,
    owner_settings,
    past_forgettings,
    photo_captions,
    receipts,
    reply_sources,
)
from m2a.memory.forgetting import Forgetter
from m2a.memory.stores import Stores
from m2a.types import (
    WHOLE,
    Concept,
    Conversation,
    ConversationPart,
    EvidenceRange,
    HistoryRow,
    Hit,
    KeptBack,
    KeptBackReason,
    MemoryEntry,
    MemoryKind,
    MemoryRule,
    Message,
    PastForgetting,
    Query,
    Receipt,
    RecordKind,
)

STANDING_PREFERENCES = 10
ASKED_AT_MOST = 20  # newest first


class MemoryReader:
    """Reads the messages and memories of one owner, and nothing of another. All calls block and may come from any thread."""

    def __init__(self, owner: str, stores: Stores, clock: Callable[[], datetime]) -> None:
        self.owner = owner
        self._database = stores.database
        self._raw = stores.raw
        self._semantic = stores.semantic
        self._retrieval = stores.retrieval
        self._forgetter = Forgetter(stores.raw, stores.semantic)
        self._clock = clock

    # Messages

    def conversations(self) -> list[Conversation]:
        """Returns the conversations that have a message, most recently used first."""
        with self._database.read(self.owner) as unit:
            return conversations.listed(unit)

    def messages(self, message_ids: Collection[int]) -> dict[int, Message]:
        """Returns the existing messages among the ids, by id."""
        with self._database.read(self.owner) as unit:
            return self._raw.get(unit, message_ids)

    def messages_in_ranges(self, ranges: Iterable[EvidenceRange]) -> list[Message]:
        """Returns the messages in the ranges, in order and each once."""
        with self._database.read(self.owner) as unit:
            return self._raw.in_ranges(unit, ranges)

    def messages_between(self, start: date, end: date) -> list[Message]:
        """Returns the messages of the days from `start` to `end` inclusive, in the clock's time zone."""
        with self._database.read(self.owner) as unit:
            return self._raw.between(unit, start, end, self._clock().tzinfo or UTC)

    def conversation(self, conversation_id: str, part: ConversationPart = WHOLE) -> list[Message]:
        """Returns a part of a conversation, in order."""
        with self._database.read(self.owner) as unit:
            return self._raw.in_conversation(unit, conversation_id, part)

    def preceding(self, message_ids: Collection[int]) -> dict[int, Message]:
        """Returns, by message id, the preceding message of the same conversation; first messages are left out."""
        with self._database.read(self.owner) as unit:
            preceding_ids = self._raw.preceding(unit, message_ids)
            messages = self._raw.get(unit, set(preceding_ids.values()))
            return {number: messages[earlier] for number, earlier in preceding_ids.items() if earlier in messages}

    def find_messages(self, query: str, limit: int = 10) -> list[Message]:
        """Searches the text of all messages, best match first, followed by messages whose photo captions match."""
        with self._database.read(self.owner) as unit:
            matches = self._raw.find(unit, query, limit)
            ids = photo_captions.showing(unit, query, limit)
            captioned = self._raw.get(unit, set(ids) - {message.message_id for message in matches})
            return [*matches, *(captioned[message_id] for message_id in ids if message_id in captioned)][:limit]

    def may_have_long_message(self, sentences: int) -> bool:
        """Returns whether a message of the user may have at least this many sentences."""
        with self._database.read(self.owner) as unit:
            return self._raw.may_have_long_message(unit, sentences)

    # Memories

    def entries(self, kinds: Collection[MemoryKind] | None = None) -> list[MemoryEntry]:
        """Returns all live entries, or those of the given kinds."""
        with self._database.read(self.owner) as unit:
            return self._semantic.all(unit, kinds)

    def entry(self, memory_id: int) -> MemoryEntry | None:
        """Returns the live entry with that id, if there is one."""
        return self.entries_by_id([memory_id]).get(memory_id)

    def entries_by_id(self, memory_ids: Collection[int]) -> dict[int, MemoryEntry]:
        """Returns the live entries among the ids, by id."""
        with self._database.read(self.owner) as unit:
            return self._semantic.get(unit, memory_ids)

    def known_texts(self, texts: Collection[str]) -> set[str]:
        """Returns the texts that a live entry says already, ignoring case and spacing."""
        with self._database.read(self.owner) as unit:
            return {text for text in texts if self._semantic.saying(unit, text)}

    def corrections_of(self, memory_ids: Collection[int]) -> dict[int, list[MemoryEntry]]:
        """Returns, by memory id, the live entries that correct a part of that memory, in order."""
        if not memory_ids:
            return {}
        with self._database.read(self.owner) as unit:
            return self._semantic.corrections_of(unit, memory_ids)

    def resting_on(self, message_id: int) -> list[MemoryEntry]:
        """Returns the live entries whose only evidence is this message and the replies to it."""
        with self._database.read(self.owner) as unit:
            resting = edited_messages.resting_on(unit, self._raw, self._semantic, message_id)
            return [entry for entry, other_evidence in resting if not other_evidence]

    def versions(self, memory_id: int) -> list[MemoryEntry]:
        """Returns the earlier versions of a memory, newest first, without forgotten ones."""
        with self._database.read(self.owner) as unit:
            older_ids = self._semantic.predecessors(unit, memory_id)
            entries = self._semantic.superseded(unit, older_ids)
            return [entries[older_id] for older_id in older_ids if older_id in entries]

    def replaced_entries(self, memory_ids: Collection[int]) -> dict[int, MemoryEntry]:
        """Returns the entries among the ids that were replaced by others, as they were, without forgotten ones."""
        with self._database.read(self.owner) as unit:
            return self._semantic.superseded(unit, memory_ids)

    def revisions_in(self, message_ids: Collection[int]) -> dict[int, list[MemoryEntry]]:
        """Returns, by message id, the replaced entries that rest on that message, and the live entries that correct a part of
        one that rests on it. Of a reply they are those of the entries that it rests on itself."""
        with self._database.read(self.owner) as unit:
            revisions = self._semantic.revisions_in(unit, message_ids)
            under = reply_sources.memories_under(unit, message_ids)
            memory_ids = {number for numbers in under.values() for number in numbers}
            replaced = self._semantic.superseded(unit, memory_ids)
            corrections = self._semantic.corrections_of(unit, memory_ids)
        for reply_id, numbers in under.items():
            of_reply = [replaced[number] for number in numbers if number in replaced]
            of_reply += [
                later for number in numbers for later in corrections.get(number, ()) if later.memory_id not in numbers
            ]
            if of_reply:
                revisions[reply_id] = [*revisions.get(reply_id, ()), *of_reply]
        return revisions

    def history(self, memory_id: int) -> list[HistoryRow]:
        """Returns all changes to a memory, oldest first.

        A forgotten memory has no text, and a reason that repeats something forgotten is left out.
        """
        with self._database.read(self.owner) as unit:
            rows = self._semantic.history(unit, memory_id)
            forgotten = self._forgetter.is_forgotten(unit, [row.why for row in rows])
        return [
            replace(row, why="") if is_forgotten else row for row, is_forgotten in zip(rows, forgotten, strict=True)
        ]

    def standing_preferences(self) -> list[MemoryEntry]:
        """Returns the newest preferences that the user stated, at most ten. Every prompt includes them."""
        stated = [entry for entry in self.entries(kinds=["preference"]) if entry.rests_on == "stated"]
        return sorted(stated, key=lambda entry: (entry.recorded_at, entry.memory_id))[-STANDING_PREFERENCES:]

    def pinned(self) -> list[MemoryEntry]:
        """Returns the pinned entries, oldest pin first. Every prompt includes them."""
        with self._database.read(self.owner) as unit:
            ids = memory_listing.pinned(unit)
            entries = self._semantic.get(unit, ids)
        return [entries[memory_id] for memory_id in ids]

    def concepts(self) -> list[Concept]:
        """Returns the people, pets, places and things that live entries name, in the order in which they were named."""
        with self._database.read(self.owner) as unit:
            return concept_store.concepts(unit)

    def rule(self) -> MemoryRule:
        """Returns the owner's rule for when memories are written."""
        with self._database.read(self.owner) as unit:
            return owner_settings.memory_rule(unit)

    # For the owner only: content that answers do not use

    def kept_back(
        self, count: int, *, reason: KeptBackReason | None = None, words: str = "", start: int = 0
    ) -> list[KeptBack]:
        """Returns the kept-back memories that contain all the words, for one reason or any, most recently kept back first."""
        with self._database.read(self.owner) as unit:
            return kept_back.listed(unit, self._semantic, reason=reason, words=words, start=start, count=count)

    def kept_back_by_id(self, memory_ids: Collection[int]) -> dict[int, KeptBack]:
        """Returns the kept-back memories among the ids, by id."""
        with self._database.read(self.owner) as unit:
            return kept_back.among_ids(unit, self._semantic, memory_ids)

    def asked(self) -> dict[int, MemoryEntry]:
        """Returns, by id, the memories that the user may have asked to forget and has yet to decide on."""
        with self._database.read(self.owner) as unit:
            asked = kept_back.listed(unit, self._semantic, reason="asked", count=ASKED_AT_MOST)
            return {kept.entry.memory_id: kept.entry for kept in asked}

    def kept_back_counts(self) -> dict[KeptBackReason, int]:
        """Returns the number of kept-back memories for each reason."""
        with self._database.read(self.owner) as unit:
            return kept_back.counts(unit)

    def forgetting_count(self) -> int:
        """Returns the number of acts of forgetting that can still be undone or erased."""
        with self._database.read(self.owner) as unit:
            return past_forgettings.count(unit)

    def past_forgettings(self, count: int, *, start: int = 0) -> list[PastForgetting]:
        """Returns the acts of forgetting that can still be undone or erased, newest first."""
        with self._database.read(self.owner) as unit:
            return past_forgettings.listed(unit, self._raw, start=start, count=count)

    def conversation_to_owner(self, conversation_id: str, part: ConversationPart = WHOLE) -> list[Message]:
        """Returns a part of a conversation, in order, including text and photos that are kept back."""
        with self._database.read(self.owner) as unit:
            return self._raw.in_conversation(unit, conversation_id, part, to_owner=True)

    def count_messages(self, conversation_id: str, *, since: int = 0, up_to: int | None = None) -> int:
        """Returns the number of a conversation's messages from `since` to `up_to` inclusive."""
        with self._database.read(self.owner) as unit:
            return self._raw.count(unit, conversation_id, since=since, up_to=up_to)

    def evidence_to_owner(self, ranges: Iterable[EvidenceRange]) -> list[Message]:
        """Returns the messages in the ranges in order, including text and photos that are kept back."""
        with self._database.read(self.owner) as unit:
            return self._raw.in_ranges(unit, ranges, to_owner=True)

    def receipts(self) -> list[Receipt]:
        """Returns the receipts of all erasures, oldest first."""
        with self._database.read(self.owner) as unit:
            return receipts.receipts(unit)

    # Search

    def search(
        self,
        query: Query,
        kinds: Collection[RecordKind] = frozenset({"entry"}),
        k: int = 10,
        *,
        relevance_floor: bool = True,
        before: int | None = None,
    ) -> list[Hit]:
        """Searches entries, messages, or both in one ranking; see `Retriever.search`. All of M2A searches through this.

        Everything written before the call can be found. Entries that a language model wrote before its changes were checked
        come last.
        """
        [hits] = self.search_all([query], kinds, k, relevance_floor=relevance_floor, before=before)
        return hits

    def search_all(
        self,
        queries: Sequence[Query],
        kinds: Collection[RecordKind] = frozenset({"entry"}),
        k: int = 10,
        *,
        relevance_floor: bool = True,
        before: int | None = None,
        within: Collection[int] | None = None,
    ) -> list[list[Hit]]:
        """Returns the hits of `search` for each query, about as fast as for one; with `within`, only of these entries."""
        retrieval = self._retrieval()
        results = retrieval.indexer.when_current(
            self.owner,
            lambda: retrieval.retriever.search_all(
                self.owner, queries, kinds, k, relevance_floor=relevance_floor, before=before, within=within
            ),
        )
        return [sorted(hits, key=_is_unchecked) for hits in results]

    def index(self) -> None:
        """Brings the index up to date."""
        self._retrieval().indexer.drain(self.owner)


def _is_unchecked(hit: Hit) -> bool:
    return isinstance(hit.record, MemoryEntry) and hit.record.rests_on == "unchecked"
