"""The page: the side bar, the chat, the memory beside it, and the settings.

A new panel has `build` and `connect`, which `build_page` calls. A place in the side bar also needs a line in `_PLACES`.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import gradio as gr

from m2a.ui import temporary_view, welcome
from m2a.ui.chat_panel import ChatPanel
from m2a.ui.conversations_panel import NEW
from m2a.ui.erase_panel import ErasePanel
from m2a.ui.events import Page, connect, forwarded, html_part
from m2a.ui.memory_panel import MemoryPanel
from m2a.ui.settings_panel import SettingsPanel

if TYPE_CHECKING:
    from m2a.assistant import Assistant

# The page already loads it at its start; this link comes after Gradio's styles and so overrides them.
HEAD = '<link rel="stylesheet" href="/m2a/page.css">'

_PLACES = (("chat", "Chat", "/"), ("memory", "Memory", "/?memory="), ("settings", "Settings", "/?settings="))
_MARK = ' aria-current="page"'
_ON_NEW = forwarded("m2a-new", ["new", "temporary"])


def build_page(assistant: "Assistant", uploads: Path) -> gr.Blocks:
    """Returns the Gradio application. `uploads` is the private folder where Gradio keeps files until they are sent."""
    page: gr.Blocks
    chat, memory, settings = ChatPanel(assistant, uploads), MemoryPanel(assistant), SettingsPanel(assistant)
    erasing = ErasePanel(assistant)
    with Page(
        title="M2A", analytics_enabled=False, fill_width=True, fill_height=True, delete_cache=(3600, 86400)
    ) as page:
        with gr.Row(elem_id="m2a"):
            with gr.Column(elem_id="m2a-side", scale=0, min_width=0):
                new = html_part(brand_html(), elem_id="m2a-brand", script=_ON_NEW)
                chat.build_conversations()
                # Written again at each load of the page: what the model can do is learned while it is used.
                foot = html_part(lambda: foot_html(assistant), elem_id="m2a-side-foot")
            with gr.Column(elem_id="m2a-main", scale=1, min_width=0):
                chat.build_talk()
            with gr.Column(elem_id="m2a-memory", scale=0, min_width=0):
                memory.build()
            with gr.Column(elem_id="m2a-settings", scale=0, min_width=0):
                settings.build()
            erasing.build()
        chat.connect(page, new)
        memory.connect(page, chat)
        for connected in settings.connect(page, chat, memory):
            connect(connected.then, lambda: foot_html(assistant), outputs=foot)
        erasing.connect(chat, memory)
    page.queue(max_size=64, default_concurrency_limit=16, api_open=False)
    return page


def brand_html(open_place: str = "") -> str:
    """Returns the head of the side bar. The open place is marked; if none is given, the page's script marks it."""
    places = "".join(
        f'<li><a href="{address}" data-place="{place}"{_MARK if place == open_place else ""}>{name}</a></li>'
        for place, name, address in _PLACES
    )
    return (
        '<a class="m-skip" href="#m2a-talk" data-skip>Skip to the content</a>'
        '<div class="m-brand"><span class="m-mark" aria-hidden="true"></span><b>M2A</b><span>remembers with you</span>'
        '<button type="button" class="m-close" data-menu aria-label="Close the list">✕</button></div>'
        f'<nav class="m-places" aria-label="Places"><ul>{places}</ul></nav>'
        f'<button type="button" class="m-button m-new" data-new>{NEW}</button>{temporary_view.begin_html()}'
    )


def foot_html(assistant: "Assistant") -> str:
    """Returns the foot of the side bar."""
    return (
        welcome.model_html(assistant.settings.chat_model, assistant.chat_model_sentences())
        + '<button type="button" class="m-theme" data-theme-toggle>Theme: system</button>'
    )
