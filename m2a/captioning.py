"""Captions photos in the background, each once and the oldest first. An interrupted run continues at the next start."""

import logging
import time

from m2a.agents.in_thread import in_thread
from m2a.agents.photo_views import caption_photo
from m2a.agents.steps import UsageMeter
from m2a.costing import cost_of
from m2a.memory.bank import MemoryBank
from m2a.memory.photo_store import PhotoDamagedError, PhotoNotFoundError
from models.captioner import Captioner
from models.chat_model import ChatModelError
from models.prices import Price

logger = logging.getLogger(__name__)


async def caption_photos(bank: MemoryBank, captioner: Captioner, price: Price) -> None:
    """Captions the owner's photos that have no caption yet, and indexes their messages again.

    The cost of a chat model's captions is recorded with the turn that showed the photo. Skips damaged photos. If the
    model's server fails, the remaining photos are captioned after the next turn or at the next start.
    """
    photo_ids = await in_thread(bank.photos.uncaptioned)
    for photo_id in photo_ids:
        if await in_thread(bank.photos.caption, photo_id):
            continue  # a memory update captioned it meanwhile
        began, meter = time.monotonic(), UsageMeter()
        try:
            await caption_photo(bank, captioner, photo_id, meter.count)
        except (PhotoDamagedError, PhotoNotFoundError, OSError) as error:
            logger.warning("A photo could not be captioned: %s", error)
        except ChatModelError as error:
            logger.warning("The remaining photos are captioned later: %s", error)
            return
        finally:
            if meter.usage is not None:
                cost = await in_thread(cost_of, "update", time.monotonic() - began, meter.usage, price)
                await in_thread(bank.replies.note_caption_cost, photo_id, cost)
    if photo_ids:
        await in_thread(bank.index)
