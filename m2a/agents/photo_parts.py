"""The photos in a prompt: pictures as far as there is room, and captions of the others."""

from m2a.agents.material import Boundary
from m2a.agents.photo_views import EARLIER_PICTURES, recognition_lines
from m2a.agents.state import PhotoView, TurnState
from models.abilities import Abilities
from models.chat_model import PhotoPart

_BEFORE_RECALLED = 2  # newest photos of the conversation that have priority over recalled ones


def photos_to_see(state: TurnState, abilities: Abilities) -> int:
    """Returns the number of photos that the prompt would contain if there were room for all."""
    if abilities.sees_photos is False:
        return 0
    return len(state.photos) + len(_recalled(state)) + min(len(state.earlier), EARLIER_PICTURES)


def photo_parts(state: TurnState, shown: int, abilities: Abilities, boundary: Boundary) -> list[str | PhotoPart]:
    """Returns the photos of earlier messages, then the recalled ones, then those of the new message.

    At most `shown` are pictures, with this priority: photos of the new message, the two newest of the conversation, the
    recalled ones, and then others of the conversation.
    """
    newest = state.earlier[::-1][:EARLIER_PICTURES]
    by_rank = (*state.photos, *newest[:_BEFORE_RECALLED], *_recalled(state), *newest[_BEFORE_RECALLED:])
    seen = {view.number for view in by_rank[:shown]}
    parts: list[str | PhotoPart] = []
    for view in (*state.earlier, *_recalled(state), *state.photos):
        if view.number in seen:
            parts.append(PhotoPart(photo_label(view), view.data, view.media_type))
        else:
            remark = "" if abilities.sees_photos is False else " (not shown as a picture; this is its caption)"
            parts.append(boundary.enclose(photo_label(view) + remark, [view.caption or "no caption"]))
        if notes := recognition_lines(view.recognition):
            parts.append(boundary.enclose(f"What memory knows of photo {view.number}", notes))
    return parts


def _recalled(state: TurnState) -> tuple[PhotoView, ...]:
    """Returns the recalled photos, none in an update: it only refers to them, by the numbers in the lines of what was found."""
    return () if state.stage == "manage update" else state.recalled


def photo_label(view: PhotoView) -> str:
    """Returns the label of a photo in a prompt: its number and its origin."""
    if view.memory is not None:
        return f"Photo {view.number}, from memory {view.memory.memory_id} of {view.memory.recorded_at.date()}"
    if view.message_id is not None:
        return f"Photo {view.number}, from message {view.message_id}"
    return f"Photo {view.number} of the user's new message"
