"""The first content: the page is sent with what its address names, so that it can be read before Gradio has started.

The first content covers Gradio's page, in a closed shadow tree that the page's script and Gradio's styles do not reach. It is
inert, because anything typed or pressed would be lost. The page's script removes it once Gradio shows the same below it.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from m2a.sentences import location_of
from m2a.ui import memory_list
from m2a.ui.chat_panel import MESSAGE_PLACEHOLDER
from m2a.ui.chat_view import ChatView
from m2a.ui.conversations_panel import search_html
from m2a.ui.memory_panel import MemoryPanel
from m2a.ui.page import brand_html, foot_html
from m2a.ui.page_scripts import script_tags
from m2a.ui.request import record_id_in
from m2a.ui.review_card import review_html
from m2a.ui.settings_panel import SettingsPanel
from m2a.ui.settings_view import head_html

if TYPE_CHECKING:
    from m2a.assistant import Assistant

_HEAD = f'<head><link rel="stylesheet" href="/m2a/page.css">{script_tags()}'.encode()
_STYLES = '<link rel="stylesheet" href="/m2a/page.css"><link rel="stylesheet" href="/m2a/first.css">'

_log = logging.getLogger(__name__)


class FirstContent:
    """ASGI middleware that puts the first content into the page. If that fails, the page is sent without it."""

    def __init__(self, app: ASGIApp, *, assistant: "Assistant", owner_of: Callable[[Request], str]) -> None:
        self._app, self._assistant, self._owner_of = app, assistant, owner_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or scope["path"] != "/":
            await self._app(scope, receive, send)
            return
        start: Message | None = None
        body = b""

        async def send_with_content(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start" and message["status"] == 200:
                start = message
            elif message["type"] == "http.response.body" and start is not None:
                body += message.get("body", b"")
                if message.get("more_body"):
                    return
                before, gradio, after = body.replace(b"<head>", _HEAD, 1).partition(b"<gradio-app")
                del MutableHeaders(scope=start)["content-length"]
                await send(start)
                # While the content is written, the browser already fetches the files that the head names.
                await send({"type": "http.response.body", "body": before, "more_body": True})
                content = await asyncio.to_thread(self._content, Request(scope))
                await send({"type": "http.response.body", "body": content + gradio + after})
            else:
                await send(message)

        await self._app(scope, receive, send_with_content)

    def _content(self, request: Request) -> bytes:
        try:
            html = first_html(self._assistant, self._owner_of(request), request.query_params)
        except Exception as error:  # the page works without it, and its handlers report what is wrong
            _log.error("The first content of the page failed: %s", location_of(error))
            return b""
        return html.encode("utf-8", "replace")


def first_html(assistant: "Assistant", owner: str, address: Mapping[str, str]) -> str:
    """Returns the chat, with the memory beside it or covered by the settings if the parameters of the address ask for that."""
    if "settings" in address:
        css_class, place, beside = "m-settings-open", "settings", _settings(assistant, owner)
    elif (memory := address.get("memory")) is not None:
        css_class, place, beside = "m-memory-open", "memory", _memory(assistant, owner, memory)
    else:
        css_class, place, beside = "", "chat", ""
    conversations, chat = _chat(assistant, owner, address)
    side = (
        f'<div id="m2a-brand">{brand_html(place)}</div><div id="m2a-find-conversations">{search_html()}</div>'
        f'<div id="m2a-conversations">{conversations}</div><div id="m2a-side-foot">{foot_html(assistant)}</div>'
    )
    return (
        f'<div id="m2a-first" inert><template shadowrootmode="closed">{_STYLES}<div class="{css_class}"><div id="m2a">'
        f'<div id="m2a-side">{side}</div><div id="m2a-main">{chat}</div>{beside}</div></div></template></div>'
    )


def _chat(assistant: "Assistant", owner: str, address: Mapping[str, str]) -> tuple[str, str]:
    """Returns the list of conversations and the open one, whose end comes first: the style sheet lays it out from below."""
    view = ChatView(assistant)
    conversation_id = view.requested_or_last(owner, address.get("conversation"))
    turns = assistant.turns.running(owner, conversation_id) if conversation_id else []
    update = view.full_update(owner, conversation_id, None, turns[-1] if turns else None)
    message_id = record_id_in(address.get("message"))
    near = view.around(owner, conversation_id, message_id) if conversation_id and message_id is not None else None
    if near is None:
        talk = f'<div id="m2a-live">{update.live}</div><div id="m2a-history">{update.history}</div>'
    else:  # nothing scrolls here, so the layout itself centres the message
        linked = near[0].replace(f'" id="m{message_id}"', f' m-found-here" id="m{message_id}"')
        talk = (
            f'<div class="m-first-after"><div id="m2a-live">{near[1]}</div></div>'
            f'<div class="m-first-before"><div id="m2a-history">{linked}</div></div>'
        )
    return update.conversations or "", (
        f'<div id="m2a-heading">{update.heading}</div><div id="m2a-talk">{talk}</div>'
        f'<div id="m2a-foot"><div class="m-first-box">{MESSAGE_PLACEHOLDER}</div></div>'
    )


def _memory(assistant: "Assistant", owner: str, memory_id: str) -> str:
    _view, _notice, opened, list_html = MemoryPanel(assistant).at(owner, memory_id)
    review = review_html(assistant.review(owner), is_requested=False)
    return (
        '<div id="m2a-memory"><div id="m2a-memory-controls">'
        f'{memory_list.controls_html()}</div><div id="m2a-memory-body"><div id="m2a-review">'
        f'{review}</div><div id="m2a-memory-opened">{opened}</div><div id="m2a-memory-list">{list_html}</div>'
        f'</div><div id="m2a-memory-foot">{memory_list.foot_html()}</div></div>'
    )


def _settings(assistant: "Assistant", owner: str) -> str:
    sections = "".join(f"<div>{section}</div>" for section in SettingsPanel(assistant).sections(owner))
    return (
        f'<div id="m2a-settings"><div id="m2a-settings-head">{head_html()}</div>'
        f'<div id="m2a-settings-body">{sections}</div></div>'
    )
