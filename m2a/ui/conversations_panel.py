"""The list of conversations, newest first, under the day on which each was last continued."""

from collections.abc import Sequence
from datetime import date, datetime
from itertools import groupby
from urllib.parse import quote

from m2a.types import Conversation, FoundConversation
from m2a.ui import markup
from m2a.ui.erase_button import erase_button

NEW = "New conversation"
UNTITLED = "A conversation"  # of which nothing is left that the user said


def conversations_html(conversations: Sequence[Conversation], *, current: str | None, today: date) -> str:
    """Links, so that each opens by address and in a tab of its own too; the page's script opens them in place."""
    newest_first = sorted(conversations, key=_last, reverse=True)
    if not newest_first:
        return '<p class="m-none">No conversations yet.</p>'
    groups = []
    for day, members in groupby(newest_first, key=lambda one: _last(one).astimezone().date()):
        items = "".join(_item(one, current=one.conversation_id == current) for one in members)
        groups.append(f"<h3>{markup.day_name(day, today)}</h3><ul>{items}</ul>")
    return "".join(groups)


def search_html() -> str:
    """The search above the list; it stays as it is while the list changes."""
    return (
        '<form class="m-find" data-find-conversations role="search"><input type="search" name="words" maxlength="400" '
        'autocomplete="off" aria-label="Search conversations" placeholder="Search conversations"></form>'
    )


def found_html(found: Sequence[FoundConversation], words: str) -> str:
    """What a search for the words found; one that was found by a message opens there."""
    if not found:
        return f'<p class="m-none" data-found dir="auto">No conversation contains “{markup.text(words)}”.</p>'
    return f"<h3 data-found>Found</h3><ul>{''.join(map(_found, found))}</ul>"


def _found(found: FoundConversation) -> str:
    if found.message is None:
        return _item(found.conversation, current=False)
    message, title = found.message, markup.text(title_of(found.conversation))
    address = f"/?conversation={quote(message.conversation_id, safe='')}&amp;message={message.message_id}"
    see = f'data-see="{message.message_id}" data-in="{markup.text(message.conversation_id)}"'
    words = markup.text(f"{message.speaker}: {message.text}")
    return f'<li><a href="{address}#m{message.message_id}" {see} dir="auto">{title}<small>{words}</small></a></li>'


def title_of(conversation: Conversation) -> str:
    return conversation.title.strip() or UNTITLED


def _item(conversation: Conversation, *, current: bool) -> str:
    conversation_id, title = conversation.conversation_id, title_of(conversation)
    erase = erase_button(
        "conversation", conversation_id, "✕", label=f"Erase the conversation… {title}", style="m-corner"
    )
    mark = ' aria-current="page"' if current else ""
    return (
        f'<li><a href="/?conversation={quote(conversation_id, safe="")}" data-open="{markup.text(conversation_id)}"{mark} '
        f'dir="auto">{markup.text(title)}</a>{erase}</li>'
    )


def _last(conversation: Conversation) -> datetime:
    return conversation.last_said_at or conversation.started_at
