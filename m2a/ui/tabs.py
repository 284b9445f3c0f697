"""The browser tabs that show the chat, and who may write to each."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import gradio as gr

from m2a.turn import Turn

_MAX_TABS = 1000


@dataclass(frozen=True, slots=True)
class Submission:
    """What was in the message box when it was sent. Emptying the box starts a new draft."""

    draft: str
    text: str
    paths: tuple[Path, ...]


@dataclass(slots=True)
class Tab:
    """A browser tab and who may write to it. The lock is held until Gradio has sent what was yielded.

    `first_turn` began the new conversation that the tab shows; the page may not know the conversation's id yet.
    `submitted` is what was sent last, with its turn; the page may not have emptied the box yet.
    `temporary_id` is the temporary chat that the tab shows. The chat ends when the tab shows something else or is closed.
    """

    writer: object | None = None
    first_turn: Turn | None = None
    submitted: tuple[Submission, Turn] | None = None
    temporary_id: str | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def take_over(self) -> object:
        """Returns a new writer, from now on the only one that may write to the tab."""
        async with self.lock:
            self.writer = object()
            return self.writer


class Tabs:
    """The open tabs, by their Gradio session. The least recently used ones make room for new ones."""

    def __init__(self, end_temporary: Callable[[str, str], None]) -> None:
        """`end_temporary` takes an owner and the id of a temporary chat."""
        self._end_temporary = end_temporary
        self._tabs: OrderedDict[str, Tab] = OrderedDict()

    def tab_of(self, request: gr.Request) -> Tab:
        """Returns the tab that a request comes from."""
        session = request.session_hash or ""
        tab = self._tabs.setdefault(session, Tab())
        self._tabs.move_to_end(session)
        while len(self._tabs) > _MAX_TABS:
            self._tabs.popitem(last=False)
        return tab

    def end_temporary(self, request: gr.Request) -> None:
        """Ends the temporary chat that the tab shows, if it shows one."""
        tab = self.tab_of(request)
        if tab.temporary_id is not None and request.username:
            self._end_temporary(request.username, tab.temporary_id)
            tab.temporary_id = tab.first_turn = tab.submitted = None

    def close(self, request: gr.Request) -> None:
        """Forgets a tab that was closed or reloaded."""
        self.end_temporary(request)
        self._tabs.pop(request.session_hash or "", None)
