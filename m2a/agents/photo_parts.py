"""The photos of a prompt: those that there is room for as pictures, the captions of the others."""

from m2a.agents.material import Boundary
from m2a.agents.photo_views import EARLIER_PICTURES, recognition_lines
from m2a.agents.state import PhotoView, TurnState
from models.abilities import Abilities
from models.chat_model import PhotoPart

_BEFORE_RECALLED = 2  # photos of the conversation, the newest, which nothing that was found pushes out


def photos_to_see(state: TurnState, abilities: Abilities) -> int:
    """How many photos the prompt would hold, were there room for all."""
    if abilities.sees_photos is False:
        return 0
    return len(state.photos) + len(_recalled(state)) + min(len(state.earlier), EARLIER_PICTURES)


def photo_parts(state: TurnState, shown: int, abilities: Abilities, boundary: Boundary) -> list[str | PhotoPart]:
    """The photos of earlier messages, then the recalled ones, then the new message's.

    Of the `shown` pictures those of the new message come first, then the two newest of the conversation, then the recalled
    ones, then others of the conversation.
    """
    newest = state.earlier[::-1][:EARLIER_PICTURES]
    by_rank = (*state.photos, *newest[:_BEFORE_RECALLED], *_recalled(state), *newest[_BEFORE_RECALLED:])
    seen = {view.number for view in by_rank[:shown]}
    parts: list[str | PhotoPart] = []
    for view in (*state.earlier, *state.recalled, *state.photos):
        if view.number in seen:
            parts.append(PhotoPart(photo_label(view), view.data, view.media_type))
        else:
            remark = "" if abilities.sees_photos is False else " (not shown as a picture; this is its caption)"
            parts.append(boundary.enclose(photo_label(view) + remark, [view.caption or "no caption"]))
        if notes := recognition_lines(view.recognition):
            parts.append(boundary.enclose(f"What memory knows of photo {view.number}", notes))
    return parts


def _recalled(state: TurnState) -> tuple[PhotoView, ...]:
    """The recalled photos that may be pictures. An update only names them, by number."""
    return () if state.stage == "manage update" else state.recalled


def photo_label(view: PhotoView) -> str:
    """What stands before a photo in a prompt: its number, and where it comes from."""
    if view.memory is not None:
        return f"Photo {view.number}, from memory {view.memory.memory_id} of {view.memory.recorded_at.date()}"
    if view.message_id is not None:
        return f"Photo {view.number}, from message {view.message_id}"
    return f"Photo {view.number} of the user's new message"
