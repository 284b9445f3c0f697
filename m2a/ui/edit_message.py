"""The form in which a message of the user is edited, in its place in the chat."""

from collections.abc import Sequence
from dataclasses import dataclass

from m2a.types import MemoryEntry, Message
from m2a.ui import markup
from m2a.ui.evidence import memory_link

_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Editing:
    """The message that is being edited, and the memories that nothing else supports."""

    message_id: int
    memories: Sequence[MemoryEntry]


def edit_html(message: Message, memories: Sequence[MemoryEntry]) -> str:
    """The words to change, and what is to become of the memories that rest on them."""
    number = message.message_id
    return (
        f'<form class="m-resend" data-resend="{number}" id="m{number}"><label>Your message'
        f'<textarea name="text" rows="4" maxlength="20000" dir="auto" autofocus>{markup.text(message.text)}</textarea></label>'
        f"{markup.photos(message.photos, caption='Your photo')}{_choice(memories)}"
        "<small>The earlier version, and what followed it, stays above the new one until you erase it.</small>"
        '<div><button type="button" class="m-button" data-edit-message="0">Cancel</button>'
        '<button class="m-button">Send again</button></div></form>'
    )


def _choice(memories: Sequence[MemoryEntry]) -> str:
    if not memories:
        return ""
    rest = "1 memory rests" if len(memories) == 1 else f"{len(memories)} memories rest"
    items = "".join(f"<li>{memory_link(one)}</li>" for one in memories[:_SHOWN])
    more = f"<li>and {len(memories) - _SHOWN} more</li>" if len(memories) > _SHOWN else ""
    return (
        f'<fieldset class="m-choice"><legend>{rest} on it:</legend><ul>{items}{more}</ul>'
        '<label><input type="radio" name="memories" value="take" checked><span>Take the memories along'
        "<small>They do not hold any more; what they had taken the place of does again.</small></span></label>"
        '<label><input type="radio" name="memories" value="keep"><span>Keep the memories'
        "<small>They rest on the earlier version, which stays readable.</small></span></label></fieldset>"
    )
