"""The parts of the chat, from the stored messages and the running turns."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import gradio as gr

from m2a.turn import Turn
from m2a.types import Conversation, ConversationPart, Failed, MemoryEntry, Message, Source
from m2a.ui import temporary_view, welcome
from m2a.ui.conversations_panel import NEW, conversations_html, results_html, title_of
from m2a.ui.edit_message import Editing
from m2a.ui.erase_button import erase_button
from m2a.ui.markup import menu
from m2a.ui.markup import text as escaped
from m2a.ui.transcript import AnswerDetails, details_of, messages_html, turn_html

if TYPE_CHECKING:
    from m2a.assistant import Assistant

PAGE_SIZE = 80  # messages
OPENING = '<p class="m-opening" role="status">Opening…</p>'
BEFORE = 6  # messages above the one that a link leads to
AROUND = 12  # messages above it, and as many below it, in the first content of the page


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
    """Looks up what an owner may see and returns it as HTML."""

    def __init__(self, assistant: "Assistant") -> None:
        self._assistant = assistant

    def conversations(self, owner: str) -> dict[str, Conversation]:
        """Returns the owner's conversations by their ids."""
        return {chat.conversation_id: chat for chat in self._assistant.memory(owner).conversations()}

    def requested_or_last(self, owner: str, requested_id: str | None) -> str | None:
        """Returns the conversation id that the address names, or else that of the conversation continued last."""
        return self._assistant.last_continued(owner) if requested_id is None else requested_id

    def count_back_to(self, owner: str, conversation_id: str | None, message_id: int | None) -> int:
        """Returns how many of a conversation's newest messages must be shown to include the message."""
        if conversation_id is None or message_id is None or conversation_id not in self.conversations(owner):
            return PAGE_SIZE
        later = self._assistant.memory(owner).count_messages(conversation_id, since=message_id)
        return max(PAGE_SIZE, later + BEFORE)

    def full_update(
        self,
        owner: str,
        conversation_id: str | None,
        composer: dict[str, Any] | None,
        turn: Turn | None = None,
        *,
        shown_count: int = PAGE_SIZE,
    ) -> Update:
        """Returns new contents for every part of the page but the draft and the count."""
        heading, conversations = self.heading_and_list(owner, conversation_id)
        return Update(
            current=conversation_id or "",
            heading=heading,
            conversations=conversations,
            history=self.history(owner, conversation_id, shown_count, turn),
            live=self.live(owner, turn) if turn else "",
            composer=composer,
            attached=self.attached(owner, conversation_id),
        )

    def attached(self, owner: str, conversation_id: str | None) -> str:
        """Returns the attached photos of a temporary chat, which takes no Gradio uploads; empty for any other conversation."""
        temporary = self._assistant.temporary_chats.find(owner, conversation_id)
        return temporary_view.attached_html(temporary.photos.attached) if temporary else ""

    def heading_and_list(self, owner: str, conversation_id: str | None) -> tuple[str, str]:
        conversations = self.conversations(owner)
        list_html = conversations_html(
            list(conversations.values()), current=conversation_id, today=datetime.now().astimezone().date()
        )
        if temporary := self._assistant.temporary_chats.find(owner, conversation_id):
            heading = temporary_view.heading_html(temporary.conversation_id, reads_memory=temporary.reads_memory)
        else:
            heading = _heading(conversations.get(conversation_id or ""))
        return heading, list_html

    def search_results(self, owner: str, words: str, current: str | None) -> str:
        """Returns the list of the conversations that contain the words; all of them for no words."""
        if not words:
            return self.heading_and_list(owner, current)[1]
        return results_html(self._assistant.browser(owner).find_conversations(words), words)

    def history(
        self,
        owner: str,
        conversation_id: str | None,
        shown_count: int,
        turn: Turn | None = None,
        *,
        editing: Editing | None = None,
    ) -> str:
        """Returns the stored messages that no running turn shows, or the welcome if there are none.

        `turn` is the one that the page follows: it knows what went wrong, which the store does not. `editing` is the message
        shown as a form.
        """
        conversations = self.conversations(owner)
        temporary = self._assistant.temporary_chats.find(owner, conversation_id)
        if conversation_id is None or not (temporary or conversation_id in conversations):
            return "" if turn and not turn.refused else self._welcome(returning=bool(conversations))
        bank = self._assistant.bank_of(owner, conversation_id)
        if temporary and not bank.count_messages(conversation_id) and not (turn and not turn.refused):
            return temporary_view.welcome_html(offline=self._offline)
        running = self._assistant.turns.running(owner, conversation_id)
        recorded = [other.recorded for other in running if other.recorded]
        first_running = min((message.replaces or message.message_id for message in recorded), default=None)
        up_to = None if first_running is None else first_running - 1
        messages = self._assistant.messages(owner, conversation_id, ConversationPart(newest=shown_count, up_to=up_to))
        hidden = bank.count_messages(conversation_id, up_to=up_to) - len(messages)
        return self._rendered(owner, conversation_id, messages, turn, hidden=hidden, editing=editing)

    def around(self, owner: str, conversation_id: str, message_id: int) -> tuple[str, str] | None:
        """Returns the messages up to one of a conversation and those after it; None if it is not in the conversation."""
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
        reply_ids = [message.message_id for message in messages if message.role == "assistant"]
        costs = self._assistant.memory(owner).replies.costs_of(reply_ids)
        reads_memory = self._reads_memory(owner, conversation_id)
        explanations = self._assistant.explanations(owner, reply_ids, conversation_id)
        sources = [source for explanation in explanations.values() for source in explanation.sources]
        quoted = {message.message_id for source in sources for message in source.messages}
        before = self._assistant.bank_of(owner, conversation_id).preceding(quoted)
        corrected = self._corrected(owner, sources)
        details = {
            message_id: AnswerDetails(
                explanation.searches if reads_memory else (),
                explanation.sources,
                explanation.changes,
                explanation.not_kept,
                explanation.unasked,
                ("aside" if waiting[message_id] else "later") if message_id in waiting else None,
                before=before,
                costs=costs.get(message_id, ()),
                rejected=explanation.rejected,
                corrected=corrected,
            )
            for message_id, explanation in explanations.items()
        }
        failures: Sequence[Failed] = ()
        if turn and turn.done:
            live = details_of(turn.events)
            failures = live.failures
            if turn.reply and turn.reply.message_id in details:
                details[turn.reply.message_id] = _with_forgotten_words(details[turn.reply.message_id], live)
        open_end = open_end and not (turn and (turn.refused or not turn.done))
        return messages_html(
            messages,
            details,
            by_hand=conversation_id == self._assistant.edits_conversation_id(owner),
            hidden=hidden,
            failures=failures,
            open_end=open_end,
            editing=editing,
            last_day=last_day,
        )

    def _corrected(self, owner: str, sources: Iterable[Source]) -> frozenset[int]:
        """Returns the ids of the memories among the sources that other memories correct."""
        records = [source.hit.record for source in sources]
        memory_ids = {record.memory_id for record in records if isinstance(record, MemoryEntry)}
        return frozenset(self._assistant.memory(owner).corrections_of(memory_ids)) if memory_ids else frozenset()

    def live(self, owner: str, turn: Turn) -> str:
        turns = self._assistant.turns.running(owner, turn.conversation_id) if turn.conversation_id else []
        reads_memory = self._reads_memory(owner, turn.conversation_id)
        return "".join(turn_html(running, reads_memory=reads_memory) for running in turns or [turn])

    def _reads_memory(self, owner: str, conversation_id: str | None) -> bool:
        temporary = self._assistant.temporary_chats.find(owner, conversation_id)
        return temporary is None or temporary.reads_memory

    def _welcome(self, *, returning: bool) -> str:
        settings = self._assistant.settings
        hello = welcome.welcome_html(
            offline=self._offline,
            returning=returning,
            has_remote_model=bool(self._assistant.connection().sent_to),
            has_remote_database=bool(settings.database_url or settings.milvus_uri),
        )
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


def _with_forgotten_words(stored: AnswerDetails, live: AnswerDetails) -> AnswerDetails:
    """Returns the stored details with the words of what was just forgotten, which are shown this once only."""
    words = {change.number: change.changed.previous for change in live.changes if change.changed.change == "forgotten"}
    changes = [
        replace(change, changed=replace(change.changed, previous=words.get(change.number, change.changed.previous)))
        for change in stored.changes
    ]
    return replace(stored, changes=changes)
