"""The dialog of an erasure: what would go, in words and numbers, and afterwards a receipt without content."""

from collections.abc import Iterable, Mapping, Sequence

from m2a.plurals import counted
from m2a.types import KEEPING, Erasure, ErasureKind, ErasurePreview, MemoryEntry, Message, Receipt
from m2a.ui import markup
from m2a.ui.conversations_panel import title_of

LOOK = 12  # things of a kind that are shown; the rest are counted
_WORDS = 240  # characters of each

_QUESTIONS: Mapping[ErasureKind, tuple[str, str]] = {
    "message": (
        "Erase this message?",
        "Its earlier versions and the replies to it go with it.",
    ),
    "memory": (
        "Erase this memory?",
        "The words that it came from, its earlier versions and what my answers said of it go with it. "
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
        "All conversations, memories, photos and names go. I start over as on the first day.",
    ),
}
_ON_BUTTON: Mapping[ErasureKind, str] = {
    "message": "the message",
    "memory": "the memory",
    "photo": "the photo",
    "conversation": "the conversation",
    "forgotten": "what was forgotten",
    "everything": "everything",
}
_CLOSE = '<button type="button" class="m-button" data-close-dialog>Close</button>'
_TO_PURGE = (
    "It is gone from M2A: no answer, search or page shows it, and nothing brings it back. The last traces in M2A’s files are "
    "wiped by themselves within a day while M2A is running. You can also do it now, for all that was erased so far{whose}."
)
_WHOSE = ", by you or by anybody else whose memory is in these files"
_PURGE = '<button type="button" class="m-button" data-purge>Remove it from the disk now</button>'


def waiting_html(words: str, *, asked: str) -> str:
    """While it is found out what goes, and while it goes."""
    dots = '<span class="m-dots" aria-hidden="true"><i></i><i></i><i></i></span>'
    return _dialog(asked, "One moment", f'<p class="m-thinking" role="status">{dots}{markup.text(words)}</p>')


def preview_html(gone: ErasurePreview, *, asked: str) -> str:
    """What goes, what stays, and the one button that does it."""
    title, explanation = _QUESTIONS[gone.erasure.kind]
    if gone.erasure.kind == "conversation" and gone.retained_memories:
        explanation = "What was said and shown in it goes; the memories from it, with their photos, stay."
    if not gone.counts:
        nothing = "Nothing forgotten is left on the disk." if gone.erasure.kind == "forgotten" else ""
        why = f"<p>{nothing or 'There is nothing to erase.'}</p>"
        return _dialog(asked, title, f"{why}<footer>{_close_focused()}</footer>")
    choice = _choice(gone)
    focus = "" if choice else " autofocus"
    return _dialog(
        asked,
        title,
        f"<p>{explanation}</p>{choice}<p><strong>This erases {counted(gone.counts)}.</strong></p>{_lists(gone)}"
        "<p>There is no undo.</p>"
        f'<footer><button type="button" class="m-button" data-close-dialog{focus}>Cancel</button>'
        f"{_do_it(gone.erasure)}</footer>",
    )


def receipt_html(receipt: Receipt, *, asked: str, is_shared: bool) -> str:
    """What was erased, in numbers alone. `is_shared`: others have a memory in the same files."""
    number = f'<p class="m-caption">Receipt {receipt.receipt_id}, {markup.moment(receipt.erased_at)}</p>'
    to_purge = _TO_PURGE.format(whose=_WHOSE if is_shared else "")
    told = f'<p role="status">Erased: {counted(receipt.counts)}.</p><p>{to_purge}</p>{number}'
    return _dialog(asked, "It is erased", f"{told}<footer>{_PURGE}{_close_focused()}</footer>", erased=receipt.kind)


def purged_html(*, asked: str) -> str:
    """After what was erased left the disk."""
    told = (
        '<p role="status">M2A’s files no longer contain anything that was erased.</p>'
        "<p>This does not reach backups, snapshots, or what a disk keeps of deleted files.</p>"
    )
    return _dialog(asked, "Removed from the disk", f"{told}<footer>{_close_focused()}</footer>")


def receipts_html(receipts: Sequence[Receipt], *, asked: str) -> str:
    """All receipts, the newest first."""
    if not receipts:
        return _dialog(
            asked, "What was erased so far", f"<p>Nothing has been erased yet.</p><footer>{_close_focused()}</footer>"
        )
    items = "".join(_receipt(one) for one in reversed(receipts[-LOOK:]))
    earlier = len(receipts) - LOOK
    rest = f"<p>and {markup.plural(earlier, 'earlier one')}.</p>" if earlier > 0 else ""
    why = "<p>Only numbers and times are kept, no content.</p>"
    to_purge = "" if all(one.purged_at for one in receipts) else _PURGE
    return _dialog(
        asked,
        "What was erased so far",
        f'{why}<ul class="m-receipts">{items}</ul>{rest}<footer>{to_purge}{_close_focused()}</footer>',
    )


def refused_html(sentence: str, *, asked: str, title: str = "Nothing was erased") -> str:
    """Why nothing was erased, or another thing that the title names was not done."""
    why = f'<p role="alert" dir="auto">{markup.text(sentence)}</p>'
    return _dialog(asked, title, f"{why}<footer>{_close_focused()}</footer>")


def _receipt(receipt: Receipt) -> str:
    purged = "removed from the disk" if receipt.purged_at else "still on the disk for now"
    return f"<li>{markup.moment(receipt.erased_at)}: {counted(receipt.counts) or 'nothing'}; {purged}.</li>"


def _choice(gone: ErasurePreview) -> str:
    """Whether the memories go along; nothing where none would, or where they are what is erased."""
    memories = len(gone.retained_memories) or sum(one.superseded_by is None for one in gone.memories)
    if gone.erasure.kind not in KEEPING or not memories:
        return ""
    is_one = memories == 1
    rest, these = ("1 memory comes", "memory") if is_one else (f"{memories} memories come", "memories")
    along = _radio(
        gone.erasure, f"Erase the {these}, too", f"{'It goes' if is_one else 'They go'} with it.", is_keeping=False
    )
    stay = _radio(
        gone.erasure,
        f"Keep the {these}",
        f"The words that {'it' if is_one else 'they'} came from are erased; {'it' if is_one else 'each memory'} says so from "
        "then on.",
        is_keeping=True,
    )
    return f'<fieldset class="m-choice"><legend>{rest} from it:</legend>{along}{stay}</fieldset>'


def _radio(erasure: Erasure, name: str, explanation: str, *, is_keeping: bool) -> str:
    chosen = " checked autofocus" if erasure.keep_memories == is_keeping else ""
    keep = " data-keep" if is_keeping else ""
    return (
        f'<label><input type="radio" name="keep" data-erase="{erasure.kind}" data-of="{markup.text(erasure.id)}"{keep}'
        f"{chosen}><span>{name}<small>{explanation}</small></span></label>"
    )


def _do_it(erasure: Erasure) -> str:
    of = "" if erasure.id is None else f' data-of="{markup.text(erasure.id)}"'
    keep = " data-keep" if erasure.keep_memories else ""
    return (
        f'<button type="button" class="m-button m-danger" data-erase-now="{erasure.kind}"{of}{keep}>'
        f"Erase {_ON_BUTTON[erasure.kind]} for good</button>"
    )


def _lists(gone: ErasurePreview) -> str:
    conversations = [f"<span dir='auto'>{markup.text(title_of(one))}</span>" for one in gone.conversations]
    return "".join(
        (
            _list("Conversations that go", conversations),
            _list("Messages that go", map(_message, gone.messages), len(gone.messages)),
            _list("Memories that go", map(_memory, gone.memories), len(gone.memories)),
            _list("Memories waiting for your review that go", [_words(text) for text in gone.waiting]),
            _list("Also removed from other messages", [_lost(one.message, one.words) for one in gone.rewritten]),
            _photos("Photos that go", gone.photo_ids),
            _list("Captions that go", [_words(caption) for caption in gone.captions]),
            _list("Names that I will no longer know", [_words(name) for name in gone.names]),
            _list("Names that I will no longer recognise by photo", [_words(name) for name in gone.unshown_names]),
            _list("Memories that you keep", map(_memory, gone.retained_memories), len(gone.retained_memories)),
            _list(
                "Memories that stay: you said or showed the same elsewhere",
                map(_memory, gone.kept_memories),
                len(gone.kept_memories),
            ),
        )
    )


def _list(title: str, items: Iterable[str], total: int | None = None) -> str:
    """A list that opens; it is open where it is short. `total` where the items are not to be written all."""
    shown = [item for item, _ in zip(items, range(LOOK), strict=False)] if total is not None else list(items)
    total = len(shown) if total is None else total
    if not total:
        return ""
    shown = shown[:LOOK]
    more = f"<li>and {total - len(shown):,} more</li>" if total > len(shown) else ""
    rows = "".join(f"<li>{item}</li>" for item in shown)
    is_short = total <= 3
    scrolled = "" if is_short else f' tabindex="0" aria-label="{title}"'  # the keyboard scrolls it
    return _opening(title, total, f"<ul{scrolled}>{rows}{more}</ul>", is_open=is_short)


def _photos(title: str, photo_ids: Sequence[str]) -> str:
    if not photo_ids:
        return ""
    more = f"<p>and {len(photo_ids) - LOOK:,} more</p>" if len(photo_ids) > LOOK else ""
    return _opening(title, len(photo_ids), markup.photos(photo_ids[:LOOK], caption="Photo that goes") + more)


def _opening(title: str, total: int, content: str, *, is_open: bool = True) -> str:
    opened = " open" if is_open else ""
    return f'<details class="m-details m-goes"{opened}><summary>{title}<span>· {total:,}</span></summary>{content}</details>'


def _message(message: Message) -> str:
    said = _quoted(message.text) if message.text else "a photo"
    return f"{markup.text(message.speaker)}: {said}"


def _memory(entry: MemoryEntry) -> str:
    return _words(entry.text or entry.caption or "a photo")


def _lost(message: Message, words: Sequence[str]) -> str:
    lost = ", ".join(_quoted(one) for one in words) or "a photo"
    return f"{markup.text(message.speaker)}: {lost}"


def _quoted(words: str) -> str:
    """What a message says. The words of a memory, a caption or a name are M2A's, and stand without quotation marks."""
    return f'<span dir="auto">“{markup.text(_cut(words))}”</span>'


def _words(words: str) -> str:
    return f'<span dir="auto">{markup.text(_cut(words))}</span>'


def _cut(words: str) -> str:
    return words if len(words) <= _WORDS else words[: _WORDS - 1].rstrip() + "…"


def _close_focused() -> str:
    return _CLOSE.replace(" data-close-dialog", " data-close-dialog autofocus")


def _dialog(asked: str, title: str, content: str, *, erased: str = "") -> str:
    """`asked` names the question, so that the page shows no answer to one that was closed meanwhile."""
    done = f' data-erased="{erased}"' if erased else ""
    return (
        f'<dialog class="m-dialog" data-asked="{asked}"{done} aria-labelledby="m2a-dialog-title">'
        f'<h2 id="m2a-dialog-title">{title}</h2>{content}</dialog>'
    )
