"""The memory as a temporary chat has it: what is said there lives in this process, and nothing of it is written anywhere."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time
from itertools import count, pairwise
from typing import Any
from uuid import uuid4

from m2a.memory.bank import MemoryBank, MessageErasedError
from m2a.memory.message_recorder import MessageRefusedError
from m2a.memory.reply_log import ReplyLog
from m2a.memory.stores import Stores
from m2a.memory.temporary_album import TemporaryAlbum
from m2a.memory.words import finished_words
from m2a.types import Cost, EvidenceRange, Message, Role

FIRST_MESSAGE = 1_000_000_000_001  # above every id of the log, so that what was said before comes before it
NOBODY = "0" * 32  # the key of no owner: nothing is remembered of it


class TemporaryBank(MemoryBank):
    """One conversation on top of what the owner is remembered by, or of nothing.

    Its messages, photos, captions and traces are held here and go with this object. The database that it reads takes no write:
    a call that would make one raises `ReadOnlyError`.
    """

    is_temporary = True
    photos: TemporaryAlbum
    replies: "_TemporaryReplies"

    def __init__(self, owner: str, stores: Stores, clock: Callable[[], datetime], *, reads_memory: bool) -> None:
        retrieval = stores.retrieval
        stores = replace(
            stores,
            database=stores.database.read_only(),
            retrieval=lambda: retrieval().beside(self.photos.images),
        )
        self._said: dict[int, Message] = {}
        self._numbers = count(FIRST_MESSAGE)  # two messages may come at once, each in a thread
        super().__init__(owner if reads_memory else NOBODY, stores, clock)
        self.photos = TemporaryAlbum(self.owner, stores, clock, owner, self._said)
        self.replies = _TemporaryReplies(self.owner, stores, self._forgetter, clock)
        self.conversation_id = f"temporary-{uuid4().hex}"
        self.reads_memory = reads_memory
        self._speaks_for = owner

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
        """Hold a message, with the photos that were attached. Raises like `MemoryBank.record`."""
        if not text.strip() and not photos and not stored_photos and not self.photos.attached:
            raise MessageRefusedError("The message is empty; write something or add a photo.")
        if replaces is not None and (replaces not in self._said or self._said[replaces].role != role):
            raise MessageRefusedError(
                f"Message {replaces} cannot be replaced: it is not a {role} message of this chat."
            )
        held = [*map(self.photos.hold, photos)]
        shown = list(dict.fromkeys([*stored_photos, *self.photos.take_attached(), *held]))
        return self._say(role, speaker, text, shown, said_at, replaces=replaces, reference=reference)

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
        """Hold the reply and how it came about, not what it took; no update of the memory follows it."""
        if answers not in self._said:
            raise MessageErasedError(answers)
        message = self._say("assistant", speaker, text, photo_ids, None, partial=partial)
        self.replies.hold(message.message_id, steps)
        return message

    def conversation(
        self, conversation_id: str, *, newest: int | None = None, up_to: int | None = None
    ) -> list[Message]:
        if conversation_id != self.conversation_id:
            return super().conversation(conversation_id, newest=newest, up_to=up_to)
        said = [one for one in self._messages() if up_to is None or one.message_id <= up_to]
        return said if newest is None else said[max(0, len(said) - newest) :]

    def conversation_to_owner(self, conversation_id: str) -> list[Message]:
        if conversation_id != self.conversation_id:
            return super().conversation_to_owner(conversation_id)
        return self._messages()

    def messages(self, message_ids: Collection[int]) -> dict[int, Message]:
        here = {one.message_id: one for one in self._messages() if one.message_id in message_ids}
        return super().messages([number for number in message_ids if number < FIRST_MESSAGE]) | here

    def messages_in_ranges(self, ranges: Iterable[EvidenceRange]) -> list[Message]:
        ranges = list(ranges)
        here = [one for one in self._messages() if any(first <= one.message_id <= last for first, last in ranges)]
        return [*super().messages_in_ranges(ranges), *here]

    def messages_between(self, start: date | datetime, end: date | datetime) -> list[Message]:
        zone = self._clock().tzinfo or UTC
        first = start if isinstance(start, datetime) else datetime.combine(start, time.min, zone)
        last = end if isinstance(end, datetime) else datetime.combine(end, time.max, zone)
        here = [one for one in self._messages() if first <= one.said_at <= last]
        return [*super().messages_between(start, end), *here]

    def preceding(self, message_ids: Collection[int]) -> dict[int, Message]:
        said = self._messages()
        before = {later.message_id: earlier for earlier, later in pairwise(said)}
        here = {number: before[number] for number in message_ids if number in before}
        return super().preceding([number for number in message_ids if number < FIRST_MESSAGE]) | here

    def find_messages(self, query: str, limit: int = 10) -> list[Message]:
        """Those of this chat that share most words with the query, the newest first of equals, then those of the log."""
        wanted = set(finished_words(query))
        shared = {one.message_id: len(wanted & self._words_of(one)) for one in self._messages()}
        here = [one for one in reversed(self._messages()) if shared[one.message_id]]
        here.sort(key=lambda one: -shared[one.message_id])
        return [*here, *super().find_messages(query, limit)][:limit]

    def index(self) -> None:
        """There is nothing to tell the index."""

    def _messages(self) -> list[Message]:
        return list(self._said.values())

    def _words_of(self, message: Message) -> set[str]:
        captions = self.photos.held_captions(message.photos)
        return set(finished_words(" ".join((message.text, *captions.values()))))

    def _say(
        self, role: Role, speaker: str, text: str, photos: Sequence[str], said_at: datetime | None, **more: Any
    ) -> Message:
        number = next(self._numbers)
        message = Message(
            number,
            self._speaks_for,
            self.conversation_id,
            role,
            speaker,
            text,
            tuple(photos),
            said_at or self._clock(),
            **more,
        )
        self._said[number] = message
        return message


class _TemporaryReplies(ReplyLog):
    """How the chat's replies came about; no update of the memory follows them."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._held: dict[int, dict[str, Any]] = {}

    def hold(self, message_id: int, steps: Mapping[str, Any]) -> None:
        self._held[message_id] = dict(steps)

    def steps(self, message_id: int) -> dict[str, Any] | None:
        return self._held.get(message_id) or super().steps(message_id)

    def pending_updates(self) -> list[int]:
        return []

    def set_aside_updates(self) -> list[int]:
        return []
