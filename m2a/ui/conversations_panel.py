"""The list of conversations, newest first, under the day on which each was last continued."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from itertools import groupby
from urllib.parse import quote

from m2a.types import Conversation
from m2a.ui import markup

NEW = "New conversation"


def conversations_html(conversations: Sequence[Conversation], *, current: str | None, today: date) -> str:
    """Links, so that each opens by address and in a tab of its own too; the page's script opens them in place."""
    newest_first = sorted(conversations, key=_last, reverse=True)
    if not newest_first:
        return '<p class="m-none">No conversations yet.</p>'
    groups = []
    for day, members in groupby(newest_first, key=lambda one: _last(one).astimezone().date()):
        items = "".join(_item(one, current=one.conversation_id == current) for one in members)
        groups.append(f"<h3>{_day_name(day, today)}</h3><ul>{items}</ul>")
    return "".join(groups)


def title_of(conversation: Conversation) -> str:
    return conversation.title.strip() or "A photo"


def _item(conversation: Conversation, *, current: bool) -> str:
    conversation_id = conversation.conversation_id
    mark = ' aria-current="page"' if current else ""
    return (
        f'<li><a href="/?conversation={quote(conversation_id, safe="")}" data-open="{markup.text(conversation_id)}"{mark} '
        f'dir="auto">{markup.text(title_of(conversation))}</a></li>'
    )


def _last(conversation: Conversation) -> datetime:
    return conversation.last_said_at or conversation.started_at


def _day_name(day: date, today: date) -> str:
    if day == today:
        return "Today"
    if day == today - timedelta(days=1):
        return "Yesterday"
    return markup.day(day) if day.year != today.year else f"{day.day} {day:%B}"
