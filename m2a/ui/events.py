"""How the page and its handlers reach each other, the same for every panel."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from m2a.ui.plain_words import in_plain_words


def forwarded(place: str, names: Sequence[str]) -> str:
    """The script of a part to which the page's script hands clicks and forms, as events of the document named `place`.

    Gradio looks for the names in it, in quotes.
    """
    return f"""
document.addEventListener('{place}', (event) => {{
  if ({list(names)}.includes(event.detail.name)) trigger(event.detail.name, event.detail.data);
}});
"""


def connect(
    event: Callable[..., Any],
    handler: Callable[..., Any],
    inputs: Any = None,
    outputs: Any = None,
    trigger_mode: Literal["once", "multiple", "always_last"] = "multiple",
) -> Any:
    """Has the event call the handler, which may run many times at once; nothing blinks meanwhile, and no client sees it listed.

    Returns what other events can follow.
    """
    return event(
        in_plain_words(handler),
        inputs=inputs,
        outputs=outputs,
        trigger_mode=trigger_mode,
        show_progress="hidden",
        concurrency_limit=None,
        api_visibility="private",
    )
