"""The messages of a conversation, and the turn that is under way, as HTML."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal

from m2a.memory_edits import told
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
class Because:
    """What stands below an answer. `waiting` where the memory was not updated after it: until the next message, or aside.

    `before` holds, by the id of a message that the sources quote, the one before it. Others correct the memories `corrected`.
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


def because_of(events: Sequence[TurnEvent]) -> Because:
    """What the events of a turn say of its answer."""
    changed = [event for event in events if isinstance(event, MemoryChanged)]
    return Because(
        searches=[event for event in events if isinstance(event, MemorySearched)],
        sources=[source for event in events if isinstance(event, ReplyFinished) for source in event.sources],
        changes=[RecordedChange(number, event) for number, event in enumerate(changed)],
        not_kept=[event for event in events if isinstance(event, NotKept)],
        unasked=sum(event.count for event in events if isinstance(event, UnaskedChanges)),
        failures=[event for event in events if isinstance(event, Failed)],
    )


def messages_html(
    messages: Sequence[Message],
    because: Mapping[int, Because],
    *,
    hidden: int = 0,
    failures: Sequence[Failed] = (),
    open_end: bool = True,
    editing: Editing | None = None,
    last_day: date | None = None,
    by_hand: bool = False,
) -> str:
    """The stored messages, oldest first, with a line for each new day after the `last_day`. `hidden` older ones are left out.

    `failures` say what went wrong at the end; with `open_end` a last message without an answer may be sent again, and the last
    answer be tried again. `by_hand`: they record what the user did in the memory, and nobody typed them.
    """
    parts = []
    if hidden:
        parts.append(
            '<button type="button" class="m-earlier" data-earlier>'
            f"Show {markup.plural(hidden, 'earlier message')}</button>"
        )
    stand = standing(messages)
    for place, (message, aside) in enumerate(stand):
        said_on = message.said_at.astimezone().date()
        if said_on != last_day:
            parts.append(f'<h3 class="m-day"><span>{said_on:%A}, {markup.day(said_on)}</span></h3>')
            last_day = said_on
        if aside and not _is_sent_again(message, aside):
            parts.append(_aside_html(message, aside, because))
        if editing and editing.message_id == message.message_id:
            parts.append(edit_html(message, editing))
            continue
        is_last = open_end and place == len(stand) - 1
        asked = stand[place - 1][0] if is_last and place and message.role == "assistant" else None
        may = "" if by_hand else _may(message, asked)
        key = _answer_key(stand[place - 1][0]) if place and message.role == "assistant" else None
        told = because.get(message.message_id, Because())
        parts.append(message_html(message, told, may=may, key=key, by_hand=by_hand))
    if open_end and messages and messages[-1].role == "user":
        parts.append(unanswered_html(messages[-1], failures))
    else:
        parts.append(notices.failures_html(failures))
    return "".join(parts)


def unanswered_html(message: Message, failures: Sequence[Failed]) -> str:
    """Why a message has no answer, as far as that is known, and a button to send it again."""
    why = notices.failures_html(failures) or '<p class="m-partial">This message was not answered.</p>'
    retry = f'<button type="button" class="m-button" data-retry="{message.message_id}">Try again</button>'
    return f'<div class="m-unanswered">{why}{retry}</div>'


def message_html(
    message: Message,
    because: Because,
    *,
    acts: bool = True,
    may: str = "",
    key: str | None = None,
    by_hand: bool = False,
) -> str:
    """A message with what stands below it; `acts` with the buttons that undo what was done to the memory, and that erase.

    `may` are further buttons. What was opened below it stays open in whatever is drawn with the same `key`.
    """
    is_act = by_hand and message.role == "user"
    if is_act and not message.is_gone:
        message = replace(message, text=told(message.text))
    may += _erase(message) if acts else ""
    if is_act:
        return _act_html(message, may)
    if message.role == "user":
        return _article("user", _user_body(message), message=message, may=may)
    body = markup.reply(message.text) if message.text else ""
    body += large_photos(message.photos, caption="Photo from memory")
    if message.partial:
        body += '<p class="m-partial">This reply was stopped before its end.</p>'
    below = _below(because, key=key or f"m{message.message_id}", reply_id=message.message_id if acts else None)
    return _article("assistant", body + below, message=message, may=may)


def turn_html(turn: Turn, *, reads_memory: bool = True) -> str:
    """A turn under way: the question, then what is known of the answer. Where it reads no memory, no search is told of."""
    sent, recorded = turn.message, turn.recorded
    if recorded is None:
        photos = f'<p class="m-sending">Looking at {markup.plural(len(sent.photos), "photo")}…</p>'
        words = markup.plain(sent.text) if sent.text else ""
        return _article("user", words + (photos if sent.photos else "")) + _article(
            "assistant", _thinking("One moment…")
        )
    question = _article("user", _user_body(recorded), message=recorded)
    because = because_of(turn.events)
    if not reads_memory:
        because = replace(because, searches=())
    if turn.reply is not None:
        return question + message_html(turn.reply, because, acts=False, key=_answer_key(recorded))
    text = "".join(event.text for event in turn.events if isinstance(event, TextDelta))
    body = markup.reply(text) if text else ""
    if not because.failures:
        body += _thinking("Stopping…" if turn.stopped else "" if text else _doing(turn, because))
    body += _below(because, key=_answer_key(recorded))
    return question + _article("assistant", body)


def _answer_key(question: Message) -> str:
    """The same while an answer is written and when it is stored, when it has a number of its own."""
    return f"answer-{question.message_id}"


def _doing(turn: Turn, because: Because) -> str:
    opened = sum(len(event.messages) for event in turn.events if isinstance(event, EvidenceOpened))
    if opened:
        return f"Reading {markup.plural(opened, 'original message')}…"
    if because.searches:
        found = sum(len(search.hits) for search in because.searches)
        return f"Searched my memory: {markup.plural(found, 'hit')}…" if found else "Searched my memory: nothing yet…"
    return "Thinking…"


def _thinking(words: str) -> str:
    return f'<p class="m-thinking"><span class="m-dots" aria-hidden="true"><i></i><i></i><i></i></span>{words}</p>'


def _user_body(message: Message) -> str:
    words = markup.plain(message.text, is_gone=message.is_gone) if message.text else ""
    is_stored = not names_temporary(message.conversation_id)
    return large_photos(message.photos, caption="Your photo", erasable=is_stored) + words


def _below(because: Because, *, key: str, reply_id: int | None = None) -> str:
    opening = (
        sources.why_html(because.sources, key=key, before=because.before, corrected=because.corrected)
        + sources.searched_html(because.searches, key=key)
        + cost_html(because.costs, key=key)
    )
    return (
        notices.failures_html(because.failures)
        + notices.memory_html(
            because.changes,
            because.not_kept,
            because.unasked,
            rejected=because.rejected,
            waiting=because.waiting,
            reply_id=reply_id,
        )
        + (f'<div class="m-under">{opening}</div>' if opening else "")
    )


def _act_html(message: Message, may: str) -> str:
    """What the user did in the memory, as a note: nobody typed its words."""
    return (
        f'<article class="m-message m-by-hand" id="m{message.message_id}" tabindex="-1" aria-label="In Memory">'
        f'<div class="m-who">In Memory · {markup.clock_time(message.said_at)}{may}</div>'
        f'<div class="m-body">{_user_body(message)}</div></article>'
    )


def _article(role: str, body: str, *, message: Message | None = None, may: str = "") -> str:
    name = "M2A" if role == "assistant" else "You"
    anchor = f' id="m{message.message_id}" tabindex="-1"' if message else ""
    said = f" · {markup.clock_time(message.said_at)}" if message else ""
    return (
        f'<article class="m-message m-{role}"{anchor} aria-label="{name} said">'
        f'<div class="m-who">{name}{said}{may}</div><div class="m-body">{body}</div></article>'
    )


def _may(message: Message, asked: Message | None) -> str:
    """What is offered beside a message that stands: the user's can be edited while any of it stays, an answer be tried again."""
    if message.role == "user":
        if message.is_gone:
            return ""
        label = markup.text(f"Edit this message… {message.text}"[:100])
        edit = f'data-edit-message="{message.message_id}" aria-label="{label}"'
        return f'<button type="button" class="m-quiet" {edit}>Edit</button>'
    if asked is not None and asked.role == "user":
        return f'<button type="button" class="m-quiet" data-retry="{asked.message_id}">Try again</button>'
    return ""


def _erase(message: Message) -> str:
    """Nothing in a temporary chat, which goes as a whole."""
    if names_temporary(message.conversation_id):
        return ""
    what = f"Erase this message… {message.text}"[:100]
    return erase_button("message", message.message_id, "Erase", label=what, style="m-quiet")


def _is_sent_again(message: Message, aside: Sequence[Message]) -> bool:
    """Whether all that it set aside are the same words, which got no answer."""
    return all((one.role, one.text, one.photos) == ("user", message.text, message.photos) for one in aside)


def _aside_html(message: Message, aside: Sequence[Message], because: Mapping[int, Because]) -> str:
    parts = "".join(message_html(one, because.get(one.message_id, Because())) for one in aside)
    summary = f"Earlier version <span>· {markup.plural(len(aside), 'message')}</span>"
    return (
        f'<details class="m-details m-aside" data-key="aside-{message.message_id}"><summary>{summary}</summary>'
        f"{parts}</details>"
    )
