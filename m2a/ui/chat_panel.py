"""The chat: thin handlers between Gradio's components, the assistant and the functions that write HTML.

Every handler can be called by anyone who reaches the server, so each takes the owner from the request and looks a
conversation up among that owner's. Nothing private is kept in the session: the page holds a conversation id.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import gradio as gr

from m2a.incoming import IncomingMessage, check_message
from m2a.temporary_chats import names_temporary
from m2a.turn import Turn
from m2a.types import Message, standing
from m2a.ui import welcome
from m2a.ui.chat_view import OPENING, SHOWN, ChatView, Update
from m2a.ui.conversations_panel import search_html
from m2a.ui.edit_message import Editing
from m2a.ui.events import connect, forwarded
from m2a.ui.notices import refusal_html
from m2a.ui.plain_words import sentence_for
from m2a.ui.request import numbers_of, owner_of
from m2a.ui.temporary_view import ENDED, NOT_FROM_HERE

if TYPE_CHECKING:
    from m2a.assistant import Assistant

INVITATION = "Write to M2A, or add photos"
FRAME_SECONDS = 0.04
TABS = 1000
LONGEST_SEARCH = 400
# Gradio makes a file of a longer text that is pasted, and then refuses it because it is no photo.
PASTED = 1_000_000_000

_ON_TALK = """
element.addEventListener('click', (click) => {
  const button = click.target.closest('[data-example], [data-earlier], [data-retry], [data-act], [data-edit-message]');
  if (!button) return;
  const {act, reply, number, memory} = button.dataset;
  if (['undo', 'insist', 'supersede'].includes(act)) {
    trigger(act, {reply_id: Number(reply), number: Number(number), memory_id: Number(memory || 0)});
  }
  if ('example' in button.dataset) trigger('example', {index: Number(button.dataset.example)});
  if ('earlier' in button.dataset) trigger('earlier', {});
  if ('retry' in button.dataset) trigger('retry', {message_id: Number(button.dataset.retry)});
  if ('editMessage' in button.dataset) trigger('edit', {message_id: Number(button.dataset.editMessage)});
});
element.addEventListener('submit', (submit) => {
  const form = submit.target.closest('[data-resend]');
  if (!form) return;
  submit.preventDefault();
  const {text, memories} = Object.fromEntries(new FormData(form));
  trigger('resend', {message_id: Number(form.dataset.resend), text, keep: memories === 'keep'});
});
"""
_ON_CONVERSATIONS = """
element.addEventListener('click', (click) => {
  const link = click.target.closest('[data-open]');
  if (!link || click.ctrlKey || click.metaKey || click.shiftKey || click.button) return;
  click.preventDefault();
  trigger('open', {conversation: link.dataset.open});
});
"""
_ON_CONVERSATIONS += forwarded("m2a-conversations", ["open", "find", "rename"])
_ON_TEMPORARY = forwarded("m2a-temporary", ["attached", "detach", "end"])


@dataclass(slots=True)
class _Tab:
    """A browser tab and who may write to it. The lock is held until Gradio has sent what was yielded.

    `begun` is the turn that began the new conversation which the tab shows: the page may not know its name yet.
    `sent` is what was sent last, with the draft that it was in the box: the page may not have emptied the box yet.
    `temporary` is the temporary chat that the tab shows; it ends when the tab shows something else, or is closed.
    """

    writer: object | None = None
    begun: Turn | None = None
    sent: tuple["_Sent", Turn] | None = None
    temporary: str | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True, slots=True)
class _Sent:
    """What stood in the box. Every time that the box is emptied it holds a new draft."""

    draft: str
    text: str
    paths: tuple[Path, ...]


class ChatPanel:
    """Builds the parts of the chat and connects them."""

    def __init__(self, assistant: "Assistant", uploads: Path) -> None:
        self._assistant = assistant
        self._view = ChatView(assistant)
        self._uploads = uploads.resolve()
        self._tabs: OrderedDict[str, _Tab] = OrderedDict()

    def build_conversations(self) -> None:
        """The search and the list for the side bar."""
        gr.HTML(search_html(), elem_id="m2a-find-conversations", apply_default_css=False, js_on_load=None)
        self.conversations = gr.HTML(
            "", elem_id="m2a-conversations", apply_default_css=False, js_on_load=_ON_CONVERSATIONS
        )

    def build_talk(self) -> None:
        """Heading, messages and message box."""
        self.heading = gr.HTML("", elem_id="m2a-heading", apply_default_css=False, js_on_load=None)
        with gr.Column(elem_id="m2a-talk"):
            self.history = gr.HTML(
                OPENING,
                elem_id="m2a-history",
                apply_default_css=False,
                js_on_load=_ON_TALK,
            )
            self.live = gr.HTML("", elem_id="m2a-live", apply_default_css=False, js_on_load=None)
        with gr.Column(elem_id="m2a-foot"):
            self.loading = gr.HTML("", elem_id="m2a-loading", apply_default_css=False, js_on_load=None)
            self.composer = gr.MultimodalTextbox(
                elem_id="m2a-composer",
                label="Message to M2A",
                show_label=False,
                placeholder=INVITATION,
                file_count="multiple",
                file_types=["image", ".heic", ".heif"],
                sources=["upload"],
                max_lines=8,
                max_plain_text_length=PASTED,
                autofocus=True,
                container=False,
            )
            self.attached = gr.HTML("", elem_id="m2a-attached", apply_default_css=False, js_on_load=_ON_TEMPORARY)
        self.current = gr.Textbox("", visible="hidden", elem_id="m2a-current", label="Conversation")
        self.draft = gr.Textbox("", visible="hidden", elem_id="m2a-draft", label="Draft")
        self.shown = gr.State(SHOWN)

    def connect(self, page: gr.Blocks, new: gr.HTML) -> None:
        self.parts = [self.current, self.heading, self.conversations, self.history, self.live, self.composer]
        self.parts += [self.draft, self.attached, self.shown]
        connect(page.load, _streamed(self.on_load), None, self.parts)
        connect(page.load, self.on_loading, None, self.loading)
        sent = connect(
            self.composer.submit, _streamed(self.on_send), [self.composer, self.current, self.draft], self.parts
        )
        connect(self.composer.stop, self.on_stop, self.current)
        for event, stream in (
            (new.new, self.on_new),
            (new.temporary, self.on_temporary),
            (self.attached.end, self.on_new),
            (self.conversations.open, self.on_open),
        ):
            connect(event, _streamed(stream), None, self.parts)
        page.unload(self.on_unload)
        connect(self.attached.attached, self.on_attached, self.current, self.parts)
        connect(self.attached.detach, self.on_detach, self.current, self.parts)
        connect(self.conversations.find, self.on_find, self.current, self.conversations, "always_last")
        connect(self.conversations.rename, self.on_rename, self.current, self.parts)
        connect(self.history.example, self.on_example, None, self.parts)
        connect(self.history.earlier, self.on_earlier, [self.current, self.shown], self.parts)
        connect(self.history.edit, self.on_edit, [self.current, self.shown], self.parts)
        self.changes = [
            sent,
            connect(self.history.retry, _streamed(self.on_retry), self.current, self.parts),
            connect(self.history.resend, _streamed(self.on_resend), self.current, self.parts),
            connect(self.history.undo, self.on_undo, [self.current, self.shown], self.parts),
            connect(self.history.insist, self.on_insist, [self.current, self.shown], self.parts),
            connect(self.history.supersede, self.on_supersede, [self.current, self.shown], self.parts),
        ]

    def connect_memory(self, tell: Callable[..., Any], acts: Sequence[Any]) -> Any:
        """Lets what is typed in the memory happen as a turn, and shows what `acts` there changed. Returns the turn's event."""
        for act in acts:
            connect(act.then, self.on_change, [self.current, self.shown], self.parts)
        return connect(tell, _streamed(self.on_tell), self.current, self.parts)

    def connect_erasing(self, erased: Any) -> None:
        """Shows the chat anew after something was erased."""
        connect(erased.then, self.on_change, [self.current, self.shown], self.parts)

    # Handlers

    async def on_load(self, request: gr.Request) -> AsyncIterator[Update]:
        """Opens what the address names, else the conversation that was continued last."""
        asked_for = self._view.at(owner_of(request), request.query_params.get("conversation"))
        async for update in self._open(request, asked_for, message_in(request.query_params.get("message"))):
            yield update

    async def on_open(self, event: gr.EventData, request: gr.Request) -> AsyncIterator[Update]:
        message_id = message_in(getattr(event, "message", None))
        async for update in self._open(request, str(event.conversation), message_id):
            yield update

    def on_find(self, current: str, event: gr.EventData, request: gr.Request) -> str:
        """The conversations in which the words stand."""
        words = str(getattr(event, "words", "")).strip()[:LONGEST_SEARCH]
        return self._view.found(owner_of(request), words, current or None)

    def on_rename(self, current: str, event: gr.EventData, request: gr.Request) -> list[Any]:
        owner = owner_of(request)
        conversation_id, title = (str(getattr(event, name, "")) for name in ("conversation", "title"))
        self._assistant.rename_conversation(owner, conversation_id, title)
        heading, conversations = self._view.names(owner, current or None)
        return Update(heading=heading, conversations=conversations).outputs()

    async def on_new(self, request: gr.Request) -> AsyncIterator[Update]:
        async for update in self._open(request, None):
            yield update

    async def on_temporary(self, event: gr.EventData, request: gr.Request) -> AsyncIterator[Update]:
        """Begins a temporary chat, with the memory or without."""
        owner, reads_memory = owner_of(request), getattr(event, "reads", None) == "with"
        self._end_temporary(request)
        begun = self._assistant.temporary_chats.begin(owner, reads_memory=reads_memory)
        self._tab(request).temporary = begun
        async for update in self._open(request, begun):
            update.composer = _emptied(update.composer or {})
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
        """Ends the temporary chat of a tab that was closed or loaded anew, and keeps nothing of the tab."""
        self._end_temporary(request)
        self._tabs.pop(request.session_hash or "", None)

    def _end_temporary(self, request: gr.Request) -> None:
        tab = self._tab(request)
        if tab.temporary is not None and request.username:
            self._assistant.end_temporary(request.username, tab.temporary)
            tab.temporary = tab.begun = tab.sent = None

    async def on_send(
        self, value: dict[str, Any], current: str, draft: str, request: gr.Request
    ) -> AsyncIterator[Update]:
        owner = owner_of(request)
        text, paths = (value.get("text") or "").strip(), self._uploaded(value.get("files") or [])
        conversation_id = current if current in self._view.known(owner) else None
        attached = False
        if names_temporary(current):
            temporary = self._assistant.temporary_chats.find(owner, current)
            _remove(paths)  # whatever came by Gradio's upload is for conversations that are kept
            if temporary is None:
                yield Update(live=refusal_html(ENDED))
                return
            conversation_id, paths, attached = current, [], bool(temporary.photos.attached)
        if not text and not paths and not attached:
            return
        tab, sent = self._tab(request), _Sent(draft, text, tuple(paths))
        if tab.sent and tab.sent[0] == sent and tab.sent[1].recorded:
            composer = _emptied(_ready() if tab.sent[1].answered else _busy())
            yield Update(composer=composer, draft=uuid4().hex)
            return
        # Nothing is awaited from here to the beginning of the turn: a second click would get in between.
        turn = self._begun(tab, owner, IncomingMessage(text, tuple(paths), conversation_id))
        if turn is None:
            return
        tab.sent = sent, turn
        async for update in self._follow(request, owner, turn, sent=True):
            yield update
        if turn.recorded:
            _remove(paths)

    async def on_tell(self, current: str, event: gr.EventData, request: gr.Request) -> AsyncIterator[Update]:
        """What was typed at the foot of the memory, as a message of the conversation that is open."""
        owner, text = owner_of(request), str(getattr(event, "text", "")).strip()
        if names_temporary(current):
            raise gr.Error(NOT_FROM_HERE, title="M2A", print_exception=False)
        conversation_id = current if current in self._view.known(owner) else None
        turn = self._begun(self._tab(request), owner, IncomingMessage(text, (), conversation_id)) if text else None
        if turn is not None:
            async for update in self._follow(request, owner, turn):
                yield update

    def _begun(self, tab: "_Tab", owner: str, message: IncomingMessage) -> Turn | None:
        """The turn that answers the message; none while another of the conversation is being answered."""
        running = [tab.begun] if tab.begun else []
        if message.conversation_id is not None:
            running = self._assistant.turns.running(owner, message.conversation_id)
        if any(not turn.answered for turn in running):
            gr.Info("One moment, the last answer is still being written. Your text stays in the box.", title="M2A")
            return None
        turn = self._assistant.turns.begin(owner, message)
        tab.begun = turn if message.conversation_id is None else None
        return turn

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
        messages = self._assistant.messages(owner, asked.conversation_id)
        return sum(one.message_id > asked.message_id for one, _ in standing(messages))

    def _asked(self, owner: str, current: str, event: gr.EventData) -> Message | None:
        """The message of the user that a click names; None for one that is not there, and while another is answered."""
        if current not in self._view.known(owner) and not self._assistant.temporary_chats.find(owner, current):
            return None
        if any(not turn.answered for turn in self._assistant.turns.running(owner, current)):
            gr.Info("One moment, the last answer is still being written.", title="M2A")
            return None
        messages = self._assistant.messages(owner, current)
        named = getattr(event, "message_id", None)
        return next((one for one in messages if one.message_id == named and one.role == "user"), None)

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
        async for update in self._follow(request, owner, turn):
            yield update

    def on_undo(self, current: str, shown: int, event: gr.EventData, request: gr.Request) -> list[Any]:
        """Takes back a change of the memory."""
        return self._acted(current, shown, event, request, self._assistant.undo)

    def on_insist(self, current: str, shown: int, event: gr.EventData, request: gr.Request) -> list[Any]:
        """Does what was asked for and was not done."""
        return self._acted(current, shown, event, request, self._assistant.insist)

    def on_supersede(self, current: str, shown: int, event: gr.EventData, request: gr.Request) -> list[Any]:
        """Puts a memory in the place of another that it was kept beside."""
        return self._acted(current, shown, event, request, self._assistant.supersede, "memory_id")

    def _acted(
        self,
        current: str,
        shown: int,
        event: gr.EventData,
        request: gr.Request,
        act: Callable[..., object],
        *further: str,
    ) -> list[Any]:
        """The conversation after something was done to the owner's memory, or was not to be found any more."""
        owner = owner_of(request)
        try:
            act(owner, *numbers_of(event, "reply_id", "number", *further))
        except LookupError:
            gr.Warning("This is not there any more; open the conversation anew.", title="M2A")
        return Update(history=self._view.history(owner, current or None, shown or SHOWN)).outputs()

    def on_change(self, current: str, shown: int, request: gr.Request) -> list[Any]:
        """The conversation and the list anew, after something was changed in the memory, or erased."""
        owner = owner_of(request)
        heading, conversations = self._view.names(owner, current or None)
        history = self._view.history(owner, current or None, shown or SHOWN)
        gone = "" if current and current not in self._view.known(owner) else None
        return Update(current=gone, heading=heading, conversations=conversations, history=history).outputs()

    async def on_stop(self, current: str, request: gr.Request) -> None:
        """Ends the reply. A coroutine, as a turn is stopped in the loop that it runs in."""
        owner, begun = owner_of(request), self._tab(request).begun
        if current:
            self._assistant.turns.stop(owner, current)
        elif begun is not None and begun.owner == owner:
            begun.stop()

    def on_example(self, event: gr.EventData) -> list[Any]:
        """Puts an example into the message box; the user sends it, or changes it first."""
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

    def on_earlier(self, current: str, shown: int, request: gr.Request) -> list[Any]:
        shown = (shown or SHOWN) + SHOWN
        return Update(history=self._view.history(owner_of(request), current or None, shown), shown=shown).outputs()

    async def on_loading(self) -> AsyncIterator[str]:
        """The progress line, until every model is there."""
        before = None
        while True:
            line = welcome.loading_html(self._assistant.loading())
            if line != before:
                yield line
                before = line
            if not line:
                return
            await asyncio.sleep(0.25)

    # What the page shows

    async def _open(
        self, request: gr.Request, asked_for: str | None, message_id: int | None = None
    ) -> AsyncIterator[Update]:
        owner = owner_of(request)
        self._tab(request).begun = None
        if asked_for != self._tab(request).temporary:
            self._end_temporary(request)
        conversation_id = asked_for if asked_for in self._view.known(owner) else self._tab(request).temporary
        turns = self._assistant.turns.running(owner, conversation_id) if conversation_id else []
        if turns:
            async for update in self._follow(request, owner, turns[-1]):
                update.shown = SHOWN
                yield update
            return
        tab, writer = await self._take_over(request)
        shown = await asyncio.to_thread(self._view.reaching, owner, conversation_id, message_id)
        update = await asyncio.to_thread(self._view.whole, owner, conversation_id, _ready(), shown=shown)
        update.shown = shown
        async with tab.lock:
            if tab.writer is writer:
                yield update

    async def _follow(
        self, request: gr.Request, owner: str, turn: Turn, *, sent: bool = False
    ) -> AsyncIterator[Update]:
        """Updates of the page until the turn is over or the page shows something else.

        What was `sent` from this page leaves the box once it is stored, and not before.
        """
        tab, writer = await self._take_over(request)
        known_as, answered, in_box = turn.conversation_id, turn.answered, sent
        composer = _ready() if answered else _busy()
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
                update.composer = _ready()
            if in_box and turn.recorded:
                in_box = False
                update.composer, update.draft = _emptied(_ready() if answered else _busy()), uuid4().hex
                update.attached = self._view.attached(owner, turn.conversation_id)
            if update.current or update.composer or turn.done:
                update.heading, update.conversations = self._view.names(owner, turn.conversation_id)
            async with tab.lock:
                if tab.writer is not writer:
                    return
                if not turn.done:
                    yield update
        stored = in_box and turn.recorded
        composer = _emptied(_ready()) if stored else _ready()
        final = await asyncio.to_thread(self._view.whole, owner, turn.conversation_id, composer, turn)
        final.draft = uuid4().hex if stored else None
        final.live = refusal_html(sentence_for(turn.refused)) if turn.refused else ""
        async with tab.lock:
            if tab.writer is writer:
                yield final

    def _uploaded(self, files: Sequence[str]) -> list[Path]:
        """The paths that lie in the folder of uploads; Gradio lets no others through."""
        return [path for path in map(Path, files) if path.resolve().is_relative_to(self._uploads)]

    def _tab(self, request: gr.Request) -> "_Tab":
        tab = self._tabs.setdefault(request.session_hash or "", _Tab())
        self._tabs.move_to_end(request.session_hash or "")
        while len(self._tabs) > TABS:
            self._tabs.popitem(last=False)
        return tab

    async def _take_over(self, request: gr.Request) -> tuple["_Tab", object]:
        """From now on the returned writer alone writes to the browser tab; older followers fall silent."""
        tab = self._tab(request)
        async with tab.lock:
            tab.writer = object()
            return tab, tab.writer


def _streamed(handler: Callable[..., AsyncIterator[Update]]) -> Callable[..., AsyncIterator[list[Any]]]:
    """The handler for Gradio, which sends a stream's last output once more when the stream ends. By then another
    handler may have written to the page, so the last output changes nothing."""

    @wraps(handler)
    async def stream(*inputs: Any) -> AsyncIterator[list[Any]]:
        async for update in handler(*inputs):
            yield update.outputs()
        yield Update().outputs()

    return stream


def message_in(named: object) -> int | None:
    """The id of a message that an address or a link names; None for anything else."""
    text = str(named)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None


def _emptied(composer: dict[str, Any]) -> dict[str, Any]:
    return composer | {"value": {"text": "", "files": []}}


def _ready() -> dict[str, Any]:
    return gr.update(submit_btn=True, stop_btn=False)


def _busy() -> dict[str, Any]:
    return gr.update(submit_btn=False, stop_btn=True)


def _remove(paths: Sequence[Path]) -> None:
    """Photos live in our own store by now; the copies that Gradio made go."""
    for path in paths:
        path.unlink(missing_ok=True)
        with suppress(OSError):
            path.parent.rmdir()
