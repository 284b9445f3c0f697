"""How the page and its handlers reach each other, the same for every panel."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import gradio as gr
from gradio.block_function import BlockFunction

from m2a.ui.plain_words import in_plain_words


class Page(gr.Blocks):
    """Blocks whose handlers' outputs reach the browser whole, one after another.

    Gradio sends what changed within an output, and its client makes that change in the output before, which may still
    wait to be shown: with "and now nothing new" the box's buttons were lost where the tab was hidden or slow.
    """

    def handle_streaming_diffs(
        self,
        block_fn: BlockFunction,
        data: list[Any],
        session_hash: str | None,
        run: str | None,
        final: bool,
        simple_format: bool = False,
    ) -> list[Any]:
        streamed = session_hash is not None and run in self.pending_diff_streams[session_hash] and not final
        whole = list(data)
        sent = super().handle_streaming_diffs(block_fn, data, session_hash, run, final, simple_format)
        if not streamed or simple_format:
            return sent
        return [
            [["replace", [], output]] if any(path for _, path, _ in edits) else edits
            for edits, output in zip(sent, whole, strict=True)
        ]


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
