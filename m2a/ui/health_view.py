"""What a check of the memory found, as HTML, with what can be done about each finding."""

from datetime import datetime
from itertools import groupby

from m2a.types import FindingKind, Health, OpenFinding
from m2a.ui import markup
from m2a.ui.evidence import memory_link

# The title, the explanation, and the buttons as (remedy, label).
_KINDS: dict[FindingKind, tuple[str, str, tuple[tuple[str, str], ...]]] = {
    "injection": (
        "Reads like an instruction to me",
        "It may come from a photo or a pasted text. I never follow a memory as an instruction, but you may not want to keep it.",
        (("forget", "Forget it"), ("", "It’s fine")),
    ),
    "contradiction": (
        "May contradict each other",
        "They may be about the same thing. I was not sure, so I kept both.",
        (("newer", "The newer is right"), ("older", "The older is right"), ("", "Both are true")),
    ),
    "corrected": (
        "Corrected, and both kept",
        "The newer corrects the older. I kept the older because part of it may still be true.",
        (("newer", "Only the newer is true"), ("", "Keep both")),
    ),
    "duplicate": (
        "Duplicates",
        "They say the same thing in nearly the same words.",
        (("newer", "Keep the newest"), ("", "Leave them")),
    ),
    "unsupported": (
        "Without a source",
        "The messages that they came from are missing.",
        (("forget", "Forget it"), ("", "Leave it")),
    ),
    "photo": (
        "Photos that a text search cannot find",
        "They have no caption yet, or are not in the search index.",
        (("caption", "Look at it now"), ("", "Leave it")),
    ),
}


def health_html(health: Health | None, checked_at: datetime | None = None, *, working: str = "") -> str:
    """Returns the section: the findings of the newest check, or `working` in their place, and a button that checks again.

    Findings are kept until M2A is closed; the time of the check is kept longer.
    """
    again = "Check the memory" + (" again" if checked_at else "")
    button = f'<button type="button" class="m-button" data-settings-act="check">{again}</button>'
    return (
        '<section class="m-setting" aria-labelledby="m2a-set-health"><h3 id="m2a-set-health" tabindex="-1">Memory health</h3>'
        "<p>Finds memories that repeat or may contradict each other, that have no source or read like an instruction, "
        f"and photos that a text search cannot find.</p>{working or _findings(health, checked_at)}"
        f'<div class="m-acts">{"" if working else button}</div></section>'
    )


def _findings(health: Health | None, checked_at: datetime | None) -> str:
    when = f"Last checked on {markup.moment(checked_at)}" if checked_at else "Not checked yet"
    if health is None:
        return f'<p class="m-when">{when}.{" Check it again to see what it finds." if checked_at else ""}</p>'
    left_out = dict(health.left_out)
    parts = "".join(
        _group(kind, list(group), left_out.get(kind, 0))
        for kind, group in groupby(health.shown, key=lambda open_finding: open_finding.finding.kind)
    )
    covered = markup.plural(health.memories, "memory", "memories") + ("" if parts else "; nothing wrong was found")
    return f'<p role="status">{when}: {covered}.</p>{_unused(health.unused)}{parts}'


def _unused(count: int) -> str:
    """Returns how many memories no answer has used yet, which is not a problem, with a link to their list."""
    if not count:
        return ""
    have, show = ("has", "Show it") if count == 1 else ("have", "Show them")
    link = f'<a href="/?memory=" data-place="memory" data-unused>{show}</a>'
    return f'<p class="m-when">{count:,} of them {have} not been used in an answer yet, which is fine. {link}</p>'


def _group(kind: FindingKind, findings: list[OpenFinding], left_out: int) -> str:
    title, why, _ = _KINDS[kind]
    items = "".join(_item(finding, number) for number, finding in enumerate(findings, start=1))
    more = f"<p>{left_out:,} more follow once these are done.</p>" if left_out else ""
    return (
        f'<h4>{title} <span>· {len(findings) + left_out:,}</span></h4><p class="m-when">{why}</p>'
        f'<ul class="m-findings">{items}</ul>{more}'
    )


def _item(open_finding: OpenFinding, number: int) -> str:
    finding, memories = open_finding.finding, open_finding.memories
    lines = "".join(
        f"<p>{memory_link(entry)} <small>{markup.day(entry.recorded_at.astimezone())}</small></p>" for entry in memories
    )
    photo = markup.photos([finding.photo_id], caption=f"Photo {number}") if finding.photo_id else ""
    about = memories[-1].text if memories else f"photo {number}"
    buttons = "".join(
        f'<button type="button" class="m-act" data-settings-act="{"remedy" if remedy else "dismiss"}" '
        f'data-kind="{finding.kind}" data-subject="{markup.text(finding.subject)}" data-remedy="{remedy}" '
        f'aria-label="{markup.text(f"{name}: {about}")}">{name}</button>'
        for remedy, name in _KINDS[finding.kind][2]
    )
    return f'<li>{photo}{lines}<div class="m-finding-acts">{buttons}</div></li>'
