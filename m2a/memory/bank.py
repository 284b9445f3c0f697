"""One owner's memory: the only door to the stores, the photos and the index."""

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import insert

from m2a.memory import (
    change_log,
    costs,
    edited_messages,
    held_memories,
    kept_back,
    memory_listing,
    memory_summary,
    owner_settings,
    photo_captions,
    receipts,
    updates,
)
from m2a.memory.change_writer import ChangeWriter
from m2a.memory.erasing import Eraser
from m2a.memory.forgetting import Forgetter
from m2a.memory.keeping import changes_in_memory
from m2a.memory.message_recorder import MessageRecorder
from m2a.memory.photo_store import PhotoNotFoundError
from m2a.memory.schema import trace
from m2a.memory.semantic_memory_store import RejectedWriteError
from m2a.memory.stores import Stores
from m2a.memory.withheld import forgotten_photos
from m2a.types import (
    Addition,
    Change,
    Concept,
    Conversation,
    Cost,
    CostSum,
    EntryDraft,
    Erasure,
    ErasurePreview,
    EvidenceRange,
    Forgetting,
    HeldPlace,
    HistoryRow,
    Hit,
    Keeping,
    KeptBack,
    KeptBackReason,
    MemoryChanged,
    MemoryEntry,
    MemoryFilter,
    MemoryKind,
    MemoryPage,
    MemoryRule,
    Message,
    Photo,
    Query,
    Receipt,
    Recognition,
    RecordKind,
    Refusal,
    Replacement,
    Role,
    Subject,
    SubjectSummary,
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
        self._eraser = Eraser(stores.database, stores.raw, stores.semantic, self._forgetter)
        self._clock = clock

    # Layer 1

    def conversations(self) -> list[Conversation]:
        """Those that hold a message, the last used first."""
        with self._database.read() as connection:
            return self._raw.conversations(connection, self.owner)

    def rename_conversation(self, conversation_id: str, title: str) -> None:
        """Give a conversation another title. Raises `UnknownConversationError`."""
        with self._database.write() as connection:
            self._raw.rename(connection, self.owner, conversation_id, title)

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
        steps: object,
        answers: int,
        update_pending: bool,
        cost: Cost | None = None,
    ) -> Message:
        """Store the assistant's reply to the message `answers`, how it came about, what it took, and that its update is to
        come, in one transaction. Raises `MessageErasedError`."""
        with self._database.write() as connection:
            if not self._raw.as_logged(connection, self.owner, [answers]):
                raise MessageErasedError(answers)
            message = self._raw.append(
                connection,
                self.owner,
                conversation_id,
                role="assistant",
                speaker=speaker,
                text=text,
                photos=photo_ids,
                said_at=self._clock(),
                partial=partial,
            )
            connection.execute(
                insert(trace).values(
                    owner=self.owner, message_id=message.message_id, steps=json.dumps(steps), answers=answers
                )
            )
            if update_pending:
                updates.await_update(connection, self.owner, message.message_id)
            if cost is not None:
                costs.note(connection, self.owner, message.message_id, cost, self._clock())
            return message

    def record_change(
        self,
        said: tuple[str, str],
        reply: tuple[str, str],
        changes: Callable[[EvidenceRange], Sequence[Change | Keeping]],
        *,
        who: str,
    ) -> Message:
        """Store what the user said and the reply in the conversation of changes by hand, with the changes that rest on what was
        said, all or nothing. Returns the reply, whose trace holds the changes. Raises `RejectedWriteError`.

        `said` and `reply` are speaker and words.
        """
        now = self._clock()
        with self._database.write() as connection:
            conversation_id = changes_in_memory(connection, self.owner, self._raw, now)
            place = connection, self.owner, conversation_id
            asked = self._raw.append(*place, role="user", speaker=said[0], text=said[1], said_at=now)
            answer = self._raw.append(*place, role="assistant", speaker=reply[0], text=reply[1], said_at=now)
            steps = json.dumps({"searches": [], "sources": []})
            connection.execute(
                insert(trace).values(
                    owner=self.owner, message_id=answer.message_id, steps=steps, answers=asked.message_id
                )
            )
            rests_on = EvidenceRange(asked.message_id, asked.message_id)
            written = self._writer.apply(connection, self.owner, changes(rests_on), who=who, now=now)
            change_log.append(connection, self.owner, answer.message_id, [item.stored for item in written])
            return answer

    def steps(self, message_id: int) -> dict[str, Any] | None:
        """How a reply came about, as given to `record_reply`, with what its update did; None where nothing was recorded.

        Searches and refusals whose words were forgotten since are left out, or without words.
        """
        with self._database.read() as connection:
            steps = change_log.read_steps(connection, self.owner, message_id)
            if steps is None:
                return None
            return change_log.readable(connection, self.owner, steps, self._forgetter)

    def messages(self, message_ids: Collection[int]) -> dict[int, Message]:
        with self._database.read() as connection:
            return self._raw.get(connection, self.owner, message_ids)

    def messages_in_ranges(self, ranges: Iterable[EvidenceRange]) -> list[Message]:
        """In order; overlaps merged."""
        with self._database.read() as connection:
            return self._raw.in_ranges(connection, self.owner, ranges)

    def messages_between(self, start: date | datetime, end: date | datetime) -> list[Message]:
        """Both included; a date stands for its whole day in the clock's time zone."""
        with self._database.read() as connection:
            return self._raw.between(connection, self.owner, start, end, self._clock().tzinfo or UTC)

    def conversation(
        self, conversation_id: str, *, newest: int | None = None, up_to: int | None = None
    ) -> list[Message]:
        """A conversation's messages in order: all, or the `newest`, none later than the message `up_to`."""
        with self._database.read() as connection:
            return self._raw.in_conversation(connection, self.owner, conversation_id, newest=newest, up_to=up_to)

    def find_messages(self, query: str, limit: int = 10) -> list[Message]:
        """Full-text search of the raw log, best first; behind it the messages whose photos' captions hold the words."""
        with self._database.read() as connection:
            found = self._raw.find(connection, self.owner, query, limit)
            ids = photo_captions.showing(connection, self.owner, query, limit)
            shown = self._raw.get(connection, self.owner, set(ids) - {message.message_id for message in found})
            return [*found, *(shown[message_id] for message_id in ids if message_id in shown)][:limit]

    # Layer 2

    def entries(self, kinds: Collection[MemoryKind] | None = None) -> list[MemoryEntry]:
        with self._database.read() as connection:
            return self._semantic.all(connection, self.owner, kinds)

    def entry(self, memory_id: int) -> MemoryEntry | None:
        return self.entries_by_id([memory_id]).get(memory_id)

    def entries_by_id(self, memory_ids: Collection[int]) -> dict[int, MemoryEntry]:
        """The living entries among the ids."""
        with self._database.read() as connection:
            return self._semantic.get(connection, self.owner, memory_ids)

    def corrections_of(self, memory_ids: Collection[int]) -> dict[int, list[MemoryEntry]]:
        """For each of the memories the living ones that correct a part of it, in order."""
        if not memory_ids:
            return {}
        with self._database.read() as connection:
            return self._semantic.corrections_of(connection, self.owner, memory_ids)

    def page(self, wanted: MemoryFilter, *, start: int, count: int) -> MemoryPage:
        """A part of the living entries that the filter lets through, the last told first."""
        zone = self._clock().tzinfo or UTC
        with self._database.read() as connection:
            ids = memory_listing.newest_first(connection, self.owner, wanted, zone, start=start, count=count)
            entries = self._semantic.get(connection, self.owner, ids)
            total = memory_listing.count(connection, self.owner, wanted, zone)
        return MemoryPage(tuple(entries[number] for number in ids), total)

    def last_updated(self) -> datetime | None:
        """When the newest memory was told; None where there is none."""
        with self._database.read() as connection:
            return memory_listing.last_updated(connection, self.owner)

    def subjects(self, limit: int) -> list[Subject]:
        """What the living entries name, the most told first."""
        with self._database.read() as connection:
            return memory_listing.subjects(connection, self.owner, limit)

    def summary(self) -> list[SubjectSummary]:
        """What was told last of the subjects that are told of most, and of none."""
        with self._database.read() as connection:
            return memory_summary.summary(connection, self.owner, self._semantic, self._clock().tzinfo or UTC)

    def resting_on(self, message_id: int) -> list[MemoryEntry]:
        """The living entries that nothing supports but a message and the replies to it."""
        with self._database.read() as connection:
            place = connection, self.owner, self._raw, self._semantic
            return [one for one, left in edited_messages.resting_on(*place, message_id) if not left]

    def take_back_memories(self, message_id: int, *, who: str) -> None:
        """Take out what `resting_on` gives: what it had taken the place of holds again. The user edited the message."""
        with self._database.write() as connection:
            place = connection, self.owner, self._raw, self._semantic
            edited_messages.take_back(*place, message_id, who=who, now=self._clock())

    def versions(self, memory_id: int) -> list[MemoryEntry]:
        """The entries whose place this one took, and theirs; the newest first, without what was forgotten."""
        with self._database.read() as connection:
            older = self._semantic.predecessors(connection, self.owner, memory_id)
            found = self._semantic.superseded(connection, self.owner, older)
            return [found[number] for number in older if number in found]

    def preceding(self, message_ids: Collection[int]) -> dict[int, Message]:
        """For each of the messages the one before it in its conversation, where there is one."""
        with self._database.read() as connection:
            before = self._raw.preceding(connection, self.owner, message_ids)
            found = self._raw.get(connection, self.owner, set(before.values()))
            return {number: found[earlier] for number, earlier in before.items() if earlier in found}

    def replaced_entries(self, memory_ids: Collection[int]) -> dict[int, MemoryEntry]:
        """Those among the ids that others took the place of, as they were; forgotten ones never."""
        with self._database.read() as connection:
            return self._semantic.superseded(connection, self.owner, memory_ids)

    def superseded_in(self, message_ids: Collection[int]) -> dict[int, list[MemoryEntry]]:
        """For each of the messages the entries that rest on it and of which others took the place."""
        with self._database.read() as connection:
            return self._semantic.superseded_in(connection, self.owner, message_ids)

    def history(self, memory_id: int) -> list[HistoryRow]:
        """Every change of a memory, oldest first; of a forgotten one without words, and without reasons that tell of one."""
        with self._database.read() as connection:
            rows = self._semantic.history(connection, self.owner, memory_id)
            forgotten = self._forgetter.is_forgotten(connection, self.owner, [row.why for row in rows])
        return [replace(row, why="") if gone else row for row, gone in zip(rows, forgotten, strict=True)]

    def standing_preferences(self) -> list[MemoryEntry]:
        """The newest preferences that the user stated, at most ten: they go with every prompt."""
        stated = [entry for entry in self.entries(kinds=["preference"]) if entry.rests_on == "stated"]
        return sorted(stated, key=lambda entry: (entry.recorded_at, entry.memory_id))[-STANDING_PREFERENCES:]

    def pinned(self) -> list[MemoryEntry]:
        """What the user pinned, the oldest pin first: it goes with every prompt."""
        with self._database.read() as connection:
            ids = memory_listing.pinned(connection, self.owner)
            entries = self._semantic.get(connection, self.owner, ids)
        return [entries[number] for number in ids]

    # What is kept and not used: for its owner's page, and for nothing else

    def kept_back(
        self, count: int, *, reason: KeptBackReason | None = None, words: str = "", start: int = 0
    ) -> list[KeptBack]:
        """The memories that are kept back, for that reason or any, that hold each of the words; the last kept back first."""
        with self._database.read() as connection:
            return kept_back.listed(
                connection, self.owner, self._semantic, reason=reason, words=words, start=start, count=count
            )

    def kept_back_by_id(self, memory_ids: Collection[int]) -> dict[int, KeptBack]:
        """Those of the memories that are kept back."""
        with self._database.read() as connection:
            return kept_back.among_ids(connection, self.owner, self._semantic, memory_ids)

    def kept_back_counts(self) -> dict[KeptBackReason, int]:
        with self._database.read() as connection:
            return kept_back.counts(connection, self.owner)

    def conversation_to_owner(self, conversation_id: str) -> list[Message]:
        """A conversation with what is kept back, in order."""
        with self._database.read() as connection:
            return self._raw.in_conversation(connection, self.owner, conversation_id, to_owner=True)

    def evidence_to_owner(self, ranges: Iterable[EvidenceRange]) -> list[Message]:
        """The messages of the ranges with what is kept back, in order."""
        with self._database.read() as connection:
            return self._raw.in_ranges(connection, self.owner, ranges, to_owner=True)

    def expire(self) -> int:
        """Keep back every memory whose last day is past. Returns how many."""
        now = self._clock()
        with self._database.read() as connection:
            if not kept_back.past_their_day(connection, self.owner, now.date()):
                return 0
        with self._database.write() as connection:
            return self._writer.keeper.expire(connection, self.owner, now.date(), now)

    def concepts(self) -> list[Concept]:
        with self._database.read() as connection:
            return self._semantic.concepts(connection, self.owner)

    def check(self, changes: Sequence[Change]) -> None:
        """Raise `RejectedWriteError` if the changes could not be written together now. Writes nothing."""
        with self._database.write() as connection:
            self._writer.apply(connection, self.owner, changes, who="check", now=self._clock())
            connection.rollback()

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
        with self._database.write() as connection:
            if update_of is not None and not updates.finish(connection, self.owner, update_of):
                return []
            written = self._writer.apply(connection, self.owner, changes, who=who, now=self._clock())
            reply_id = update_of if update_of is not None else trace_of
            if reply_id is not None:
                change_log.append(
                    connection, self.owner, reply_id, [item.stored for item in written], refusals, unasked
                )
            return [item.changed for item in written]

    def add(self, draft: EntryDraft, *, who: str, why: str) -> MemoryEntry:
        """Write one entry, or renew the one that already says the same."""
        [changed] = self.write([Addition(draft, why)], who=who)
        assert changed.entry is not None
        return changed.entry

    def delete(self, memory_id: int, *, who: str, why: str) -> MemoryEntry:
        """Forget a memory and return it as it was. Raises `RejectedWriteError` where there is none."""
        [changed] = self.write([Forgetting((memory_id,), why)], who=who)
        assert changed.previous is not None
        return changed.previous

    def undo(self, reply_id: int, number: int, *, who: str = "the user") -> bool:
        """Take back change `number`, from 0, of those that a reply's update made; False where that was done already.

        Raises `LookupError` where there is no such change, and `RejectedWriteError` where what came after it is in the way.
        """
        with self._database.write() as connection:
            steps = change_log.read_steps(connection, self.owner, reply_id) or {}
            stored = change_log.numbered(steps, "changes", number)
            if stored.get("erased"):
                raise RejectedWriteError("That was erased since; nothing brings it back.")
            if stored.get("undone"):
                return False
            self._writer.undo(connection, self.owner, stored, who=who, now=self._clock())
            stored["undone"] = True
            change_log.write_steps(connection, self.owner, reply_id, steps)
            return True

    def insist(self, reply_id: int, number: int, *, who: str = "the user") -> list[MemoryChanged]:
        """Make the change after all that was refused as number `number`, from 0, in a reply's update.

        None where that was done already. Raises `LookupError` where there is no such refusal or nothing can be done, and
        `RejectedWriteError`.
        """
        with self._database.write() as connection:
            steps = change_log.read_steps(connection, self.owner, reply_id) or {}
            stored = change_log.numbered(steps, "refusals", number)
            refusal = change_log.load_refusals(connection, self.owner, [stored], self._forgetter)[0]
            if stored.get("done"):
                return []
            if refusal.change is None:
                raise LookupError("There is nothing that could be done after all.")
            change = refusal.change
            if isinstance(change, Replacement) and refusal.held != "check":  # what it was to replace may be gone by now
                living = self._semantic.get(connection, self.owner, [change.memory_id])
                change = change if living else Addition(change.draft, change.why)
            written = self._writer.apply(connection, self.owner, [change], who=who, now=self._clock())
            stored["done"] = True
            change_log.write_steps(connection, self.owner, reply_id, steps)
            held_memories.settle(connection, self.owner, reply_id, number)
            change_log.append(connection, self.owner, reply_id, [item.stored for item in written])
            return [item.changed for item in written]

    def refusals(self, reply_id: int) -> list[Refusal]:
        """What was refused in a reply's update, in order; of what was forgotten since, neither words nor the change."""
        with self._database.read() as connection:
            steps = change_log.read_steps(connection, self.owner, reply_id) or {}
            return change_log.load_refusals(connection, self.owner, steps.get("refusals", ()), self._forgetter)

    def reject(self, reply_id: int, number: int, *, rejected: bool = True) -> None:
        """Have a memory that was held never written, or be decided on again. Raises `LookupError` where there is no such."""
        with self._database.write() as connection:
            steps = change_log.read_steps(connection, self.owner, reply_id) or {}
            stored = change_log.numbered(steps, "refusals", number)
            stored["rejected"] = rejected
            change_log.write_steps(connection, self.owner, reply_id, steps)
            if rejected:
                held_memories.settle(connection, self.owner, reply_id, number)
            elif not stored.get("done") and stored["change"]:
                held_memories.reopen(connection, self.owner, reply_id, number, stored.get("held", "check"))

    def settle(self, reply_id: int, number: int) -> None:
        """Note that a memory that was held is decided on: it was written in another way, or its words were forgotten."""
        with self._database.write() as connection:
            steps = change_log.read_steps(connection, self.owner, reply_id) or {}
            if number < len(steps.get("refusals", ())):
                steps["refusals"][number]["done"] = True
                change_log.write_steps(connection, self.owner, reply_id, steps)
            held_memories.settle(connection, self.owner, reply_id, number)

    def held_places(self) -> list[HeldPlace]:
        """Where the memories are that were held and not decided on, what waits for a review first."""
        with self._database.read() as connection:
            return held_memories.places(connection, self.owner)

    def rule(self) -> MemoryRule:
        """When memories are written."""
        with self._database.read() as connection:
            return owner_settings.memory_rule(connection, self.owner)

    def set_rule(self, rule: MemoryRule) -> None:
        with self._database.write() as connection:
            owner_settings.set_memory_rule(connection, self.owner, rule)

    def newest_reply_with_changes(self) -> int | None:
        """The last reply whose update changed something that has not been taken back."""
        with self._database.read() as connection:
            return change_log.newest_reply_with_changes(connection, self.owner)

    def answered(self, reply_id: int) -> int:
        """The user's message that a reply answers. Raises `LookupError` for a message that is no reply."""
        with self._database.read() as connection:
            return change_log.answered(connection, self.owner, reply_id)

    # Erasing

    def preview_erasure(self, erasure: Erasure) -> ErasurePreview:
        """What `erase` would take, with its words. Changes nothing. Raises `NothingToEraseError`."""
        with self._database.write() as connection:
            gone, _receipt = self._eraser.erase(connection, self.owner, erasure, self._clock())
            connection.rollback()
        return gone

    def erase(self, erasure: Erasure) -> Receipt:
        """Take it out of every row, and its photos' files away; the index is told. Nothing brings it back.

        The disk still holds its bytes until a purge. Raises `NothingToEraseError`.
        """
        with self._database.write() as connection:
            gone, receipt = self._eraser.erase(connection, self.owner, erasure, self._clock())
        self._photos.remove_files(self.owner, gone.photo_ids)
        return receipt

    def receipts(self) -> list[Receipt]:
        """What was erased and when, in numbers; the oldest first."""
        with self._database.read() as connection:
            return receipts.receipts(connection, self.owner)

    # Updates to come

    def pending_updates(self) -> list[int]:
        """The replies whose update is to be done, in order; without those that were set aside."""
        with self._database.read() as connection:
            return updates.pending(connection, self.owner)

    def note_failed_update(self, reply_id: int, error: str) -> int:
        """Count a failure of a pending update; how many there were."""
        with self._database.write() as connection:
            return updates.note_failure(connection, self.owner, reply_id, error)

    def set_aside_update(self, reply_id: int) -> None:
        """Let an update that fails again and again wait for a repair: it keeps no other waiting."""
        with self._database.write() as connection:
            updates.set_aside(connection, self.owner, reply_id)

    def set_aside_updates(self) -> list[int]:
        """The replies whose update was set aside, in order."""
        with self._database.read() as connection:
            return updates.pending(connection, self.owner, set_aside=True)

    # What turns took

    def note_cost(self, reply_id: int, cost: Cost) -> None:
        """Keep what an attempt at a reply's update took; nothing where the reply was erased meanwhile."""
        with self._database.write() as connection:
            if self._raw.as_logged(connection, self.owner, [reply_id]):
                costs.note(connection, self.owner, reply_id, cost, self._clock())

    def note_caption_cost(self, photo_id: str, cost: Cost) -> None:
        """Keep what the caption of a photo took, with the update after the message that first showed it."""
        with self._database.write() as connection:
            for message_id in self._raw.with_photos(connection, self.owner, [photo_id]).get(photo_id, ())[:1]:
                replies = edited_messages.replies_to(connection, self.owner, message_id)
                costs.note(connection, self.owner, replies[-1] if replies else message_id, cost, self._clock())

    def costs_of(self, reply_ids: Collection[int]) -> dict[int, list[Cost]]:
        """What each of the replies took, and the update after it."""
        with self._database.read() as connection:
            return costs.costs_of(connection, self.owner, reply_ids)

    def daily_costs(self, days: int) -> tuple[list[CostSum], CostSum]:
        """The sums of the last days, the newest first, and the sum of everything."""
        now = self._clock()
        since = now.date() - timedelta(days=days - 1)
        with self._database.read() as connection:
            by_day = costs.by_day(connection, self.owner, now.tzinfo or UTC, since=since)
            return by_day, costs.total(connection, self.owner)

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

    def search_within(self, query: Query, wanted: MemoryFilter, k: int, *, relevance_floor: bool = True) -> list[Hit]:
        """The k best entries among all that the filter lets through, as `search` finds them."""
        with self._database.read() as connection:
            ids = memory_listing.all_passing(connection, self.owner, wanted, self._clock().tzinfo or UTC)
        if not ids:
            return []
        retrieval = self._retrieval()
        hits = retrieval.indexer.when_current(
            self.owner,
            lambda: retrieval.retriever.search(
                self.owner, query, {"entry"}, k, relevance_floor=relevance_floor, within=ids
            ),
        )
        return sorted(hits, key=_is_unchecked)

    def as_stored(self, picture: bytes) -> bytes:
        """A picture re-encoded as it would be stored; nothing is. Raises `PhotoRefusedError`."""
        return self._photos.decode(picture).data

    def index(self) -> None:
        """Bring the index up to date."""
        self._retrieval().indexer.drain(self.owner)

    # Photos

    def photo(self, photo_id: str) -> Photo:
        """Raises `LookupError` for a photo that is not this owner's, and for one that was forgotten."""
        self._check_photo(photo_id)
        return self._photos.get(self.owner, photo_id)

    def photo_data(self, photo_id: str) -> bytes:
        self._check_photo(photo_id)
        return self._photos.data(self.owner, photo_id)

    def photo_path(self, photo_id: str) -> Path:
        self._check_photo(photo_id)
        return self._photos.path(self.owner, photo_id)

    def thumbnail(self, photo_id: str) -> bytes:
        self._check_photo(photo_id)
        return self._photos.thumbnail(self.owner, photo_id)

    def _check_photo(self, photo_id: str) -> None:
        with self._database.read() as connection:
            gone = forgotten_photos(connection, self.owner, [photo_id])
            if gone and not kept_back.has_photo(connection, self.owner, photo_id):
                raise PhotoNotFoundError(f"There is no photo {photo_id!r}.")

    def caption(self, photo_id: str) -> str:
        """The photo's caption, "" where none was made."""
        with self._database.read() as connection:
            return photo_captions.captions_of(connection, self.owner, [photo_id]).get(photo_id, "")

    def captions(self, photo_ids: Sequence[str]) -> dict[str, str]:
        """The captions of those photos that have one."""
        if not photo_ids:
            return {}
        with self._database.read() as connection:
            return photo_captions.captions_of(connection, self.owner, photo_ids)

    def set_caption(self, photo_id: str, caption: str, *, captioner_id: str = "unknown") -> None:
        """Keep a photo's caption, "" where there is nothing to say; the messages that show it are found by it."""
        with self._database.write() as connection:
            photo_captions.set_caption(connection, self.owner, photo_id, caption, captioner_id)

    def uncaptioned_photos(self) -> list[str]:
        """The photos that nobody has looked at for a caption yet, the oldest first."""
        with self._database.read() as connection:
            return photo_captions.uncaptioned(connection, self.owner)

    def recognition(self, photo_id: str, shown: Message) -> Recognition:
        """What is known of a photo of the message: which named thing it shows, and when it was shown before."""
        recogniser = self._retrieval().recogniser
        return Recognition(
            recogniser.recognise(self.owner, photo_id, self.concepts()),
            recogniser.shown_at(self.owner, photo_id, shown),
        )


def _is_unchecked(hit: Hit) -> bool:
    return isinstance(hit.record, MemoryEntry) and hit.record.rests_on == "unchecked"
