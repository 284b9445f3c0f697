"""Erasing in the page: one dialog for everything that can be erased. It shows what goes, erases it and gives a receipt."""

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, get_args
from uuid import uuid4

import gradio as gr

from m2a.types import CAN_KEEP_MEMORIES, Erasure, ErasureKind
from m2a.ui import erasure_view
from m2a.ui.chat_panel import ChatPanel
from m2a.ui.events import connect, forwarded, html_part
from m2a.ui.memory_panel import MemoryPanel
from m2a.ui.plain_words import logged_sentence
from m2a.ui.request import NoSuchThingError, number_of, owner_of

if TYPE_CHECKING:
    from m2a.assistant import Assistant

_MAX_ID_LENGTH = 64
_NUMBERED = ("message", "memory", "forgotten")

_ON_DIALOG = forwarded("m2a-erase", ["preview", "erase", "receipts", "purge"])


class ErasePanel:
    """Builds the dialog and connects it."""

    def __init__(self, assistant: "Assistant") -> None:
        self._assistant = assistant

    def build(self) -> None:
        self.dialog = html_part(elem_id="m2a-erase", script=_ON_DIALOG)

    def connect(self, chat: ChatPanel, memory: MemoryPanel) -> None:
        """Connects the dialog. After an erasure the chat and the memory are redrawn, so that nothing erased stays in view."""
        for event, handler in (
            (self.dialog.preview, self.on_preview),
            (self.dialog.receipts, self.on_receipts),
            (self.dialog.purge, self.on_purge),
        ):
            connect(event, handler, outputs=self.dialog)
        erased = connect(self.dialog.erase, self.on_erase, outputs=self.dialog)
        chat.connect_erasing(erased)
        memory.connect_erasing(erased)

    async def on_preview(self, event: gr.EventData, request: gr.Request) -> AsyncIterator[str]:
        """Shows what would go."""
        owner, erasure, dialog_id = owner_of(request), erasure_of(event), uuid4().hex
        yield erasure_view.waiting_html("Checking what goes with it…", dialog_id=dialog_id)
        try:
            preview = await self._assistant.preview_erasure(owner, erasure)
            photo_ids = set(preview.photo_ids).union(*(message.photos for message in preview.messages))
            forgotten = await asyncio.to_thread(self._assistant.memory(owner).photos.forgotten, photo_ids)
            yield erasure_view.preview_html(preview, forgotten, dialog_id=dialog_id)
        except Exception as error:  # a toast would be hidden behind the dialog
            yield erasure_view.refused_html(logged_sentence(error), dialog_id=dialog_id)

    async def on_erase(self, event: gr.EventData, request: gr.Request) -> AsyncIterator[str]:
        """Erases what was previewed."""
        owner, erasure, dialog_id = owner_of(request), erasure_of(event), uuid4().hex
        yield erasure_view.waiting_html(
            "Erasing. An answer that is being written is finished first…", dialog_id=dialog_id
        )
        try:
            receipt = await self._assistant.erase(owner, erasure)
            yield erasure_view.receipt_html(
                receipt, dialog_id=dialog_id, is_shared=self._assistant.has_several_owners()
            )
        except Exception as error:  # a toast would be hidden behind the dialog
            yield erasure_view.refused_html(logged_sentence(error), dialog_id=dialog_id)

    def on_receipts(self, request: gr.Request) -> str:
        return erasure_view.receipts_html(self._assistant.memory(owner_of(request)).receipts(), dialog_id=uuid4().hex)

    async def on_purge(self, request: gr.Request) -> AsyncIterator[str]:
        """Removes the bytes of erased data from the disk, which otherwise happens once a day."""
        owner_of(request)
        dialog_id = uuid4().hex
        yield erasure_view.waiting_html("Removing what was erased from the files on the disk…", dialog_id=dialog_id)
        try:
            await self._assistant.purge()
            yield erasure_view.purged_html(dialog_id=dialog_id)
        except Exception as error:  # a toast would be hidden behind the dialog
            yield erasure_view.refused_html(
                logged_sentence(error), dialog_id=dialog_id, title="It is still on the disk"
            )


def erasure_of(event: gr.EventData) -> Erasure:
    """Returns the erasure that a click asks for. Raises `NoSuchThingError` for values that the page's script does not send."""
    kind: ErasureKind | None = next(
        (kind for kind in get_args(ErasureKind) if kind == getattr(event, "kind", None)), None
    )
    erased_id = getattr(event, "id", None)
    if kind == "everything" or (kind == "forgotten" and erased_id is None):
        return Erasure(kind)
    keep_memories = kind in CAN_KEEP_MEMORIES and getattr(event, "keep", None) is True
    if kind in _NUMBERED:
        return Erasure(kind, number_of(event, "id"), keep_memories)
    if kind is None or type(erased_id) is not str or not 0 < len(erased_id) <= _MAX_ID_LENGTH:
        raise NoSuchThingError("This no longer exists; please reload the page.")
    return Erasure(kind, erased_id, keep_memories)
