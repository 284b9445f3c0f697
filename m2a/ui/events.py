"""What every panel is built of: its parts, and how they and the handlers reach each other."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import gradio as gr
from gradio.block_function import BlockFunction

from m2a.ui.plain_words import in_plain_words


class Page(gr.Blocks):
    """Blocks that send every output of a handler whole.

    Gradio sends only the difference to the previous output, which its client may not have shown yet. In a hidden or slow tab
    the message box lost its buttons that way, when the next output changed nothing in it.
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
        is_stream = session_hash is not None and run in self.pending_diff_streams[session_hash] and not final
        outputs = list(data)
        diffs = super().handle_streaming_diffs(block_fn, data, session_hash, run, final, simple_format)
        if not is_stream or simple_format:
            return diffs
        return [
            [["replace", [], output]] if any(path for _, path, _ in edits) else edits
            for edits, output in zip(diffs, outputs, strict=True)
        ]


def forwarded(event_name: str, names: Sequence[str]) -> str:
    """Returns the script of a component that triggers the named events when the page's script dispatches them to `event_name`.

    Gradio searches the script for the quoted names.
    """
    return f"""
document.addEventListener('{event_name}', (event) => {{
  if ({list(names)}.includes(event.detail.name)) trigger(event.detail.name, event.detail.data);
}});
"""


def html_part(
    content: str | Callable[[], str] = "", *, elem_id: str | None = None, script: str | None = None
) -> gr.HTML:
    """Returns a part of the page that holds M2A's own HTML, which Gradio's styles leave alone."""
    return gr.HTML(content, elem_id=elem_id, apply_default_css=False, js_on_load=script)


def connect(
    event: Callable[..., Any],
    handler: Callable[..., Any],
    inputs: Any = None,
    outputs: Any = None,
    trigger_mode: Literal["once", "multiple", "always_last"] = "multiple",
) -> Any:
    """Calls the handler on each event, several at once if need be, without a progress display or an API entry.

    Returns a dependency that other events can follow.
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
