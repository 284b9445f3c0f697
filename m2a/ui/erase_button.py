"""The buttons that show what would be erased. They work anywhere: the page's script passes a click on to the dialog."""

from collections.abc import Sequence

from m2a.types import ErasureKind, MemoryEntry
from m2a.ui import markup


def erase_button(
    kind: ErasureKind, erased_id: int | str | None, name: str, *, label: str = "", style: str = "m-button"
) -> str:
    """Returns a button that opens the erase dialog; `label` tells a screen reader what would be erased.

    People who tidy up conversations want to keep the memories from them, so for a conversation that choice is preselected.
    """
    keep = " data-keep" if kind == "conversation" else ""
    erased = "" if erased_id is None else f' data-of="{markup.text(erased_id)}"'
    aria_label = f' aria-label="{markup.text(label)}"' if label else ""
    return f'<button type="button" class="{style}" data-erase="{kind}"{erased}{keep}{aria_label}>{markup.text(name)}</button>'


def erase_memory_button(entry: MemoryEntry) -> str:
    """Returns the button for an opened memory."""
    label = f"Erase this memory… {entry.text}"
    return erase_button("memory", entry.memory_id, "Erase…", label=label, style="m-button m-warned")


def large_photos(photo_ids: Sequence[str], *, caption: str, erasable: bool = True) -> str:
    """Returns large photos, each with an erase button if it is `erasable`."""
    if not photo_ids:
        return ""

    def shot(photo_id: str, label: str) -> str:
        erase = erase_button("photo", photo_id, "✕", label=f"Erase this photo… {label}".rstrip(), style="m-corner")
        photo = markup.photo(photo_id, caption=label, large=True)
        return f'<div class="m-shot">{photo}{erase if erasable else ""}</div>'

    labels = markup.numbered(caption, len(photo_ids))
    return f'<div class="m-photos">{"".join(map(shot, photo_ids, labels))}</div>'
