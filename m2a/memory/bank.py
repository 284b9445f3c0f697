"""One owner's memory. All access to the stores, the photos and the index goes through it."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

from m2a.memory import (
    change_log,
    concept_store,
    conversations,
    costs,
    edited_messages,
    erasing,
    kept_back,
    memory_listing,
    owner_settings,
    past_forgettings,
    photo_captions,
    receipts,
    updates,
)
from m2a.memory.change_writer import ChangeWriter
from m2a.memory.forgetting import Forgetter
from m2a.memory.keeping import changes_in_memory
from m2a.memory.message_recorder import MessageRecorder
from m2a.memory.photo_album import PhotoAlbum
from m2a.memory.reply_log import ReplyLog
from m2a.memory.review_queue import ReviewQueue
from m2a.memory.semantic_memory_store import RejectedWriteError
from m2a.memory.stores import Stores
from m2a.memory.unit_of_work import UnitOfWork
from m2a.speakers import ASSISTANT, THE_USER, USER
from m2a.types import (
    Addition,
    Change,
    Concept,
    Conversation,
    Cost,
    EntryDraft,
    Erasure,
    ErasurePreview,
    EvidenceRange,
    Forgetting,
    HistoryRow,
    Hit,
    Keeping,
    KeptBack,
    KeptBackReason,
    MemoryChanged,
    MemoryEntry,
    MemoryKind,
    MemoryRule,
    Message,
    PastForgetting,
    Query,
    Reason,
    Receipt,
    RecordKind,
    Refusal,
    Role,
)
from m2a.types.errors import UserError

STANDING_PREFERENCES = 10


class MessageErasedError(UserError, LookupError):
    """The message was erased before it was answered."""

    def __init__(self, message_id: int) -> None:
        super().__init__(f"Message {message_id} was erased before it was answered.")


class MemoryBank:
    """The messages, photos and memories of one owner. No call reads or changes anything of another owner.

    All calls block and may come from any thread. A write is on disk when its call returns.
    """

    is_temporary = False

    def __init__(self, owner: str, stores: Stores, clock: Callable[[], datetime]) -> None:
        self.owner = owner
        self._database = stores.database
        self._raw = stores.raw
        self._semantic = stores.semantic
        self._photos = stores.photos
        self._retrieval = stores.retrieval
        self._forgetter = Forgetter(stores.raw, stores.semantic)
        self._recorder = MessageRecorder(stores)
        self._writer = ChangeWriter(stores.semantic, self._forgetter)
        self._clock = clock
        self.photos = PhotoAlbum(owner, stores)
        self.replies = ReplyLog(owner, stores, self._forgetter, clock)
        self.review_queue = ReviewQueue(owner, stores, self._writer, self._forgetter, clock)

    # Layer 1

    def conversations(self) -> list[Conversation]:
        """Returns the conversations that have a message, most recently used first."""
        with self._database.read(self.owner) as unit:
            return conversations.listed(unit)

    def rename_conversation(self, conversation_id: str, title: str) -> None:
        """Renames a conversation. Raises `UnknownConversationError`."""
        with self._database.write(self.owner) as unit:
            conversations.rename(unit, conversation_id, title)

    def record(
        self,
        conversation_id: str | None,
        *,
        role: Role,
        speaker: str,
        text: str,
        photos: Sequence[bytes] = (),
        photo_names: Sequence[str | None] = (),
        stored_photos: Sequence[str] = (),
        said_at: datetime | None = None,
        replaces: int | None = None,
        reference: str | None = None,
    ) -> Message:
        """Stores a message with its photos in one transaction, in a new conversation if no `conversation_id` is given.

        `stored_photos` are the ids of stored photos to show again. `photo_names` may give the name of each photo, for error
        messages. Raises `PhotoRefusedError`, `UnknownConversationError`, `LookupError` for an unknown stored photo, and
        `MessageRefusedError` if the message is empty or if `replaces` is not a message of the same role in that
        conversation. A failed call leaves no photo files behind.
        """
        return self._recorder.record(
            self.owner,
            conversation_id,
            role=role,
            speaker=speaker,
            text=text,
            photos=photos,
            photo_names=photo_names,
            stored_photos=stored_photos,
            said_at=said_at or self._clock(),
            replaces=replaces,
            reference=reference,
        )

    def record_reply(
        self,
        conversation_id: str,
        text: str,
        *,
        speaker: str,
        photo_ids: Sequence[str] = (),
        partial: bool = False,
        steps: Mapping[str, Any],
        answers: int,
        update_pending: bool,
        cost: Cost | None = None,
    ) -> Message:
        """Stores the assistant's reply to the message `answers`, in one transaction with its trace, its cost and the mark that
        its memory update is pending. Raises `MessageErasedError`."""
        with self._database.write(self.owner) as unit:
            if not self._raw.as_logged(unit, [answers]):
                raise MessageErasedError(answers)
            message = self._raw.append(
                unit,
                conversation_id,
                role="assistant",
                speaker=speaker,
                text=text,
                photos=photo_ids,
                said_at=self._clock(),
                partial=partial,
            )
            change_log.record(unit, message.message_id, steps, answers=answers)
            if update_pending:
                updates.await_update(unit, message.message_id)
            if cost is not None:
                costs.note(unit, message.message_id, cost, self._clock())
            return message

    def record_change(
        self,
        text: str,
        reply_text: str,
        changes: Callable[[EvidenceRange], Sequence[Change | Keeping]],
    ) -> Message:
        """Stores a message and a reply in the conversation of manual changes, and makes the changes that rest on the message.

        Either everything is written or nothing. `changes` takes the message as evidence. Returns the reply, whose trace
        holds the changes. Raises `RejectedWriteError`.
        """
        now = self._clock()
        with self._database.write(self.owner) as unit:
            conversation_id = changes_in_memory(unit, self._raw, now)
            place = unit, conversation_id
            message = self._raw.append(*place, role="user", speaker=USER, text=text, said_at=now)
            reply = self._raw.append(*place, role="assistant", speaker=ASSISTANT, text=reply_text, said_at=now)
            change_log.record(unit, reply.message_id, change_log.NOTHING_SEARCHED, answers=message.message_id)
            evidence = EvidenceRange(message.message_id, message.message_id)
            written = self._writer.apply(unit, changes(evidence), who=THE_USER, now=now)
            change_log.append(unit, reply.message_id, [change.stored for change in written])
            return reply

    def messages(self, message_ids: Collection[int]) -> dict[int, Message]:
        """Returns the existing messages among the ids, by id."""
        with self._database.read(self.owner) as unit:
            return self._raw.get(unit, message_ids)

    def messages_in_ranges(self, ranges: Iterable[EvidenceRange]) -> list[Message]:
        """Returns the messages in the ranges, in order and each once."""
        with self._database.read(self.owner) as unit:
            return self._raw.in_ranges(unit, ranges)

    def messages_between(self, start: date | datetime, end: date | datetime) -> list[Message]:
        """Returns the messages from `start` to `end` inclusive; a date means its whole day in the clock's time zone."""
        with self._database.read(self.owner) as unit:
            return self._raw.between(unit, start, end, self._clock().tzinfo or UTC)

    def conversation(
        self, conversation_id: str, *, newest: int | None = None, up_to: int | None = None
    ) -> list[Message]:
        """Returns a conversation's messages in order, up to the message `up_to`, and only the last `newest` of them if given."""
        with self._database.read(self.owner) as unit:
            return self._raw.in_conversation(unit, conversation_id, newest=newest, up_to=up_to)

    def find_messages(self, query: str, limit: int = 10) -> list[Message]:
        """Searches the text of all messages, best match first, followed by messages whose photo captions match."""
        with self._database.read(self.owner) as unit:
            matches = self._raw.find(unit, query, limit)
            ids = photo_captions.showing(unit, query, limit)
            captioned = self._raw.get(unit, set(ids) - {message.message_id for message in matches})
            return [*matches, *(captioned[message_id] for message_id in ids if message_id in captioned)][:limit]

    # Layer 2

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

    def take_back_memories(self, message_id: int) -> None:
        """Withdraws the entries that `resting_on` returns, after the user has edited the message.

        The entries that they had replaced come back.
        """
        with self._database.write(self.owner) as unit:
            edited_messages.take_back(unit, self._raw, self._semantic, message_id, now=self._clock())

    def versions(self, memory_id: int) -> list[MemoryEntry]:
        """Returns the earlier versions of a memory, newest first, without forgotten ones."""
        with self._database.read(self.owner) as unit:
            older_ids = self._semantic.predecessors(unit, memory_id)
            entries = self._semantic.superseded(unit, older_ids)
            return [entries[older_id] for older_id in older_ids if older_id in entries]

    def preceding(self, message_ids: Collection[int]) -> dict[int, Message]:
        """Returns, by message id, the preceding message of the same conversation; first messages are left out."""
        with self._database.read(self.owner) as unit:
            preceding_ids = self._raw.preceding(unit, message_ids)
            messages = self._raw.get(unit, set(preceding_ids.values()))
            return {number: messages[earlier] for number, earlier in preceding_ids.items() if earlier in messages}

    def replaced_entries(self, memory_ids: Collection[int]) -> dict[int, MemoryEntry]:
        """Returns the entries among the ids that were replaced by others, as they were, without forgotten ones."""
        with self._database.read(self.owner) as unit:
            return self._semantic.superseded(unit, memory_ids)

    def revisions_in(self, message_ids: Collection[int]) -> dict[int, list[MemoryEntry]]:
        """Returns, by message id, the replaced entries that rest on that message, and the live entries that correct a part of
        one that rests on it."""
        with self._database.read(self.owner) as unit:
            superseded = self._semantic.superseded_in(unit, message_ids)
            corrections = self._semantic.corrections_in(unit, message_ids)
        return {
            message_id: [*superseded.get(message_id, ()), *corrections.get(message_id, ())]
            for message_id in sorted({*superseded, *corrections})
        }

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

    # Memories that are kept but not used in answers: only for the owner's own eyes

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

    def conversation_to_owner(self, conversation_id: str) -> list[Message]:
        """Returns a conversation in order, including text and photos that are kept back."""
        with self._database.read(self.owner) as unit:
            return self._raw.in_conversation(unit, conversation_id, to_owner=True)

    def evidence_to_owner(self, ranges: Iterable[EvidenceRange]) -> list[Message]:
        """Returns the messages in the ranges in order, including text and photos that are kept back."""
        with self._database.read(self.owner) as unit:
            return self._raw.in_ranges(unit, ranges, to_owner=True)

    def expire(self) -> int:
        """Keeps back all memories whose last day has passed. Returns their number."""
        now = self._clock()
        with self._database.read(self.owner) as unit:
            if not kept_back.past_their_day(unit, now.date()):
                return 0
        with self._database.write(self.owner) as unit:
            return self._writer.keeper.expire(unit, now.date(), now)

    def concepts(self) -> list[Concept]:
        """Returns the people, pets and things that live entries name, in the order in which they were named."""
        with self._database.read(self.owner) as unit:
            return concept_store.concepts(unit)

    def check(self, changes: Sequence[Change]) -> None:
        """Raises `RejectedWriteError` if the changes could not be written together now. Writes nothing."""
        with self._database.write(self.owner) as unit:
            self._writer.apply(unit, changes, who="check", now=self._clock())
            unit.rollback()

    def write(
        self,
        changes: Sequence[Change],
        *,
        who: str,
        update_of: int | None = None,
        trace_of: int | None = None,
        refusals: Sequence[Refusal] = (),
        unasked: int = 0,
    ) -> list[MemoryChanged]:
        """Writes all changes in one transaction, or none. Returns the changes made.

        `update_of` is the reply whose pending update this is. The same transaction marks the update as done and records the
        refusals and the number of unrequested changes; if the update is already done, nothing is written. `trace_of` is a
        reply whose trace also gets the changes, although its update is done. Raises `RejectedWriteError`.
        """
        with self._database.write(self.owner) as unit:
            if update_of is not None and not updates.finish(unit, update_of):
                return []
            logged_refusals = [
                refusal
                if refusal.change is None
                else replace(refusal, change=self._writer.in_log(unit, refusal.change))
                for refusal in refusals
            ]
            written = self._writer.apply(unit, changes, who=who, now=self._clock())
            reply_id = update_of if update_of is not None else trace_of
            if reply_id is not None:
                change_log.append(unit, reply_id, [change.stored for change in written], logged_refusals, unasked)
            return [change.changed for change in written]

    def add(self, draft: EntryDraft, *, who: str, why: Reason) -> MemoryEntry:
        """Writes one entry, or renews the entry that already says the same."""
        [changed] = self.write([Addition(draft, why)], who=who)
        assert changed.entry is not None
        return changed.entry

    def delete(self, memory_id: int, *, who: str, why: Reason) -> MemoryEntry:
        """Forgets a memory and returns it as it was. Raises `RejectedWriteError` if there is no such memory."""
        [changed] = self.write([Forgetting((memory_id,), why)], who=who)
        assert changed.previous is not None
        return changed.previous

    def undo(self, reply_id: int, number: int) -> bool:
        """Undoes change `number`, counted from 0, of a reply's update. Returns False if it was already undone.

        Raises `LookupError` if there is no such change, and `RejectedWriteError` if a later change prevents it.
        """
        with self._database.write(self.owner) as unit:
            steps = change_log.read_steps(unit, reply_id) or {}
            stored = change_log.numbered(steps, "changes", number)
            if stored.get("erased"):
                raise RejectedWriteError("This was erased meanwhile and cannot be brought back.")
            if stored.get("undone"):
                return False
            self._writer.undo(unit, stored, who=THE_USER, now=self._clock())
            stored["undone"] = True
            change_log.write_steps(unit, reply_id, steps)
            return True

    def rule(self) -> MemoryRule:
        """Returns the owner's rule for when memories are written."""
        with self._database.read(self.owner) as unit:
            return owner_settings.memory_rule(unit)

    def set_rule(self, rule: MemoryRule) -> None:
        with self._database.write(self.owner) as unit:
            owner_settings.set_memory_rule(unit, rule)

    # Erasing

    def preview_erasure(self, erasure: Erasure) -> ErasurePreview:
        """Returns what `erase` would remove, with its text. Changes nothing. Raises `NothingToEraseError`."""
        with self._database.write(self.owner) as unit:
            preview, _receipt = self._erased(unit, erasure)
            unit.rollback()
        return preview

    def erase(self, erasure: Erasure) -> Receipt:
        """Removes something from every row, deletes its photo files and queues the change for the index.

        This cannot be undone. The bytes stay on the disk until a purge. Raises `NothingToEraseError`.
        """
        with self._database.write(self.owner) as unit:
            preview, receipt = self._erased(unit, erasure)
        self._photos.remove_files(self.owner, preview.photo_ids)
        return receipt

    def _erased(self, unit: UnitOfWork, erasure: Erasure) -> tuple[ErasurePreview, Receipt]:
        return erasing.erase(unit, self._raw, self._semantic, self._forgetter, erasure, self._clock())

    def receipts(self) -> list[Receipt]:
        """Returns the receipts of all erasures, oldest first."""
        with self._database.read(self.owner) as unit:
            return receipts.receipts(unit)

    # Retrieval

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
        come last. Without `relevance_floor` the nearest records are returned however far they are, for callers that judge
        each hit themselves.
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
    ) -> list[list[Hit]]:
        """Returns the hits of `search` for each query, about as fast as for one."""
        retrieval = self._retrieval()
        results = retrieval.indexer.when_current(
            self.owner,
            lambda: retrieval.retriever.search_all(
                self.owner, queries, kinds, k, relevance_floor=relevance_floor, before=before
            ),
        )
        return [sorted(hits, key=_is_unchecked) for hits in results]

    def search_among(
        self, query: Query, memory_ids: Collection[int], k: int, *, relevance_floor: bool = True
    ) -> list[Hit]:
        """Returns the k best of these entries, ranked as by `search`."""
        retrieval = self._retrieval()
        hits = retrieval.indexer.when_current(
            self.owner,
            lambda: retrieval.retriever.search(
                self.owner, query, {"entry"}, k, relevance_floor=relevance_floor, within=memory_ids
            ),
        )
        return sorted(hits, key=_is_unchecked)

    def index(self) -> None:
        """Brings the index up to date."""
        self._retrieval().indexer.drain(self.owner)


def _is_unchecked(hit: Hit) -> bool:
    return isinstance(hit.record, MemoryEntry) and hit.record.rests_on == "unchecked"
