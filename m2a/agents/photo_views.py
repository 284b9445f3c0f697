"""The photos of a conversation as the agents see them: numbered for actions, captioned once, and recognised.

Photos are numbered in the order in which the user first shows them in the conversation, so that each keeps its number. Photos of
recalled memories are numbered after them.
"""

import io
import itertools
import logging
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from m2a.agents.in_thread import in_thread
from m2a.agents.policy import Policy
from m2a.agents.state import PhotoView, TurnState
from m2a.memory.bank import MemoryBank
from m2a.memory.photo_store import PhotoDamagedError, PhotoNotFoundError
from m2a.types import MemoryEntry, Message, Recognition
from models.captioner import Captioner, Count, uncounted

LONGEST_SIDE = 1024
EARLIER_PHOTOS = 16
EARLIER_PICTURES = 4  # the newest of these are pictures in each prompt; the others are captions
RECALLED_PHOTOS = 4
NAMED_PHOTOS = 16  # of one search of an update, which only refers to them

logger = logging.getLogger(__name__)


class PhotoViews:
    """One owner's photos for a policy. For a policy that sees no photos, missing captions are made.

    A photo whose file is missing or damaged is left out, since the text can still be answered.
    """

    def __init__(self, bank: MemoryBank, captioner: Captioner, policy: Policy) -> None:
        self._bank = bank
        self._captioner = captioner
        self._policy = policy

    async def of_message(self, message: Message, numbers: Mapping[str, int]) -> tuple[PhotoView, ...]:
        """Returns the message's photos in order, with what is recognised in each."""
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
        """Returns the newest photos that the user showed before the message and not in it, in order.

        For a photo shown twice, the last time counts. Photos too old to become pictures keep their stored size.
        """
        shown: dict[str, Message] = {}
        for earlier in before:
            for photo_id in earlier.photos if earlier.role == "user" else ():
                shown.pop(photo_id, None)
                shown[photo_id] = earlier
        newest = [item for item in shown.items() if item[0] not in message.photos][-EARLIER_PHOTOS:]
        views = (
            self._view(numbers[photo_id], photo_id, earlier, is_picture=age <= EARLIER_PICTURES)
            for age, (photo_id, earlier) in zip(range(len(newest), 0, -1), newest, strict=True)
        )
        return tuple(view for view in views if view is not None)

    def recalled(
        self, records: Sequence[MemoryEntry | Message], state: TurnState, in_prompt: Container[str]
    ) -> tuple[PhotoView, ...]:
        """Returns up to RECALLED_PHOTOS photos of the records as pictures, without those already `in_prompt`.

        They are numbered after those of the state.
        """
        return self._recalled(records, state, in_prompt, RECALLED_PHOTOS, is_picture=True)

    def named(self, records: Sequence[MemoryEntry | Message], state: TurnState) -> tuple[PhotoView, ...]:
        """Returns up to NAMED_PHOTOS photos of the records that have no number yet, so that actions can refer to them.

        They keep their stored size.
        """
        return self._recalled(records, state, state.photo_numbers, NAMED_PHOTOS, is_picture=False)

    def _recalled(
        self,
        records: Sequence[MemoryEntry | Message],
        state: TurnState,
        left_out: Container[str],
        at_most: int,
        *,
        is_picture: bool,
    ) -> tuple[PhotoView, ...]:
        """Takes the first photo of every record, best record first, then every second photo, and so on."""
        chosen: dict[str, MemoryEntry | Message] = {}
        for position in range(at_most):
            for record in records:
                photo_ids = record.photo_ids if isinstance(record, MemoryEntry) else record.photos
                if position < len(photo_ids):
                    chosen.setdefault(photo_ids[position], record)
        numbers = itertools.count(max((view.number for view in state.views), default=0) + 1)
        new = ((photo_id, record) for photo_id, record in chosen.items() if photo_id not in left_out)
        views = (self._view(next(numbers), photo_id, record, is_picture=is_picture) for photo_id, record in new)
        return tuple(itertools.islice((view for view in views if view is not None), at_most))

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
    """Returns, by photo id, the number of each photo that the user showed in these messages of a conversation."""
    shown = dict.fromkeys(photo_id for message in messages if message.role == "user" for photo_id in message.photos)
    return {photo_id: number for number, photo_id in enumerate(shown, start=1)}


async def caption_photo(bank: MemoryBank, captioner: Captioner, photo_id: str, count: Count = uncounted) -> str:
    """Makes, stores and returns a photo's caption. Raises what the captioner raises."""
    caption = await captioner.caption(await in_thread(bank.photos.data, photo_id), count)
    await in_thread(lambda: bank.photos.set_caption(photo_id, caption, captioner_id=captioner.captioner_id))
    return caption


def recognition_lines(recognition: Recognition) -> list[str]:
    """Returns what is recognised in a photo, for a language model."""
    lines = []
    recognised = recognition.recognised
    if recognised is not None and recognised.certainty == "sure":
        lines.append(f"It looks like {recognised.concept.name}, whom the user named on an earlier photo.")
    elif recognised is not None:
        lines.append(
            f"If the user's words do not say what it shows, it may be {recognised.concept.name}; then ask the user before you "
            "take it as so."
        )
    if recognition.shown_at is not None:
        lines.append(f"The user showed the same photo on {recognition.shown_at:%A %Y-%m-%d}.")
    return lines


def for_prompt(data: bytes) -> bytes:
    """Returns a stored JPEG scaled down to at most LONGEST_SIDE pixels a side.

    Models use no more pixels than that, and each step of a turn sends them again.
    """
    from PIL import Image

    with Image.open(io.BytesIO(data), formats=["JPEG"]) as image:
        if max(image.size) <= LONGEST_SIDE:
            return data
        image.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))  # decodes fewer pixels, but at least that many
        image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
        small = io.BytesIO()
        image.save(small, "JPEG", quality=85)
    return small.getvalue()
