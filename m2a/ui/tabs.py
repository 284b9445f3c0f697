"""The browser tabs that show the chat, and who may write to each."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import gradio as gr

from m2a.turn import Turn

_MOST = 1000


@dataclass(frozen=True, slots=True)
class Sent:
    """What stood in the box. Every time that the box is emptied it holds a new draft."""

    draft: str
    text: str
    paths: tuple[Path, ...]


@dataclass(slots=True)
class Tab:
    """A browser tab and who may write to it. The lock is held until Gradio has sent what was yielded.

    `begun` is the turn that began the new conversation which the tab shows: the page may not know its name yet.
    `sent` is what was sent last, with the draft that it was in the box: the page may not have emptied the box yet.
    `temporary` is the temporary chat that the tab shows; it ends when the tab shows something else, or is closed.
    """

    writer: object | None = None
    begun: Turn | None = None
    sent: tuple[Sent, Turn] | None = None
    temporary: str | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def take_over(self) -> object:
        """From now on the returned writer alone writes to the tab; older ones fall silent."""
        async with self.lock:
            self.writer = object()
            return self.writer


class Tabs:
    """The tabs that are open, by the session that Gradio gives each. The ones used least lately make room for others."""

    def __init__(self, end_temporary: Callable[[str, str], None]) -> None:
        """`end_temporary` ends a temporary chat of an owner."""
        self._end_temporary = end_temporary
        self._tabs: OrderedDict[str, Tab] = OrderedDict()

    def of(self, request: gr.Request) -> Tab:
        """The tab that a request comes from."""
        session = request.session_hash or ""
        tab = self._tabs.setdefault(session, Tab())
        self._tabs.move_to_end(session)
        while len(self._tabs) > _MOST:
            self._tabs.popitem(last=False)
        return tab

    def end_temporary(self, request: gr.Request) -> None:
        """Ends the temporary chat that the tab shows, if it shows one."""
        tab = self.of(request)
        if tab.temporary is not None and request.username:
            self._end_temporary(request.username, tab.temporary)
            tab.temporary = tab.begun = tab.sent = None

    def close(self, request: gr.Request) -> None:
        """Forgets a tab that was closed or reloaded."""
        self.end_temporary(request)
        self._tabs.pop(request.session_hash or "", None)
