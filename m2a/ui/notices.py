"""The quiet lines below an answer: what the memory kept, corrected, changed, forgot and brought back, what it did not, with
buttons to have it otherwise, and what failed."""

from collections.abc import Sequence
from typing import Literal

from m2a.types import Failed, MemoryChanged, MemoryEntry, NotKept, RecordedChange
from m2a.ui import markup
from m2a.ui.evidence import RESTS_ON

_FORGOTTEN = "Nothing finds, shows or uses it any more, in our conversations either. It is not erased from the disk."


def memory_html(
    changes: Sequence[RecordedChange],
    not_kept: Sequence[NotKept] = (),
    unasked: int = 0,
    *,
    waiting: Literal["later", "aside"] | None = None,
    reply_id: int | None = None,
    place: str = "m",
) -> str:
    """One line per change, then what was not done. With the reply's id each has its button.

    The ids of the lines begin with `place`: the page may tell the same in two places.
    """
    lines = [_change(change, reply_id, place) for change in _told_once(changes)]
    lines += [_not_kept(one, reply_id) for one in not_kept]
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
    "later": " yet</strong> The update did not come about; I try it again with your next message.",
    "aside": "</strong> The update failed again and again and was set aside. What you said stays here, and "
    "<code>m2a repair</code> tries it again.",
}


def failures_html(failures: Sequence[Failed]) -> str:
    return "".join(failure_html(failure) for failure in failures)


def failure_html(failure: Failed) -> str:
    title = "<strong>I could not answer.</strong> " if failure.stage == "reply" else ""
    return f'<div class="m-failure" role="alert">{title}<span dir="auto">{markup.text(failure.reason)}</span></div>'


def refusal_html(reason: str) -> str:
    """A message that was not taken at all; its words are still in the box."""
    why = f'<span dir="auto">{markup.text(reason)}</span>'
    return f'<div class="m-failure" role="alert"><strong>I did not take this.</strong> {why}</div>'


def _told_once(changes: Sequence[RecordedChange]) -> list[RecordedChange]:
    """Two memories that say the same are forgotten together: one line tells it, that which still has the words."""
    told: dict[str, RecordedChange] = {}
    for one in changes:
        forgotten = one.changed.change == "forgotten" and not one.undone
        told.setdefault(_quoted(one.changed.previous) if forgotten else f"change {one.number}", one)
    worded = any(one.changed.change == "forgotten" and one.changed.previous for one in told.values())
    return [one for words, one in told.items() if words or not worded]


def _change(recorded: RecordedChange, reply_id: int | None, place: str) -> str:
    changed = recorded.changed
    anchor = f' id="{place}{reply_id}-c{recorded.number}" tabindex="-1"' if reply_id else ""
    if recorded.undone:
        return f'<li class="m-change m-undone"{anchor}><div><strong>Undone</strong> {_undone(changed)}</div></li>'
    title, words = _told(changed)
    note = _FORGOTTEN if changed.change == "forgotten" else _basis(changed.entry)
    small = f" <small>{note}</small>" if note else ""
    undo = _button("Undo", "undo", reply_id, recorded.number, about=changed.entry or changed.previous)
    rivals = "".join(_rival(rival, reply_id, recorded.number) for rival in changed.rivals)
    return (
        f'<li class="m-change m-{changed.change}"{anchor}><div><strong>{title}</strong> <span dir="auto">{words}</span>'
        f"{small}</div>{undo}{rivals}</li>"
    )


def _basis(entry: MemoryEntry | None) -> str:
    """What a memory rests on, where that is not what the user said."""
    return RESTS_ON[entry.rests_on] if entry and entry.rests_on in ("agreed", "shown") else ""


def _told(changed: MemoryChanged) -> tuple[str, str]:
    entry, previous = _quoted(changed.entry), _quoted(changed.previous)
    match changed.change:
        case "added":
            return "Remembered", entry
        case "corrected":
            return "Corrected", f"<ins>{entry}</ins>" + (
                f" <small>I tell it with {previous}</small>" if previous else ""
            )
        case "replaced":
            before = f"<del>{previous}</del> <span aria-hidden='true'>→</span> " if previous else ""
            return "Changed", f"{before}<ins>{entry}</ins>"
        case "forgotten":
            return "Forgot", previous or "what you asked me to forget."
        case "restored":
            return "Brought back", entry


def _undone(changed: MemoryChanged) -> str:
    entry, previous = _quoted(changed.entry), _quoted(changed.previous)
    match changed.change:
        case "added":
            return "This is not in my memory."
        case "restored":
            return f"{entry or 'This'} is history again."
        case _:
            return f"I have {previous or 'what there was'} in my memory again."


def _rival(rival: MemoryEntry, reply_id: int | None, number: int) -> str:
    kept = f'I also keep <span dir="auto">{_quoted(rival)}</span> ({markup.day(rival.recorded_at.astimezone())}).'
    replace = _button("Replace it", "supersede", reply_id, number, about=rival, memory_id=rival.memory_id)
    return f"<div>{kept}</div>{replace}"


def _not_kept(one: NotKept, reply_id: int | None) -> str:
    act = "" if one.number is None else _button("Do it anyway", "insist", reply_id, one.number, label=one.text)
    return (
        f'<li class="m-change m-not-kept"><div><strong>Not done</strong> <span dir="auto">{markup.text(one.text)}</span> '
        f'<small dir="auto">{markup.text(one.reason)}</small></div>{act}</li>'
    )


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


def _quoted(entry: MemoryEntry | None) -> str:
    return f"“{markup.text(entry.text or entry.caption or 'a photo')}”" if entry else ""
