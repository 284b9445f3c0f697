"""The chat: thin handlers between Gradio's components, the assistant and the functions that write HTML.

Anyone who reaches the server can call any handler. So each handler takes the owner from the request and looks conversations
up among the owner's only. The session keeps nothing private: the page holds a conversation id.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import gradio as gr

from m2a.incoming import IncomingMessage
from m2a.temporary_chats import names_temporary
from m2a.turn import Turn
from m2a.ui import welcome
from m2a.ui.chat_stream import ChatStream, busy, emptied, ready, streamed
from m2a.ui.chat_view import OPENING, PAGE_SIZE, ChatView, Update
from m2a.ui.conversations_panel import search_html
from m2a.ui.events import connect, forwarded, html_part
from m2a.ui.notices import refusal_html
from m2a.ui.plain_words import page_error
from m2a.ui.request import numbers_of, owner_of, record_id_in
from m2a.ui.resending import Resending
from m2a.ui.tabs import Submission, Tab, Tabs
from m2a.ui.temporary_view import CHANGES_NO_MEMORY, ENDED, OVER

if TYPE_CHECKING:
    from m2a.assistant import Assistant

MESSAGE_PLACEHOLDER = "Write to M2A, or add photos"
MAX_SEARCH_LENGTH = 400
# Gradio turns a longer pasted text into a file, and then refuses the file because it is not a photo.
MAX_PASTED_LENGTH = 1_000_000_000

_ON_TALK = forwarded("m2a-talk", ["example", "earlier", "retry", "edit", "resend", "undo", "insist", "choose"])
_ON_CONVERSATIONS = forwarded("m2a-conversations", ["open", "find", "rename"])
_ON_TEMPORARY = forwarded("m2a-temporary", ["attached", "detach", "end"])


class ChatPanel:
    """Builds the parts of the chat and connects them."""

    def __init__(self, assistant: "Assistant", uploads: Path) -> None:
        self._assistant = assistant
        self._view = ChatView(assistant)
        self._uploads = uploads.resolve()
        self._tabs = Tabs(assistant.end_temporary)
        self._stream = ChatStream(assistant, self._view, self._tabs)
        self.resending = Resending(assistant, self._view, self._stream)
        self.on_undo = self._acting(assistant.undo)
        self.on_insist = self._acting(assistant.insist)
        self.on_choose = self._acting(assistant.choose, "memory_id")

    def build_conversations(self) -> None:
        """Adds the search and the list of conversations to the side bar."""
        html_part(search_html(), elem_id="m2a-find-conversations")
        self.conversations = html_part(elem_id="m2a-conversations", script=_ON_CONVERSATIONS)

    def build_talk(self) -> None:
        """Adds the heading, the messages and the message box."""
        self.heading = html_part(elem_id="m2a-heading")
        with gr.Column(elem_id="m2a-talk"):
            self.history = html_part(OPENING, elem_id="m2a-history", script=_ON_TALK)
            self.live = html_part(elem_id="m2a-live")
        with gr.Column(elem_id="m2a-foot"):
            self.loading = html_part(elem_id="m2a-loading")
            self.composer = gr.MultimodalTextbox(
                elem_id="m2a-composer",
                label="Message to M2A",
                show_label=False,
                placeholder=MESSAGE_PLACEHOLDER,
                file_count="multiple",
                file_types=["image", ".heic", ".heif"],
                sources=["upload"],
                max_lines=8,
                max_plain_text_length=MAX_PASTED_LENGTH,
                autofocus=True,
                container=False,
            )
            self.attached = html_part(elem_id="m2a-attached", script=_ON_TEMPORARY)
        self.current = gr.Textbox("", visible="hidden", elem_id="m2a-current", label="Conversation")
        self.draft = gr.Textbox("", visible="hidden", elem_id="m2a-draft", label="Draft")
        self.shown = gr.State(PAGE_SIZE)

    def connect(self, page: gr.Blocks, new: gr.HTML) -> None:
        self.parts = [self.current, self.heading, self.conversations, self.history, self.live, self.composer]
        self.parts += [self.draft, self.attached, self.shown]
        connect(page.load, streamed(self.on_load), None, self.parts)
        connect(page.load, self.on_loading, None, self.loading)
        sending = connect(
            self.composer.submit, streamed(self.on_send), [self.composer, self.current, self.draft], self.parts
        )
        connect(self.composer.stop, self.on_stop, self.current)
        for event, stream in (
            (new.new, self.on_new),
            (new.temporary, self.on_temporary),
            (self.attached.end, self.on_end),
            (self.conversations.open, self.on_open),
        ):
            connect(event, streamed(stream), None, self.parts)
        page.unload(self.on_unload)
        connect(self.attached.attached, self.on_attached, self.current, self.parts)
        connect(self.attached.detach, self.on_detach, self.current, self.parts)
        connect(self.conversations.find, self.on_find, self.current, self.conversations, "always_last")
        connect(self.conversations.rename, self.on_rename, self.current, self.parts)
        connect(self.history.example, self.on_example, None, self.parts)
        connect(self.history.earlier, self.on_earlier, [self.current, self.shown], self.parts)
        connect(self.history.edit, self.resending.on_edit, [self.current, self.shown], self.parts)
        self.changes = [
            sending,
            connect(self.history.retry, streamed(self.resending.on_retry), self.current, self.parts),
            connect(self.history.resend, streamed(self.resending.on_resend), self.current, self.parts),
            connect(self.history.undo, self.on_undo, [self.current, self.shown], self.parts),
            connect(self.history.insist, self.on_insist, [self.current, self.shown], self.parts),
            connect(self.history.choose, self.on_choose, [self.current, self.shown], self.parts),
        ]

    def connect_memory(self, message_sent: Callable[..., Any], memory_changes: Sequence[Any]) -> Any:
        """Runs a turn when a message is sent from the memory panel, and redraws the chat after each change made there.

        Returns the turn's event.
        """
        for change in memory_changes:
            connect(change.then, self.on_change, [self.current, self.shown], self.parts)
        return connect(message_sent, streamed(self.on_tell), self.current, self.parts)

    def connect_erasing(self, erased: Any) -> None:
        """Redraws the chat after each erasure."""
        connect(erased.then, self.on_change, [self.current, self.shown], self.parts)

    async def on_load(self, request: gr.Request) -> AsyncIterator[Update]:
        """Opens the conversation that the address names, or else the one continued last."""
        requested_id = self._view.requested_or_last(owner_of(request), request.query_params.get("conversation"))
        message_id = record_id_in(request.query_params.get("message"))
        async for update in self._stream.open(request, requested_id, message_id):
            yield update

    async def on_open(self, event: gr.EventData, request: gr.Request) -> AsyncIterator[Update]:
        message_id = record_id_in(getattr(event, "message", None))
        async for update in self._stream.open(request, str(event.conversation), message_id):
            yield update

    def on_find(self, current: str, event: gr.EventData, request: gr.Request) -> str:
        """Returns the list of the conversations that contain the words."""
        words = str(getattr(event, "words", "")).strip()[:MAX_SEARCH_LENGTH]
        return self._view.search_results(owner_of(request), words, current or None)

    def on_rename(self, current: str, event: gr.EventData, request: gr.Request) -> list[Any]:
        owner = owner_of(request)
        conversation_id, title = (str(getattr(event, name, "")) for name in ("conversation", "title"))
        self._assistant.rename_conversation(owner, conversation_id, title)
        heading, conversations = self._view.heading_and_list(owner, current or None)
        return Update(heading=heading, conversations=conversations).outputs()

    async def on_new(self, request: gr.Request) -> AsyncIterator[Update]:
        async for update in self._stream.open(request, None):
            yield update

    async def on_end(self, request: gr.Request) -> AsyncIterator[Update]:
        """Ends the temporary chat and says so."""
        async for update in self._stream.open(request, None):
            yield update
        gr.Info(OVER, title="M2A")

    async def on_temporary(self, event: gr.EventData, request: gr.Request) -> AsyncIterator[Update]:
        """Begins a temporary chat, with or without the memory."""
        owner, reads_memory = owner_of(request), getattr(event, "reads", None) == "with"
        self._tabs.end_temporary(request)
        conversation_id = self._assistant.temporary_chats.begin(owner, reads_memory=reads_memory)
        self._tabs.tab_of(request).temporary_id = conversation_id
        async for update in self._stream.open(request, conversation_id):
            update.composer = emptied(update.composer or {})
            yield update

    def on_attached(self, current: str, request: gr.Request) -> list[Any]:
        """Shows the photos that go with the next message of a temporary chat."""
        return Update(attached=self._view.attached(owner_of(request), current)).outputs()

    def on_detach(self, current: str, event: gr.EventData, request: gr.Request) -> list[Any]:
        owner = owner_of(request)
        if temporary := self._assistant.temporary_chats.find(owner, current):
            temporary.photos.detach(str(getattr(event, "photo_id", "")))
        return Update(attached=self._view.attached(owner, current)).outputs()

    async def on_unload(self, request: gr.Request) -> None:
        """Ends the temporary chat of a tab that was closed or reloaded, and forgets the tab."""
        self._tabs.close(request)

    async def on_send(
        self, value: dict[str, Any], current: str, draft: str, request: gr.Request
    ) -> AsyncIterator[Update]:
        owner = owner_of(request)
        text, paths = (value.get("text") or "").strip(), self._upload_paths(value.get("files") or [])
        conversation_id = current if current in self._view.conversations(owner) else None
        has_attached = False
        if names_temporary(current):
            temporary = self._assistant.temporary_chats.find(owner, current)
            _delete_copies(paths)  # Gradio's uploads are only for conversations that are kept
            if temporary is None:
                yield Update(live=refusal_html(ENDED))
                return
            conversation_id, paths, has_attached = current, [], bool(temporary.photos.attached)
        if not text and not paths and not has_attached:
            return
        tab, submission = self._tabs.tab_of(request), Submission(draft, text, tuple(paths))
        if tab.submitted and tab.submitted[0] == submission and tab.submitted[1].recorded:
            composer = emptied(ready() if tab.submitted[1].answered else busy())
            yield Update(composer=composer, draft=uuid4().hex)
            return
        # No await from here until the turn begins: a second click could get in between.
        turn = self._begin_turn(tab, owner, IncomingMessage(text, tuple(paths), conversation_id))
        if turn is None:
            return
        tab.submitted = submission, turn
        async for update in self._stream.follow(request, turn, is_in_box=True):
            yield update
        if turn.recorded:
            _delete_copies(paths)

    async def on_tell(self, current: str, event: gr.EventData, request: gr.Request) -> AsyncIterator[Update]:
        """Sends what was typed at the foot of the memory panel as a message of the open conversation."""
        owner, text = owner_of(request), str(getattr(event, "text", "")).strip()
        if names_temporary(current):
            raise page_error(CHANGES_NO_MEMORY)
        conversation_id = current if current in self._view.conversations(owner) else None
        message = IncomingMessage(text, (), conversation_id)
        turn = self._begin_turn(self._tabs.tab_of(request), owner, message) if text else None
        if turn is not None:
            async for update in self._stream.follow(request, turn):
                yield update

    def _begin_turn(self, tab: Tab, owner: str, message: IncomingMessage) -> Turn | None:
        """Begins the turn that answers the message. None while another of the conversation is being answered."""
        running = [tab.first_turn] if tab.first_turn else []
        if message.conversation_id is not None:
            running = self._assistant.turns.running(owner, message.conversation_id)
        if any(not turn.answered for turn in running):
            gr.Info("One moment, the last answer is still being written. Your text stays in the box.", title="M2A")
            return None
        turn = self._assistant.turns.begin(owner, message)
        tab.first_turn = turn if message.conversation_id is None else None
        return turn

    def _acting(self, act: Callable[..., object], *more_numbers: str) -> Callable[..., list[Any]]:
        """Returns the handler that calls `act` with the numbers of a click, and redraws the conversation.

        It warns if they name nothing any more.
        """

        def on_act(current: str, shown_count: int, event: gr.EventData, request: gr.Request) -> list[Any]:
            owner = owner_of(request)
            try:
                act(owner, *numbers_of(event, "reply_id", "number", *more_numbers))
            except LookupError:
                gr.Warning("This no longer exists; please reopen the conversation.", title="M2A")
            return Update(history=self._view.history(owner, current or None, shown_count or PAGE_SIZE)).outputs()

        return on_act

    def on_change(self, current: str, shown_count: int, request: gr.Request) -> list[Any]:
        """Redraws the conversation and the list after a change of the memory or an erasure."""
        owner = owner_of(request)
        heading, conversations = self._view.heading_and_list(owner, current or None)
        history = self._view.history(owner, current or None, shown_count or PAGE_SIZE)
        open_id = "" if current and current not in self._view.conversations(owner) else None
        return Update(current=open_id, heading=heading, conversations=conversations, history=history).outputs()

    async def on_stop(self, current: str, request: gr.Request) -> None:
        """Stops the reply. It is a coroutine because a turn must be stopped in its own event loop."""
        owner, first_turn = owner_of(request), self._tabs.tab_of(request).first_turn
        if current:
            self._assistant.turns.stop(owner, current)
        elif first_turn is not None and first_turn.owner == owner:
            first_turn.stop()

    def on_example(self, event: gr.EventData) -> list[Any]:
        """Puts an example into the message box, for the user to change or send."""
        if not isinstance(event.index, int) or not 0 <= event.index < len(welcome.EXAMPLES):
            return Update().outputs()
        example = welcome.EXAMPLES[event.index]
        files: list[str] = []
        if example.path:
            copy = self._uploads / "examples" / example.path.name
            copy.parent.mkdir(mode=0o700, exist_ok=True)
            copy.write_bytes(example.path.read_bytes())
            files.append(str(copy))
        return Update(composer=gr.update(value={"text": example.text, "files": files})).outputs()

    def on_earlier(self, current: str, shown_count: int, request: gr.Request) -> list[Any]:
        count = (shown_count or PAGE_SIZE) + PAGE_SIZE
        return Update(history=self._view.history(owner_of(request), current or None, count), shown=count).outputs()

    async def on_loading(self) -> AsyncIterator[str]:
        """Yields the progress line whenever it changes, until every model is loaded."""
        last_line = None
        while True:
            line = welcome.loading_html(self._assistant.loading())
            if line != last_line:
                yield line
                last_line = line
            if not line:
                return
            await asyncio.sleep(0.25)

    def _upload_paths(self, files: Sequence[str]) -> list[Path]:
        """Returns the paths inside the upload folder; Gradio lets no others through."""
        return [path for path in map(Path, files) if path.resolve().is_relative_to(self._uploads)]


def _delete_copies(paths: Sequence[Path]) -> None:
    """Deletes the copies that Gradio made of photos."""
    for path in paths:
        path.unlink(missing_ok=True)
        with suppress(OSError):
            path.parent.rmdir()
