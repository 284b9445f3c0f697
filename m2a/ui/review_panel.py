"""The review at the head of the memory: thin handlers between the page, the assistant and the functions that write HTML."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import gradio as gr

from m2a.ui.events import connect, forwarded
from m2a.ui.memory_list import notice_html
from m2a.ui.request import numbers_of, owner_of
from m2a.ui.review_card import gone_html, rejected_html, review_html

if TYPE_CHECKING:
    from m2a.assistant import Assistant

_ON_REVIEW = forwarded("m2a-review", ["keep", "reject", "reopen", "skip", "show"])


class ReviewPanel:
    """Builds the review and connects it. The page holds where it stands, as `reply:number`."""

    def __init__(self, assistant: "Assistant") -> None:
        self._assistant = assistant

    def build(self) -> None:
        self.told = gr.HTML("", elem_id="m2a-review-told", apply_default_css=False, js_on_load=None)
        self.shown = gr.HTML("", elem_id="m2a-review", apply_default_css=False, js_on_load=_ON_REVIEW)
        self.at = gr.Textbox("", visible="hidden", elem_id="m2a-review-at", label="Place")

    def connect(self, page: gr.Blocks, changes: list[Any]) -> list[Any]:
        """`changes` are the events after which something may wait. Returns the events that write to the memory."""
        parts = [self.at, self.told, self.shown]
        connect(page.load, self.on_refresh, self.at, parts)
        for change in changes:
            self.follow(change)
        connect(self.shown.skip, self.on_skip, outputs=parts)
        connect(self.shown.show, self.on_show, outputs=parts)
        return [
            connect(event, handler, outputs=parts)
            for event, handler in (
                (self.shown.keep, self.on_keep),
                (self.shown.reject, self.on_reject),
                (self.shown.reopen, self.on_reopen),
            )
        ]

    def follow(self, change: Any) -> None:
        """Redraws the review after the event, which may have left something to review."""
        connect(change.then, self.on_refresh, self.at, [self.at, self.told, self.shown])

    def connect_erasing(self, erased: Any) -> None:
        """Redraws the review after something was erased."""
        connect(erased.then, self.on_erased, self.at, [self.at, self.told, self.shown])

    def on_refresh(self, at: str, request: gr.Request) -> list[Any]:
        """Redraws the review: more may be waiting, and what is shown may have been decided in the chat."""
        return self._shown(owner_of(request), _place(at), told=None, asked=False)

    def on_erased(self, at: str, request: gr.Request) -> list[Any]:
        """Redraws the review without the last notice: it may tell of what was erased."""
        return self._shown(owner_of(request), _place(at), asked=False)

    def on_keep(self, event: gr.EventData, request: gr.Request) -> list[Any]:
        """Writes the memory, with the text of the form where one was sent, and goes on to the next."""
        owner, (reply_id, number) = owner_of(request), numbers_of(event, "reply_id", "number")
        text = getattr(event, "text", None)
        written = self._assistant.keep(owner, reply_id, number, text if isinstance(text, str) else None)
        told = self._assistant.explanation(owner, written)
        return self._shown(owner, (reply_id, number), told=notice_html(told.changes[-1:], (), 0, written))

    def on_reject(self, event: gr.EventData, request: gr.Request) -> list[Any]:
        owner, (reply_id, number) = owner_of(request), numbers_of(event, "reply_id", "number")
        memory = self._assistant.review(owner, (reply_id, number)).memory
        self._assistant.memory(owner).review_queue.reject(reply_id, number)
        return self._shown(owner, (reply_id, number), told=rejected_html(memory, reply_id, number))

    def on_reopen(self, event: gr.EventData, request: gr.Request) -> list[Any]:
        """Lets a memory that was rejected be decided on again."""
        owner, (reply_id, number) = owner_of(request), numbers_of(event, "reply_id", "number")
        try:
            self._assistant.memory(owner).review_queue.reject(reply_id, number, rejected=False)
        except LookupError:
            return self._shown(owner, (reply_id, number), told=gone_html())
        return self._shown(owner, (reply_id, number))

    def on_skip(self, event: gr.EventData, request: gr.Request) -> list[Any]:
        reply_id, number = numbers_of(event, "reply_id", "number")
        return self._shown(owner_of(request), (reply_id, number), skip=True)

    def on_show(self, event: gr.EventData, request: gr.Request) -> list[Any]:
        """Goes to a memory; the last notice stays."""
        reply_id, number = numbers_of(event, "reply_id", "number")
        return self._shown(owner_of(request), (reply_id, number), told=None)

    def _shown(
        self, owner: str, at: tuple[int, int] | None, *, skip: bool = False, told: str | None = "", asked: bool = True
    ) -> list[Any]:
        """With `told` None the last notice stays. `asked` is whether the user, and no update, asked for what is shown."""
        review = self._assistant.review(owner, at, skip=skip)
        place = f"{review.memory.place.reply_id}:{review.memory.place.number}" if review.memory else ""
        return [place, gr.skip() if told is None else told, review_html(review, asked=asked)]


def _place(text: str) -> tuple[int, int] | None:
    """What the page handed in; None for anything else."""
    with suppress(ValueError):
        reply_id, number = map(int, text.split(":"))
        if 0 <= reply_id < 2**53 and 0 <= number < 2**53:
            return reply_id, number
    return None
