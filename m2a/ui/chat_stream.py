"""Streams to a tab: the stored conversation first, then the running turn, until the tab shows something else."""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import wraps
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import gradio as gr

from m2a.turn import Turn
from m2a.ui.chat_view import PAGE_SIZE, ChatView, Update
from m2a.ui.notices import refusal_html
from m2a.ui.plain_words import logged_sentence
from m2a.ui.request import owner_of
from m2a.ui.tabs import Tabs

if TYPE_CHECKING:
    from m2a.assistant import Assistant

FRAME_SECONDS = 0.04


class ChatStream:
    """Streams of updates. A new stream to a tab ends the earlier one."""

    def __init__(self, assistant: "Assistant", view: ChatView, tabs: Tabs) -> None:
        self._assistant = assistant
        self._view = view
        self._tabs = tabs

    async def open(
        self, request: gr.Request, requested_id: str | None, message_id: int | None = None
    ) -> AsyncIterator[Update]:
        """Streams a conversation and its running turn, far enough back to include `message_id` if given.

        Without `requested_id`, opens a new conversation.
        """
        owner, tab = owner_of(request), self._tabs.tab_of(request)
        tab.first_turn = None
        if requested_id != tab.temporary_id:
            self._tabs.end_temporary(request)
        conversation_id = requested_id if requested_id in self._view.conversations(owner) else tab.temporary_id
        turns = self._assistant.turns.running(owner, conversation_id) if conversation_id else []
        if turns:
            async for update in self.follow(request, turns[-1]):
                update.shown = PAGE_SIZE
                yield update
            return
        writer = await tab.take_over()
        count = await asyncio.to_thread(self._view.count_back_to, owner, conversation_id, message_id)
        update = await asyncio.to_thread(self._view.full_update, owner, conversation_id, ready(), shown_count=count)
        update.shown = count
        async with tab.lock:
            if tab.writer is writer:
                yield update

    async def follow(self, request: gr.Request, turn: Turn, *, is_in_box: bool = False) -> AsyncIterator[Update]:
        """Streams the conversation of a turn until the turn is done or the tab shows something else.

        A message that `is_in_box` of this tab leaves the box only once it is stored.
        """
        owner, tab = owner_of(request), self._tabs.tab_of(request)
        writer = await tab.take_over()
        conversation_id, answered = turn.conversation_id, turn.answered
        composer = ready() if answered else busy()
        event_count = len(turn.events)
        first = await asyncio.to_thread(self._view.full_update, owner, turn.conversation_id, composer, turn)
        async with tab.lock:
            if tab.writer is writer:
                yield first
        while not turn.done:
            await turn.wait_for_events(event_count)
            if not turn.done:
                await asyncio.sleep(FRAME_SECONDS)
            event_count = len(turn.events)
            update = Update(live=self._view.live(owner, turn))
            if turn.conversation_id != conversation_id:
                conversation_id = turn.conversation_id
                update.current = conversation_id
            if turn.answered and not answered:
                answered = True
                update.composer = ready()
            if is_in_box and turn.recorded:
                is_in_box = False
                update.composer, update.draft = emptied(ready() if answered else busy()), uuid4().hex
                update.attached = self._view.attached(owner, turn.conversation_id)
            if update.current or update.composer or turn.done:
                update.heading, update.conversations = self._view.heading_and_list(owner, turn.conversation_id)
            async with tab.lock:
                if tab.writer is not writer:
                    return
                if not turn.done:
                    yield update
        is_stored = is_in_box and turn.recorded
        composer = emptied(ready()) if is_stored else ready()
        final = await asyncio.to_thread(self._view.full_update, owner, turn.conversation_id, composer, turn)
        final.draft = uuid4().hex if is_stored else None
        final.live = refusal_html(logged_sentence(turn.refused)) if turn.refused else ""
        async with tab.lock:
            if tab.writer is writer:
                yield final


def streamed(handler: Callable[..., AsyncIterator[Update]]) -> Callable[..., AsyncIterator[list[Any]]]:
    """Returns the handler as Gradio needs it, with a last output that changes nothing.

    Gradio sends a stream's last output again when the stream ends, and by then another handler may have written to the page.
    """

    @wraps(handler)
    async def stream(*inputs: Any) -> AsyncIterator[list[Any]]:
        async for update in handler(*inputs):
            yield update.outputs()
        yield Update().outputs()

    return stream


def emptied(composer: dict[str, Any]) -> dict[str, Any]:
    """Returns the update of the message box that also removes its text and files."""
    return composer | {"value": {"text": "", "files": []}}


def ready() -> dict[str, Any]:
    """Returns the message box for when the next message may be sent."""
    return gr.update(submit_btn=True, stop_btn=False)


def busy() -> dict[str, Any]:
    """Returns the message box for when an answer is being written."""
    return gr.update(submit_btn=False, stop_btn=True)
