"""The buttons that show what would be erased. They work wherever they stand: the page's script takes a click to the dialog."""

from collections.abc import Sequence

from m2a.types import ErasureKind, MemoryEntry
from m2a.ui import markup


def erase_button(
    kind: ErasureKind, erased: int | str | None, name: str, *, label: str = "", style: str = "m-button"
) -> str:
    """A button that asks whether a thing is to be erased; `label` says to a screen reader which one.

    Whoever tidies up conversations means to keep what is known from them, so there keeping the memories is chosen at first.
    """
    keep = " data-keep" if kind == "conversation" else ""
    of = "" if erased is None else f' data-of="{markup.text(erased)}"'
    named = f' aria-label="{markup.text(label)}"' if label else ""
    return f'<button type="button" class="{style}" data-erase="{kind}"{of}{keep}{named}>{markup.text(name)}</button>'


def erase_memory_button(entry: MemoryEntry) -> str:
    """Beside a memory that is open."""
    label = f"Erase this memory… {entry.text}"
    return erase_button("memory", entry.memory_id, "Erase…", label=label, style="m-button m-warned")


def large_photos(photo_ids: Sequence[str], *, caption: str = "", erasable: bool = True) -> str:
    """Large photos, each with a button that asks whether it is to be erased, unless there is nothing to erase."""
    if not photo_ids:
        return ""
    label = f"Erase this photo… {caption}".rstrip()
    shots = "".join(
        f'<div class="m-shot">{markup.photo(photo_id, caption=caption, large=True)}'
        f"{erase_button('photo', photo_id, '✕', label=label, style='m-corner') if erasable else ''}</div>"
        for photo_id in photo_ids
    )
    return f'<div class="m-photos">{shots}</div>'
