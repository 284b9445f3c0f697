"""Captions of photos, made off the reply's path: each photo once, the oldest first, taken up again at the next start."""

import logging

from m2a.agents.in_thread import in_thread
from m2a.agents.photo_views import caption_photo
from m2a.memory.bank import MemoryBank
from m2a.memory.photo_store import PhotoDamagedError, PhotoNotFoundError
from models.captioner import Captioner
from models.chat_model import ChatModelError

logger = logging.getLogger(__name__)


async def caption_photos(bank: MemoryBank, captioner: Captioner) -> None:
    """Caption the owner's photos that nobody has looked at yet, and index their messages with what was found.

    A model's service that fails ends it: what is left is captioned after the next turn or at the next start. A damaged photo
    is passed over.
    """
    photo_ids = await in_thread(bank.uncaptioned_photos)
    for photo_id in photo_ids:
        if await in_thread(bank.caption, photo_id):
            continue  # an update that names it was faster
        try:
            await caption_photo(bank, captioner, photo_id)
        except (PhotoDamagedError, PhotoNotFoundError, OSError) as error:
            logger.warning("A photo is not captioned: %s", error)
        except ChatModelError as error:
            logger.warning("Photos wait for their captions: %s", error)
            return
    if photo_ids:
        await in_thread(bank.index)
