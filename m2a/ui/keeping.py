"""How a memory is kept: pinned, until a day, or not mentioned. The form for it, and the lists of memories that are not used."""

from datetime import date, timedelta
from typing import get_args

import gradio as gr

from m2a.types import Expiry, Keeping, KeepingBack, KeptBack, KeptBackReason, MemoryEntry, Pinning, Reason, Return
from m2a.ui import markup
from m2a.ui.erase_button import erase_memory_button
from m2a.ui.evidence import memory_link
from m2a.ui.forgotten_list import FORGOTTEN
from m2a.ui.plain_words import page_error
from m2a.ui.request import number_of

_TITLES: dict[KeptBackReason, str] = {"unmentioned": "Not mentioned", "expired": "Expired", "asked": "Forget it?"}
_SINCE: dict[KeptBackReason, str] = {
    "unmentioned": "not mentioned since",
    "expired": "expired; not used since",
    "asked": "not used since",
}
_WHY: dict[KeptBackReason, str] = {
    "unmentioned": "You asked me not to mention this. I keep it and show it here, but no answer uses it.",
    "expired": "Its last day has passed. I keep it and show it here, but no answer uses it.",
    "asked": "You may have asked to forget this; I was not sure. I keep it and show it here, but no answer uses it.",
}
_RETURN: dict[KeptBackReason, str] = {"unmentioned": "Mention it again", "expired": "Use it again", "asked": "Keep it"}
_LENGTHS = ((1, "Tomorrow"), (7, "In a week"), (30, "In a month"), (365, "In a year"))
_MAX_DAYS = 3_653
_WHY_CHOSEN: Reason = "the user chose it in the memory"


def keeping_of(event: gr.EventData, today: date) -> Keeping:
    """Returns the change that a button or the form of `keep_html` asks for."""
    memory_id, act = number_of(event, "memory_id"), getattr(event, "act", "")
    match act:
        case "pin" | "unpin":
            return Pinning(memory_id, act == "pin", _WHY_CHOSEN)
        case "withhold":
            return KeepingBack(memory_id, _WHY_CHOSEN)
        case "return":
            return Return(memory_id, _WHY_CHOSEN)
        case _:
            return Expiry(memory_id, _last_day(event, today), _WHY_CHOSEN)


def _last_day(event: gr.EventData, today: date) -> date | None:
    days, until = getattr(event, "days", None), str(getattr(event, "until", ""))
    if type(days) is int and 0 < days <= _MAX_DAYS:
        return today + timedelta(days=days)
    try:
        return date.fromisoformat(until) if until else None
    except ValueError:
        raise page_error(f"{until!r} is not a date; please choose one.") from None


def reason_of(text: str) -> KeptBackReason | None:
    """Returns the reason with this name, or None."""
    return next((reason for reason in get_args(KeptBackReason) if reason == text), None)


def keep_html(entry: MemoryEntry) -> str:
    """Returns the buttons for how a current memory is kept; those that remove it are elsewhere."""
    number = entry.memory_id
    pin = _act("unpin" if entry.pinned_at else "pin", number, "Unpin" if entry.pinned_at else "Pin")
    lengths = "".join(_act("until", number, name, days=days) for days, name in _LENGTHS)
    end = _act("until", number, "No last day") if entry.used_until else ""
    day = entry.used_until.isoformat() if entry.used_until else ""
    return (
        f'<div class="m-acts m-keep">{pin}'
        f'<details class="m-details m-edit" data-key="until-{number}"><summary class="m-button">Use until…</summary>'
        f'<form data-until="{number}"><label>The last day I use it'
        f'<input type="date" name="until" value="{day}" required></label><button class="m-button">Set</button>'
        f'<div class="m-lengths">{lengths}{end}</div>'
        "<small>After that day you find it under Expired, and can bring it back.</small>"
        f'<div class="m-edit-acts">{markup.CANCEL}</div></form></details>'
        f"{_act('withhold', number, 'Don’t mention')}"
        "<small>Don’t mention: you still see it here, but no answer uses it. Forget: it disappears from here, too.</small></div>"
    )


def kept_back_html(kept_back: KeptBack) -> str:
    """Returns why a memory is not used, and the button that returns it to use."""
    since = markup.day(kept_back.since.astimezone())
    return (
        f'<p class="m-near m-kept-back">{_WHY[kept_back.reason]} <small>Since {since}.</small></p>'
        f'<div class="m-acts m-keep">{_act("return", kept_back.entry.memory_id, _RETURN[kept_back.reason])}'
        f"{erase_memory_button(kept_back.entry)}</div>"
    )


def chips_html(counts: dict[KeptBackReason, int], forgettings: int, chosen: str) -> str:
    """Returns a button for each reason why memories are not used, and one for what was forgotten, with their counts.

    The chosen one leads back to the full list, and is there even if nothing is left of it.
    """
    chips: list[tuple[str, str, int]] = [(reason, title, counts.get(reason, 0)) for reason, title in _TITLES.items()]
    chips.append((FORGOTTEN, "Forgotten", forgettings))
    items = "".join(
        _chip(name, title, count, is_chosen=name == chosen) for name, title, count in chips if count or name == chosen
    )
    return f'<div class="m-subjects m-not-used" role="group" aria-label="Not used">{items}</div>' if items else ""


def listed_html(kept_back: list[KeptBack]) -> str:
    """Returns the list of memories that are kept but not used."""
    rows = "".join(map(_row, kept_back))
    rows = f'<ul class="m-memories">{rows}</ul>' if kept_back else '<p class="m-nothing">None are left.</p>'
    return f"<h3>Kept, but not used in answers</h3>{rows}"


def _row(kept_back: KeptBack) -> str:
    entry, since = kept_back.entry, f"{_SINCE[kept_back.reason]} {markup.day(kept_back.since.astimezone())}"
    photo = markup.photo(entry.photo_ids[0], caption=entry.caption) if entry.photo_ids else ""
    return f"<li>{photo}<div>{memory_link(entry)}<small>{since}</small></div></li>"


def _chip(name: str, title: str, count: int, *, is_chosen: bool) -> str:
    return (
        f'<button type="button" data-memory-act="about" data-unused-list="{"" if is_chosen else name}" '
        f'aria-pressed="{str(is_chosen).lower()}" data-focus="kept-{name}"><span>{title}</span> '
        f"<small>{count}</small>{' ✕' if is_chosen else ''}</button>"
    )


def _act(act: str, memory_id: int, name: str, *, days: int | None = None) -> str:
    length = "" if days is None else f' data-days="{days}"'
    return (
        f'<button type="button" class="m-button" data-memory-act="keep" data-how="{act}" data-of="{memory_id}"{length}>'
        f"{name}</button>"
    )
