"""One owner's memory. All access to the stores, the photos and the index goes through it."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import zip_longest
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from m2a.memory import change_log, conversations, costs, edited_messages, kept_back, owner_settings, updates
from m2a.memory.change_writer import ChangeWriter
from m2a.memory.eraser import Eraser
from m2a.memory.memory_reader import MemoryReader
from m2a.memory.photo_album import PhotoAlbum
from m2a.memory.photo_decoder import DecodedPhoto, PhotoRefusedError
from m2a.memory.reply_log import ReplyLog
from m2a.memory.retaining import changes_in_memory
from m2a.memory.review_queue import ReviewQueue
from m2a.memory.semantic_memory_store import RejectedWriteError
from m2a.memory.stores import Stores
from m2a.memory.unit_of_work import UnitOfWork
from m2a.speakers import ASSISTANT, THE_USER, USER
from m2a.types import (
    Addition,
    Change,
    Cost,
    EntryDraft,
    Erasure,
    ErasurePreview,
    EvidenceRange,
    Forgetting,
    Keeping,
    MemoryChanged,
    MemoryEntry,
    MemoryRule,
    Message,
    Photo,
    Reason,
    Receipt,
    Refusal,
    Role,
)
from m2a.types.errors import UserError

logger = logging.getLogger(__name__)


class MessageRefusedError(UserError, ValueError):
    """A message cannot be accepted. The error's text tells the user why."""


class MessageErasedError(UserError, LookupError):
    """The message was erased before it was answered."""

    def __init__(self, message_id: int) -> None:
        super().__init__(f"Message {message_id} was erased before it was answered.")


class MemoryBank(MemoryReader):
    """The messages, photos and memories of one owner. No call reads or changes anything of another owner.

    All calls block and may come from any thread. A write is on disk when its call returns.
    """

    is_temporary = False

    def __init__(self, owner: str, stores: Stores, clock: Callable[[], datetime]) -> None:
        super().__init__(owner, stores, clock)
        self._photos = stores.photos
        self._writer = ChangeWriter(stores.semantic, self._forgetter)
        self.photos = PhotoAlbum(owner, stores)
        self.replies = ReplyLog(owner, stores, self._forgetter, clock)
        self.review_queue = ReviewQueue(owner, stores, self._writer, self._forgetter, clock)

    # Messages

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
    ) -> Message:
        """Stores a message with its photos in one transaction, in a new conversation if no `conversation_id` is given.

        `stored_photos` are the ids of stored photos to show again. `photo_names` may give the name of each photo, for error
        messages. Raises `PhotoRefusedError`, `UnknownConversationError`, `LookupError` for an unknown stored photo, and
        `MessageRefusedError` if the message is empty or if `replaces` is not a message of the same role in that
        conversation. A failed call leaves no photo files behind.
        """
        said_at = said_at or self._clock()
        if not text.strip() and not photos and not stored_photos:
            raise MessageRefusedError("The message is empty; write something or add a photo.")
        for photo_id in stored_photos:
            self._photos.get(self.owner, photo_id)
        decoded = self._decoded(photos, photo_names)
        stored: list[Photo] = []
        try:
            # Files are written after the lock is taken, so that a locked database leaves none behind, and before the rows.
            with self._database.write(self.owner) as unit:
                for photo in decoded:
                    stored.append(self._photos.write_blob(self.owner, photo))  # one by one, as a later one may fail
                if conversation_id is None:
                    conversation_id = conversations.start(unit, said_at).conversation_id
                if replaces is not None:
                    self._check_replaced(unit, conversation_id, role, replaces)
                for item in stored:
                    self._photos.insert(unit, item)
                return self._raw.append(
                    unit,
                    conversation_id,
                    role=role,
                    speaker=speaker,
                    text=text,
                    photos=[*(item.photo_id for item in stored), *stored_photos],
                    said_at=said_at,
                    replaces=replaces,
                )
        except BaseException:
            self._take_back_photos(stored)
            raise

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
                updates.mark_pending(unit, message.message_id)
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
            conversation_id = changes_in_memory(unit, now)
            place = unit, conversation_id
            message = self._raw.append(*place, role="user", speaker=USER, text=text, said_at=now)
            reply = self._raw.append(*place, role="assistant", speaker=ASSISTANT, text=reply_text, said_at=now)
            change_log.record(unit, reply.message_id, change_log.NOTHING_SEARCHED, answers=message.message_id)
            evidence = EvidenceRange(message.message_id, message.message_id)
            written = self._writer.apply(unit, changes(evidence), who=THE_USER, now=now)
            change_log.append(unit, reply.message_id, [change.stored for change in written])
            return reply

    def rename_conversation(self, conversation_id: str, title: str) -> None:
        """Renames a conversation. Raises `UnknownConversationError`."""
        with self._database.write(self.owner) as unit:
            conversations.rename(unit, conversation_id, title)

    def _decoded(self, photos: Sequence[bytes], names: Sequence[str | None]) -> list[DecodedPhoto]:
        decoded: list[DecodedPhoto] = []
        for number, (data, name) in enumerate(zip_longest(photos, names[: len(photos)]), start=1):
            try:
                decoded.append(self._photos.decode(data))
            except PhotoRefusedError as error:
                if len(photos) == 1:
                    raise
                which = f"Photo {number} of {len(photos)}{f' ({name})' if name else ''}"
                raise PhotoRefusedError(f"{which}: {error}") from error
        return decoded

    def _check_replaced(self, unit: UnitOfWork, conversation_id: str, role: Role, message_id: int) -> None:
        replaced = self._raw.get(unit, [message_id]).get(message_id)
        if replaced is None or replaced.conversation_id != conversation_id or replaced.role != role:
            raise MessageRefusedError(
                f"Message {message_id} cannot be replaced, because it is not a {role} message in this conversation."
            )

    def _take_back_photos(self, photos: Sequence[Photo]) -> None:
        """Deletes the photo files of a failed transaction, unless other rows use them."""
        if not photos:
            return
        try:
            self._photos.remove_files(self.owner, [photo.photo_id for photo in photos])
        except (SQLAlchemyError, OSError):  # the caller gets the first error; `m2a repair` removes the files
            logger.warning("The photo files of a refused message could not be removed.", exc_info=True)

    # Memories

    def check(self, changes: Sequence[Change]) -> None:
        """Raises `RejectedWriteError` if the changes could not be written together now. Writes nothing."""
        additions = [change for change in changes if isinstance(change, Addition)]
        if len(additions) == len(changes):  # the usual case, which takes a tenth of the time this way
            with self._database.read(self.owner) as unit:
                self._writer.check_additions(unit, additions)
            return
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
            if "refusal" in stored:
                self.review_queue.reopen(unit, reply_id, stored["refusal"])
            return True

    def take_back_memories(self, message_id: int) -> None:
        """Withdraws the entries that `resting_on` returns, after the user has edited the message.

        The entries that they had replaced come back.
        """
        with self._database.write(self.owner) as unit:
            edited_messages.take_back(unit, self._raw, self._semantic, message_id, now=self._clock())

    def expire(self) -> int:
        """Keeps back all memories whose last day has passed. Returns their number."""
        now = self._clock()
        with self._database.read(self.owner) as unit:
            if not kept_back.past_their_day(unit, now.date()):
                return 0
        with self._database.write(self.owner) as unit:
            return self._writer.keeper.expire(unit, now.date(), now)

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
        return Eraser(self._raw, self._semantic, self._forgetter, unit, self._clock()).erase(erasure)
