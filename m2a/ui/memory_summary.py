"""What is known, by subject, as the memory opens with it: a few lines of each, in the memories' own words."""

from collections.abc import Container, Sequence
from datetime import date

from m2a.types import ConceptKind, SubjectSummary
from m2a.ui import markup
from m2a.ui.evidence import memory_link
from m2a.ui.memory_list import ELSE, UNNAMED

KINDS: dict[ConceptKind, str] = {"person": "Person", "pet": "Pet", "place": "Place", "thing": "Thing"}


def summary_html(summaries: Sequence[SubjectSummary], total: int, corrected: Container[int], *, today: date) -> str:
    """Shows each subject with what was told last about it; empty if the whole list is just as short.

    Others correct those `corrected`.
    """
    if total <= sum(len(one.entries) for one in summaries):
        return ""
    return (
        '<section class="m-summary" aria-label="What I know, in short"><h3 class="m-part">At a glance</h3>'
        f"{''.join(_subject(one, corrected, today) for one in summaries)}</section>"
        '<h3 class="m-part">Everything, newest first</h3>'
    )


def _subject(one: SubjectSummary, corrected: Container[int], today: date) -> str:
    name = markup.text(one.subject.name) if one.subject else ELSE
    kind = f"{KINDS[one.subject.kind]} · " if one.subject else ""
    updated = markup.day_name(one.last_updated.astimezone().date(), today)
    about = one.subject.concept_id if one.subject else UNNAMED
    more = one.memories - len(one.entries)
    rest = (
        f'<button type="button" class="m-act" data-memory-act="about" data-about="{about}" '
        f'aria-label="All about {name}">All {one.memories}</button>'
        if more > 0
        else ""
    )
    since = "<small>corrected since</small>"
    lines = "".join(
        f"<li>{memory_link(entry)}{since if entry.memory_id in corrected else ''}</li>" for entry in one.entries
    )
    return (
        f'<div class="m-in-short"><h4 dir="auto">{name}</h4>{rest}'
        f"<p>{kind}{markup.plural(one.memories, 'memory', 'memories')} · Last updated: {updated}</p>"
        f"<ul>{lines}</ul></div>"
    )
