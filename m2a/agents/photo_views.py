"""Photos as an agent sees them: those of a message, and those of the memories that were found."""

import io
import itertools
import logging
from collections.abc import Sequence
from dataclasses import replace

from m2a.agents.in_thread import in_thread
from m2a.agents.state import MemoryContext, PhotoView, Policy
from m2a.memory.bank import MemoryBank
from m2a.memory.photo_store import PhotoDamagedError
from m2a.types import MemoryEntry, Message
from models.captioner import Captioner

LONGEST_SIDE = 1024
RECALLED_PHOTOS = 4

logger = logging.getLogger(__name__)


class PhotoViews:
    """One owner's photos for a policy. Where it sees none, a caption is all that it has of one, so a missing one is made."""

    def __init__(self, bank: MemoryBank, captioner: Captioner, policy: Policy) -> None:
        self._bank = bank
        self._captioner = captioner
        self._policy = policy

    async def of_message(self, message: Message) -> tuple[PhotoView, ...]:
        """The message's photos, numbered as they stand in it; without those whose file is gone or damaged."""
        views = []
        for number, photo_id in enumerate(message.photos, start=1):
            view = await in_thread(self._view, number, photo_id)
            if view is None:
                continue
            if not view.caption and not await self._policy.sees_photos():
                view = replace(view, caption=await self._captioner.caption(view.data))
                await in_thread(self._bank.set_caption, photo_id, view.caption)
            views.append(view)
        return tuple(views)

    def recalled(self, contexts: Sequence[MemoryContext], numbered: int) -> tuple[PhotoView, ...]:
        """Up to four photos of the memories found, the best memory's first, one of each memory before a second.

        Their numbers follow the `numbered` photos of the message.
        """
        entries = [hit.record for context in contexts for hit in context.hits if isinstance(hit.record, MemoryEntry)]
        chosen: dict[str, MemoryEntry] = {}
        for position in range(RECALLED_PHOTOS):
            for entry in entries:
                if position < len(entry.photo_ids):
                    chosen.setdefault(entry.photo_ids[position], entry)
        numbers = itertools.count(numbered + 1)
        views = (self._view(next(numbers), photo_id, entry) for photo_id, entry in chosen.items())
        return tuple(itertools.islice((view for view in views if view is not None), RECALLED_PHOTOS))

    def _view(self, number: int, photo_id: str, memory: MemoryEntry | None = None) -> PhotoView | None:
        """None where the photo's file is gone or damaged, since words can still be answered."""
        try:
            data = self._bank.photo_data(photo_id)
        except PhotoDamagedError as error:
            logger.warning("A photo is left out of the prompt. %s", error)
            return None
        return PhotoView(
            number,
            photo_id,
            self._bank.caption(photo_id),
            for_prompt(data),
            self._bank.photo(photo_id).media_type,
            memory,
        )


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
