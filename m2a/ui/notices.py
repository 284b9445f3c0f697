"""The quiet lines below an answer: how the memory changed, what it did not keep, and what failed, with buttons to change that."""

from collections.abc import Sequence
from typing import Literal

from m2a.sentences import IN_THE_PAGE, STAYS, with_names
from m2a.types import Failed, Held, MemoryChanged, MemoryEntry, NotKept, RecordedChange
from m2a.ui import markup
from m2a.ui.erase_button import erase_button
from m2a.ui.evidence import RESTS_ON

_NOTES = {
    "forgotten": "I no longer find, show or use it, not even in our conversations. It is not erased from the disk.",
    "asked": "You may have asked me to forget this; I was not sure. Until you decide, I use neither it nor the words it came "
    "from. If there are several and you forget one, I use the others again.",
    "withheld": "I keep it: you will find it in Memory under “Not mentioned”. No answer uses it, or the words it came from.",
    "pinned": "It comes first in the list of Memory, and is sent to the language model with every message.",
}


def memory_html(
    changes: Sequence[RecordedChange],
    not_kept: Sequence[NotKept] = (),
    unasked: int = 0,
    *,
    rejected: Sequence[NotKept] = (),
    waiting: Literal["later", "aside"] | None = None,
    reply_id: int | None = None,
    id_prefix: str = "m",
) -> str:
    """Returns a line for each change, then what was not done. The lines get their buttons once there is a `reply_id`.

    The ids of the lines begin with `id_prefix`, because the page may show the same lines in two places.
    """
    shown_changes = _by_undo(changes)
    last_of_kind = {recorded.changed.change: recorded.number for recorded in shown_changes if not recorded.undone}
    noted = set(last_of_kind.values())
    lines = [_change(recorded, reply_id, id_prefix, has_note=recorded.number in noted) for recorded in shown_changes]
    lines += [_not_kept(refusal, reply_id) for refusal in not_kept]
    lines += [rejected_line(refusal, reply_id) for refusal in rejected]
    if unasked:
        were = "was" if unasked == 1 else "were"
        sentence = f"{markup.plural(unasked, 'change')} that you did not ask for {were} not made."
        lines.append(f'<li class="m-change m-not-kept"><div>{sentence}</div></li>')
    if waiting:
        lines.append(f'<li class="m-change m-not-kept"><div><strong>Not in my memory{_WAITING[waiting]}</div></li>')
    if not lines:
        return ""
    anchor = f' id="{id_prefix}{reply_id}-notices" tabindex="-1"' if reply_id else ""
    return f'<ul class="m-changes" aria-label="Changes to the memory"{anchor}>{"".join(lines)}</ul>'


_WAITING = {
    "later": " yet</strong> I could not update it; I will try again with your next message.",
    "aside": "</strong> The update failed several times, so I stopped trying. What you said stays here. "
    "“Check the stored data” in Settings lets me try again.",
}


def failures_html(failures: Sequence[Failed]) -> str:
    return "".join(failure_html(failure) for failure in failures)


def failure_html(failure: Failed) -> str:
    why = with_names(failure.reason, IN_THE_PAGE)
    title = "<strong>I could not answer.</strong> " if failure.stage == "reply" else ""
    return f'<div class="m-failure" role="alert">{title}<span dir="auto">{markup.text(why)}</span></div>'


def refusal_html(reason: str) -> str:
    """Returns the notice for a message that was not accepted; its words are still in the box."""
    why = f'<span dir="auto">{markup.text(reason)}</span>'
    return f'<div class="m-failure" role="alert"><strong>I could not accept this.</strong> {why}</div>'


def _by_undo(changes: Sequence[RecordedChange]) -> list[RecordedChange]:
    """Returns one change for each Undo. Memories forgotten together come back together; one that has words stands for all."""
    changes_by_undo: dict[tuple[str, int], RecordedChange] = {}
    for recorded in changes:
        is_forgetting = (
            recorded.changed.change == "forgotten" and not recorded.undone and recorded.forgetting_id is not None
        )
        key = ("forgetting", recorded.forgetting_id or 0) if is_forgetting else ("change", recorded.number)
        if key not in changes_by_undo or changes_by_undo[key].changed.previous is None:
            changes_by_undo[key] = recorded
    return list(changes_by_undo.values())


def _change(recorded: RecordedChange, reply_id: int | None, id_prefix: str, *, has_note: bool) -> str:
    changed = recorded.changed
    anchor = f' id="{id_prefix}{reply_id}-c{recorded.number}" tabindex="-1"' if reply_id else ""
    if recorded.undone:
        return f'<li class="m-change m-undone"{anchor}><div><strong>Undone</strong> {_undone(changed)}</div></li>'
    title, words = _described(changed)
    note = (_NOTES.get(changed.change) if has_note else "") or _basis(changed.entry)
    small = _along(recorded.taken_along) + (f" <small>{note}</small>" if note else "")
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
    memories = "The memory" if count == 1 else f"The {count} memories"
    return f" <small>{memories} that corrected it went with it.</small>"


def _erase(recorded: RecordedChange, reply_id: int | None) -> str:
    """Returns the button that erases what was forgotten, which is still on the disk."""
    if reply_id is None or recorded.forgetting_id is None:
        return ""
    words = recorded.changed.previous
    label = f"Erase for good… {words.text or words.caption if words else 'what was forgotten'}"
    return erase_button("forgotten", recorded.forgetting_id, "Erase for good…", label=label, style="m-act")


def _basis(entry: MemoryEntry | None) -> str:
    """Returns what a memory rests on, unless the user said it."""
    return RESTS_ON[entry.rests_on] if entry and entry.rests_on in ("agreed", "shown") else ""


def _described(changed: MemoryChanged) -> tuple[str, str]:
    entry, previous = _words_of(changed.entry), _words_of(changed.previous)
    match changed.change:
        case "added":
            return "Remembered", entry
        case "corrected":
            part = f" <small>This corrects what you said before, which I also keep: {_within(changed.previous)}</small>"
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
            return (f"Used until {markup.day(last_day)}" if last_day else "No last day any more"), entry
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
            return f"{entry or 'This'} is an earlier version and no longer in use."
        case "pinned" | "unpinned" | "dated":
            return f"{entry or 'This memory'} is as it was before."
        case "withheld" | "asked":
            return f"I use {previous or 'this memory'} again."
        case "returned":
            return f"I have stopped using {entry or 'this memory'} again."
        case _:
            return f"I remember {previous or 'what was there before'} again."


def _rival(rival: MemoryEntry, reply_id: int | None, number: int) -> str:
    sentence = f"I still have the earlier {_within(rival)} ({markup.day(rival.recorded_at.astimezone())})."
    replace = _button("Replace the earlier one", "choose", reply_id, number, about=rival, memory_id=rival.memory_id)
    return f"<div>{sentence}</div>{replace}"


def _not_kept(refusal: NotKept, reply_id: int | None) -> str:
    title, name = _HELD[refusal.held]
    act = "" if refusal.number is None else _button(name, "insist", reply_id, refusal.number, label=refusal.text)
    if act and refusal.held == "review":
        act = f'<span class="m-pair">{act}{_review_button("Reject", "reject", refusal, reply_id)}</span>'
    if refusal.held == "category":
        act = f'<span class="m-pair m-below">{act}{_erase_message(refusal, reply_id)}</span>'
    words = markup.text(refusal.text)
    reason = f' <small dir="auto">{markup.text(refusal.reason)}</small>' if refusal.reason else ""
    reason += f" <small>{STAYS}</small>" if refusal.held == "category" else ""
    line = f'<strong>{title}</strong> <span dir="auto">{words}</span>{reason}'
    return f'<li class="m-change m-not-kept"><div>{line}</div>{act}</li>'


def rejected_line(refusal: NotKept, reply_id: int | None) -> str:
    """Returns the line of a memory that the user rejected."""
    line = f'<strong>Rejected</strong> <span dir="auto">{markup.text(refusal.text)}</span> <small>{STAYS}</small>'
    acts = _review_button("Undo", "reopen", refusal, reply_id) + _erase_message(refusal, reply_id)
    return f'<li class="m-change m-not-kept"><div>{line}</div><span class="m-pair m-below">{acts}</span></li>'


def _erase_message(refusal: NotKept, reply_id: int | None) -> str:
    """Returns the button that erases the message it came from; empty while the turn is running."""
    if reply_id is None or refusal.said_in is None:
        return ""
    label = f"Erase the message… {refusal.text}"
    return erase_button("message", refusal.said_in, "Erase the message…", label=label, style="m-act")


def _review_button(name: str, act: str, refusal: NotKept, reply_id: int | None) -> str:
    """Returns a button of the review; empty while the turn is running."""
    if reply_id is None or refusal.number is None:
        return ""
    return (
        f'<button type="button" class="m-act" data-review="{act}" data-reply="{reply_id}" data-number="{refusal.number}" '
        f'aria-label="{markup.text(f"{name}: {refusal.text}")}">{name}</button>'
    )


# What held a memory back: the title of the line, and the label of its button.
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
    """Returns a button; empty while the turn is running, because there is no reply to refer to yet."""
    if reply_id is None:
        return ""
    subject = label or (about.text or about.caption if about else "")
    aria = f' aria-label="{markup.text(f"{name}: {subject}")}"' if subject else ""
    memory = f' data-memory="{memory_id}"' if memory_id is not None else ""
    return (
        f'<button type="button" class="m-act" data-act="{act}" data-reply="{reply_id}" data-number="{number}"{memory}{aria}>'
        f"{name}</button>"
    )


def _words_of(entry: MemoryEntry | None) -> str:
    return markup.text(entry.text or entry.caption or "a photo") if entry else ""


def _within(entry: MemoryEntry | None) -> str:
    """Returns the same words for use in a sentence."""
    return markup.wording(entry.text or entry.caption or "a photo") if entry else ""
