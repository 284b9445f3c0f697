"""The quiet lines below an answer: what the memory kept, corrected, changed, forgot and brought back, what it did not, with
buttons to have it otherwise, and what failed."""

from collections.abc import Sequence
from typing import Literal

from m2a.sentences import IN_THE_PAGE, STAYS, naming
from m2a.types import Failed, Held, MemoryChanged, MemoryEntry, NotKept, RecordedChange
from m2a.ui import markup
from m2a.ui.erase_button import erase_button
from m2a.ui.evidence import RESTS_ON

_NOTES = {
    "forgotten": "I no longer find, show or use it, not even in our conversations. It is not erased from the disk.",
    "asked": "You may want this forgotten; I was not sure. Until you choose, no answer uses what I ask about, or the words it "
    "came from. If you forget one, I use the others again.",
    "withheld": "I keep it: you will find it in Memory under “Not mentioned”. No answer uses it, or the words it came from.",
    "pinned": "It stands first in the list of Memory, and goes along with every message to a language model.",
}


def memory_html(
    changes: Sequence[RecordedChange],
    not_kept: Sequence[NotKept] = (),
    unasked: int = 0,
    *,
    rejected: Sequence[NotKept] = (),
    waiting: Literal["later", "aside"] | None = None,
    reply_id: int | None = None,
    place: str = "m",
) -> str:
    """One line per change, then what was not done. With the reply's id each has its button.

    The ids of the lines begin with `place`: the page may tell the same in two places.
    """
    told = _by_undo(changes)
    last = {
        recorded.changed.change: recorded.number for recorded in told if not recorded.undone
    }  # of a kind; it has the note
    lines = [_change(one, reply_id, place, note=last.get(one.changed.change) == one.number) for one in told]
    lines += [_not_kept(one, reply_id) for one in not_kept]
    lines += [_rejected(one, reply_id) for one in rejected]
    if unasked:
        were = "was" if unasked == 1 else "were"
        what = f"{markup.plural(unasked, 'change')} that you did not ask for {were} not made."
        lines.append(f'<li class="m-change m-not-kept"><div>{what}</div></li>')
    if waiting:
        lines.append(f'<li class="m-change m-not-kept"><div><strong>Not in my memory{_WAITING[waiting]}</div></li>')
    if not lines:
        return ""
    anchor = f' id="{place}{reply_id}-notices" tabindex="-1"' if reply_id else ""
    return f'<ul class="m-changes" aria-label="Changes to the memory"{anchor}>{"".join(lines)}</ul>'


_WAITING = {
    "later": " yet</strong> I could not update it; I will try again with your next message.",
    "aside": "</strong> Updating it kept failing, so I set it aside. What you said stays here. "
    "“Check the stored data” in Settings lets me try again.",
}


def failures_html(failures: Sequence[Failed]) -> str:
    return "".join(failure_html(failure) for failure in failures)


def failure_html(failure: Failed) -> str:
    why = naming(failure.reason, IN_THE_PAGE)
    title = "<strong>I could not answer.</strong> " if failure.stage == "reply" else ""
    return f'<div class="m-failure" role="alert">{title}<span dir="auto">{markup.text(why)}</span></div>'


def refusal_html(reason: str) -> str:
    """A message that was not taken at all; its words are still in the box."""
    why = f'<span dir="auto">{markup.text(reason)}</span>'
    return f'<div class="m-failure" role="alert"><strong>I could not accept this.</strong> {why}</div>'


def _by_undo(changes: Sequence[RecordedChange]) -> list[RecordedChange]:
    """One for each Undo: memories that went in one act of forgetting come back together. That which still has words tells it."""
    lines: dict[tuple[str, int], RecordedChange] = {}
    for one in changes:
        is_act = one.changed.change == "forgotten" and not one.undone and one.forgetting_id is not None
        line = ("act", one.forgetting_id or 0) if is_act else ("change", one.number)
        if line not in lines or lines[line].changed.previous is None:
            lines[line] = one
    return list(lines.values())


def _change(recorded: RecordedChange, reply_id: int | None, place: str, *, note: bool) -> str:
    changed = recorded.changed
    anchor = f' id="{place}{reply_id}-c{recorded.number}" tabindex="-1"' if reply_id else ""
    if recorded.undone:
        return f'<li class="m-change m-undone"{anchor}><div><strong>Undone</strong> {_undone(changed)}</div></li>'
    title, words = _told(changed)
    said = (_NOTES.get(changed.change) if note else "") or _basis(changed.entry)
    small = _along(recorded.taken_along) + (f" <small>{said}</small>" if said else "")
    about = changed.entry or changed.previous
    undo = _button("Keep it" if changed.change == "asked" else "Undo", "undo", reply_id, recorded.number, about=about)
    if changed.change == "asked" and about is not None:
        forget = _button("Forget it", "choose", reply_id, recorded.number, about=about, memory_id=about.memory_id)
        undo = f'<span class="m-pair">{forget}{undo}</span>'
    if changed.change == "forgotten" and (erase := _erase(recorded, reply_id)):
        undo = f'<span class="m-pair">{undo}{erase}</span>'
    rivals = "".join(_rival(rival, reply_id, recorded.number) for rival in changed.rivals)
    return (
        f'<li class="m-change m-{changed.change}"{anchor}><div><strong>{title}</strong> <span dir="auto">{words}</span>'
        f"{small}</div>{undo}{rivals}</li>"
    )


def _along(count: int) -> str:
    if not count:
        return ""
    which = "The memory" if count == 1 else f"The {count} memories"
    return f" <small>{which} that corrected it went with it.</small>"


def _erase(recorded: RecordedChange, reply_id: int | None) -> str:
    """A button for what was forgotten, which is still on the disk."""
    if reply_id is None or recorded.forgetting_id is None:
        return ""
    words = recorded.changed.previous
    label = f"Erase for good… {words.text or words.caption if words else 'what was forgotten'}"
    return erase_button("forgotten", recorded.forgetting_id, "Erase for good…", label=label, style="m-act")


def _basis(entry: MemoryEntry | None) -> str:
    """What a memory rests on, where that is not what the user said."""
    return RESTS_ON[entry.rests_on] if entry and entry.rests_on in ("agreed", "shown") else ""


def _told(changed: MemoryChanged) -> tuple[str, str]:
    entry, previous = _words_of(changed.entry), _words_of(changed.previous)
    match changed.change:
        case "added":
            return "Remembered", entry
        case "corrected":
            part = f" <small>This corrects what you said before, which is kept too: {_within(changed.previous)}</small>"
            return "Corrected", f"<ins>{entry}</ins>{part if previous else ''}"
        case "replaced":
            before = f"<del>{previous}</del> <span aria-hidden='true'>→</span> " if previous else ""
            return "Changed", f"{before}<ins>{entry}</ins>"
        case "forgotten":
            return "Forgot", previous or "what you asked me to forget."
        case "restored":
            return "Brought back", entry
        case "pinned":
            return "Pinned", entry
        case "unpinned":
            return "Unpinned", entry
        case "dated":
            last_day = changed.entry.used_until if changed.entry else None
            return (f"Used until {markup.day(last_day)}" if last_day else "Used without a last day"), entry
        case "withheld":
            return "No longer mentioned", previous or "a memory"
        case "asked":
            return "Forget this?", previous or "a memory"
        case "returned":
            return "Used again", entry


def _undone(changed: MemoryChanged) -> str:
    entry, previous = _within(changed.entry), _within(changed.previous)
    match changed.change:
        case "added":
            return "I no longer remember this."
        case "restored":
            return f"{entry or 'This'} is an earlier version again."
        case "pinned" | "unpinned" | "dated":
            return f"{entry or 'This memory'} is as it was before."
        case "withheld" | "asked":
            return f"I use {previous or 'this memory'} again."
        case "returned":
            return f"I have stopped using {entry or 'this memory'} again."
        case _:
            return f"I remember {previous or 'what was there before'} again."


def _rival(rival: MemoryEntry, reply_id: int | None, number: int) -> str:
    kept = f"I also keep {_within(rival)} ({markup.day(rival.recorded_at.astimezone())})."
    replace = _button("Replace it", "choose", reply_id, number, about=rival, memory_id=rival.memory_id)
    return f"<div>{kept}</div>{replace}"


def _not_kept(one: NotKept, reply_id: int | None) -> str:
    title, name = _HELD[one.held]
    act = "" if one.number is None else _button(name, "insist", reply_id, one.number, label=one.text)
    if act and one.held == "review":
        act = f'<span class="m-pair">{act}{_review_button("Reject", "reject", one, reply_id)}</span>'
    if one.held == "category":
        act = f'<span class="m-pair m-below">{act}{_erase_message(one, reply_id)}</span>'
    words = markup.text(one.text)
    reason = f' <small dir="auto">{markup.text(one.reason)}</small>' if one.reason else ""
    reason += f" <small>{STAYS}</small>" if one.held == "category" else ""
    said = f'<strong>{title}</strong> <span dir="auto">{words}</span>{reason}'
    return f'<li class="m-change m-not-kept"><div>{said}</div>{act}</li>'


def _rejected(one: NotKept, reply_id: int | None) -> str:
    said = f'<strong>Rejected</strong> <span dir="auto">{markup.text(one.text)}</span> <small>{STAYS}</small>'
    acts = _review_button("Undo", "reopen", one, reply_id) + _erase_message(one, reply_id)
    return f'<li class="m-change m-not-kept"><div>{said}</div><span class="m-pair m-below">{acts}</span></li>'


def _erase_message(one: NotKept, reply_id: int | None) -> str:
    """A button for the message behind it; nothing while the turn still runs."""
    if reply_id is None or one.said_in is None:
        return ""
    label = f"Erase the message… {one.text}"
    return erase_button("message", one.said_in, "Erase the message…", label=label, style="m-act")


def _review_button(name: str, act: str, one: NotKept, reply_id: int | None) -> str:
    """A button of the review; nothing while the turn still runs."""
    if reply_id is None or one.number is None:
        return ""
    return (
        f'<button type="button" class="m-act" data-review="{act}" data-reply="{reply_id}" data-number="{one.number}" '
        f'aria-label="{markup.text(f"{name}: {one.text}")}">{name}</button>'
    )


# By whom a memory was held: what the line says, and its button.
_HELD: dict[Held, tuple[str, str]] = {
    "check": ("Not done", "Do it anyway"),
    "category": ("Not kept", "Keep it anyway"),
    "review": ("Waiting for your review", "Keep it"),
}


def _button(
    name: str,
    act: str,
    reply_id: int | None,
    number: int,
    *,
    about: MemoryEntry | None = None,
    label: str = "",
    memory_id: int | None = None,
) -> str:
    """A button of the page's script; nothing while the turn still runs, when there is no reply to name yet."""
    if reply_id is None:
        return ""
    what = label or (about.text or about.caption if about else "")
    named = f' aria-label="{markup.text(f"{name}: {what}")}"' if what else ""
    memory = f' data-memory="{memory_id}"' if memory_id is not None else ""
    return (
        f'<button type="button" class="m-act" data-act="{act}" data-reply="{reply_id}" data-number="{number}"{memory}{named}>'
        f"{name}</button>"
    )


def _words_of(entry: MemoryEntry | None) -> str:
    return markup.text(entry.text or entry.caption or "a photo") if entry else ""


def _within(entry: MemoryEntry | None) -> str:
    """The same within a sentence."""
    return markup.wording(entry.text or entry.caption or "a photo") if entry else ""
