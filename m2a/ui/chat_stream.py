"""What a tab is sent: a conversation as it is stored, then a turn as it goes on, until the tab shows something else."""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import wraps
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import gradio as gr

from m2a.turn import Turn
from m2a.ui.chat_view import SHOWN, ChatView, Update
from m2a.ui.notices import refusal_html
from m2a.ui.plain_words import sentence_for
from m2a.ui.request import owner_of
from m2a.ui.tabs import Tabs

if TYPE_CHECKING:
    from m2a.assistant import Assistant

FRAME_SECONDS = 0.04


class ChatStream:
    """Streams of updates. Of two that are sent to one tab the later alone goes on."""

    def __init__(self, assistant: "Assistant", view: ChatView, tabs: Tabs) -> None:
        self._assistant = assistant
        self._view = view
        self._tabs = tabs

    async def open(
        self, request: gr.Request, asked_for: str | None, message_id: int | None = None
    ) -> AsyncIterator[Update]:
        """A conversation, reaching back to a message, and the turn that is under way in it; a new one for None."""
        owner, tab = owner_of(request), self._tabs.of(request)
        tab.begun = None
        if asked_for != tab.temporary:
            self._tabs.end_temporary(request)
        conversation_id = asked_for if asked_for in self._view.known(owner) else tab.temporary
        turns = self._assistant.turns.running(owner, conversation_id) if conversation_id else []
        if turns:
            async for update in self.follow(request, turns[-1]):
                update.shown = SHOWN
                yield update
            return
        writer = await tab.take_over()
        shown = await asyncio.to_thread(self._view.reaching, owner, conversation_id, message_id)
        update = await asyncio.to_thread(self._view.whole, owner, conversation_id, ready(), shown=shown)
        update.shown = shown
        async with tab.lock:
            if tab.writer is writer:
                yield update

    async def follow(self, request: gr.Request, turn: Turn, *, sent: bool = False) -> AsyncIterator[Update]:
        """The conversation of a turn, until the turn is over or the tab shows something else.

        What was `sent` from this tab leaves the box once it is stored, and not before.
        """
        owner, tab = owner_of(request), self._tabs.of(request)
        writer = await tab.take_over()
        known_as, answered, in_box = turn.conversation_id, turn.answered, sent
        composer = ready() if answered else busy()
        seen = len(turn.events)
        first = await asyncio.to_thread(self._view.whole, owner, turn.conversation_id, composer, turn)
        async with tab.lock:
            if tab.writer is writer:
                yield first
        while not turn.done:
            await turn.grows(seen)
            if not turn.done:
                await asyncio.sleep(FRAME_SECONDS)
            seen = len(turn.events)
            update = Update(live=self._view.live(owner, turn))
            if turn.conversation_id != known_as:
                known_as = turn.conversation_id
                update.current = known_as
            if turn.answered and not answered:
                answered = True
                update.composer = ready()
            if in_box and turn.recorded:
                in_box = False
                update.composer, update.draft = emptied(ready() if answered else busy()), uuid4().hex
                update.attached = self._view.attached(owner, turn.conversation_id)
            if update.current or update.composer or turn.done:
                update.heading, update.conversations = self._view.names(owner, turn.conversation_id)
            async with tab.lock:
                if tab.writer is not writer:
                    return
                if not turn.done:
                    yield update
        stored = in_box and turn.recorded
        composer = emptied(ready()) if stored else ready()
        final = await asyncio.to_thread(self._view.whole, owner, turn.conversation_id, composer, turn)
        final.draft = uuid4().hex if stored else None
        final.live = refusal_html(sentence_for(turn.refused)) if turn.refused else ""
        async with tab.lock:
            if tab.writer is writer:
                yield final


def streamed(handler: Callable[..., AsyncIterator[Update]]) -> Callable[..., AsyncIterator[list[Any]]]:
    """The handler for Gradio, which sends a stream's last output once more when the stream ends. By then another
    handler may have written to the page, so the last output changes nothing."""

    @wraps(handler)
    async def stream(*inputs: Any) -> AsyncIterator[list[Any]]:
        async for update in handler(*inputs):
            yield update.outputs()
        yield Update().outputs()

    return stream


def emptied(composer: dict[str, Any]) -> dict[str, Any]:
    """The box, without what was typed and attached."""
    return composer | {"value": {"text": "", "files": []}}


def ready() -> dict[str, Any]:
    """The box while the next message may be sent."""
    return gr.update(submit_btn=True, stop_btn=False)


def busy() -> dict[str, Any]:
    """The box while an answer is written."""
    return gr.update(submit_btn=False, stop_btn=True)
