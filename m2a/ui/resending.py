"""Sending a message again: as it is, or with other words in its place."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import gradio as gr

from m2a.incoming import IncomingMessage, check_message
from m2a.types import ConversationPart, Message, standing
from m2a.ui.chat_stream import ChatStream
from m2a.ui.chat_view import PAGE_SIZE, ChatView, Update
from m2a.ui.edit_message import Editing
from m2a.ui.notices import refusal_html
from m2a.ui.plain_words import page_error
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
        """Sends a message again unchanged; the new one replaces it."""
        question = self._question(owner_of(request), current, event)
        if question is not None:
            async for update in self._resend(request, question, question.text):
                yield update

    def on_edit(self, current: str, shown_count: int, event: gr.EventData, request: gr.Request) -> list[Any]:
        """Shows a form in place of a message of the user; the message id 0 closes the form."""
        owner = owner_of(request)
        question = self._question(owner, current, event)
        is_temporary = self._assistant.temporary_chats.find(owner, current) is not None
        editing = None
        if question is not None:
            memories = () if is_temporary else self._assistant.memory(owner).resting_on(question.message_id)
            editing = Editing(question.message_id, memories, self._following(owner, question))
        history = self._view.history(owner, current or None, shown_count or PAGE_SIZE, editing=editing)
        return Update(history=history).outputs()

    async def on_resend(self, current: str, event: gr.EventData, request: gr.Request) -> AsyncIterator[Update]:
        """Sends a message with new words in its place; the memories that rest on it are forgotten or kept, as the form says."""
        question, text = self._question(owner_of(request), current, event), str(getattr(event, "text", "")).strip()
        if question is None:
            return
        check_message(text)
        if not text and not question.photos:
            raise page_error("The message is empty; write something, or erase it.")
        forgets_memories = getattr(event, "keep", None) is not True
        async for update in self._resend(request, question, text, forgets_memories=forgets_memories):
            yield update

    def _following(self, owner: str, question: Message) -> int:
        """Returns the number of messages after this one that still stand."""
        part = ConversationPart(since=question.message_id + 1)
        return len(standing(self._assistant.messages(owner, question.conversation_id, part)))

    def _question(self, owner: str, current: str, event: gr.EventData) -> Message | None:
        """Returns the user's message that a click names; None if it does not exist or another message is being answered."""
        if current not in self._view.conversations(owner) and not self._assistant.temporary_chats.find(owner, current):
            return None
        if any(not turn.answered for turn in self._assistant.turns.running(owner, current)):
            gr.Info("One moment, the last answer is still being written.", title="M2A")
            return None
        message_id = getattr(event, "message_id", None)
        if not isinstance(message_id, int):
            return None
        messages = self._assistant.messages(owner, current, ConversationPart(since=message_id, up_to=message_id))
        return next((message for message in messages if message.role == "user"), None)

    async def _resend(
        self, request: gr.Request, question: Message, text: str, *, forgets_memories: bool = False
    ) -> AsyncIterator[Update]:
        owner = owner_of(request)
        bank = self._assistant.bank_of(owner, question.conversation_id)
        try:
            for photo_id in question.photos:
                bank.photos.data(photo_id)
        except LookupError as error:
            yield Update(live=refusal_html(str(error)))
            return
        new_message = IncomingMessage(
            text, (), question.conversation_id, question.message_id, forgets_memories, stored_photos=question.photos
        )
        turn = self._assistant.turns.begin(owner, new_message)
        async for update in self._stream.follow(request, turn):
            yield update
