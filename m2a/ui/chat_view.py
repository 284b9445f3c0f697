"""What the chat shows of the store and of the turns under way."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import gradio as gr

from m2a.turn import Turn
from m2a.types import Conversation, ConversationPart, Failed, MemoryEntry, Message
from m2a.ui import temporary_view, welcome
from m2a.ui.conversations_panel import NEW, conversations_html, found_html, title_of
from m2a.ui.edit_message import Editing
from m2a.ui.erase_button import erase_button
from m2a.ui.markup import menu
from m2a.ui.markup import text as escaped
from m2a.ui.transcript import Because, because_of, messages_html, turn_html

if TYPE_CHECKING:
    from m2a.assistant import Assistant

SHOWN = 80
OPENING = '<p class="m-opening" role="status">Opening…</p>'
BEFORE = 6  # messages above the one that a link leads to
AROUND = 12  # messages above and below it that are sent at once


@dataclass(slots=True)
class Update:
    """New contents of the page's parts; None leaves a part as it is."""

    current: str | None = None
    heading: str | None = None
    conversations: str | None = None
    history: str | None = None
    live: str | None = None
    composer: dict[str, Any] | None = None
    draft: str | None = None
    attached: str | None = None
    shown: int | None = None

    def outputs(self) -> list[Any]:
        values = (getattr(self, part.name) for part in fields(self))
        return [gr.skip() if value is None else value for value in values]


class ChatView:
    """Looks up what an owner may see, and has it written as HTML."""

    def __init__(self, assistant: "Assistant") -> None:
        self._assistant = assistant

    def known(self, owner: str) -> dict[str, Conversation]:
        return {one.conversation_id: one for one in self._assistant.memory(owner).conversations()}

    def at(self, owner: str, named: str | None) -> str | None:
        """The conversation that an address names; where it names none, the one that was continued last."""
        return self._assistant.last_continued(owner) if named is None else named

    def reaching(self, owner: str, conversation_id: str | None, message_id: int | None) -> int:
        """How many of a conversation's newest messages are to be shown, so that the message is among them."""
        if conversation_id is None or message_id is None or conversation_id not in self.known(owner):
            return SHOWN
        later = self._assistant.count_messages(owner, conversation_id, since=message_id)
        return max(SHOWN, later + BEFORE)

    def whole(
        self,
        owner: str,
        conversation_id: str | None,
        composer: dict[str, Any] | None,
        turn: Turn | None = None,
        *,
        shown: int = SHOWN,
    ) -> Update:
        heading, conversations = self.names(owner, conversation_id)
        return Update(
            current=conversation_id or "",
            heading=heading,
            conversations=conversations,
            history=self.history(owner, conversation_id, shown, turn),
            live=self.live(owner, turn) if turn else "",
            composer=composer,
            attached=self.attached(owner, conversation_id),
        )

    def attached(self, owner: str, conversation_id: str | None) -> str:
        """What a temporary chat has in the place of Gradio's uploads; nothing elsewhere."""
        temporary = self._assistant.temporary_chats.find(owner, conversation_id)
        return temporary_view.attached_html(temporary.photos.attached) if temporary else ""

    def names(self, owner: str, conversation_id: str | None) -> tuple[str, str]:
        known = self.known(owner)
        listed = conversations_html(
            list(known.values()), current=conversation_id, today=datetime.now().astimezone().date()
        )
        if temporary := self._assistant.temporary_chats.find(owner, conversation_id):
            heading = temporary_view.heading_html(temporary.conversation_id, reads_memory=temporary.reads_memory)
        else:
            heading = _heading(known.get(conversation_id or ""))
        return heading, listed

    def found(self, owner: str, words: str, current: str | None) -> str:
        """The list of conversations: those that a search for the words finds, or all."""
        if not words:
            return self.names(owner, current)[1]
        return found_html(self._assistant.browser(owner).find_conversations(words), words)

    def history(
        self,
        owner: str,
        conversation_id: str | None,
        shown: int,
        turn: Turn | None = None,
        *,
        editing: Editing | None = None,
    ) -> str:
        """The stored messages that no turn under way shows; the welcome where there are none. One may be being edited.

        `turn` is the one that the page follows: it knows what went wrong, which the store does not.
        """
        known = self.known(owner)
        temporary = self._assistant.temporary_chats.find(owner, conversation_id)
        if conversation_id is None or not (temporary or conversation_id in known):
            return "" if turn and not turn.refused else self._welcome(returning=bool(known))
        is_empty = not self._assistant.count_messages(owner, conversation_id)
        if temporary and is_empty and not (turn and not turn.refused):
            return temporary_view.welcome_html(offline=self._offline)
        live = [one.recorded for one in self._assistant.turns.running(owner, conversation_id) if one.recorded]
        up_to = min((one.message_id if one.replaces is None else one.replaces for one in live), default=None)
        up_to = None if up_to is None else up_to - 1
        messages = self._assistant.messages(owner, conversation_id, ConversationPart(newest=shown, up_to=up_to))
        hidden = self._assistant.count_messages(owner, conversation_id, up_to=up_to) - len(messages)
        return self._rendered(owner, conversation_id, messages, turn, hidden=hidden, editing=editing)

    def around(self, owner: str, conversation_id: str, message_id: int) -> tuple[str, str] | None:
        """What stands near a message of a conversation: up to it, and after it. None where it is not there."""
        before = self._assistant.messages(owner, conversation_id, ConversationPart(newest=AROUND + 1, up_to=message_id))
        if not before or before[-1].message_id != message_id:
            return None
        after = self._assistant.messages(owner, conversation_id, ConversationPart(oldest=AROUND, since=message_id + 1))
        day = before[-1].said_at.astimezone().date()
        return (
            self._rendered(owner, conversation_id, before, open_end=False),
            self._rendered(owner, conversation_id, after, open_end=False, last_day=day),
        )

    def _rendered(
        self,
        owner: str,
        conversation_id: str,
        messages: Sequence[Message],
        turn: Turn | None = None,
        *,
        hidden: int = 0,
        editing: Editing | None = None,
        open_end: bool = True,
        last_day: date | None = None,
    ) -> str:
        waiting = self._assistant.waiting_updates(owner)
        replies = [one for one in messages if one.role == "assistant"]
        costs = self._assistant.memory(owner).replies.costs_of([one.message_id for one in replies])
        reads_memory = self._reads_memory(owner, conversation_id)
        explanations = self._assistant.explanations(owner, [one.message_id for one in replies], conversation_id)
        because = {
            message_id: Because(
                told.searches if reads_memory else (),
                told.sources,
                told.changes,
                told.not_kept,
                told.unasked,
                ("aside" if waiting[message_id] else "later") if message_id in waiting else None,
                costs=costs.get(message_id, ()),
                rejected=told.rejected,
            )
            for message_id, told in explanations.items()
        }
        quoted = {one.message_id for told in because.values() for source in told.sources for one in source.messages}
        if quoted:
            before = self._assistant.before(owner, quoted, conversation_id)
            because = {reply_id: replace(told, before=before) for reply_id, told in because.items()}
        if corrected := self._corrected(owner, because.values()):
            because = {reply_id: replace(told, corrected=corrected) for reply_id, told in because.items()}
        failures: Sequence[Failed] = ()
        if turn and turn.done:
            live_because = because_of(turn.events)
            failures = live_because.failures
            if turn.reply and turn.reply.message_id in because:
                because[turn.reply.message_id] = _as_told(because[turn.reply.message_id], live_because)
        open_end = open_end and not (turn and (turn.refused or not turn.done))
        return messages_html(
            messages,
            because,
            by_hand=conversation_id == self._assistant.changes_by_hand(owner),
            hidden=hidden,
            failures=failures,
            open_end=open_end,
            editing=editing,
            last_day=last_day,
        )

    def _corrected(self, owner: str, told: Iterable[Because]) -> frozenset[int]:
        """The memories that answers rest on and that others correct."""
        records = [source.hit.record for one in told for source in one.sources]
        memory_ids = {record.memory_id for record in records if isinstance(record, MemoryEntry)}
        return frozenset(self._assistant.memory(owner).corrections_of(memory_ids)) if memory_ids else frozenset()

    def live(self, owner: str, turn: Turn) -> str:
        turns = self._assistant.turns.running(owner, turn.conversation_id) if turn.conversation_id else []
        reads_memory = self._reads_memory(owner, turn.conversation_id)
        return "".join(turn_html(one, reads_memory=reads_memory) for one in turns or [turn])

    def _reads_memory(self, owner: str, conversation_id: str | None) -> bool:
        temporary = self._assistant.temporary_chats.find(owner, conversation_id)
        return temporary is None or temporary.reads_memory

    def _welcome(self, *, returning: bool) -> str:
        settings, sends = self._assistant.settings, bool(self._assistant.connection().sent_to)
        on_server = bool(settings.database_url or settings.milvus_uri)
        hello = welcome.welcome_html(offline=self._offline, returning=returning, sends=sends, on_server=on_server)
        return hello if returning else hello + welcome.examples_html()

    @property
    def _offline(self) -> bool:
        return self._assistant.settings.chat_model == "offline"


def _heading(conversation: Conversation | None) -> str:
    conversation_id = escaped(conversation.conversation_id) if conversation else ""
    title = escaped(title_of(conversation) if conversation else NEW)
    manage = ""
    if conversation:
        erase = erase_button("conversation", conversation.conversation_id, "Erase…", style="m-button m-warned")
        manage = (
            f'<details class="m-manage" data-key="manage-{conversation_id}"><summary aria-label="Manage this conversation">'
            f'⋯</summary><div><form data-rename="{conversation_id}"><label>Title<input name="title" maxlength="200" '
            f'autocomplete="off" dir="auto" value="{title}"></label><button class="m-button">Rename</button></form>'
            f'<div class="m-acts"><a class="m-button" href="/conversations/{conversation_id}.md" download>'
            f"Download as text (Markdown)</a>{erase}</div></div></details>"
        )
    return (
        f'<header class="m-heading">{menu("Conversations")}'
        f'<h1 data-conversation="{conversation_id}" dir="auto">{title}</h1>{manage}</header>'
    )


def _as_told(stored: Because, live: Because) -> Because:
    """What the store says, with the words of what was just forgotten: they are told once, and stand nowhere after that."""
    words = {one.number: one.changed.previous for one in live.changes if one.changed.change == "forgotten"}
    changes = [
        replace(one, changed=replace(one.changed, previous=words[one.number])) if one.number in words else one
        for one in stored.changes
    ]
    return replace(stored, changes=changes)
