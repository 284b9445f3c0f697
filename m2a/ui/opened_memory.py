"""One memory with everything that belongs to it: its evidence, its earlier versions, and what can be done with it."""

from collections.abc import Mapping

from m2a.types import EntryChange, HistoryRow, MemoryEntry, OpenedMemory, Reason
from m2a.ui import markup
from m2a.ui.erase_button import erase_memory_button, large_photos
from m2a.ui.evidence import RESTS_ON, memory_link, quote_html
from m2a.ui.forgotten_list import FORGOTTEN
from m2a.ui.keeping import keep_html, kept_back_html
from m2a.ui.photo_search import like_html

GONE = 0  # the number of a memory that no longer exists, for the page's script
CHANGES: dict[EntryChange, str] = {
    "added": "Remembered",
    "superseded": "Replaced by another memory",
    "deleted": "Forgotten",
    "undone": "Undone",
    "restored": "Brought back",
    "reduced": "Part of its source is gone",
    "pinned": "Pinned",
    "unpinned": "Unpinned",
    "dated": "Last day changed",
    "withheld": "No longer mentioned",
    "expired": "Expired",
}

# Who changed it and why, in words for the user.
_WHO = {"the user": " by you", "offline rules": " by M2A, without a language model"}
_WHYS: Mapping[Reason, str] = {
    "the user said so": "You said so.",
    "the user agreed to it": "You agreed to it.",
    "the user showed it": "You showed it.",
    "the user said that it changed": "You said that it changed.",
    "the user said that both are true": "You said that both are true.",
    "the user asked to forget it": "You asked to forget it.",
    "the user chose it in the memory": "You chose it in the memory.",
    "the user edited what it came from": "You edited the message that it came from.",
}


def opened_html(opened: OpenedMemory) -> str:
    """Returns the memory as a page of the panel."""
    entry = opened.entry
    acts = kept_back_html(opened.kept_back) if opened.kept_back else _acts(entry)
    caption = f'<p class="m-caption" dir="auto">{markup.text(entry.caption)}</p>' if entry.caption else ""
    return (
        f'<section class="m-opened" data-opened="{entry.memory_id}" aria-label="A memory">'
        '<button type="button" class="m-back" data-memory-act="back">← All memories</button>'
        f'<h2 tabindex="-1" dir="auto">{markup.text(entry.text or entry.caption or "A photo")}</h2>'
        f"{large_photos(entry.photo_ids, caption=entry.caption)}{like_html(entry)}{caption}"
        f"{_facts(opened)}{_near(opened)}{acts}"
        f"{_evidence(opened)}{_versions(opened)}{_history(opened)}</section>"
    )


def gone_html() -> str:
    """Returns the page for a memory that was forgotten, undone or erased, or that never existed."""
    return (
        f'<section class="m-opened" data-opened="{GONE}" aria-label="A memory">'
        '<button type="button" class="m-back" data-memory-act="back">← All memories</button>'
        '<h2 tabindex="-1">This memory no longer exists.</h2>'
        '<p class="m-gone-how">It was forgotten, undone or erased. What was forgotten can be brought back. What was erased is '
        f'gone for good.</p><button type="button" class="m-button" data-memory-act="about" data-unused-list="{FORGOTTEN}" '
        'data-focus="kept-forgotten">Show what was forgotten</button></section>'
    )


def _facts(opened: OpenedMemory) -> str:
    entry = opened.entry
    facts = [("Source", RESTS_ON[entry.rests_on])]
    if entry.happened:
        facts.append(("When", markup.interval(entry.happened)))
    if opened.concepts:
        facts.append(("About", ", ".join(concept.name for concept in opened.concepts)))
    facts.append(("Last mentioned", markup.day(entry.recorded_at.astimezone())))
    if entry.pinned_at:
        facts.append(("Pinned", markup.day(entry.pinned_at.astimezone())))
    if entry.used_until:
        facts.append(("Used until", markup.day(entry.used_until)))
    rows = "".join(f'<dt>{name}</dt><dd dir="auto">{markup.text(value)}</dd>' for name, value in facts)
    return f'<dl class="m-facts">{rows}</dl>'


def _acts(entry: MemoryEntry) -> str:
    """Returns the buttons for a memory: a current one can be edited or forgotten, an older version brought back."""
    number = entry.memory_id
    if entry.superseded_by is not None:
        restore = f'<button type="button" class="m-button" data-memory-act="restore" data-of="{number}">'
        return f'<div class="m-acts">{restore}Use this version again</button></div>'
    first, last = (day.isoformat() for day in entry.happened) if entry.happened else ("", "")
    return (
        f'<div class="m-acts"><details class="m-details m-edit" data-key="edit-{number}">'
        '<summary class="m-button">Edit</summary>'
        f'<form data-edit="{number}"><label>What I remember'
        f'<textarea name="text" rows="4" maxlength="20000" dir="auto" data-focus="text-{number}">'
        f"{markup.text(entry.text)}</textarea></label>"
        f'<label>It happened from<input type="date" name="first" value="{first}"></label>'
        f'<label>to<input type="date" name="last" value="{last}"></label>'
        "<small>Saved as something you said today. The earlier version stays below until you forget it.</small>"
        f'<div class="m-edit-acts"><button class="m-button">Save</button>{markup.CANCEL}</div></form></details>'
        f'<button type="button" class="m-button" data-memory-act="forget" data-of="{number}">Forget</button>'
        f"{erase_memory_button(entry)}"
        "<small>Forget: I stop using it, and Undo brings it back. Erase: it is gone for good.</small></div>"
        f"{keep_html(entry)}"
    )


def _near(opened: OpenedMemory) -> str:
    """Returns links to the memories that this one corrects, that correct it, or that replaced it."""
    lines = []
    if opened.successor is not None:
        lines.append(f"No longer current. Replaced by: {memory_link(opened.successor)}")
    if opened.corrects is not None:
        lines.append(f"It corrects a part of: {memory_link(opened.corrects)}")
    note = (
        "<small>If you forget this memory, or ask me not to mention it, the correction is treated the same way.</small>"
    )
    lines += [f"A part of it is corrected by: {memory_link(correction)} {note}" for correction in opened.corrections]
    return "".join(f'<p class="m-near">{line}</p>' for line in lines)


def _evidence(opened: OpenedMemory) -> str:
    quotes = "".join(
        quote_html(message, without=opened.entry.photo_ids, before=opened.before.get(message.message_id))
        for message in opened.evidence
    )
    more = opened.evidence_count - len(opened.evidence)
    if more > 0:
        quotes += f'<p class="m-nothing">and {markup.plural(more, "further message")} of the same conversation.</p>'
    quotes = quotes or '<p class="m-nothing">The words that it came from no longer exist.</p>'
    return f"<h3>Where this comes from</h3>{quotes}"


def _versions(opened: OpenedMemory) -> str:
    if not opened.versions:
        return ""
    items = "".join(map(_version, opened.versions))
    return f'<h3>Earlier versions</h3><ul class="m-versions">{items}</ul>'


def _version(entry: MemoryEntry) -> str:
    recorded_on = markup.day(entry.recorded_at.astimezone())
    restore = f'<button type="button" class="m-act" data-memory-act="restore" data-of="{entry.memory_id}"'
    aria_label = f' aria-label="{markup.text(f"Use this version again: {entry.text}")}"'
    return f"<li><div>{memory_link(entry)}<small>told on {recorded_on}</small></div>{restore}{aria_label}>Restore</button></li>"


def _history(opened: OpenedMemory) -> str:
    items = "".join(_row(row) for row in reversed(opened.history))
    summary = f"History <span>· {markup.plural(len(opened.history), 'change')}</span>"
    return (
        f'<details class="m-details m-history" data-key="history-{opened.entry.memory_id}"><summary>{summary}</summary>'
        f"<ol>{items}</ol></details>"
    )


def _row(row: HistoryRow) -> str:
    reason = next((words for reason, words in _WHYS.items() if reason == row.why), row.why)
    why = f' <small dir="auto">{markup.text(reason)}</small>' if reason else ""
    who = _WHO.get(row.who, f" by <bdi>{markup.text(row.who)}</bdi>")
    return f"<li>{markup.moment(row.changed_at)}: {CHANGES[row.change]}{who}.{why}</li>"
