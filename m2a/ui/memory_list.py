"""The list of memories, newest first by day, or the results of a search; and the subjects that they are about."""

from collections.abc import Container, Sequence
from datetime import date, datetime
from itertools import groupby

from m2a.types import ConceptKind, Hit, MemoryEntry, MemoryKind, MemoryPage, NotKept, RecordedChange, Subject
from m2a.ui import markup
from m2a.ui.evidence import memory_link
from m2a.ui.notices import memory_html
from m2a.ui.sources import found_in_short

PAGE = 30
UNNAMED = 0  # used in place of a subject's id; no subject has it
ELSE = "Everything else"
# The kinds of subjects and of memories, in the plural.
KINDS: dict[ConceptKind | MemoryKind, str] = {
    "person": "people",
    "pet": "pets",
    "place": "places",
    "thing": "things",
    "event": "events",
    "preference": "preferences",
    "fact": "facts",
    "procedure": "instructions",
}
_RESTS_ON = {"stated": "you said it", "agreed": "you agreed", "shown": "shown, not said", "unchecked": "unchecked"}
_EVERYWHERE = '<button type="button" class="m-button" data-memory-act="everywhere">Search everywhere</button>'
CLEAR = '<button type="button" class="m-button" data-memory-act="clear">Show everything</button>'


def controls_html() -> str:
    """Returns the heading, the search by words or by a photo, and the filters. They stay while the list changes."""
    kinds = "".join(f'<option value="{kind}">{name}</option>' for kind, name in KINDS.items())
    return (
        f'<div class="m-memory-head">{markup.menu()}<h2 tabindex="-1">Memory</h2><p>What I know, and why · '
        '<a href="/?settings=" data-place="settings" data-at="m2a-set-health">Memory health</a></p>'
        '<button type="button" class="m-icon" data-place="chat" aria-label="Close the memory">✕</button></div>'
        '<form class="m-find" data-find role="search"><input type="search" name="words" maxlength="400" '
        'autocomplete="off" aria-label="Search what I remember" placeholder="Search what I remember">'
        '<label class="m-button m-by-photo">By photo'
        '<input type="file" accept="image/*" data-find-photo aria-label="Search by a photo"></label>'
        '<details class="m-details m-filters"><summary>Filter</summary><div>'
        f'<label>Kind <select name="kind"><option value="">any</option>{kinds}</select></label>'
        '<label>Source <select name="rests_on"><option value="">any</option>'
        '<option value="stated">what you said</option><option value="agreed">what you agreed to</option>'
        '<option value="shown">what a photo or text shows</option></select></label>'
        '<label>Told or happened between <input type="date" name="since"></label>'
        '<label>and <input type="date" name="until"></label>'
        '<label class="m-check"><input type="checkbox" name="photos"> With photos</label>'
        '<label class="m-check"><input type="checkbox" name="unused"> Not used in an answer yet</label></div></details></form>'
    )


def foot_html() -> str:
    """Returns the form where a change is typed, which is sent as a message of the chat."""
    return (
        '<form class="m-tell" data-tell><label for="m2a-tell">Tell me a change</label><div>'
        '<input id="m2a-tell" name="text" maxlength="20000" autocomplete="off" aria-describedby="m2a-tell-where" '
        'placeholder="For example: I’m vegan now">'
        '<button class="m-button">Tell M2A</button></div>'
        '<small id="m2a-tell-where">Sent as a message in the chat: '
        '<b data-tell-where dir="auto">the open conversation</b></small></form>'
        '<p class="m-tell-not">A temporary chat is open, and it changes nothing in the memory. End it to tell me a change.</p>'
    )


def page_html(page: MemoryPage, start: int, corrected: Container[int], *, today: date, is_filtered: bool) -> str:
    """Returns a page of the list, with buttons to the other pages. `corrected` are the memories that others correct."""
    if not page.total:
        return _none_html("No memory matches these filters.") if is_filtered else _empty_html()
    groups = []
    for name, members in groupby(page.entries, key=lambda entry: _group(entry, today)):
        rows = "".join(row_html(entry, is_corrected=entry.memory_id in corrected) for entry in members)
        groups.append(f'<h3>{name}</h3><ul class="m-memories">{rows}</ul>')
    return "".join(groups) + pages_html(start, len(page.entries), page.total)


def hits_html(hits: Sequence[Hit], words: str, corrected: Container[int], about: str, *, is_kept_back: bool) -> str:
    """Returns the hits, best first, each with how it was found. If none is near, it says so and shows the closest.

    `about` is the subject that the search is limited to. `is_kept_back`: memories that are not used contain the words.
    """
    if is_kept_back and not any(hit.is_near for hit in hits):
        return _none_html(f"What I know about “{words}” is listed below: I keep it, but no answer uses it.")
    subject, button = (f"Nothing about {about}", _EVERYWHERE) if about else ("Nothing that I remember", CLEAR)
    if not hits:
        return _none_html(f"{subject} matches “{words}”. Try other words, or fewer.", button)
    rows = "".join(
        row_html(hit.record, found_in_short(hit), is_corrected=hit.record.memory_id in corrected)
        for hit in hits
        if isinstance(hit.record, MemoryEntry)
    )
    if any(hit.is_near for hit in hits):
        return f'<h3>Best matches first</h3><ul class="m-memories">{rows}</ul>'
    none = _none_html(f"{subject} is close to “{words}”. Try other words, or see if one of these is it.", button)
    return f'{none}<h3>The closest I have</h3><ul class="m-memories">{rows}</ul>'


def subjects_html(subjects: Sequence[Subject], about: int | None, *, today: date) -> str:
    """Returns the subjects of the memories, with their counts and the time of the newest; one may be chosen."""
    if not subjects:
        return ""
    if about == UNNAMED:
        return f'<div class="m-subjects" role="group" aria-label="Subjects">{_chip(ELSE, "", "", UNNAMED, is_chosen=True)}</div>'
    chosen = [subject for subject in subjects if subject.concept_id == about]
    items = "".join(_subject(subject, today, is_chosen=subject.concept_id == about) for subject in chosen or subjects)
    return f'<div class="m-subjects" role="group" aria-label="Subjects">{items}</div>'


def summary_html(total: int, kept_back: int, last_updated: datetime | None, *, today: date) -> str:
    """Returns the number of memories, how many of them answers do not use, and when the memory was last updated."""
    if last_updated is None:
        return ""
    updated = markup.day_name(last_updated.astimezone().date(), today)
    more = f", and {kept_back:,} that no answer uses" if kept_back else ""
    counts = f"{markup.plural(total, 'memory', 'memories')}{more}"
    return f'<p class="m-known" role="status">{counts} · Last updated: {updated}</p>'


def notice_html(changes: Sequence[RecordedChange], not_kept: Sequence[NotKept], unasked: int, reply_id: int) -> str:
    """Returns the last changes, as the chat shows them, each with its Undo."""
    lines = memory_html(changes, not_kept, unasked, reply_id=reply_id, id_prefix="p")
    lines = lines or "<p>This changed nothing in my memory. My answer is in the chat.</p>"
    return f'<div class="m-told" role="status" tabindex="-1" data-told="{reply_id}">{lines}</div>'


def _subject(subject: Subject, today: date, *, is_chosen: bool) -> str:
    updated = markup.day_name(subject.last_updated.astimezone().date(), today)
    count = f" <small>{subject.memories}</small>"
    return _chip(subject.name, count, f' title="Last updated: {updated}"', subject.concept_id, is_chosen=is_chosen)


def _chip(name: str, count: str, title: str, about: int, *, is_chosen: bool) -> str:
    return (
        f'<button type="button" data-memory-act="about" data-about="{"" if is_chosen else about}" '
        f'aria-pressed="{str(is_chosen).lower()}" data-focus="about-{about}"{title}>'
        f'<span dir="auto">{markup.text(name)}</span>{count}{" ✕" if is_chosen else ""}</button>'
    )


def _group(entry: MemoryEntry, today: date) -> str:
    return "Pinned" if entry.pinned_at else markup.day_name(entry.recorded_at.astimezone().date(), today)


def row_html(entry: MemoryEntry, how_found: str = "", *, is_corrected: bool = False) -> str:
    """Returns a memory as a row of a list: what it rests on, when it happened, whether it is corrected, and how it was found."""
    notes = [_RESTS_ON[entry.rests_on]]
    if is_corrected:
        notes.append("corrected since")
    if entry.happened:
        notes.append(markup.interval(entry.happened))
    if entry.pinned_at:
        notes.insert(0, "pinned")
    if len(entry.photo_ids) > 1:
        notes.append(markup.plural(len(entry.photo_ids), "photo"))
    if entry.used_until:
        notes.append(f"until {markup.day(entry.used_until)}")
    if how_found:
        notes.append(how_found)
    photo = markup.photo(entry.photo_ids[0], caption=entry.caption) if entry.photo_ids else ""
    return f"<li>{photo}<div>{memory_link(entry)}<small>{markup.text(' · '.join(notes))}</small></div></li>"


def pages_html(start: int, shown: int, total: int) -> str:
    """Returns the buttons to the previous and the next page; empty if there is only one page."""
    if total <= shown:
        return ""

    def button(name: str, first: int, *, is_enabled: bool) -> str:
        disabled = "" if is_enabled else " disabled"
        return (
            f'<button type="button" class="m-button" data-memory-act="page" data-start="{max(first, 0)}" '
            f'data-focus="{name}"{disabled}>{name}</button>'
        )

    newer = button("Newer", start - PAGE, is_enabled=start > 0)
    older = button("Older", start + PAGE, is_enabled=start + shown < total)
    where = f"<span>{start + 1:,}–{start + shown:,} of {total:,}</span>"
    return f'<nav class="m-pages" aria-label="Pages of the memory">{newer}{where}{older}</nav>'


def _none_html(words: str, button: str = CLEAR) -> str:
    return f'<div class="m-empty"><p dir="auto">{markup.text(words)}</p>{button}</div>'


def _empty_html() -> str:
    return (
        '<div class="m-empty"><p><strong>I don’t know anything about you yet.</strong></p><p>Tell me something in the '
        "chat or below, or show me a photo. What I remember appears here, and you can correct it or have me "
        "forget it.</p></div>"
    )
