"""The review, as HTML: how many memories wait, and the one to decide on."""

from m2a.sentences import STAYS
from m2a.types import HeldMemory, NotKept, Review
from m2a.ui import markup
from m2a.ui.evidence import quote_html
from m2a.ui.notices import rejected_line

_WHY = {"review": "Waiting for your review", "category": "Not kept", "check": "Not kept: it did not pass the check"}


def review_html(review: Review, *, is_requested: bool) -> str:
    """Returns the review. Closed, it shows how many memories wait; open, it shows one, and links to the setting for it.

    `is_requested`: the user's own click, such as a decision, led to what is shown.
    """
    card = _card(review, review.memory) if review.memory else '<p class="m-nothing">Nothing to review.</p>'
    mark = " data-asked" if is_requested else ""
    rule = '<a href="/?settings=" data-place="settings" data-at="m2a-set-rule">Choose when memories are saved</a>'
    return (
        f'<details class="m-details m-review" data-key="review" data-waiting="{review.waiting}"{mark}>'
        f"<summary>Review{_count(review)}</summary>"
        f'{card}<p class="m-when">{rule}</p></details>'
    )


def rejected_html(memory: HeldMemory | None, reply_id: int, number: int) -> str:
    """Returns the notice that a memory was rejected, with an Undo; `memory` is the one that was shown."""
    is_same = memory is not None and (memory.place.reply_id, memory.place.number) == (reply_id, number)
    words = memory.change.draft.text if memory and is_same else "It is not remembered."
    message = memory.said if memory and is_same else None
    refusal = NotKept(words, "", number, said_in=message.message_id if message else None)
    return f'<div class="m-told"><ul class="m-changes">{rejected_line(refusal, reply_id)}</ul></div>'


def gone_html() -> str:
    """Returns the notice for a rejected memory that no longer exists."""
    return '<div class="m-told"><p role="status">This has been erased since then. Nothing brings it back.</p></div>'


def _count(review: Review) -> str:
    parts = []
    if review.waiting:
        parts.append(f'<b class="m-count">{review.waiting} waiting</b>')
    if review.refused:
        parts.append(f"<span>{review.refused} not kept</span>")
    return f" <span>·</span> {' <span>·</span> '.join(parts)}" if parts else ""


def _card(review: Review, memory: HeldMemory) -> str:
    place, change = memory.place, memory.change
    ids = f'data-reply="{place.reply_id}" data-number="{place.number}"'
    reason = f'<p class="m-when" dir="auto">{markup.text(memory.reason)}</p>' if memory.reason else ""
    before = f"<del>{markup.text(memory.previous.text)}</del> " if memory.previous else ""
    keep = "Keep it" if place.held == "review" else "Keep it anyway"
    buttons = "".join(
        f'<button type="button" class="m-button" data-review="{act}" {ids} aria-keyshortcuts="{key}" '
        f'title="{name} (key {key.upper()})">{name}</button>'
        for act, name, key in (("keep", keep, "k"), ("reject", "Reject", "r"), ("skip", "Skip", "s"))
    )
    return (
        f'<section class="m-review-card" tabindex="-1" {ids} aria-label="Memory {review.position} of '
        f'{review.waiting + review.refused}"><p class="m-when">{review.position} of {review.waiting + review.refused} · '
        f'{_WHY[place.held]}</p>{reason}<p class="m-memory" dir="auto">{before}{markup.text(change.draft.text)}</p>'
        f"{markup.photos(change.draft.photo_ids)}{quote_html(memory.said) if memory.said else ''}"
        f'<div class="m-acts">{buttons}<details class="m-details m-edit" data-key="review-{place.reply_id}-{place.number}">'
        '<summary class="m-button" aria-keyshortcuts="e" title="Edit (key E)">Edit</summary>'
        f"<form data-review-edit {ids}><label>What I remember"
        f'<textarea name="text" rows="3" maxlength="20000" dir="auto">{markup.text(change.draft.text)}</textarea></label>'
        "<small>Saved as something you said today.</small>"
        f'<div class="m-edit-acts"><button class="m-button">Save and keep</button>{markup.CANCEL}</div></form></details>'
        f"<small>Reject: I do not remember it. {STAYS}</small></div></section>"
    )
