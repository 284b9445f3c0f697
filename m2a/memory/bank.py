"""One owner's memory: the only door to the stores, the photos and the index."""

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
    """What one owner said, showed and is remembered by. Every call is for that owner alone.

    All calls block; they may come from any thread. A write is on disk when its call returns.
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
        """Those that hold a message, the last used first."""
        with self._database.read(self.owner) as unit:
            return conversations.listed(unit)

    def rename_conversation(self, conversation_id: str, title: str) -> None:
        """Give a conversation another title. Raises `UnknownConversationError`."""
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
        """Store a message with its photos in one transaction; without a conversation it starts one.

        Raises `PhotoRefusedError`, `UnknownConversationError`, and `MessageRefusedError` for a message that is empty or
        whose `replaces` is not a message of the same role in that conversation; no photo's file stays behind then.
        Of several photos it says which one is refused, with its name where `photo_names` has one in its place.
        `stored_photos` are shown again as they are; raises `LookupError` for one that is not there.
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
        """Store the assistant's reply to the message `answers`, how it came about, what it took, and that its update is to
        come, in one transaction. Raises `MessageErasedError`."""
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
        said: str,
        reply: str,
        changes: Callable[[EvidenceRange], Sequence[Change | Keeping]],
    ) -> Message:
        """Store what the user said and the reply in the conversation of changes by hand, with the changes that rest on what was
        said, all or nothing. Returns the reply, whose trace holds the changes. Raises `RejectedWriteError`."""
        now = self._clock()
        with self._database.write(self.owner) as unit:
            conversation_id = changes_in_memory(unit, self._raw, now)
            place = unit, conversation_id
            asked = self._raw.append(*place, role="user", speaker=USER, text=said, said_at=now)
            answer = self._raw.append(*place, role="assistant", speaker=ASSISTANT, text=reply, said_at=now)
            change_log.record(unit, answer.message_id, change_log.NOTHING_SEARCHED, answers=asked.message_id)
            rests_on = EvidenceRange(asked.message_id, asked.message_id)
            written = self._writer.apply(unit, changes(rests_on), who=THE_USER, now=now)
            change_log.append(unit, answer.message_id, [item.stored for item in written])
            return answer

    def messages(self, message_ids: Collection[int]) -> dict[int, Message]:
        with self._database.read(self.owner) as unit:
            return self._raw.get(unit, message_ids)

    def messages_in_ranges(self, ranges: Iterable[EvidenceRange]) -> list[Message]:
        """In order; overlaps merged."""
        with self._database.read(self.owner) as unit:
            return self._raw.in_ranges(unit, ranges)

    def messages_between(self, start: date | datetime, end: date | datetime) -> list[Message]:
        """Both included; a date stands for its whole day in the clock's time zone."""
        with self._database.read(self.owner) as unit:
            return self._raw.between(unit, start, end, self._clock().tzinfo or UTC)

    def conversation(
        self, conversation_id: str, *, newest: int | None = None, up_to: int | None = None
    ) -> list[Message]:
        """A conversation's messages in order: all, or the `newest`, none later than the message `up_to`."""
        with self._database.read(self.owner) as unit:
            return self._raw.in_conversation(unit, conversation_id, newest=newest, up_to=up_to)

    def find_messages(self, query: str, limit: int = 10) -> list[Message]:
        """Full-text search of the raw log, best first; behind it the messages whose photos' captions hold the words."""
        with self._database.read(self.owner) as unit:
            found = self._raw.find(unit, query, limit)
            ids = photo_captions.showing(unit, query, limit)
            shown = self._raw.get(unit, set(ids) - {message.message_id for message in found})
            return [*found, *(shown[message_id] for message_id in ids if message_id in shown)][:limit]

    # Layer 2

    def entries(self, kinds: Collection[MemoryKind] | None = None) -> list[MemoryEntry]:
        with self._database.read(self.owner) as unit:
            return self._semantic.all(unit, kinds)

    def entry(self, memory_id: int) -> MemoryEntry | None:
        return self.entries_by_id([memory_id]).get(memory_id)

    def entries_by_id(self, memory_ids: Collection[int]) -> dict[int, MemoryEntry]:
        """The living entries among the ids."""
        with self._database.read(self.owner) as unit:
            return self._semantic.get(unit, memory_ids)

    def corrections_of(self, memory_ids: Collection[int]) -> dict[int, list[MemoryEntry]]:
        """For each of the memories the living ones that correct a part of it, in order."""
        if not memory_ids:
            return {}
        with self._database.read(self.owner) as unit:
            return self._semantic.corrections_of(unit, memory_ids)

    def resting_on(self, message_id: int) -> list[MemoryEntry]:
        """The living entries that nothing supports but a message and the replies to it."""
        with self._database.read(self.owner) as unit:
            place = unit, self._raw, self._semantic
            return [one for one, left in edited_messages.resting_on(*place, message_id) if not left]

    def take_back_memories(self, message_id: int) -> None:
        """Take out what `resting_on` gives: what it had taken the place of holds again. The user edited the message."""
        with self._database.write(self.owner) as unit:
            place = unit, self._raw, self._semantic
            edited_messages.take_back(*place, message_id, now=self._clock())

    def versions(self, memory_id: int) -> list[MemoryEntry]:
        """The entries whose place this one took, and theirs; the newest first, without what was forgotten."""
        with self._database.read(self.owner) as unit:
            older = self._semantic.predecessors(unit, memory_id)
            found = self._semantic.superseded(unit, older)
            return [found[number] for number in older if number in found]

    def preceding(self, message_ids: Collection[int]) -> dict[int, Message]:
        """For each of the messages the one before it in its conversation, where there is one."""
        with self._database.read(self.owner) as unit:
            before = self._raw.preceding(unit, message_ids)
            found = self._raw.get(unit, set(before.values()))
            return {number: found[earlier] for number, earlier in before.items() if earlier in found}

    def replaced_entries(self, memory_ids: Collection[int]) -> dict[int, MemoryEntry]:
        """Those among the ids that others took the place of, as they were; forgotten ones never."""
        with self._database.read(self.owner) as unit:
            return self._semantic.superseded(unit, memory_ids)

    def superseded_in(self, message_ids: Collection[int]) -> dict[int, list[MemoryEntry]]:
        """For each of the messages the entries that rest on it and of which others took the place."""
        with self._database.read(self.owner) as unit:
            return self._semantic.superseded_in(unit, message_ids)

    def history(self, memory_id: int) -> list[HistoryRow]:
        """Every change of a memory, oldest first; of a forgotten one without words, and without reasons that tell of one."""
        with self._database.read(self.owner) as unit:
            rows = self._semantic.history(unit, memory_id)
            forgotten = self._forgetter.is_forgotten(unit, [row.why for row in rows])
        return [replace(row, why="") if gone else row for row, gone in zip(rows, forgotten, strict=True)]

    def standing_preferences(self) -> list[MemoryEntry]:
        """The newest preferences that the user stated, at most ten: they go with every prompt."""
        stated = [entry for entry in self.entries(kinds=["preference"]) if entry.rests_on == "stated"]
        return sorted(stated, key=lambda entry: (entry.recorded_at, entry.memory_id))[-STANDING_PREFERENCES:]

    def pinned(self) -> list[MemoryEntry]:
        """What the user pinned, the oldest pin first: it goes with every prompt."""
        with self._database.read(self.owner) as unit:
            ids = memory_listing.pinned(unit)
            entries = self._semantic.get(unit, ids)
        return [entries[number] for number in ids]

    # What is kept and not used: for its owner's page, and for nothing else

    def kept_back(
        self, count: int, *, reason: KeptBackReason | None = None, words: str = "", start: int = 0
    ) -> list[KeptBack]:
        """The memories that are kept back, for that reason or any, that hold each of the words; the last kept back first."""
        with self._database.read(self.owner) as unit:
            return kept_back.listed(unit, self._semantic, reason=reason, words=words, start=start, count=count)

    def kept_back_by_id(self, memory_ids: Collection[int]) -> dict[int, KeptBack]:
        """Those of the memories that are kept back."""
        with self._database.read(self.owner) as unit:
            return kept_back.among_ids(unit, self._semantic, memory_ids)

    def kept_back_counts(self) -> dict[KeptBackReason, int]:
        with self._database.read(self.owner) as unit:
            return kept_back.counts(unit)

    def conversation_to_owner(self, conversation_id: str) -> list[Message]:
        """A conversation with what is kept back, in order."""
        with self._database.read(self.owner) as unit:
            return self._raw.in_conversation(unit, conversation_id, to_owner=True)

    def evidence_to_owner(self, ranges: Iterable[EvidenceRange]) -> list[Message]:
        """The messages of the ranges with what is kept back, in order."""
        with self._database.read(self.owner) as unit:
            return self._raw.in_ranges(unit, ranges, to_owner=True)

    def expire(self) -> int:
        """Keep back every memory whose last day is past. Returns how many."""
        now = self._clock()
        with self._database.read(self.owner) as unit:
            if not kept_back.past_their_day(unit, now.date()):
                return 0
        with self._database.write(self.owner) as unit:
            return self._writer.keeper.expire(unit, now.date(), now)

    def concepts(self) -> list[Concept]:
        with self._database.read(self.owner) as unit:
            return concept_store.concepts(unit)

    def check(self, changes: Sequence[Change]) -> None:
        """Raise `RejectedWriteError` if the changes could not be written together now. Writes nothing."""
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
        """Write the changes together or not at all.

        `update_of` is the reply whose pending update this is: it counts as done in the same transaction, with what was
        refused and how much nobody had asked for; where it was done already nothing is written and the list is empty.
        `trace_of` is a reply to whose changes these belong although its update is done. Raises `RejectedWriteError`.
        """
        with self._database.write(self.owner) as unit:
            if update_of is not None and not updates.finish(unit, update_of):
                return []
            kept = [
                one if one.change is None else replace(one, change=self._writer.in_log(unit, one.change))
                for one in refusals
            ]
            written = self._writer.apply(unit, changes, who=who, now=self._clock())
            reply_id = update_of if update_of is not None else trace_of
            if reply_id is not None:
                change_log.append(unit, reply_id, [item.stored for item in written], kept, unasked)
            return [item.changed for item in written]

    def add(self, draft: EntryDraft, *, who: str, why: Reason) -> MemoryEntry:
        """Write one entry, or renew the one that already says the same."""
        [changed] = self.write([Addition(draft, why)], who=who)
        assert changed.entry is not None
        return changed.entry

    def delete(self, memory_id: int, *, who: str, why: Reason) -> MemoryEntry:
        """Forget a memory and return it as it was. Raises `RejectedWriteError` where there is none."""
        [changed] = self.write([Forgetting((memory_id,), why)], who=who)
        assert changed.previous is not None
        return changed.previous

    def undo(self, reply_id: int, number: int) -> bool:
        """Take back change `number`, from 0, of those that a reply's update made; False where that was done already.

        Raises `LookupError` where there is no such change, and `RejectedWriteError` where what came after it is in the way.
        """
        with self._database.write(self.owner) as unit:
            steps = change_log.read_steps(unit, reply_id) or {}
            stored = change_log.numbered(steps, "changes", number)
            if stored.get("erased"):
                raise RejectedWriteError("That was erased since; nothing brings it back.")
            if stored.get("undone"):
                return False
            self._writer.undo(unit, stored, who=THE_USER, now=self._clock())
            stored["undone"] = True
            change_log.write_steps(unit, reply_id, steps)
            return True

    def rule(self) -> MemoryRule:
        """When memories are written."""
        with self._database.read(self.owner) as unit:
            return owner_settings.memory_rule(unit)

    def set_rule(self, rule: MemoryRule) -> None:
        with self._database.write(self.owner) as unit:
            owner_settings.set_memory_rule(unit, rule)

    # Erasing

    def preview_erasure(self, erasure: Erasure) -> ErasurePreview:
        """What `erase` would take, with its words. Changes nothing. Raises `NothingToEraseError`."""
        with self._database.write(self.owner) as unit:
            gone, _receipt = self._erased(unit, erasure)
            unit.rollback()
        return gone

    def erase(self, erasure: Erasure) -> Receipt:
        """Take it out of every row, and its photos' files away; the index is told. Nothing brings it back.

        The disk still holds its bytes until a purge. Raises `NothingToEraseError`.
        """
        with self._database.write(self.owner) as unit:
            gone, receipt = self._erased(unit, erasure)
        self._photos.remove_files(self.owner, gone.photo_ids)
        return receipt

    def _erased(self, unit: UnitOfWork, erasure: Erasure) -> tuple[ErasurePreview, Receipt]:
        return erasing.erase(unit, self._raw, self._semantic, self._forgetter, erasure, self._clock())

    def receipts(self) -> list[Receipt]:
        """What was erased and when, in numbers; the oldest first."""
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
        """The one retrieval of the product, of entries, messages, or both in one ranking, as `Retriever.search` has it.

        What was written before the call is found by it. Entries that a language model wrote before its writes were checked
        stand behind all others. Without `relevance_floor` the nearest come, however far: for callers that judge every hit.
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
        """What `search` finds for each of the queries, in the time of one."""
        retrieval = self._retrieval()
        found = retrieval.indexer.when_current(
            self.owner,
            lambda: retrieval.retriever.search_all(
                self.owner, queries, kinds, k, relevance_floor=relevance_floor, before=before
            ),
        )
        return [sorted(hits, key=_is_unchecked) for hits in found]

    def search_among(
        self, query: Query, memory_ids: Collection[int], k: int, *, relevance_floor: bool = True
    ) -> list[Hit]:
        """The k best of these entries, as `search` finds them."""
        retrieval = self._retrieval()
        hits = retrieval.indexer.when_current(
            self.owner,
            lambda: retrieval.retriever.search(
                self.owner, query, {"entry"}, k, relevance_floor=relevance_floor, within=memory_ids
            ),
        )
        return sorted(hits, key=_is_unchecked)

    def index(self) -> None:
        """Bring the index up to date."""
        self._retrieval().indexer.drain(self.owner)


def _is_unchecked(hit: Hit) -> bool:
    return isinstance(hit.record, MemoryEntry) and hit.record.rests_on == "unchecked"
