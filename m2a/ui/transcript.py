"""The messages of a conversation, and the running turn, as HTML."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal

from m2a.memory_edits import edit_sentence
from m2a.temporary_chats import names_temporary
from m2a.turn import Turn
from m2a.types import (
    Cost,
    EvidenceOpened,
    Failed,
    MemoryChanged,
    MemorySearched,
    Message,
    NotKept,
    RecordedChange,
    ReplyFinished,
    Source,
    TextDelta,
    TurnEvent,
    UnaskedChanges,
    standing,
)
from m2a.ui import markup, notices, sources
from m2a.ui.costs import cost_html
from m2a.ui.edit_message import Editing, edit_html
from m2a.ui.erase_button import erase_button, large_photos


@dataclass(frozen=True, slots=True)
class AnswerDetails:
    """What is shown below an answer.

    `waiting`: the memory was not updated after the answer, and the update waits for the next message or was set aside.
    `before` maps the id of each message that the sources quote to the message before it.
    `corrected` are the ids of the source memories that other memories correct.
    """

    searches: Sequence[MemorySearched] = ()
    sources: Sequence[Source] = ()
    changes: Sequence[RecordedChange] = ()
    not_kept: Sequence[NotKept] = ()
    unasked: int = 0
    waiting: Literal["later", "aside"] | None = None
    failures: Sequence[Failed] = ()
    before: Mapping[int, Message] = field(default_factory=dict)
    costs: Sequence[Cost] = ()
    rejected: Sequence[NotKept] = ()
    corrected: Collection[int] = ()


def details_of(events: Sequence[TurnEvent]) -> AnswerDetails:
    """Returns what the events of a turn say about its answer."""
    changed = [event for event in events if isinstance(event, MemoryChanged)]
    return AnswerDetails(
        searches=[event for event in events if isinstance(event, MemorySearched)],
        sources=[source for event in events if isinstance(event, ReplyFinished) for source in event.sources],
        changes=[RecordedChange(number, event) for number, event in enumerate(changed)],
        not_kept=[event for event in events if isinstance(event, NotKept)],
        unasked=sum(event.count for event in events if isinstance(event, UnaskedChanges)),
        failures=[event for event in events if isinstance(event, Failed)],
    )


def messages_html(
    messages: Sequence[Message],
    details: Mapping[int, AnswerDetails],
    *,
    hidden: int,
    failures: Sequence[Failed],
    open_end: bool,
    editing: Editing | None,
    last_day: date | None,
    by_hand: bool,
) -> str:
    """Returns the stored messages, oldest first, with a heading for each day after `last_day`.

    `hidden` older messages are left out. `failures` are those of the last turn. With `open_end` the last message, or the last
    answer, has a button to try again. `by_hand`: the messages record changes that the user made in the memory panel.
    """
    parts = []
    if hidden:
        parts.append(
            '<button type="button" class="m-earlier" data-earlier>'
            f"Show {markup.plural(hidden, 'earlier message')}</button>"
        )
    standing_messages = standing(messages)
    for index, (message, aside) in enumerate(standing_messages):
        said_on = message.said_at.astimezone().date()
        if said_on != last_day:
            parts.append(f'<h3 class="m-day"><span>{said_on:%A}, {markup.day(said_on)}</span></h3>')
            last_day = said_on
        if aside and not _is_sent_again(message, aside):
            parts.append(_aside_html(message, aside, details))
        if editing and editing.message_id == message.message_id:
            parts.append(edit_html(message, editing))
            continue
        is_last = open_end and index == len(standing_messages) - 1
        before = standing_messages[index - 1][0] if index and message.role == "assistant" else None
        buttons = "" if by_hand else _buttons(message, before if is_last else None)
        key = _answer_key(before) if before else None
        answer = details.get(message.message_id, AnswerDetails())
        parts.append(message_html(message, answer, buttons=buttons, key=key, by_hand=by_hand))
    if open_end and messages and messages[-1].role == "user":
        parts.append(unanswered_html(messages[-1], failures))
    else:
        parts.append(notices.failures_html(failures))
    return "".join(parts)


def unanswered_html(message: Message, failures: Sequence[Failed]) -> str:
    """Returns why a message has no answer, if that is known, and a button to send it again."""
    why = notices.failures_html(failures) or '<p class="m-partial">This message was not answered.</p>'
    retry = f'<button type="button" class="m-button" data-retry="{message.message_id}">Try again</button>'
    return f'<div class="m-unanswered">{why}{retry}</div>'


def message_html(
    message: Message,
    details: AnswerDetails,
    *,
    has_buttons: bool = True,
    buttons: str = "",
    key: str | None = None,
    by_hand: bool = False,
) -> str:
    """Returns a message with its details. With `has_buttons` it has the buttons that undo changes of the memory, and that erase.

    `buttons` are further ones. What the user opened in the details stays open where the same `key` is drawn again.
    """
    is_act = by_hand and message.role == "user"
    if is_act and not message.is_gone:
        message = replace(message, text=edit_sentence(message.text))
    buttons += _erase(message) if has_buttons else ""
    if is_act:
        return _act_html(message, buttons)
    if message.role == "user":
        return _article("user", _user_body(message), message=message, buttons=buttons)
    body = markup.reply(message.text) if message.text else ""
    body += large_photos(message.photos, caption="Photo from memory")
    if message.partial:
        body += '<p class="m-partial">This reply was stopped before it was finished.</p>'
    below = _below(details, key=key or f"m{message.message_id}", reply_id=message.message_id if has_buttons else None)
    return _article("assistant", body + below, message=message, buttons=buttons)


def turn_html(turn: Turn, *, reads_memory: bool) -> str:
    """Returns a running turn: the question, then as much of the answer as there is. Without `reads_memory` no search is shown."""
    message, recorded = turn.message, turn.recorded
    if recorded is None:
        photos = f'<p class="m-sending">Looking at {markup.plural(len(message.photos), "photo")}…</p>'
        words = markup.plain(message.text) if message.text else ""
        return _article("user", words + (photos if message.photos else "")) + _article(
            "assistant", _thinking("One moment…")
        )
    question = _article("user", _user_body(recorded), message=recorded)
    details = details_of(turn.events)
    if not reads_memory:
        details = replace(details, searches=())
    if turn.reply is not None:
        return question + message_html(turn.reply, details, has_buttons=False, key=_answer_key(recorded))
    text = "".join(event.text for event in turn.events if isinstance(event, TextDelta))
    body = markup.reply(text) if text else ""
    if not details.failures:
        body += _thinking("Stopping…" if turn.stopped else "" if text else _progress(turn, details))
    body += _below(details, key=_answer_key(recorded))
    return question + _article("assistant", body)


def _answer_key(question: Message) -> str:
    """Returns a key that stays the same when the answer is stored and gets an id of its own."""
    return f"answer-{question.message_id}"


def _progress(turn: Turn, details: AnswerDetails) -> str:
    opened = sum(len(event.messages) for event in turn.events if isinstance(event, EvidenceOpened))
    if opened:
        return f"Reading {markup.plural(opened, 'original message')}…"
    if details.searches:
        hits = sum(len(search.hits) for search in details.searches)
        return f"Searched my memory: {markup.plural(hits, 'hit')}…" if hits else "Searched my memory: nothing yet…"
    return "Thinking…"


def _thinking(words: str) -> str:
    return f'<p class="m-thinking">{markup.DOTS}{words}</p>'


def _user_body(message: Message) -> str:
    words = markup.plain(message.text, is_gone=message.is_gone) if message.text else ""
    is_stored = not names_temporary(message.conversation_id)
    return large_photos(message.photos, caption="Your photo", erasable=is_stored) + words


def _below(details: AnswerDetails, *, key: str, reply_id: int | None = None) -> str:
    folded = (
        sources.why_html(details.sources, key=key, before=details.before, corrected=details.corrected)
        + sources.searched_html(details.searches, key=key)
        + cost_html(details.costs, key=key)
    )
    return (
        notices.failures_html(details.failures)
        + notices.memory_html(
            details.changes,
            details.not_kept,
            details.unasked,
            rejected=details.rejected,
            waiting=details.waiting,
            reply_id=reply_id,
        )
        + (f'<div class="m-under">{folded}</div>' if folded else "")
    )


def _act_html(message: Message, buttons: str) -> str:
    """Returns a change that the user made in the memory panel, as a note: the user did not type its words."""
    return (
        f'<article class="m-message m-by-hand" id="m{message.message_id}" tabindex="-1" aria-label="In Memory">'
        f'<div class="m-who">In Memory · {markup.clock_time(message.said_at)}{buttons}</div>'
        f'<div class="m-body">{_user_body(message)}</div></article>'
    )


def _article(role: str, body: str, *, message: Message | None = None, buttons: str = "") -> str:
    name = "M2A" if role == "assistant" else "You"
    anchor = f' id="m{message.message_id}" tabindex="-1"' if message else ""
    time = f" · {markup.clock_time(message.said_at)}" if message else ""
    return (
        f'<article class="m-message m-{role}"{anchor} aria-label="{name} said">'
        f'<div class="m-who">{name}{time}{buttons}</div><div class="m-body">{body}</div></article>'
    )


def _buttons(message: Message, question: Message | None) -> str:
    """Returns the button that edits a user's message, or that tries an answer again. An erased message has none."""
    if message.role == "user":
        if message.is_gone:
            return ""
        label = markup.text(f"Edit this message… {message.text}"[:100])
        edit = f'data-edit-message="{message.message_id}" aria-label="{label}"'
        return f'<button type="button" class="m-quiet" {edit}>Edit</button>'
    if question is not None and question.role == "user":
        return f'<button type="button" class="m-quiet" data-retry="{question.message_id}">Try again</button>'
    return ""


def _erase(message: Message) -> str:
    """Returns the button that erases a message; empty in a temporary chat, which goes as a whole."""
    if names_temporary(message.conversation_id):
        return ""
    label = f"Erase this message… {message.text}"[:100]
    return erase_button("message", message.message_id, "Erase", label=label, style="m-quiet")


def _is_sent_again(message: Message, aside: Sequence[Message]) -> bool:
    """Returns whether everything it replaced is the same message of the user, unanswered."""
    return all((old.role, old.text, old.photos) == ("user", message.text, message.photos) for old in aside)


def _aside_html(message: Message, aside: Sequence[Message], details: Mapping[int, AnswerDetails]) -> str:
    parts = "".join(message_html(old, details.get(old.message_id, AnswerDetails())) for old in aside)
    summary = f"Earlier version <span>· {markup.plural(len(aside), 'message')}</span>"
    return (
        f'<details class="m-details m-aside" data-key="aside-{message.message_id}"><summary>{summary}</summary>'
        f"{parts}</details>"
    )
