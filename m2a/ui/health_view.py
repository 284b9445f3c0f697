"""What a look through the memory found, as HTML, each with what can be done about it."""

from itertools import groupby

from m2a.types import FindingKind, Health, OpenFinding
from m2a.ui import markup
from m2a.ui.evidence import memory_link

# What it is, what is to be known of it, and the buttons: what each does, and its words.
_KINDS: dict[FindingKind, tuple[str, str, tuple[tuple[str, str], ...]]] = {
    "injection": (
        "Reads like an instruction to me",
        "It may have come with a photo or a pasted text. I take no memory as an instruction, but you may not want to keep it.",
        (("forget", "Forget it"), ("", "It is fine")),
    ),
    "contradiction": (
        "Kept side by side",
        "The newer may be said of the same thing. I could not be sure, so I kept both.",
        (("newer", "The newer holds"), ("older", "The older holds"), ("", "Both are true")),
    ),
    "duplicate": (
        "Say the same",
        "They differ in nothing but form.",
        (("newer", "Keep the newest"), ("", "Leave them")),
    ),
    "unsupported": (
        "Rest on nothing",
        "The messages that they rest on are not there.",
        (("forget", "Forget it"), ("", "Leave it")),
    ),
    "photo": (
        "Photos that words do not find",
        "They have no caption yet, or no vector.",
        (("look", "Look at it now"), ("", "Leave it")),
    ),
}


def health_html(health: Health | None, *, working: str = "") -> str:
    """The section: a button that looks through the memory, and what the newest look found. `working` stands in its place."""
    again = "Look through my memory" + (" again" if health else "")
    button = f'<button type="button" class="m-button" data-settings-act="look">{again}</button>'
    return (
        '<section class="m-setting" aria-labelledby="m2a-set-health"><h3 id="m2a-set-health" tabindex="-1">Health of the '
        "memory</h3><p>Finds memories that say the same, that were kept side by side, that rest on nothing or read like an "
        f"instruction, and photos that words do not find.</p>{working or _found(health)}"
        f'<div class="m-acts">{"" if working else button}</div></section>'
    )


def _found(health: Health | None) -> str:
    if health is None:
        return ""
    left_out = dict(health.left_out)
    parts = "".join(
        _group(kind, list(group), left_out.get(kind, 0))
        for kind, group in groupby(health.shown, key=lambda one: one.finding.kind)
    )
    looked = f"The last look went through {markup.plural(health.memories, 'memory', 'memories')}"
    known = "" if parts else " and found that nothing is wrong with them"
    unused = (
        f" No answer so far rested on {health.unused:,} of them, which is nothing to mend." if health.unused else ""
    )
    return f'<p role="status">{looked}{known}.{unused}</p>{parts}'


def _group(kind: FindingKind, found: list[OpenFinding], left_out: int) -> str:
    title, why, _ = _KINDS[kind]
    items = "".join(_item(one) for one in found)
    more = f"<p>{left_out:,} more come once these are done.</p>" if left_out else ""
    return (
        f'<h4>{title} <span>· {len(found) + left_out:,}</span></h4><p class="m-when">{why}</p>'
        f'<ul class="m-findings">{items}</ul>{more}'
    )


def _item(one: OpenFinding) -> str:
    finding = one.finding
    lines = "".join(
        f"<p>{memory_link(entry)} <small>{markup.day(entry.recorded_at.astimezone())}</small></p>"
        for entry in one.memories
    )
    photo = markup.photos([finding.photo_id], caption="Photo of the memory") if finding.photo_id else ""
    about = one.memories[-1].text or one.memories[-1].caption if one.memories else "photo"
    buttons = "".join(
        f'<button type="button" class="m-act" data-settings-act="{"mend" if mending else "dismiss"}" '
        f'data-kind="{finding.kind}" data-subject="{markup.text(finding.subject)}" data-mending="{mending}" '
        f'aria-label="{markup.text(f"{name}: {about}")}">{name}</button>'
        for mending, name in _KINDS[finding.kind][2]
    )
    return f'<li>{photo}{lines}<div class="m-finding-acts">{buttons}</div></li>'
