"""What is special about a temporary chat, as HTML: how it begins, the bar above it and its photos."""

from collections.abc import Sequence

from m2a.ui import markup

TITLE = "Temporary chat"
ENDED = "This temporary chat has ended, and nothing was sent. Start another one, or open a conversation."
OVER = "The temporary chat has ended. Nothing from it was kept."
CHANGES_NO_MEMORY = "A temporary chat is open, and it changes nothing in the memory. End it first."


def begin_html() -> str:
    """Returns the buttons that start a temporary chat, with or without the memory."""
    return (
        '<details class="m-details m-begin" data-key="begin-temporary"><summary>Temporary chat</summary>'
        "<p>Nothing in it is kept: no message, no memory, no photo.</p><div>"
        "<small>With memory: I may answer from what I remember, and I learn nothing new.</small>"
        '<button type="button" class="m-button" data-begin="with">Start with memory</button>'
        "<small>Without memory: I answer as if I knew nothing about you.</small>"
        '<button type="button" class="m-button" data-begin="without">Start without memory</button></div></details>'
    )


def heading_html(conversation_id: str, *, reads_memory: bool) -> str:
    """Returns the heading of a temporary chat, and the bar that says what it is."""
    reads = "I can look things up in my memory." if reads_memory else "I do not look anything up in my memory."
    return (
        f'<header class="m-heading">{markup.menu("Conversations")}'
        f'<h1 data-conversation="{markup.text(conversation_id)}" data-temporary>{TITLE}</h1></header>'
        f'<div class="m-temporary" role="note" aria-label="{TITLE}"><p><strong>Nothing here is kept.</strong> {reads} '
        "The chat is gone once you end it, leave it or reload the page.</p>"
        '<button type="button" class="m-button" data-end>End chat</button></div>'
    )


def welcome_html(*, offline: bool) -> str:
    model = "" if offline else " The language model that you connected still reads what you write."
    return (
        f'<section class="m-welcome"><h2>A temporary chat</h2><p>Nothing that you say or show here is saved, and it '
        f"cannot be found later.{model}</p></section>"
    )


def attached_html(photo_ids: Sequence[str]) -> str:
    """Returns the photos that go with the next message, and the button to add more. They are sent to this process only."""
    photos = "".join(_attached(photo_id, number) for number, photo_id in enumerate(photo_ids, start=1))
    return (
        f'<div class="m-attached">{photos}<label class="m-button m-attach">Add photos<input type="file" multiple data-attach '
        'accept="image/*,.heic,.heif"></label><p class="m-attach-failed" role="alert"></p></div>'
    )


def _attached(photo_id: str, number: int) -> str:
    return (
        f'<span class="m-attached-photo">{markup.photo(photo_id, caption=f"Photo {number}, not sent yet")}'
        f'<button type="button" data-detach="{photo_id}" aria-label="Remove photo {number}">✕</button></span>'
    )
