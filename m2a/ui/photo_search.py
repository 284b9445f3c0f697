"""The search of the memory by photo: by a stored one, or by a picture that is used for the search and not kept."""

import base64
import binascii
from collections.abc import Sequence

import gradio as gr

from m2a.types import MemoryEntry
from m2a.ui import markup
from m2a.ui.memory_list import CLEAR, row_html
from m2a.ui.plain_words import page_error

_MAX_LENGTH = 2_000_000  # characters; the page's script reduces a picture before it sends it


def photo_of(event: gr.EventData) -> str | bytes | None:
    """Returns the id of the stored photo, or the bytes of the picture, to search by; None for a search without either."""
    photo_id, picture = getattr(event, "photo", None), getattr(event, "picture", None)
    if isinstance(photo_id, str) and photo_id:
        return photo_id
    if picture is None:
        return None
    try:
        return base64.b64decode(str(picture)[:_MAX_LENGTH], validate=True)
    except binascii.Error:
        raise page_error("This picture cannot be read. Choose a JPEG, PNG or WebP.") from None


def near_html(entries: Sequence[MemoryEntry]) -> str:
    """Returns the memories found by a photo, nearest first."""
    if not entries:
        return f'<div class="m-empty"><p>I have no memory with a photo like this one.</p>{CLEAR}</div>'
    rows = "".join(row_html(entry) for entry in entries)
    return f'<h3>With this photo, or one like it</h3><ul class="m-memories">{rows}</ul><p class="m-clear">{CLEAR}</p>'


def like_html(entry: MemoryEntry) -> str:
    """Returns the button that finds memories with photos like this memory's."""
    if not entry.photo_ids:
        return ""
    return (
        f'<button type="button" class="m-like" data-memory-act="like" data-photo="{markup.text(entry.photo_ids[0])}">'
        "Memories with photos like this</button>"
    )
