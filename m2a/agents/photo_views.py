"""The photos of a conversation as the agents see them: captioned once, known again, and numbered for actions."""

from collections.abc import Sequence

from m2a.agents.state import PhotoView, TurnState
from m2a.agents.stopping import in_thread
from m2a.memory.bank import MemoryBank
from m2a.memory.photo_store import PhotoDamagedError, PhotoNotFoundError
from m2a.types import Message, Recognition
from models.captioner import Captioner

EARLIER_PHOTOS = 8


def earlier_photos(bank: MemoryBank, recent: Sequence[Message], numbered: int) -> tuple[PhotoView, ...]:
    """The newest photos that the user showed in these messages, in the order in which they did, numbered on.

    Their `data` are thumbnails; of a photo shown twice it is the last time that counts.
    """
    shown = {
        photo_id: message.message_id for message in recent if message.role == "user" for photo_id in message.photos
    }
    in_order = [
        (message.message_id, photo_id)
        for message in recent
        for photo_id in message.photos
        if shown.get(photo_id) == message.message_id
    ]
    views: list[PhotoView] = []
    for message_id, photo_id in in_order[-EARLIER_PHOTOS:]:
        try:
            data = bank.thumbnail(photo_id)
        except (PhotoDamagedError, PhotoNotFoundError):
            continue
        number = numbered + len(views) + 1
        views.append(PhotoView(number, photo_id, bank.caption(photo_id), data, "image/jpeg", message_id=message_id))
    return tuple(views)


async def caption_photo(bank: MemoryBank, captioner: Captioner, photo_id: str) -> str:
    """The photo's caption, made and kept where there is none. Raises what the captioner raises."""
    caption = await captioner.caption(await in_thread(bank.photo_data, photo_id))
    await in_thread(lambda: bank.set_caption(photo_id, caption, captioner_id=captioner.captioner_id))
    return caption


def recognition_lines(recognition: Recognition) -> list[str]:
    """What memory knows of a photo, for a language model."""
    lines = []
    found = recognition.recognised
    if found is not None and found.certainty == "sure":
        lines.append(f"It shows {found.concept.name}, by the photos that the user named.")
    elif found is not None:
        lines.append(f"It may show {found.concept.name}; ask the user before you take it as so.")
    if recognition.shown_at is not None:
        lines.append(f"The user showed the same photo on {recognition.shown_at:%A %Y-%m-%d}.")
    return lines


def earlier_lines(state: TurnState) -> list[str]:
    """The photos shown before in the conversation, by the numbers that actions name them by."""
    return [
        f"photo {view.number}, in message {view.message_id}: {view.caption or 'no caption'}" for view in state.earlier
    ]
