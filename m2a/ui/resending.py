"""Sending a message again: as it is, or with other words in its place."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import gradio as gr

from m2a.incoming import IncomingMessage, check_message
from m2a.types import ConversationPart, Message, standing
from m2a.ui.chat_stream import ChatStream
from m2a.ui.chat_view import SHOWN, ChatView, Update
from m2a.ui.edit_message import Editing
from m2a.ui.notices import refusal_html
from m2a.ui.request import owner_of

if TYPE_CHECKING:
    from m2a.assistant import Assistant


class Resending:
    """Handlers of the buttons beside a message."""

    def __init__(self, assistant: "Assistant", view: ChatView, stream: ChatStream) -> None:
        self._assistant = assistant
        self._view = view
        self._stream = stream

    async def on_retry(self, current: str, event: gr.EventData, request: gr.Request) -> AsyncIterator[Update]:
        """Sends a message again, as it is; the new one replaces it."""
        asked = self._asked(owner_of(request), current, event)
        if asked is not None:
            async for update in self._resend(request, asked, asked.text):
                yield update

    def on_edit(self, current: str, shown: int, event: gr.EventData, request: gr.Request) -> list[Any]:
        """The conversation with a form in the place of a message of the user; without one for the message 0."""
        owner = owner_of(request)
        asked = self._asked(owner, current, event)
        kept = asked is not None and not self._assistant.temporary_chats.find(owner, current)
        memories = self._assistant.memory(owner).resting_on(asked.message_id) if asked and kept else ()
        editing = Editing(asked.message_id, memories, self._following(owner, asked)) if asked else None
        return Update(history=self._view.history(owner, current or None, shown or SHOWN, editing=editing)).outputs()

    async def on_resend(self, current: str, event: gr.EventData, request: gr.Request) -> AsyncIterator[Update]:
        """Sends a message with other words; the new one replaces it, and what rests on it is taken along or kept."""
        asked, text = self._asked(owner_of(request), current, event), str(getattr(event, "text", "")).strip()
        if asked is None:
            return
        check_message(text)
        if not text and not asked.photos:
            raise gr.Error("The message is empty; write something, or erase it.", title="M2A", print_exception=False)
        takes_memories = getattr(event, "keep", None) is not True
        async for update in self._resend(request, asked, text, takes_memories=takes_memories):
            yield update

    def _following(self, owner: str, asked: Message) -> int:
        """How many messages stand after one of the conversation."""
        messages = self._assistant.messages(owner, asked.conversation_id, ConversationPart(since=asked.message_id + 1))
        return len(standing(messages))

    def _asked(self, owner: str, current: str, event: gr.EventData) -> Message | None:
        """The message of the user that a click names; None for one that is not there, and while another is answered."""
        if current not in self._view.known(owner) and not self._assistant.temporary_chats.find(owner, current):
            return None
        if any(not turn.answered for turn in self._assistant.turns.running(owner, current)):
            gr.Info("One moment, the last answer is still being written.", title="M2A")
            return None
        named = getattr(event, "message_id", None)
        if not isinstance(named, int):
            return None
        messages = self._assistant.messages(owner, current, ConversationPart(since=named, up_to=named))
        return next((one for one in messages if one.role == "user"), None)

    async def _resend(
        self, request: gr.Request, asked: Message, text: str, *, takes_memories: bool = False
    ) -> AsyncIterator[Update]:
        owner = owner_of(request)
        bank = self._assistant.bank_of(owner, asked.conversation_id)
        try:
            for photo_id in asked.photos:
                bank.photos.data(photo_id)
        except LookupError as error:
            yield Update(live=refusal_html(str(error)))
            return
        again = IncomingMessage(
            text, (), asked.conversation_id, asked.message_id, takes_memories, stored_photos=asked.photos
        )
        turn = self._assistant.turns.begin(owner, again)
        async for update in self._stream.follow(request, turn):
            yield update
