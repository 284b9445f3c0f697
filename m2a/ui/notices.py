"""The quiet lines below an answer: what was remembered, changed or forgotten, and what failed."""

from collections.abc import Sequence

from m2a.types import Failed, MemoryChanged, MemoryEntry
from m2a.ui import markup


def changes_html(changes: Sequence[MemoryChanged]) -> str:
    """One line per change of the memory; update records, which only repeat a change, have none."""
    lines = "".join(_change(change) for change in changes if _is_shown(change))
    return f'<ul class="m-changes" aria-label="Changes to the memory">{lines}</ul>' if lines else ""


def failures_html(failures: Sequence[Failed]) -> str:
    return "".join(failure_html(failure) for failure in failures)


def failure_html(failure: Failed) -> str:
    title = "<strong>I could not answer.</strong> " if failure.stage == "reply" else ""
    return f'<div class="m-failure" role="alert">{title}{markup.text(failure.reason)}</div>'


def refusal_html(reason: str) -> str:
    """A message that was not taken at all; its words are back in the box."""
    return f'<div class="m-failure" role="alert"><strong>I did not take this.</strong> {markup.text(reason)}</div>'


def _is_shown(change: MemoryChanged) -> bool:
    return change.entry is None or change.entry.kind != "update record"


def _change(change: MemoryChanged) -> str:
    match change.change:
        case "added":
            title, words = "Remembered", _words(change.entry)
        case "replaced":
            before = (
                f"<del>{_words(change.previous)}</del> <span aria-hidden='true'>→</span> " if change.previous else ""
            )
            title, words = "Changed", f"{before}<ins>{_words(change.entry)}</ins>"
        case "deleted":
            # Not erased: no search finds it and no list shows it, but the database keeps its history and the messages.
            what = f"<del>{_words(change.previous)}</del>" if change.previous else "a memory, as you asked"
            title, words = "Forgot", f"{what} <small>It is no longer a memory; the chat keeps what was said.</small>"
    return f'<li class="m-change m-{change.change}"><strong>{title}</strong> <span dir="auto">{words}</span></li>'


def _words(entry: MemoryEntry | None) -> str:
    return markup.text(entry.text or entry.caption or "a photo") if entry else ""
