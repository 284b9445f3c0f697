"""The memory as a temporary chat sees it. What is said in the chat exists only in this process and is never written."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time
from itertools import count, pairwise
from typing import Any
from uuid import uuid4

from m2a.memory.bank import MemoryBank, MessageErasedError, MessageRefusedError
from m2a.memory.reply_log import ReplyLog
from m2a.memory.stores import Stores
from m2a.memory.temporary_album import TemporaryAlbum
from m2a.memory.words import finished_words
from m2a.types import WHOLE, ConversationPart, Cost, EvidenceRange, Message, Role

FIRST_MESSAGE = 1_000_000_000_001  # greater than every id in the log, so that logged messages come first
NOBODY = "0" * 32  # an owner key without an owner, whose memory is empty


class TemporaryBank(MemoryBank):
    """One conversation on top of the owner's memory, or on an empty one.

    Its messages, photos, captions and traces are held in this object only. It reads a read-only database, so calls that would
    write raise `ReadOnlyError`.
    """

    is_temporary = True
    photos: TemporaryAlbum
    replies: "_TemporaryReplies"

    def __init__(self, owner: str, stores: Stores, clock: Callable[[], datetime], *, reads_memory: bool) -> None:
        retrieval = stores.retrieval
        stores = replace(
            stores,
            database=stores.database.read_only(),
            retrieval=lambda: retrieval().with_unstored(self.photos.images),
        )
        self._held: dict[int, Message] = {}
        self._numbers = count(FIRST_MESSAGE)  # thread-safe, since two messages may come at once
        super().__init__(owner if reads_memory else NOBODY, stores, clock)
        self.photos = TemporaryAlbum(self.owner, stores, clock, owner, self._held)
        self.replies = _TemporaryReplies(self.owner, stores, self._forgetter, clock)
        self.conversation_id = f"temporary-{uuid4().hex}"
        self.reads_memory = reads_memory
        self._chat_owner = owner

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
        """Holds a message with the attached photos. Raises like `MemoryBank.record`."""
        if not text.strip() and not photos and not stored_photos and not self.photos.attached:
            raise MessageRefusedError("The message is empty; write something or add a photo.")
        if replaces is not None and (replaces not in self._held or self._held[replaces].role != role):
            raise MessageRefusedError(
                f"Message {replaces} cannot be replaced, because it is not a {role} message in this conversation."
            )
        photo_ids = [*map(self.photos.hold, photos)]
        shown = list(dict.fromkeys([*stored_photos, *self.photos.take_attached(), *photo_ids]))
        return self._append(role, speaker, text, shown, said_at, replaces=replaces)

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
        """Holds the reply and its trace, but not its cost. No memory update follows."""
        if answers not in self._held:
            raise MessageErasedError(answers)
        message = self._append("assistant", speaker, text, photo_ids, None, partial=partial)
        self.replies.hold(message.message_id, steps)
        return message

    def conversation(self, conversation_id: str, part: ConversationPart = WHOLE) -> list[Message]:
        if conversation_id != self.conversation_id:
            return super().conversation(conversation_id, part)
        return part.of(self._messages())

    def conversation_to_owner(self, conversation_id: str, part: ConversationPart = WHOLE) -> list[Message]:
        if conversation_id != self.conversation_id:
            return super().conversation_to_owner(conversation_id, part)
        return part.of(self._messages())

    def count_messages(self, conversation_id: str, *, since: int = 0, up_to: int | None = None) -> int:
        if conversation_id != self.conversation_id:
            return super().count_messages(conversation_id, since=since, up_to=up_to)
        return len(ConversationPart(since=since, up_to=up_to).of(self._messages()))

    def messages(self, message_ids: Collection[int]) -> dict[int, Message]:
        held = {message.message_id: message for message in self._messages() if message.message_id in message_ids}
        return super().messages([number for number in message_ids if number < FIRST_MESSAGE]) | held

    def messages_in_ranges(self, ranges: Iterable[EvidenceRange]) -> list[Message]:
        ranges = list(ranges)
        held = [m for m in self._messages() if any(first <= m.message_id <= last for first, last in ranges)]
        return [*super().messages_in_ranges(ranges), *held]

    def messages_between(self, start: date, end: date) -> list[Message]:
        zone = self._clock().tzinfo or UTC
        first, last = datetime.combine(start, time.min, zone), datetime.combine(end, time.max, zone)
        held = [message for message in self._messages() if first <= message.said_at <= last]
        return [*super().messages_between(start, end), *held]

    def preceding(self, message_ids: Collection[int]) -> dict[int, Message]:
        preceding = {later.message_id: earlier for earlier, later in pairwise(self._messages())}
        held = {number: preceding[number] for number in message_ids if number in preceding}
        return super().preceding([number for number in message_ids if number < FIRST_MESSAGE]) | held

    def find_messages(self, query: str, limit: int = 10) -> list[Message]:
        """Returns this chat's messages that share most words with the query, newest first if equal, then logged messages."""
        query_words = set(finished_words(query))
        shared = {message.message_id: len(query_words & self._words_of(message)) for message in self._messages()}
        matches = [message for message in reversed(self._messages()) if shared[message.message_id]]
        matches.sort(key=lambda message: -shared[message.message_id])
        return [*matches, *super().find_messages(query, limit)][:limit]

    def index(self) -> None:
        """Does nothing, since a temporary chat is never indexed."""

    def _messages(self) -> list[Message]:
        return list(self._held.values())

    def _words_of(self, message: Message) -> set[str]:
        captions = self.photos.held_captions(message.photos)
        return set(finished_words(" ".join((message.text, *captions.values()))))

    def _append(
        self, role: Role, speaker: str, text: str, photos: Sequence[str], said_at: datetime | None, **more: Any
    ) -> Message:
        number = next(self._numbers)
        message = Message(
            number,
            self._chat_owner,
            self.conversation_id,
            role,
            speaker,
            text,
            tuple(photos),
            said_at or self._clock(),
            **more,
        )
        self._held[number] = message
        return message


class _TemporaryReplies(ReplyLog):
    """The traces of the chat's replies, which have no memory updates."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._held: dict[int, dict[str, Any]] = {}

    def hold(self, message_id: int, steps: Mapping[str, Any]) -> None:
        self._held[message_id] = dict(steps)

    def steps(self, message_id: int) -> dict[str, Any] | None:
        return self._held.get(message_id) or super().steps(message_id)

    def pending_updates(self) -> list[int]:
        return []

    def set_aside_updates(self) -> list[int]:
        return []
