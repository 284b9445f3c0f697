"""The photos of a conversation as the agents see them: numbered for actions, captioned once, and known again.

The photos that the user shows in a conversation are numbered in the order in which they are first shown, so that each keeps
its number; those of the memories that were found come behind.
"""

import io
import itertools
import logging
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from m2a.agents.in_thread import in_thread
from m2a.agents.policy import Policy
from m2a.agents.state import MemoryContext, PhotoView
from m2a.memory.bank import MemoryBank
from m2a.memory.photo_store import PhotoDamagedError, PhotoNotFoundError
from m2a.types import MemoryEntry, Message, Recognition
from models.captioner import Captioner, Count, uncounted

LONGEST_SIDE = 1024
EARLIER_PHOTOS = 16
EARLIER_PICTURES = 4  # of these, the newest stay pictures from turn to turn
RECALLED_PHOTOS = 4

logger = logging.getLogger(__name__)


class PhotoViews:
    """One owner's photos for a policy. Where it sees none, a caption is all that it has of one, so a missing one is made.

    A photo whose file is gone or damaged is left out, since words can still be answered.
    """

    def __init__(self, bank: MemoryBank, captioner: Captioner, policy: Policy) -> None:
        self._bank = bank
        self._captioner = captioner
        self._policy = policy

    async def of_message(self, message: Message, numbers: Mapping[str, int]) -> tuple[PhotoView, ...]:
        """The message's photos as they stand in it, with what memory knows of each."""
        views = []
        for photo_id in message.photos:
            view = await in_thread(self._view, numbers[photo_id], photo_id)
            if view is None:
                continue
            if not view.caption and not await self._policy.sees_photos():
                view = replace(view, caption=await caption_photo(self._bank, self._captioner, photo_id))
            recognition = await in_thread(self._bank.photos.recognition, photo_id, message)
            views.append(replace(view, recognition=recognition))
        return tuple(views)

    def earlier(self, before: Sequence[Message], message: Message, numbers: Mapping[str, int]) -> tuple[PhotoView, ...]:
        """The newest photos that the user showed before the message and not in it, in the order in which they did.

        Of a photo shown twice it is the last time that counts. Those that are too old to be pictures are as they are stored.
        """
        shown: dict[str, Message] = {}
        for one in before:
            for photo_id in one.photos if one.role == "user" else ():
                shown.pop(photo_id, None)
                shown[photo_id] = one
        newest = [each for each in shown.items() if each[0] not in message.photos][-EARLIER_PHOTOS:]
        views = (
            self._view(numbers[photo_id], photo_id, one, is_picture=place <= EARLIER_PICTURES)
            for place, (photo_id, one) in zip(range(len(newest), 0, -1), newest, strict=True)
        )
        return tuple(view for view in views if view is not None)

    def recalled(
        self, contexts: Sequence[MemoryContext], numbered: int, known: Container[str] = ()
    ) -> tuple[PhotoView, ...]:
        """Up to four photos of the records found, the best record's first, one of each record before a second; numbered on.

        Those that are `known` are left out.
        """
        records = [hit.record for context in contexts for hit in context.hits]
        chosen: dict[str, MemoryEntry | Message] = {}
        for position in range(RECALLED_PHOTOS):
            for record in records:
                photo_ids = record.photo_ids if isinstance(record, MemoryEntry) else record.photos
                if position < len(photo_ids):
                    chosen.setdefault(photo_ids[position], record)
        numbers = itertools.count(numbered + 1)
        new = ((photo_id, record) for photo_id, record in chosen.items() if photo_id not in known)
        views = (self._view(next(numbers), photo_id, record) for photo_id, record in new)
        return tuple(itertools.islice((view for view in views if view is not None), RECALLED_PHOTOS))

    def _view(
        self, number: int, photo_id: str, record: MemoryEntry | Message | None = None, *, is_picture: bool = True
    ) -> PhotoView | None:
        try:
            data = self._bank.photos.data(photo_id)
            media_type = self._bank.photos.get(photo_id).media_type
        except (PhotoDamagedError, PhotoNotFoundError) as error:
            logger.warning("A photo is left out of the prompt. %s", error)
            return None
        return PhotoView(
            number,
            photo_id,
            self._bank.photos.caption(photo_id),
            for_prompt(data) if is_picture else data,
            media_type,
            record if isinstance(record, MemoryEntry) else None,
            record.message_id if isinstance(record, Message) else None,
        )


def numbered_photos(messages: Sequence[Message]) -> dict[str, int]:
    """The number of each photo that the user showed in these messages of a conversation, by photo id."""
    shown = dict.fromkeys(photo_id for one in messages if one.role == "user" for photo_id in one.photos)
    return {photo_id: number for number, photo_id in enumerate(shown, start=1)}


async def caption_photo(bank: MemoryBank, captioner: Captioner, photo_id: str, count: Count = uncounted) -> str:
    """The photo's caption, made and kept where there is none. Raises what the captioner raises."""
    caption = await captioner.caption(await in_thread(bank.photos.data, photo_id), count)
    await in_thread(lambda: bank.photos.set_caption(photo_id, caption, captioner_id=captioner.captioner_id))
    return caption


def recognition_lines(recognition: Recognition) -> list[str]:
    """What memory knows of a photo, for a language model."""
    lines = []
    found = recognition.recognised
    if found is not None and found.certainty == "sure":
        lines.append(f"It looks like {found.concept.name}, whom the user named on an earlier photo.")
    elif found is not None:
        lines.append(f"It may show {found.concept.name}; ask the user before you take it as so.")
    if recognition.shown_at is not None:
        lines.append(f"The user showed the same photo on {recognition.shown_at:%A %Y-%m-%d}.")
    return lines


def for_prompt(data: bytes) -> bytes:
    """A stored JPEG with at most LONGEST_SIDE pixels a side; one that has no more stays as it is.

    A model looks at no more pixels than that, and each step of a turn sends them again.
    """
    from PIL import Image

    with Image.open(io.BytesIO(data), formats=["JPEG"]) as image:
        if max(image.size) <= LONGEST_SIDE:
            return data
        image.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))  # decodes fewer pixels, and never fewer than that
        image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
        small = io.BytesIO()
        image.save(small, "JPEG", quality=85)
    return small.getvalue()
