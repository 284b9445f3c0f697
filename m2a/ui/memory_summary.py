"""The summary at the top of the memory: a few memories about each subject, in their own words."""

from collections.abc import Container, Sequence
from datetime import date

from m2a.types import ConceptKind, SubjectSummary
from m2a.ui import markup
from m2a.ui.evidence import memory_link
from m2a.ui.memory_list import ELSE, UNNAMED

KINDS: dict[ConceptKind, str] = {"person": "Person", "pet": "Pet", "place": "Place", "thing": "Thing"}


def summary_html(summaries: Sequence[SubjectSummary], total: int, corrected: Container[int], *, today: date) -> str:
    """Returns each subject with the newest memories about it; empty if the whole list is just as short.

    `corrected` are the memories that others correct.
    """
    if total <= sum(len(summary.entries) for summary in summaries):
        return ""
    return (
        '<section class="m-summary" aria-label="What I know, in short"><h3 class="m-part">At a glance</h3>'
        f"{''.join(_subject(summary, corrected, today) for summary in summaries)}</section>"
        '<h3 class="m-part">Everything, newest first</h3>'
    )


def _subject(summary: SubjectSummary, corrected: Container[int], today: date) -> str:
    name = markup.text(summary.subject.name) if summary.subject else ELSE
    kind = f"{KINDS[summary.subject.kind]} · " if summary.subject else ""
    updated = markup.day_name(summary.last_updated.astimezone().date(), today)
    about = summary.subject.concept_id if summary.subject else UNNAMED
    more = summary.memories - len(summary.entries)
    more_button = (
        f'<button type="button" class="m-act" data-memory-act="about" data-about="{about}" '
        f'aria-label="All about {name}">All {summary.memories}</button>'
        if more > 0
        else ""
    )
    since = "<small>corrected since</small>"
    lines = "".join(
        f"<li>{memory_link(entry)}{since if entry.memory_id in corrected else ''}</li>" for entry in summary.entries
    )
    return (
        f'<div class="m-in-short"><h4 dir="auto">{name}</h4>{more_button}'
        f"<p>{kind}{markup.plural(summary.memories, 'memory', 'memories')} · Last updated: {updated}</p>"
        f"<ul>{lines}</ul></div>"
    )
