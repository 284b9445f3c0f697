"""The search in the memory by a photo: one of the memory's own, or a picture that is shown for that and kept nowhere."""

import base64
import binascii
from collections.abc import Sequence

import gradio as gr

from m2a.types import MemoryEntry
from m2a.ui import markup
from m2a.ui.memory_list import CLEAR, row_html

_LARGEST = 2_000_000  # characters; the page's script makes a picture small before it sends it


def photo_of(event: gr.EventData) -> str | bytes | None:
    """The id of a stored photo, or the bytes of a picture, that a search goes by; None where it goes by neither."""
    stored, picture = getattr(event, "photo", None), getattr(event, "picture", None)
    if isinstance(stored, str) and stored:
        return stored
    if picture is None:
        return None
    try:
        return base64.b64decode(str(picture)[:_LARGEST], validate=True)
    except binascii.Error:
        raise gr.Error(
            "This picture cannot be read here; choose a JPEG, PNG or WebP.", title="M2A", print_exception=False
        ) from None


def near_html(entries: Sequence[MemoryEntry]) -> str:
    """The memories that were found by a photo, the nearest first."""
    if not entries:
        return f'<div class="m-empty"><p>I have no memory with a photo like this one.</p>{CLEAR}</div>'
    rows = "".join(row_html(entry) for entry in entries)
    return f'<h3>With this photo, or one like it</h3><ul class="m-memories">{rows}</ul><p class="m-clear">{CLEAR}</p>'


def button_html() -> str:
    """Where a picture is chosen."""
    return (
        '<label class="m-button m-by-photo">By photo'
        '<input type="file" accept="image/*" data-find-photo aria-label="Search by a photo"></label>'
    )


def like_html(entry: MemoryEntry) -> str:
    """Leads from a memory to those with photos like its own."""
    if not entry.photo_ids:
        return ""
    return (
        f'<button type="button" class="m-like" data-memory-act="like" data-photo="{markup.text(entry.photo_ids[0])}">'
        "Memories with photos like this</button>"
    )
