"""The memory beside the chat: thin handlers between the page, the assistant and the functions that write HTML.

A `View` says what the panel shows. The page holds it as text and sends it to every handler. Anyone who reaches the server can
send another view, so each handler takes the owner from the request.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, get_args

import gradio as gr

from m2a.types import ConceptKind, ConversationPart, DateInterval, MemoryEntry, MemoryFilter, MemoryKind, RestsOn
from m2a.ui import keeping, markup, memory_list, memory_summary, photo_search
from m2a.ui.chat_panel import MAX_SEARCH_LENGTH, ChatPanel
from m2a.ui.events import connect, forwarded, html_part
from m2a.ui.forgotten_list import FORGOTTEN, forgotten_html
from m2a.ui.memory_list import PAGE, pages_html
from m2a.ui.opened_memory import GONE, gone_html, opened_html
from m2a.ui.plain_words import page_error
from m2a.ui.request import number_of, numbers_of, owner_of, record_id_in
from m2a.ui.review_panel import ReviewPanel

if TYPE_CHECKING:
    from m2a.assistant import Assistant

# The page's script sends every click and form of the panel as an event with one of these names.
_EVENTS = ["show", "again", "find", "about", "turn_page", "memory", "back", "keep"]
_EVENTS += ["edit", "restore", "forget", "undo", "insist", "choose", "tell"]


@dataclass(frozen=True, slots=True)
class View:
    """What the panel shows: the search words and filters, the start of the page of the list, and the open memory.

    `photo_matches` are the memories that a search by photo found. `report_id` is the reply that reports the last change.
    """

    words: str = ""
    rests_on: str = ""
    since: str = ""
    until: str = ""
    photos: bool = False
    unused: bool = False
    kind: str = ""
    photo_matches: list[int] | None = None
    about: int | None = None
    unused_list: str = ""
    start: int = 0
    memory_id: int | None = None
    report_id: int | None = None
    count: int = 0  # of the server's updates, so that the page's script notices a new one
    answers: int = (
        0  # the number of the newest request that this view answers, so that the script knows its own and late ones
    )

    def dumped(self) -> str:
        return json.dumps(asdict(self))

    def filter(self) -> MemoryFilter:
        rests_on: RestsOn | None = next((value for value in get_args(RestsOn) if value == self.rests_on), None)
        unnamed = self.about == memory_list.UNNAMED
        about = None if unnamed else self.about
        kind: MemoryKind | None = next((value for value in get_args(MemoryKind) if value == self.kind), None)
        subject_kind: ConceptKind | None = next((value for value in get_args(ConceptKind) if value == self.kind), None)
        days = _day(self.since), _day(self.until)
        return MemoryFilter(rests_on, about, *days, self.photos, unnamed, kind, subject_kind, self.unused)


def view_of(text: str) -> View:
    """Returns the view that the page sent, or the first page of the list for anything else."""
    with suppress(ValueError, TypeError):
        view = View(**json.loads(text))
        numbers = (
            view.start,
            view.count,
            view.answers,
            *(view.photo_matches or ())[:PAGE],
            *(number for number in (view.about, view.memory_id, view.report_id) if number is not None),
        )
        texts = (view.words, view.rests_on, view.since, view.until, view.unused_list, view.kind)
        are_numbers = all(type(number) is int and 0 <= number < 2**53 for number in numbers)
        if are_numbers and all(type(value) is str for value in texts):
            photos, unused = view.photos is True, view.unused is True
            return replace(view, words=view.words[:MAX_SEARCH_LENGTH], photos=photos, unused=unused)
    return View()


class MemoryPanel:
    """Builds the parts of the memory panel and connects them."""

    def __init__(self, assistant: "Assistant") -> None:
        self._assistant = assistant
        self.review = ReviewPanel(assistant)
        self.on_undo = self._acting(assistant.undo)
        self.on_insist = self._acting(assistant.insist)
        self.on_choose = self._acting(assistant.choose, "memory_id")

    def build(self) -> None:
        html_part(memory_list.controls_html(), elem_id="m2a-memory-controls")
        with gr.Column(elem_id="m2a-memory-body"):
            self.review.build()
            self.notice = html_part(elem_id="m2a-memory-notice")
            self.opened = html_part(elem_id="m2a-memory-opened")
            script = forwarded("m2a-memory-list", _EVENTS)
            self.listed = html_part(elem_id="m2a-memory-list", script=script)
        html_part(memory_list.foot_html(), elem_id="m2a-memory-foot")
        self.view = gr.Textbox("", visible="hidden", elem_id="m2a-memory-view", label="View")
        self.parts = [self.view, self.notice, self.opened, self.listed]

    def connect(self, page: gr.Blocks, chat: ChatPanel) -> None:
        connect(page.load, self.on_load, outputs=self.parts)
        # While a word is being typed, only its last state counts.
        connect(self.listed.find, _answering(self.on_filter), self.view, self.parts, "always_last")
        for event, handler in (
            (self.listed.show, lambda view, _event, request: self.on_refresh(view, request)),
            (self.listed.again, self.on_again),
            (self.listed.about, self.on_about),
            (self.listed.turn_page, self.on_page),
            (self.listed.memory, self.on_memory),
            (self.listed.back, lambda view, _event, request: self.on_back(view, request)),
        ):
            connect(event, _answering(handler), self.view, self.parts)
        changes = [
            connect(event, _answering(handler), self.view, self.parts)
            for event, handler in (
                (self.listed.edit, self.on_edit),
                (self.listed.restore, self.on_restore),
                (self.listed.forget, self.on_forget),
                (self.listed.keep, self.on_keep),
                (self.listed.undo, self.on_undo),
                (self.listed.insist, self.on_insist),
                (self.listed.choose, self.on_choose),
            )
        ]
        decisions = self.review.connect(page, [*chat.changes, *changes])
        turn = chat.connect_memory(self.listed.tell, [*changes, *decisions])
        connect(turn.then, self.show_changes, [self.view, chat.current], self.parts)
        self.review.follow(turn)
        for change in [*chat.changes, *decisions]:
            connect(change.then, self.on_change, self.view, self.parts)

    def connect_erasing(self, erased: Any) -> None:
        """Redraws the memory after each erasure."""
        connect(erased.then, self.on_erased, self.view, self.parts)
        self.review.connect_erasing(erased)

    def on_load(self, request: gr.Request) -> list[Any]:
        """Opens the panel if the address names it, with or without a memory."""
        memory_id = request.query_params.get("memory")
        return self._unchanged() if memory_id is None else self.at(owner_of(request), memory_id)

    def at(self, owner: str, memory_id: str) -> list[Any]:
        """Returns the view, the notice, the opened memory and the list for an address; without a number no memory is opened."""
        return self._outputs(owner, View(memory_id=record_id_in(memory_id)))

    def on_change(self, view: str, request: gr.Request) -> list[Any]:
        """Redraws the panel after a change in the chat; does nothing if the panel was never open.

        While only the list is open, only the list is sent: a memory opened meanwhile stays open.
        """
        if not view:
            return self._unchanged()
        owner, current = owner_of(request), view_of(view)
        if current.memory_id is not None:
            return self._outputs(owner, current)
        return [*self._unchanged()[:-1], self._list(owner, current)]

    def on_erased(self, view: str, request: gr.Request) -> list[Any]:
        """Redraws the panel without the last notice, and without search words that find nothing any more.

        Both may name what was erased.
        """
        if not view:
            return self._unchanged()
        owner, after = owner_of(request), replace(view_of(view), report_id=None)
        is_emptied = bool(after.words.strip()) and not self._finds(owner, after)
        return self._outputs(owner, replace(after, words="") if is_emptied else after, is_emptied=is_emptied)

    def _finds(self, owner: str, view: View) -> bool:
        hits = self._assistant.browser(owner).find(view.words.strip(), view.filter(), 1)
        kept_back = self._assistant.memory(owner).kept_back(1, words=view.words.strip())
        return any(hit.is_near for hit in hits) or bool(kept_back)

    def on_refresh(self, view: str, request: gr.Request) -> list[Any]:
        """Redraws the panel: something may have changed."""
        return self._outputs(owner_of(request), view_of(view))

    def on_again(self, view: str, event: gr.EventData, request: gr.Request) -> list[Any]:
        """Draws again what the newest answer showed, because an update that was requested before it has covered it."""
        newest = view_of(str(getattr(event, "view", "")))
        return self._outputs(owner_of(request), replace(newest, answers=view_of(view).answers))

    def on_filter(self, view: str, event: gr.EventData, request: gr.Request) -> list[Any]:
        """Searches by words and filters, or by a photo, and shows the first page; with `all_subjects`, of every subject."""
        before = view_of(view)
        if (photo := photo_search.photo_of(event)) is not None:
            hits = self._assistant.browser(owner_of(request)).find_by_photo(photo, PAGE)
            after = View(photo_matches=[hit.key.record_id for hit in hits])
        else:
            fields = ("words", "rests_on", "since", "until", "photos", "unused", "kind")
            values = {name: getattr(event, name, "") for name in fields}
            about = None if getattr(event, "all_subjects", None) is True else before.about
            after = view_of(json.dumps({**values, "about": about}))
        return self._outputs(owner_of(request), replace(after, count=before.count, answers=before.answers))

    def on_about(self, view: str, event: gr.EventData, request: gr.Request) -> list[Any]:
        """Shows the memories about one subject, those that are kept but not used, or all of them."""
        about = number_of(event, "about") if getattr(event, "about", None) is not None else None
        unused_list = str(getattr(event, "unused_list", ""))
        chosen = replace(view_of(view), about=about, unused_list=unused_list, start=0)
        return self._outputs(owner_of(request), replace(chosen, photo_matches=None, memory_id=None, report_id=None))

    def on_page(self, view: str, event: gr.EventData, request: gr.Request) -> list[Any]:
        return self._outputs(owner_of(request), replace(view_of(view), start=number_of(event, "start"), report_id=None))

    def on_memory(self, view: str, event: gr.EventData, request: gr.Request) -> list[Any]:
        """Opens a memory from the list, an answer or another memory."""
        return self._outputs(
            owner_of(request), replace(view_of(view), memory_id=number_of(event, "memory_id"), report_id=None)
        )

    def on_back(self, view: str, request: gr.Request) -> list[Any]:
        return self._outputs(owner_of(request), replace(view_of(view), memory_id=None))

    def on_edit(self, view: str, event: gr.EventData, request: gr.Request) -> list[Any]:
        """Replaces a memory with the edited text, and opens the new one."""
        owner, memory_id = owner_of(request), number_of(event, "memory_id")
        first, last = (_day(str(getattr(event, name, ""))) for name in ("first", "last"))
        first, last = first or last, last or first
        if first and last and first > last:
            raise page_error("The first day is later than the last; please change one of them.")
        happened = DateInterval(first, last) if first and last else None
        reply_id = self._assistant.edit_memory(owner, memory_id, str(getattr(event, "text", "")), happened)
        return self._done(owner, view, reply_id)

    def on_restore(self, view: str, event: gr.EventData, request: gr.Request) -> list[Any]:
        owner = owner_of(request)
        return self._done(owner, view, self._assistant.restore_memory(owner, number_of(event, "memory_id")))

    def on_forget(self, view: str, event: gr.EventData, request: gr.Request) -> list[Any]:
        owner = owner_of(request)
        return self._done(owner, view, self._assistant.forget_memory(owner, number_of(event, "memory_id")))

    def on_keep(self, view: str, event: gr.EventData, request: gr.Request) -> list[Any]:
        """Pins a memory, gives it a last day, keeps it out of answers, or returns it to use."""
        change = keeping.keeping_of(event, datetime.now().astimezone().date())
        return self._done(owner_of(request), view, self._assistant.change_use(owner_of(request), change))

    def show_changes(self, view: str, current: str, request: gr.Request) -> list[Any]:
        """Shows in the panel how what was typed at its foot changed the memory."""
        owner = owner_of(request)
        messages = self._assistant.messages(owner, current, ConversationPart(newest=1)) if current else []
        reply_id = messages[-1].message_id if messages and messages[-1].role == "assistant" else None
        return self._outputs(owner, replace(view_of(view), report_id=reply_id))

    def _acting(self, act: Callable[..., object], *more_numbers: str) -> Callable[..., list[Any]]:
        """Returns the handler that calls `act` with the numbers of a click, and shows what changed."""

        def on_act(view: str, event: gr.EventData, request: gr.Request) -> list[Any]:
            owner, (reply_id, *numbers) = owner_of(request), numbers_of(event, "reply_id", "number", *more_numbers)
            act(owner, reply_id, *numbers)
            return self._done(owner, view, reply_id)

        return on_act

    def _done(self, owner: str, view: str, reply_id: int) -> list[Any]:
        """Shows the changes that the reply reports, and the current version of the memory that was open."""
        before = view_of(view)
        after = replace(before, report_id=reply_id)
        if before.memory_id is not None:
            changes = self._assistant.explanation(owner, reply_id).changes
            current = [change.changed.previous if change.undone else change.changed.entry for change in changes]
            after = replace(after, memory_id=current[-1].memory_id if current and current[-1] else None)
        return self._outputs(owner, after)

    def _outputs(self, owner: str, view: View, *, is_emptied: bool = False) -> list[Any]:
        """Returns the outputs for a view. `is_emptied` makes the page clear the search box. A missing memory is reported once."""
        view = replace(view, count=view.count + 1)
        opened, at = "", view.memory_id
        if view.memory_id is not None:
            try:
                opened = opened_html(self._assistant.browser(owner).open(view.memory_id))
            except LookupError:
                opened, at, view = gone_html(), GONE, replace(view, memory_id=None)
        list_html = self._list(owner, view, at, is_emptied=is_emptied)
        return [view.dumped(), self._notice(owner, view.report_id), opened, list_html]

    def _list(self, owner: str, view: View, memory_id: int | None = None, *, is_emptied: bool = False) -> str:
        emptied = " data-emptied" if is_emptied else ""
        at = "" if memory_id is None else f' data-at="{memory_id}"'
        shown = f'data-count="{view.count}" data-answers="{view.answers}" data-view="{markup.text(view.dumped())}"'
        return f'<div class="m-listed" {shown}{at}{emptied}>{self._list_content(owner, view)}</div>'

    def _notice(self, owner: str, reply_id: int | None) -> str:
        if reply_id is None:
            return ""
        report = self._assistant.explanation(owner, reply_id)
        return memory_list.notice_html(report.changes, report.not_kept, report.unasked, reply_id)

    def _list_content(self, owner: str, view: View) -> str:
        today = datetime.now().astimezone().date()
        bank, browser = self._assistant.memory(owner), self._assistant.browser(owner)
        total = browser.page(MemoryFilter(), start=0, count=0).total
        counts, forgettings = bank.kept_back_counts(), bank.forgetting_count()
        head = memory_list.summary_html(total, sum(counts.values()), browser.last_updated(), today=today)
        if view.photo_matches is not None:
            entries = bank.entries_by_id(view.photo_matches[:PAGE])
            return head + photo_search.near_html(
                [entries[number] for number in view.photo_matches if number in entries]
            )
        head += keeping.chips_html(counts, forgettings, view.unused_list)
        if view.unused_list == FORGOTTEN:
            past = bank.past_forgettings(PAGE, start=view.start)
            return head + forgotten_html(past) + pages_html(view.start, len(past), forgettings)
        if reason := keeping.reason_of(view.unused_list):
            kept_back = bank.kept_back(PAGE, reason=reason, start=view.start)
            return head + keeping.listed_html(kept_back) + pages_html(view.start, len(kept_back), counts.get(reason, 0))
        memory_filter, words = view.filter(), view.words.strip()
        is_filtered = memory_filter != MemoryFilter()
        has_summary = not (words or view.start or is_filtered)
        subjects, summary = browser.overview() if has_summary else (browser.subjects(), [])
        head += memory_list.subjects_html(subjects, view.about, today=today)
        if words:
            hits = browser.find(words, memory_filter, PAGE)
            kept_back = [] if is_filtered else bank.kept_back(PAGE, words=words)
            corrected = bank.corrections_of(
                [hit.record.memory_id for hit in hits if isinstance(hit.record, MemoryEntry)]
            )
            about = next((subject.name for subject in subjects if subject.concept_id == view.about), "")
            return (
                head
                + memory_list.hits_html(hits, words, corrected, about, is_kept_back=bool(kept_back))
                + (keeping.listed_html(kept_back) if kept_back else "")
            )
        page = browser.page(memory_filter, start=view.start, count=PAGE)
        if has_summary:
            corrected = bank.corrections_of([entry.memory_id for subject in summary for entry in subject.entries])
            head += memory_summary.summary_html(summary, page.total, corrected, today=today)
        corrected = bank.corrections_of([entry.memory_id for entry in page.entries])
        return head + memory_list.page_html(page, view.start, corrected, today=today, is_filtered=is_filtered)

    @staticmethod
    def _unchanged() -> list[Any]:
        return [gr.skip()] * 4


def _answering(handler: Callable[[str, gr.EventData, gr.Request], list[Any]]) -> Callable[..., list[Any]]:
    """Returns the handler for a view that says which request it answers. The page's script numbers its requests."""

    def on_request(view: str, event: gr.EventData, request: gr.Request) -> list[Any]:
        number = number_of(event, "request_number")
        return handler(replace(view_of(view), answers=number).dumped(), event, request)

    return on_request


def _day(text: str) -> date | None:
    with suppress(ValueError):
        return date.fromisoformat(text)
    return None
