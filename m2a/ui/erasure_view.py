"""The dialog of an erasure: what would go, in words and numbers, and afterwards a receipt without content."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from m2a.plurals import counted
from m2a.types import (
    CAN_KEEP_MEMORIES,
    Conversation,
    Erasure,
    ErasureKind,
    ErasurePreview,
    MemoryEntry,
    Message,
    Receipt,
    RewrittenMessage,
)
from m2a.ui import markup
from m2a.ui.conversations_panel import title_of

T = TypeVar("T")

MAX_ITEMS = 12  # shown of a kind; the rest are only counted

_QUESTIONS: Mapping[ErasureKind, tuple[str, str]] = {
    "message": (
        "Erase this message?",
        "Its earlier versions and the replies to it go with it.",
    ),
    "memory": (
        "Erase this memory?",
        "The words that it came from, its earlier versions and what my answers said about it go with it. "
        "If I should only stop using it, choose Forget instead: that can be undone.",
    ),
    "photo": (
        "Erase this photo?",
        "Its caption and whatever I remember from it alone go with it. What you said with it stays.",
    ),
    "conversation": (
        "Erase this conversation?",
        "Everything said and shown in it goes with it.",
    ),
    "forgotten": (
        "Erase what was forgotten?",
        "I no longer use it, but it is still on the disk so that Undo can bring it back. Once it is erased, nothing can.",
    ),
    "everything": (
        "Erase everything?",
        "All conversations, memories, photos and names go. I start over as if we had never met.",
    ),
}
_CLOSE = '<button type="button" class="m-button" data-close-dialog autofocus>Close</button>'
_TO_PURGE = (
    "It is gone from M2A: no answer, search or page shows it, and nothing brings it back. While M2A is running, it "
    "removes the last traces from its files within a day. You can also remove them now. That covers everything erased so "
    "far{whose}."
)
_WHOSE = ", including by other people whose memory is in these files"
_PURGE = '<button type="button" class="m-button" data-purge>Remove it from the disk now</button>'


def waiting_html(words: str, *, dialog_id: str) -> str:
    """Returns the dialog for a preview or an erasure that is still running."""
    return _dialog(
        dialog_id, "One moment", f'<p class="m-thinking" role="status">{markup.DOTS}{markup.text(words)}</p>'
    )


def preview_html(preview: ErasurePreview, forgotten_photos: Collection[str] = (), *, dialog_id: str) -> str:
    """Returns the dialog that lists what goes and what stays, with the button that erases.

    `forgotten_photos` are only counted, because nothing shows them any more.
    """
    title, explanation = _QUESTIONS[preview.erasure.kind]
    if preview.erasure.kind == "conversation" and preview.retained_memories:
        explanation = "What was said and shown in it goes; the memories from it, with their photos, stay."
    if not preview.counts:
        nothing = "Nothing that was forgotten is left on the disk." if preview.erasure.kind == "forgotten" else ""
        why = f"<p>{nothing or 'There is nothing to erase.'}</p>"
        return _dialog_to_close(dialog_id, title, why)
    choice = _choice(preview)
    focus = "" if choice else " autofocus"
    return _dialog(
        dialog_id,
        title,
        f"<p>{explanation}</p>{choice}<p><strong>This erases {counted(preview.counts)}.</strong></p>"
        f"{_lists(preview, forgotten_photos)}"
        "<p>There is no undo.</p>"
        f'<footer><button type="button" class="m-button" data-close-dialog{focus}>Cancel</button>'
        f"{_erase_now_button(preview.erasure)}</footer>",
    )


def receipt_html(receipt: Receipt, *, dialog_id: str, is_shared: bool) -> str:
    """Returns the receipt, which holds numbers only. `is_shared`: other people's memories are in the same files."""
    number = f'<p class="m-caption">Receipt {receipt.receipt_id}, {markup.moment(receipt.erased_at)}</p>'
    to_purge = _TO_PURGE.format(whose=_WHOSE if is_shared else "")
    report = f'<p role="status">Erased: {counted(receipt.counts)}.</p><p>{to_purge}</p>{number}'
    return _dialog_to_close(dialog_id, "It is erased", report, buttons=_PURGE, erased=receipt.kind)


def purged_html(*, dialog_id: str) -> str:
    """Returns the dialog for after a purge."""
    report = (
        '<p role="status">M2A’s files no longer contain anything that was erased.</p>'
        "<p>This does not reach backups, snapshots, or what a disk keeps of deleted files.</p>"
    )
    return _dialog_to_close(dialog_id, "Removed from the disk", report)


def receipts_html(receipts: Sequence[Receipt], *, dialog_id: str) -> str:
    """Returns the latest receipts, newest first."""
    title = "Past erasures"
    if not receipts:
        return _dialog_to_close(dialog_id, title, "<p>Nothing has been erased yet.</p>")
    items = "".join(map(_receipt, reversed(receipts[-MAX_ITEMS:])))
    earlier = len(receipts) - MAX_ITEMS
    more = f"<p>and {markup.plural(earlier, 'earlier one')}.</p>" if earlier > 0 else ""
    content = f'<p>Only numbers and times are kept, no content.</p><ul class="m-receipts">{items}</ul>{more}'
    buttons = "" if all(receipt.purged_at for receipt in receipts) else _PURGE
    return _dialog_to_close(dialog_id, title, content, buttons=buttons)


def refused_html(sentence: str, *, dialog_id: str, title: str = "Nothing was erased") -> str:
    """Returns why nothing was erased, or why whatever else the title names was not done."""
    why = f'<p role="alert" dir="auto">{markup.text(sentence)}</p>'
    return _dialog_to_close(dialog_id, title, why)


def _receipt(receipt: Receipt) -> str:
    purged = "removed from the disk" if receipt.purged_at else "still on the disk for now"
    return f"<li>{markup.moment(receipt.erased_at)}: {counted(receipt.counts) or 'nothing'}; {purged}.</li>"


def _choice(preview: ErasurePreview) -> str:
    """Returns the choice to erase or keep the memories; empty if there are none, or if they are what is erased."""
    memories = len(preview.retained_memories) or sum(entry.superseded_by is None for entry in preview.memories)
    if preview.erasure.kind not in CAN_KEEP_MEMORIES or not memories:
        return ""
    is_one = memories == 1
    come, these = ("1 memory comes", "memory") if is_one else (f"{memories} memories come", "memories")
    erase = _radio(
        preview.erasure, f"Erase the {these}, too", f"{'It goes' if is_one else 'They go'} with it.", is_keeping=False
    )
    keep = _radio(
        preview.erasure,
        f"Keep the {these}",
        f"The words that {'it' if is_one else 'they'} came from are erased, and {'it' if is_one else 'each memory'} will say "
        "so.",
        is_keeping=True,
    )
    return f'<fieldset class="m-choice"><legend>{come} from it:</legend>{erase}{keep}</fieldset>'


def _radio(erasure: Erasure, name: str, explanation: str, *, is_keeping: bool) -> str:
    chosen = " checked autofocus" if erasure.keep_memories == is_keeping else ""
    keep = " data-keep" if is_keeping else ""
    return (
        f'<label><input type="radio" name="keep" data-erase="{erasure.kind}" data-of="{markup.text(erasure.id)}"{keep}'
        f"{chosen}><span>{name}<small>{explanation}</small></span></label>"
    )


def _erase_now_button(erasure: Erasure) -> str:
    erased = "" if erasure.id is None else f' data-of="{markup.text(erasure.id)}"'
    keep = " data-keep" if erasure.keep_memories else ""
    label = _QUESTIONS[erasure.kind][0].removesuffix("?").replace("this", "the")
    return (
        f'<button type="button" class="m-button m-danger" data-erase-now="{erasure.kind}"{erased}{keep}>'
        f"{label} for good</button>"
    )


def _lists(preview: ErasurePreview, forgotten_photos: Collection[str]) -> str:
    def said(message: Message) -> str:
        pictures = _pictures(message.photos, forgotten_photos) if message.photos else "an empty message"
        words = _quoted(message.text) if message.text else pictures
        return _line(f"{markup.text(message.speaker)}: {words}", message.said_at)

    def removed(rewritten: RewrittenMessage) -> str:
        message, gone = rewritten.message, preview.photo_ids
        lost = [photo_id for photo_id in message.photos if photo_id in gone]
        parts = [*map(_quoted, rewritten.words)]
        if lost or not parts:
            parts.append(_pictures(lost, forgotten_photos if len(gone) > 1 else gone))
        return _line(f"{markup.text(message.speaker)}: {', '.join(parts)}", message.said_at)

    return "".join(
        (
            _list("Conversations that go", preview.conversations, _conversation),
            _list("Messages that go", preview.messages, said),
            _list("Memories that go", preview.memories, _memory),
            _list("Memories waiting for your review that go", preview.waiting, _words),
            _list("Also removed from other messages", preview.rewritten, removed),
            _photos("Photos that go", preview.photo_ids, forgotten_photos),
            _list("Captions that go", preview.captions, _words),
            _list("Names that I will no longer know", preview.names, _words),
            _list("Names that I will no longer recognise by photo", preview.unshown_names, _words),
            _list("Memories that you keep", preview.retained_memories, _memory),
            _list("Memories that stay: you said or showed the same elsewhere", preview.kept_memories, _memory),
        )
    )


def _list(title: str, items: Sequence[T], to_html: Callable[[T], str]) -> str:
    """Returns a collapsible list, open if it is short. It shows `MAX_ITEMS` items and counts the rest."""
    if not items:
        return ""
    rows = "".join(f"<li>{to_html(item)}</li>" for item in items[:MAX_ITEMS])
    more = f"<li>and {len(items) - MAX_ITEMS:,} more</li>" if len(items) > MAX_ITEMS else ""
    is_short = len(items) <= 3
    scrolled = "" if is_short else f' tabindex="0" aria-label="{title}"'  # so that the keyboard can scroll it
    return _collapsible(title, len(items), f"<ul{scrolled}>{rows}{more}</ul>", is_open=is_short)


def _photos(title: str, photo_ids: Sequence[str], forgotten: Collection[str]) -> str:
    if not photo_ids:
        return ""
    shown = [photo_id for photo_id in photo_ids if photo_id not in forgotten]
    more = f"<p>and {len(shown) - MAX_ITEMS:,} more</p>" if len(shown) > MAX_ITEMS else ""
    if hidden := len(photo_ids) - len(shown):
        more += f"<p>{markup.plural(hidden, 'forgotten photo')}, no longer shown</p>"
    return _collapsible(title, len(photo_ids), markup.photos(shown[:MAX_ITEMS], caption="Photo that goes") + more)


def _collapsible(title: str, total: int, content: str, *, is_open: bool = True) -> str:
    opened = " open" if is_open else ""
    return f'<details class="m-details m-goes"{opened}><summary>{title}<span>· {total:,}</span></summary>{content}</details>'


def _conversation(conversation: Conversation) -> str:
    return _line(_words(title_of(conversation)), conversation.started_at)


def _memory(entry: MemoryEntry) -> str:
    return _line(_words(entry.text), entry.recorded_at)


def _line(content: str, moment: datetime) -> str:
    """Returns a line with its time, because several may say the same."""
    return f"{content}<small>{markup.moment(moment)}</small>"


def _pictures(photo_ids: Sequence[str], hidden: Collection[str]) -> str:
    """Returns the number of photos, and those of them that are not `hidden`."""
    count = "a photo" if len(photo_ids) <= 1 else markup.plural(len(photo_ids), "photo")
    return count + markup.photos([photo_id for photo_id in photo_ids if photo_id not in hidden])


def _quoted(words: str) -> str:
    """Quotes a message. Memories, captions and names are M2A's own words and get no quotation marks."""
    return f'<span dir="auto">“{markup.text(markup.shortened(words))}”</span>'


def _words(words: str) -> str:
    return f'<span dir="auto">{markup.text(markup.shortened(words))}</span>'


def _dialog_to_close(dialog_id: str, title: str, content: str, *, buttons: str = "", erased: str = "") -> str:
    """Returns a dialog whose Close button has the focus."""
    return _dialog(dialog_id, title, f"{content}<footer>{buttons}{_CLOSE}</footer>", erased=erased)


def _dialog(dialog_id: str, title: str, content: str, *, erased: str = "") -> str:
    """`dialog_id` lets the page recognise a dialog that was closed meanwhile, and not open it again."""
    mark = f' data-erased="{erased}"' if erased else ""
    return (
        f'<dialog class="m-dialog" data-asked="{dialog_id}"{mark} aria-labelledby="m2a-dialog-title">'
        f'<h2 id="m2a-dialog-title">{title}</h2>{content}</dialog>'
    )
