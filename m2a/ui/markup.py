"""Text from users, models and memories as HTML that cannot run or load anything."""

import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from functools import cache
from html import escape
from urllib.parse import quote

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from m2a.plurals import plural as plural
from m2a.types import DateInterval

# Closes the `details` that contains the form, and clears the form.
CANCEL = '<button type="button" class="m-button" data-fold>Cancel</button>'
DOTS = '<span class="m-dots" aria-hidden="true"><i></i><i></i><i></i></span>'
_MAX_QUOTE = 240
_LINKS = re.compile(r"(https?|mailto):", re.IGNORECASE)


def menu(name: str = "Places and conversations") -> str:
    """Returns the button that opens the side bar where it is hidden, for the heading of a place."""
    return (
        f'<button type="button" class="m-menu" data-menu aria-label="{name}" aria-expanded="false" '
        'aria-controls="m2a-side"><span aria-hidden="true">☰</span></button>'
    )


def text(value: object) -> str:
    """Escapes a value for an element or a quoted attribute. A lone surrogate becomes a question mark."""
    return escape(str(value).encode("utf-8", "replace").decode(), quote=True)


def plain(value: str, *, is_gone: bool = False) -> str:
    """Returns escaped text that keeps its line breaks and spaces. `is_gone`: the text only says that nothing is left."""
    kind = "m-plain m-gone" if is_gone else "m-plain"
    return f'<div class="{kind}" dir="auto">{text(value)}</div>'


def wording(value: str) -> str:
    """Returns the words of a memory for use in a sentence. They are M2A's wording; quotation marks are for messages only."""
    return f'<i class="m-wording" dir="auto">{text(value)}</i>'


def reply(value: str) -> str:
    """Renders the assistant's Markdown without HTML or images. Links open in a new tab and do not reveal this page."""
    return f'<div class="m-markdown" dir="auto">{_markdown().render(value)}</div>'


def photo(photo_id: str, *, caption: str = "", large: bool = False) -> str:
    """Returns a thumbnail that opens the photo in full size. Both come from our own route, which checks the owner."""
    address = f"/photos/{quote(photo_id, safe='')}"
    label = text(caption or "Photo")
    kind = "m-photo m-photo-large" if large else "m-photo"
    return (
        f'<a class="{kind}" href="{address}" target="_blank" rel="noopener" aria-label="{label}: open in full size">'
        f'<img src="{address}/thumbnail" alt="{label}"></a>'
    )


def photos(photo_ids: Sequence[str], *, caption: str = "") -> str:
    if not photo_ids:
        return ""
    labels = numbered(caption, len(photo_ids))
    shown = "".join(photo(photo_id, caption=label) for photo_id, label in zip(photo_ids, labels, strict=True))
    return f'<div class="m-photos">{shown}</div>'


def numbered(caption: str, count: int) -> list[str]:
    """Returns the labels of photos that share a caption; several are numbered, so that each has a label of its own."""
    if count <= 1:
        return [caption] * count
    return [f"{caption or 'Photo'}, {number} of {count}" for number in range(1, count + 1)]


def shortened(value: str) -> str:
    return value if len(value) <= _MAX_QUOTE else value[: _MAX_QUOTE - 1].rstrip() + "…"


def day(value: date) -> str:
    return f"{value.day} {value:%B %Y}"


def day_name(value: date, today: date) -> str:
    """Returns "Today", "Yesterday" or the date, with the year if it is another year."""
    if value == today:
        return "Today"
    if value == today - timedelta(days=1):
        return "Yesterday"
    return day(value) if value.year != today.year else f"{value.day} {value:%B}"


def moment(value: datetime) -> str:
    """Returns the local day and time as a `time` element."""
    return f'<time datetime="{value.astimezone().isoformat(timespec="seconds")}">{minute(value)}</time>'


def minute(value: datetime) -> str:
    """Returns the local day and time, for a label."""
    local = value.astimezone()
    return f"{day(local)}, {local:%H:%M}"


def clock_time(value: datetime) -> str:
    local = value.astimezone()
    return f'<time datetime="{local.isoformat(timespec="seconds")}">{local:%H:%M}</time>'


def interval(value: DateInterval) -> str:
    first, last = value
    if first == last:
        return day(first)
    if (first.day, last.month) == (1, first.month) and first.year == last.year and _is_month_end(last):
        return f"{first:%B %Y}"
    if (first.month, first.day, last.month, last.day) == (1, 1, 12, 31) and first.year == last.year:
        return str(first.year)
    return f"{day(first)} to {day(last)}"


def _is_month_end(value: date) -> bool:
    return value == date.max or value.fromordinal(value.toordinal() + 1).day == 1


@cache
def _markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    markdown.disable("image")
    markdown.validateLink = _is_safe_link  # type: ignore[assignment, method-assign]
    markdown.add_render_rule("link_open", _open_link)
    return markdown


def _is_safe_link(address: str) -> bool:
    return _LINKS.match(address) is not None


def _open_link(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    tokens[index].attrSet("target", "_blank")
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    return renderer.renderToken(tokens, index, options, env)
