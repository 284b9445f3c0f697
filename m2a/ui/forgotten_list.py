"""The list of what was forgotten and is still on the disk: when, and how much. Only the erase dialog shows its words."""

from collections.abc import Sequence

from m2a.types import PastForgetting
from m2a.ui import markup
from m2a.ui.erase_button import erase_button
from m2a.ui.evidence import message_link

FORGOTTEN = "forgotten"  # the value of a view's `unused_list` for what was forgotten


def forgotten_html(forgettings: Sequence[PastForgetting]) -> str:
    """Returns the acts of forgetting, each with a button to erase it, and with an Undo if that is possible."""
    if not forgettings:
        return '<h3>Forgotten</h3><p class="m-nothing">Nothing that was forgotten is left.</p>'
    rows = "".join(map(_row, forgettings))
    return (
        "<h3>Forgotten</h3><p>I no longer find or use any of this, and show it only to ask you before it is erased. It "
        "stays on the disk, so that Undo can bring it back, until you erase it for good.</p>"
        f'<ul class="m-memories m-past">{rows}</ul>'
        f"<p>{erase_button('forgotten', None, 'Erase all that was forgotten…')}</p>"
    )


def _row(forgetting: PastForgetting) -> str:
    number, reply = forgetting.forgetting_id, forgetting.reply
    label = markup.plural(forgetting.memories, "memory", "memories") if forgetting.memories else "Words of a message"
    name, when, undo = label, "", ""
    if reply is not None:
        name = f"{label}, forgotten on {markup.minute(reply.said_at)}"
        when = f" <small>Forgotten on {markup.moment(reply.said_at)} · {message_link(reply)}</small>"
        undo = (
            f'<button type="button" class="m-act" data-act="undo" data-reply="{reply.message_id}" '
            f'data-number="{forgetting.number}" aria-label="Undo: {name}">Undo</button>'
        )
    erase = erase_button("forgotten", number, "Erase for good…", label=f"Erase for good… {name}", style="m-act")
    return f'<li><div><b>{label}</b>{when}</div><span class="m-pair">{undo}{erase}</span></li>'
