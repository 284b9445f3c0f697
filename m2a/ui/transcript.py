"""The messages of a conversation, and the turn that is under way, as HTML."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from m2a.types import Failed, MemorySearched, Message, NotKept, RecordedChange, Source
from m2a.ui import markup, notices, sources


@dataclass(frozen=True, slots=True)
class Because:
    """What stands below an answer. `waiting` where the memory was not updated after it: until the next message, or aside."""

    searches: Sequence[MemorySearched] = ()
    sources: Sequence[Source] = ()
    changes: Sequence[RecordedChange] = ()
    not_kept: Sequence[NotKept] = ()
    unasked: int = 0
    waiting: Literal["later", "aside"] | None = None
    failures: Sequence[Failed] = ()


@dataclass(frozen=True, slots=True)
class TurnSoFar:
    """A turn under way, as far as it got. `asked` is None until the message is stored; `draft` is what was sent."""

    draft: str
    draft_photos: int
    asked: Message | None = None
    text: str = ""
    reply: Message | None = None
    because: Because = field(default_factory=Because)
    opened: int = 0
    stopping: bool = False


def messages_html(
    messages: Sequence[Message],
    because: Mapping[int, Because],
    *,
    hidden: int = 0,
    failures: Sequence[Failed] = (),
    open_end: bool = True,
) -> str:
    """The stored messages, oldest first, with a line for each new day. `hidden` older ones are left out.

    `failures` say what went wrong at the end; with `open_end` a last message without an answer may be sent again.
    """
    parts = []
    if hidden:
        parts.append(
            '<button type="button" class="m-earlier" data-earlier>'
            f"Show {markup.plural(hidden, 'earlier message')}</button>"
        )
    last_day: date | None = None
    replaced = {message.replaces for message in messages if message.replaces is not None}
    for message in messages:
        said_on = message.said_at.astimezone().date()
        if said_on != last_day:
            parts.append(f'<h3 class="m-day"><span>{said_on:%A}, {markup.day(said_on)}</span></h3>')
            last_day = said_on
        if message.message_id not in replaced:
            parts.append(message_html(message, because.get(message.message_id, Because())))
    if open_end and messages and messages[-1].role == "user":
        parts.append(unanswered_html(messages[-1], failures))
    else:
        parts.append(notices.failures_html(failures))
    return "".join(parts)


def unanswered_html(message: Message, failures: Sequence[Failed]) -> str:
    """Why a message has no answer, as far as that is known, and a button to send it again."""
    why = notices.failures_html(failures) or '<p class="m-partial">This message got no answer.</p>'
    retry = f'<button type="button" class="m-button" data-retry="{message.message_id}">Try again</button>'
    return f'<div class="m-unanswered">{why}{retry}</div>'


def message_html(message: Message, because: Because, *, acts: bool = True) -> str:
    """A message with what stands below it; `acts` with the buttons that undo what was done to the memory."""
    if message.role == "user":
        return _article("user", _user_body(message), message=message)
    body = markup.reply(message.text) if message.text else ""
    body += markup.photos(message.photos, caption="Photo from memory", large=True)
    if message.partial:
        body += '<p class="m-partial">This reply was stopped before its end.</p>'
    below = _below(because, key=f"m{message.message_id}", reply_id=message.message_id if acts else None)
    return _article("assistant", body + below, message=message)


def turn_html(turn: TurnSoFar) -> str:
    """A turn under way: the question, then what is known of the answer."""
    if turn.asked is None:
        photos = f'<p class="m-sending">Looking at {markup.plural(turn.draft_photos, "photo")}…</p>'
        words = markup.plain(turn.draft) if turn.draft else ""
        return _article("user", words + (photos if turn.draft_photos else "")) + _article(
            "assistant", _thinking("One moment…")
        )
    question = _article("user", _user_body(turn.asked), message=turn.asked)
    if turn.reply is not None:
        return question + message_html(turn.reply, turn.because, acts=False)
    body = markup.reply(turn.text) if turn.text else ""
    if not turn.because.failures:
        body += _thinking(_doing(turn))
    body += _below(turn.because, key=f"m{turn.asked.message_id}-live")
    return question + _article("assistant", body)


def _doing(turn: TurnSoFar) -> str:
    if turn.stopping:
        return "Stopping…"
    if turn.text:
        return ""
    if turn.opened:
        return f"Reading {markup.plural(turn.opened, 'original message')}…"
    if turn.because.searches:
        found = sum(len(search.hits) for search in turn.because.searches)
        return f"Searched my memory: {markup.plural(found, 'hit')}…" if found else "Searched my memory: nothing yet…"
    return "Thinking…"


def _thinking(words: str) -> str:
    return f'<p class="m-thinking"><span class="m-dots" aria-hidden="true"><i></i><i></i><i></i></span>{words}</p>'


def _user_body(message: Message) -> str:
    words = markup.plain(message.text) if message.text else ""
    return markup.photos(message.photos, caption="Your photo", large=True) + words


def _below(because: Because, *, key: str, reply_id: int | None = None) -> str:
    return (
        notices.failures_html(because.failures)
        + notices.memory_html(
            because.changes, because.not_kept, because.unasked, waiting=because.waiting, reply_id=reply_id
        )
        + sources.why_html(because.sources, key=key)
        + sources.searched_html(because.searches, key=key)
    )


def _article(role: str, body: str, *, message: Message | None = None) -> str:
    name = "You" if role == "user" else "M2A"
    anchor = f' id="m{message.message_id}" tabindex="-1"' if message else ""
    said = f" · {markup.clock_time(message.said_at)}" if message else ""
    return (
        f'<article class="m-message m-{role}"{anchor} aria-label="{name} said">'
        f'<p class="m-who">{name}{said}</p><div class="m-body">{body}</div></article>'
    )
