"""The list of conversations, newest first, grouped by the day of their last message."""

from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime
from itertools import groupby
from urllib.parse import quote

from m2a.types import Conversation, FoundConversation
from m2a.ui import markup
from m2a.ui.erase_button import erase_button
from m2a.ui.evidence import message_target

NEW = "New conversation"
UNTITLED = "A conversation"  # nothing is left that the user said in it


def conversations_html(conversations: Sequence[Conversation], *, current: str | None, today: date) -> str:
    """Returns the list. Its links also work in a new tab; the page's script opens them in place."""
    newest_first = sorted(conversations, key=_last, reverse=True)
    if not newest_first:
        return '<p class="m-none">No conversations yet.</p>'
    groups = []
    for day, of_day in groupby(newest_first, key=lambda conversation: _last(conversation).astimezone().date()):
        members = list(of_day)
        titles = Counter(map(title_of, members))
        items = "".join(
            _item(member, is_current=member.conversation_id == current, has_namesake=titles[title_of(member)] > 1)
            for member in members
        )
        groups.append(f"<h3>{markup.day_name(day, today)}</h3><ul>{items}</ul>")
    return "".join(groups)


def search_html() -> str:
    """Returns the search above the list, which stays while the list changes."""
    return (
        '<form class="m-find" data-find-conversations role="search"><input type="search" name="words" maxlength="400" '
        'autocomplete="off" aria-label="Search conversations" placeholder="Search conversations"></form>'
    )


def results_html(results: Sequence[FoundConversation], words: str) -> str:
    """Returns the results of a search for the words. A conversation found by a message opens at that message."""
    if not results:
        return f'<p class="m-none" data-found dir="auto">No conversation contains “{markup.text(words)}”.</p>'
    return f"<h3 data-found>Found</h3><ul>{''.join(map(_result, results))}</ul>"


def _result(result: FoundConversation) -> str:
    if result.message is None:
        return _item(result.conversation, is_current=False)
    message, title = result.message, markup.text(title_of(result.conversation))
    words = markup.text(f"{message.speaker}: {message.text}")
    return f'<li><a {message_target(message)} dir="auto">{title}<small>{words}</small></a></li>'


def title_of(conversation: Conversation) -> str:
    return conversation.title.strip() or UNTITLED


def _item(conversation: Conversation, *, is_current: bool, has_namesake: bool = False) -> str:
    """Returns the conversation with its buttons; one with a namesake on the same day has its time, too."""
    conversation_id, title = conversation.conversation_id, title_of(conversation)
    at = _last(conversation).astimezone()
    name = f"{title}, {at:%H:%M}" if has_namesake else title
    time = markup.clock_time(at) if has_namesake else ""
    label = f"Erase the conversation… {name}"
    erase = erase_button("conversation", conversation_id, "✕", label=label, style="m-corner")
    mark = ' aria-current="page"' if is_current else ""
    return (
        f'<li><a href="/?conversation={quote(conversation_id, safe="")}" data-open="{markup.text(conversation_id)}"{mark} '
        f'dir="auto">{markup.text(title)}</a>{time}{erase}</li>'
    )


def _last(conversation: Conversation) -> datetime:
    return conversation.last_said_at or conversation.started_at
