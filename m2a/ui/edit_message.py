"""The form that edits a message of the user, shown in its place in the chat."""

from collections.abc import Sequence
from dataclasses import dataclass

from m2a.types import MemoryEntry, Message
from m2a.ui import markup
from m2a.ui.evidence import memory_link

_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Editing:
    """The message that is being edited, the memories that rest on it alone, and the number of messages after it."""

    message_id: int
    memories: Sequence[MemoryEntry]
    following: int


def edit_html(message: Message, editing: Editing) -> str:
    """Returns the form: the words, what leaves the conversation with the old ones, and the choice for the memories from it."""
    number = message.message_id
    warning, send = _following(editing.following)
    return (
        f'<form class="m-resend" data-resend="{number}" id="m{number}"><label>Your message'
        f'<textarea name="text" rows="4" maxlength="20000" dir="auto" autofocus>{markup.text(message.text)}</textarea></label>'
        f"{markup.photos(message.photos, caption='Your photo')}{_choice(editing.memories)}{warning}"
        '<div><button type="button" class="m-button" data-edit-message="0">Cancel</button>'
        f'<button class="m-button">{send}</button></div></form>'
    )


def _following(count: int) -> tuple[str, str]:
    """Returns the note about the messages that follow, and the label of the button. The answer alone needs no warning."""
    if count <= 1:
        return (
            "<small>The earlier version and its answer stay above the new one until you erase them.</small>",
            "Send again",
        )
    warning = (
        f'<p class="m-set-aside"><strong>The {count} messages after it leave the conversation with it:</strong> I answer '
        "without them. They stay readable above the new message, under “Earlier version”, until "
        "you erase them; there is no way to put them back. What I remember from them stays in the memory.</p>"
    )
    return warning, f"Send again without these {count} messages"


def _choice(memories: Sequence[MemoryEntry]) -> str:
    if not memories:
        return ""
    if len(memories) == 1:
        come, these, them, they_come = "1 memory comes", "memory", "it", "It comes"
    else:
        come, these, them, they_come = f"{len(memories)} memories come", "memories", "them", "They come"
    if_any = "If it" if len(memories) == 1 else "If one of them"
    items = "".join(f"<li>{memory_link(entry)}</li>" for entry in memories[:_SHOWN])
    more = f"<li>and {len(memories) - _SHOWN} more</li>" if len(memories) > _SHOWN else ""
    return (
        f'<fieldset class="m-choice"><legend>{come} from it:</legend><ul>{items}{more}</ul>'
        f'<label><input type="radio" name="memories" value="take" checked><span>Forget the {these}, too'
        f"<small>I stop using {them}. {if_any} replaced an older memory, I use the older one again.</small></span></label>"
        f'<label><input type="radio" name="memories" value="keep"><span>Keep the {these}'
        f"<small>{they_come} from the earlier version, which stays readable.</small></span></label></fieldset>"
    )
