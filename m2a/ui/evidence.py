"""The evidence of a memory in the original words, with links to the memory and to the message."""

from collections.abc import Sequence
from urllib.parse import quote

from m2a.types import MemoryEntry, Message, RestsOn
from m2a.ui import markup

RESTS_ON: dict[RestsOn, str] = {
    "stated": "You said this.",
    "agreed": "You agreed to this; these are not your own words.",
    "shown": "A photo or a text that you shared shows this; you did not say it.",
    "unchecked": "A language model wrote this before M2A began to check what language models write.",
}


def quote_html(message: Message, *, without: Sequence[str] = (), before: Message | None = None) -> str:
    """Quotes a message, with who said it and when, and the message before it. The photos in `without` are left out."""
    words = f"<p dir='auto'>“{markup.text(message.text)}”</p>" if message.text else "<p>A photo without words.</p>"
    photo_ids = [photo_id for photo_id in message.photos if photo_id not in without]
    context = _before_html(message, before) if before is not None and before.text else ""
    return (
        f'<blockquote class="m-quote">{words}{markup.photos(photo_ids)}'
        f"<footer><bdi>{markup.text(message.speaker)}</bdi>, {markup.moment(message.said_at)} · {message_link(message)}</footer>"
        f"{context}</blockquote>"
    )


def _before_html(message: Message, before: Message) -> str:
    words = markup.text(markup.shortened(before.text))
    line = f'<p class="m-before" dir="auto">{markup.text(before.speaker)}: “{words}”</p>'
    return (
        f'<details class="m-details m-context" data-key="before-{message.message_id}">'
        f"<summary>What was said before</summary>{line}</details>"
    )


def message_link(message: Message) -> str:
    """Returns a link to the message in its conversation; it also works in a new tab."""
    return f"<a {message_target(message)}>show in the conversation</a>"


def message_target(message: Message) -> str:
    """Returns the attributes of a link to the message."""
    conversation_id = quote(message.conversation_id, safe="")
    address = f"/?conversation={conversation_id}&amp;message={message.message_id}#m{message.message_id}"
    return f'href="{address}" data-see="{message.message_id}" data-in="{markup.text(message.conversation_id)}"'


def memory_link(entry: MemoryEntry) -> str:
    """Returns a link that opens the memory in the panel; it also works in a new tab."""
    words = markup.text(entry.text or entry.caption or "A photo")
    return f'<a href="/?memory={entry.memory_id}" data-memory="{entry.memory_id}" dir="auto">{words}</a>'


def correct_button(entry: MemoryEntry) -> str:
    """Returns the button that opens a memory with its edit form; empty for a memory that was replaced."""
    if entry.superseded_by is not None:
        return ""
    label = markup.text(f"Correct: {entry.text or entry.caption}")
    act = f'data-memory="{entry.memory_id}" data-correct'
    return f'<button type="button" class="m-correct" {act} aria-label="{label}">Correct it…</button>'
