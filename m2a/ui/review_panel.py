"""The review at the top of the memory panel: thin handlers between the page, the assistant and the functions that write HTML."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import gradio as gr

from m2a.ui.events import connect, forwarded, html_part
from m2a.ui.memory_list import notice_html
from m2a.ui.request import numbers_of, owner_of
from m2a.ui.review_card import gone_html, rejected_html, review_html

if TYPE_CHECKING:
    from m2a.assistant import Assistant

_ON_REVIEW = forwarded("m2a-review", ["keep", "reject", "reopen", "skip", "show"])


class ReviewPanel:
    """Builds the review and connects it. The page holds which memory is shown, as `reply:number`."""

    def __init__(self, assistant: "Assistant") -> None:
        self._assistant = assistant

    def build(self) -> None:
        self.notice = html_part(elem_id="m2a-review-notice")
        self.shown = html_part(elem_id="m2a-review", script=_ON_REVIEW)
        self.at = gr.Textbox("", visible="hidden", elem_id="m2a-review-at", label="Place")
        self.parts = [self.at, self.notice, self.shown]

    def connect(self, page: gr.Blocks, changes: list[Any]) -> list[Any]:
        """Redraws the review after each of `changes`. Returns the events that write to the memory."""
        connect(page.load, self.on_refresh, self.at, self.parts)
        for change in changes:
            self.follow(change)
        connect(self.shown.skip, self.on_skip, outputs=self.parts)
        connect(self.shown.show, self.on_show, outputs=self.parts)
        return [
            connect(event, handler, outputs=self.parts)
            for event, handler in (
                (self.shown.keep, self.on_keep),
                (self.shown.reject, self.on_reject),
                (self.shown.reopen, self.on_reopen),
            )
        ]

    def follow(self, change: Any) -> None:
        """Redraws the review after the event, which may have added something to it."""
        connect(change.then, self.on_refresh, self.at, self.parts)

    def connect_erasing(self, erased: Any) -> None:
        """Redraws the review after each erasure."""
        connect(erased.then, self.on_erased, self.at, self.parts)

    def on_refresh(self, at: str, request: gr.Request) -> list[Any]:
        """Redraws the review: more may be waiting, and the memory shown may have been decided on in the chat."""
        return self._outputs(owner_of(request), _place(at), notice=None, is_requested=False)

    def on_erased(self, at: str, request: gr.Request) -> list[Any]:
        """Redraws the review without the last notice, which may name what was erased."""
        return self._outputs(owner_of(request), _place(at), is_requested=False)

    def on_keep(self, event: gr.EventData, request: gr.Request) -> list[Any]:
        """Writes the memory, with the text of the form if one was sent, and shows the next one."""
        owner, (reply_id, number) = owner_of(request), numbers_of(event, "reply_id", "number")
        text = getattr(event, "text", None)
        report_id = self._assistant.accept_held(owner, reply_id, number, text if isinstance(text, str) else None)
        changes = self._assistant.explanation(owner, report_id).changes
        return self._outputs(owner, (reply_id, number), notice=notice_html(changes[-1:], (), 0, report_id))

    def on_reject(self, event: gr.EventData, request: gr.Request) -> list[Any]:
        owner, (reply_id, number) = owner_of(request), numbers_of(event, "reply_id", "number")
        memory = self._assistant.review(owner, (reply_id, number)).memory
        self._assistant.memory(owner).review_queue.reject(reply_id, number)
        return self._outputs(owner, (reply_id, number), notice=rejected_html(memory, reply_id, number))

    def on_reopen(self, event: gr.EventData, request: gr.Request) -> list[Any]:
        """Puts a rejected memory back into the review."""
        owner, (reply_id, number) = owner_of(request), numbers_of(event, "reply_id", "number")
        try:
            self._assistant.memory(owner).review_queue.reject(reply_id, number, rejected=False)
        except LookupError:
            return self._outputs(owner, (reply_id, number), notice=gone_html())
        return self._outputs(owner, (reply_id, number))

    def on_skip(self, event: gr.EventData, request: gr.Request) -> list[Any]:
        reply_id, number = numbers_of(event, "reply_id", "number")
        return self._outputs(owner_of(request), (reply_id, number), skip=True)

    def on_show(self, event: gr.EventData, request: gr.Request) -> list[Any]:
        """Shows a memory; the last notice stays."""
        reply_id, number = numbers_of(event, "reply_id", "number")
        return self._outputs(owner_of(request), (reply_id, number), notice=None)

    def _outputs(
        self,
        owner: str,
        at: tuple[int, int] | None,
        *,
        skip: bool = False,
        notice: str | None = "",
        is_requested: bool = True,
    ) -> list[Any]:
        """Returns the outputs. For the notice None the last one stays; `is_requested` is false if an update led here."""
        review = self._assistant.review(owner, at, skip=skip)
        place = f"{review.memory.place.reply_id}:{review.memory.place.number}" if review.memory else ""
        return [place, gr.skip() if notice is None else notice, review_html(review, is_requested=is_requested)]


def _place(text: str) -> tuple[int, int] | None:
    """Returns the place that the page sent; None for anything else."""
    with suppress(ValueError):
        reply_id, number = map(int, text.split(":"))
        if 0 <= reply_id < 2**53 and 0 <= number < 2**53:
            return reply_id, number
    return None
