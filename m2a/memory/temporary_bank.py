"""The memory as a temporary chat has it: what is said there lives in this process, and nothing of it is written anywhere."""

import hashlib
import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from m2a.memory.bank import MemoryBank, MessageErasedError
from m2a.memory.message_recorder import MessageRefusedError
from m2a.memory.photo_decoder import DecodedPhoto
from m2a.memory.photo_store import PhotoNotFoundError
from m2a.memory.stores import Stores
from m2a.memory.words import finished_words
from m2a.types import Cost, EvidenceRange, Message, Photo, Recognition, Role

if TYPE_CHECKING:
    from PIL.Image import Image

FIRST_MESSAGE = 1_000_000_000_001  # above every id of the log, so that what was said before comes before it
NOBODY = "0" * 32  # the key of no owner: nothing is remembered of it


class TemporaryBank(MemoryBank):
    """One conversation on top of what the owner is remembered by, or of nothing.

    Its messages, photos, captions and traces are held here and go with this object. The database that it reads takes no write:
    a call that would make one raises `ReadOnlyError`.
    """

    is_temporary = True

    def __init__(self, owner: str, stores: Stores, clock: Callable[[], datetime], *, reads_memory: bool) -> None:
        super().__init__(
            owner if reads_memory else NOBODY,
            replace(
                stores,
                database=stores.database.read_only(),
                retrieval=lambda: stores.retrieval().beside(_Images(self._held_photos)),
            ),
            clock,
        )
        self.conversation_id = f"temporary-{uuid4().hex}"
        self.reads_memory = reads_memory
        self._speaks_for = owner
        self._said: dict[int, Message] = {}
        self._held_photos: dict[str, DecodedPhoto] = {}
        self._held_captions: dict[str, str] = {}
        self._held_steps: dict[int, dict[str, Any]] = {}
        self._attached: list[str] = []

    # Photos that were attached and not sent yet

    @property
    def attached(self) -> tuple[str, ...]:
        """They go with the next message."""
        return tuple(self._attached)

    def attach(self, data: bytes) -> str:
        """Take a photo for the next message; its id. Raises `PhotoRefusedError`."""
        photo_id = self._hold(data)
        if photo_id not in self._attached:
            self._attached.append(photo_id)
        return photo_id

    def detach(self, photo_id: str) -> None:
        """Let go of a photo that was attached; nothing where there is no such."""
        if photo_id in self._attached:
            self._attached.remove(photo_id)
            if not any(photo_id in message.photos for message in self._messages()):
                del self._held_photos[photo_id]

    def holds(self, photo_id: str) -> bool:
        return photo_id in self._held_photos

    # What is said

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
        if not text.strip() and not photos and not stored_photos and not self._attached:
            raise MessageRefusedError("The message is empty; write something or add a photo.")
        if replaces is not None and (replaces not in self._said or self._said[replaces].role != role):
            raise MessageRefusedError(
                f"Message {replaces} cannot be replaced: it is not a {role} message of this chat."
            )
        shown = list(dict.fromkeys([*stored_photos, *self._attached, *map(self._hold, photos)]))
        self._attached.clear()
        return self._say(role, speaker, text, shown, said_at, replaces=replaces, reference=reference)

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
        """Hold the reply and how it came about, not what it took; no update of the memory follows it."""
        if answers not in self._said:
            raise MessageErasedError(answers)
        message = self._say("assistant", speaker, text, photo_ids, None, partial=partial)
        self._held_steps[message.message_id] = steps if isinstance(steps, dict) else {}
        return message

    def steps(self, message_id: int) -> dict[str, Any] | None:
        return self._held_steps.get(message_id) or super().steps(message_id)

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

    # Photos

    def photo(self, photo_id: str) -> Photo:
        held = self._held_photos.get(photo_id)
        if held is None:
            return super().photo(photo_id)
        return Photo(
            photo_id, self._speaks_for, "image/jpeg", held.width, held.height, len(held.data), added_at=self._clock()
        )

    def photo_data(self, photo_id: str) -> bytes:
        held = self._held_photos.get(photo_id)
        return super().photo_data(photo_id) if held is None else held.data

    def photo_path(self, photo_id: str) -> Path:
        if photo_id in self._held_photos:
            raise PhotoNotFoundError("A photo of a temporary chat has no file.")
        return super().photo_path(photo_id)

    def thumbnail(self, photo_id: str) -> bytes:
        held = self._held_photos.get(photo_id)
        return super().thumbnail(photo_id) if held is None else held.thumbnail

    def caption(self, photo_id: str) -> str:
        return self.captions([photo_id]).get(photo_id, "")

    def captions(self, photo_ids: Sequence[str]) -> dict[str, str]:
        here = {one: self._held_captions[one] for one in photo_ids if one in self._held_captions}
        return super().captions([one for one in photo_ids if one not in here]) | here

    def set_caption(self, photo_id: str, caption: str, *, captioner_id: str = "unknown") -> None:
        """Hold a caption for as long as the chat is open, of a photo of the memory too."""
        self._held_captions[photo_id] = caption

    def uncaptioned_photos(self) -> list[str]:
        return []

    def recognition(self, photo_id: str, shown: Message) -> Recognition:
        known = super().recognition(photo_id, shown)
        if known.shown_at is not None:
            return known
        earlier = [one for one in self._messages() if one.role == "user" and one.message_id < shown.message_id]
        return replace(known, shown_at=next((one.said_at for one in earlier if photo_id in one.photos), None))

    # Of the updates that follow a conversation there are none

    def pending_updates(self) -> list[int]:
        return []

    def set_aside_updates(self) -> list[int]:
        return []

    def index(self) -> None:
        """There is nothing to tell the index."""

    def _messages(self) -> list[Message]:
        return list(self._said.values())

    def _words_of(self, message: Message) -> set[str]:
        captions = (self._held_captions.get(photo_id, "") for photo_id in message.photos)
        return set(finished_words(" ".join((message.text, *captions))))

    def _hold(self, data: bytes) -> str:
        decoded = self._photos.decode(data)
        photo_id = hashlib.sha256(decoded.data).hexdigest()
        self._held_photos[photo_id] = decoded
        return photo_id

    def _say(
        self, role: Role, speaker: str, text: str, photos: Sequence[str], said_at: datetime | None, **more: Any
    ) -> Message:
        number = FIRST_MESSAGE + len(self._said)
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


class _Images(Mapping[str, "Image"]):
    """The photos' pixels, decoded when they are asked for."""

    def __init__(self, photos: Mapping[str, DecodedPhoto]) -> None:
        self._photos = photos
        self._decoded = cache(self._decode)

    def __getitem__(self, photo_id: str) -> "Image":
        return self._decoded(photo_id)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._photos))

    def __len__(self) -> int:
        return len(self._photos)

    def __contains__(self, photo_id: object) -> bool:
        return photo_id in self._photos

    def _decode(self, photo_id: str) -> "Image":
        from PIL import Image

        image = Image.open(io.BytesIO(self._photos[photo_id].data), formats=["JPEG"])
        image.load()
        return image
