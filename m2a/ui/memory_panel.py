"""The memory beside the chat: thin handlers between the page, the assistant and the functions that write HTML.

What the panel shows is a `View`, which the page holds as text and hands to every handler. Whoever reaches the server can hand
in another one, so each handler takes the owner from the request, and a view says only where to look.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, get_args

import gradio as gr

from m2a.types import ConceptKind, ConversationPart, DateInterval, MemoryEntry, MemoryFilter, MemoryKind, RestsOn
from m2a.ui import keeping, memory_list, memory_summary, photo_search
from m2a.ui.chat_panel import ChatPanel
from m2a.ui.events import connect, forwarded
from m2a.ui.forgotten_list import FORGOTTEN, forgotten_html
from m2a.ui.memory_list import PAGE, pages_html
from m2a.ui.opened_memory import gone_html, opened_html
from m2a.ui.request import number_of, numbers_of, owner_of
from m2a.ui.review_panel import ReviewPanel

if TYPE_CHECKING:
    from m2a.assistant import Assistant

LONGEST_SEARCH = 400

# The page's script hands every click and form of the panel in here, as an event with the name of what it asks for.
_EVENTS = ["show", "find", "about", "leaf", "memory", "back", "keep"]
_EVENTS += ["edit", "restore", "forget", "undo", "insist", "choose", "tell"]


@dataclass(frozen=True, slots=True)
class View:
    """Where the panel looks: what is searched for and which filters, where the page of the list starts, what is open.

    `near` are the memories that a search by a photo found. `told` is the reply that tells of what was changed last.
    """

    words: str = ""
    rests_on: str = ""
    since: str = ""
    until: str = ""
    photos: bool = False
    unused: bool = False
    kind: str = ""
    near: list[int] | None = None
    about: int | None = None
    kept: str = ""
    start: int = 0
    memory_id: int | None = None
    told: int | None = None
    count: int = 0  # of the answers: the page's script sees by it that one came

    def dumped(self) -> str:
        return json.dumps(asdict(self))

    def wanted(self) -> MemoryFilter:
        rests_on: RestsOn | None = next((one for one in get_args(RestsOn) if one == self.rests_on), None)
        unnamed = self.about == memory_list.UNNAMED
        about = None if unnamed else self.about
        kind: MemoryKind | None = next((one for one in get_args(MemoryKind) if one == self.kind), None)
        subject_kind: ConceptKind | None = next((one for one in get_args(ConceptKind) if one == self.kind), None)
        days = _day(self.since), _day(self.until)
        return MemoryFilter(rests_on, about, *days, self.photos, unnamed, kind, subject_kind, self.unused)


def view_of(text: str) -> View:
    """The view that the page handed in; the first page of the list for anything else."""
    with suppress(ValueError, TypeError):
        view = View(**json.loads(text))
        numbers = (
            view.start,
            view.count,
            *(view.near or ())[:PAGE],
            *(one for one in (view.about, view.memory_id, view.told) if one is not None),
        )
        words = (view.words, view.rests_on, view.since, view.until, view.kept, view.kind)
        if all(type(one) is int and 0 <= one < 2**53 for one in numbers) and all(type(one) is str for one in words):
            photos, unused = view.photos is True, view.unused is True
            return replace(view, words=view.words[:LONGEST_SEARCH], photos=photos, unused=unused)
    return View()


class MemoryPanel:
    """Builds the parts of the memory and connects them."""

    def __init__(self, assistant: "Assistant") -> None:
        self._assistant = assistant
        self.review = ReviewPanel(assistant)

    def build(self) -> None:
        plain: dict[str, Any] = {"apply_default_css": False, "js_on_load": None}
        gr.HTML(memory_list.controls_html(photo_search.button_html()), elem_id="m2a-memory-controls", **plain)
        with gr.Column(elem_id="m2a-memory-body"):
            self.review.build()
            self.notice = gr.HTML("", elem_id="m2a-memory-notice", **plain)
            self.opened = gr.HTML("", elem_id="m2a-memory-opened", **plain)
            script = forwarded("m2a-memory-list", _EVENTS)
            self.listed = gr.HTML("", elem_id="m2a-memory-list", apply_default_css=False, js_on_load=script)
        gr.HTML(memory_list.foot_html(), elem_id="m2a-memory-foot", **plain)
        self.view = gr.Textbox("", visible="hidden", elem_id="m2a-memory-view", label="View")
        self.parts = [self.view, self.notice, self.opened, self.listed]

    def connect(self, page: gr.Blocks, chat: ChatPanel) -> None:
        connect(page.load, self.on_load, outputs=self.parts)
        # Of a word that is being typed only the last state counts.
        connect(self.listed.find, self.on_filter, self.view, self.parts, "always_last")
        for event, handler in (
            (self.listed.show, self.on_refresh),
            (self.listed.about, self.on_about),
            (self.listed.leaf, self.on_page),
            (self.listed.memory, self.on_memory),
            (self.listed.back, self.on_back),
        ):
            connect(event, handler, self.view, self.parts)
        acts = [
            connect(event, handler, self.view, self.parts)
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
        kept = self.review.connect(page, [*chat.changes, *acts])
        told = chat.connect_memory(self.listed.tell, [*acts, *kept])
        connect(told.then, self.on_told, [self.view, chat.current], self.parts)
        self.review.follow(told)
        for change in [*chat.changes, *kept]:
            connect(change.then, self.on_change, self.view, self.parts)

    def connect_erasing(self, erased: Any) -> None:
        """Redraws the memory after something was erased."""
        connect(erased.then, self.on_erased, self.view, self.parts)
        self.review.connect_erasing(erased)

    def on_load(self, request: gr.Request) -> list[Any]:
        """Opens the panel where the address names it, with a memory or without."""
        named = request.query_params.get("memory")
        return self._unchanged() if named is None else self.at(owner_of(request), named)

    def at(self, owner: str, named: str) -> list[Any]:
        """The view, the notice, the opened memory and the list where the address names a memory, or no more than the panel."""
        memory_id = int(named) if named.isascii() and named.isdigit() and len(named) < 16 else None
        return self._shown(owner, View(memory_id=memory_id))

    def on_change(self, view: str, request: gr.Request) -> list[Any]:
        """Redraws the panel after a change in the chat; does nothing if the panel was never open.

        While only the list is open, only that is sent: a memory may have been opened since, and stays so.
        """
        if not view:
            return self._unchanged()
        owner, shown = owner_of(request), view_of(view)
        if shown.memory_id is not None:
            return self._shown(owner, shown)
        return [*self._unchanged()[:-1], self._list(owner, shown)]

    def on_erased(self, view: str, request: gr.Request) -> list[Any]:
        """Redraws the panel without the last notice, and without search words that find nothing any more: both may tell of what
        was erased."""
        if not view:
            return self._unchanged()
        owner, left = owner_of(request), replace(view_of(view), told=None)
        is_vain = bool(left.words.strip()) and not self._finds(owner, left)
        return self._shown(owner, replace(left, words="") if is_vain else left, is_emptied=is_vain)

    def _finds(self, owner: str, view: View) -> bool:
        hits = self._assistant.browser(owner).find(view.words.strip(), view.wanted(), 1)
        kept_back = self._assistant.memory(owner).kept_back(1, words=view.words.strip())
        return any(hit.is_near for hit in hits) or bool(kept_back)

    def on_refresh(self, view: str, request: gr.Request) -> list[Any]:
        """Redraws the panel: something may have changed."""
        return self._shown(owner_of(request), view_of(view))

    def on_filter(self, view: str, event: gr.EventData, request: gr.Request) -> list[Any]:
        """Searches by words and filters, or by a photo, and shows the first page; with `anew` it leaves the chosen subject."""
        if (photo := photo_search.photo_of(event)) is not None:
            hits = self._assistant.browser(owner_of(request)).find_by_photo(photo, PAGE)
            near = [hit.key.record_id for hit in hits]
            return self._shown(owner_of(request), View(near=near, count=view_of(view).count))
        fields = ("words", "rests_on", "since", "until", "photos", "unused", "kind")
        asked = {name: getattr(event, name, "") for name in fields}
        before = view_of(view)
        about = None if getattr(event, "anew", None) is True else before.about
        handed = view_of(json.dumps({**asked, "about": about, "count": before.count}))
        return self._shown(owner_of(request), handed)

    def on_about(self, view: str, event: gr.EventData, request: gr.Request) -> list[Any]:
        """Shows the memories about one subject, those that are kept and not used, or all again."""
        about = number_of(event, "about") if getattr(event, "about", None) is not None else None
        kept = str(getattr(event, "kept", ""))
        chosen = replace(view_of(view), about=about, kept=kept, near=None, start=0, memory_id=None, told=None)
        return self._shown(owner_of(request), chosen)

    def on_page(self, view: str, event: gr.EventData, request: gr.Request) -> list[Any]:
        return self._shown(owner_of(request), replace(view_of(view), start=number_of(event, "start"), told=None))

    def on_memory(self, view: str, event: gr.EventData, request: gr.Request) -> list[Any]:
        """Opens a memory, from the list, an answer or another memory."""
        return self._shown(
            owner_of(request), replace(view_of(view), memory_id=number_of(event, "memory_id"), told=None)
        )

    def on_back(self, view: str, request: gr.Request) -> list[Any]:
        return self._shown(owner_of(request), replace(view_of(view), memory_id=None))

    def on_edit(self, view: str, event: gr.EventData, request: gr.Request) -> list[Any]:
        """Lets a memory say what was typed, and opens what took its place."""
        owner, memory_id = owner_of(request), number_of(event, "memory_id")
        first, last = (_day(str(getattr(event, name, ""))) for name in ("first", "last"))
        first, last = first or last, last or first
        if first and last and first > last:
            raise gr.Error(
                "The first day is later than the last; please change one of them.", title="M2A", print_exception=False
            )
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
        """Pins a memory, gives it a last day, keeps it back or lets it be used again."""
        change = keeping.keeping_of(event, datetime.now().astimezone().date())
        return self._done(owner_of(request), view, self._assistant.keep_memory(owner_of(request), change))

    def on_told(self, view: str, current: str, request: gr.Request) -> list[Any]:
        """Tells in the panel what the memory made of what was typed at its foot."""
        owner = owner_of(request)
        messages = self._assistant.messages(owner, current, ConversationPart(newest=1)) if current else []
        reply_id = messages[-1].message_id if messages and messages[-1].role == "assistant" else None
        return self._shown(owner, replace(view_of(view), told=reply_id))

    def on_undo(self, view: str, event: gr.EventData, request: gr.Request) -> list[Any]:
        return self._acted(view, event, request, self._assistant.undo)

    def on_insist(self, view: str, event: gr.EventData, request: gr.Request) -> list[Any]:
        return self._acted(view, event, request, self._assistant.insist)

    def on_choose(self, view: str, event: gr.EventData, request: gr.Request) -> list[Any]:
        return self._acted(view, event, request, self._assistant.choose, "memory_id")

    def _acted(
        self, view: str, event: gr.EventData, request: gr.Request, act: Callable[..., object], *further: str
    ) -> list[Any]:
        owner, (reply_id, *numbers) = owner_of(request), numbers_of(event, "reply_id", "number", *further)
        act(owner, reply_id, *numbers)
        return self._done(owner, view, reply_id)

    def _done(self, owner: str, view: str, reply_id: int) -> list[Any]:
        """What the reply tells of, and where a memory was open that which is in its place now."""
        before = view_of(view)
        after = replace(before, told=reply_id)
        if before.memory_id is not None:
            changes = self._assistant.explanation(owner, reply_id).changes
            holding = [one.changed.previous if one.undone else one.changed.entry for one in changes]
            after = replace(after, memory_id=holding[-1].memory_id if holding and holding[-1] else None)
        return self._shown(owner, after)

    def _shown(self, owner: str, view: View, *, is_emptied: bool = False) -> list[Any]:
        """`is_emptied` has the page empty the search box as well. That a memory is gone is said once; then comes the list."""
        view = replace(view, count=view.count + 1)
        opened = ""
        if view.memory_id is not None:
            try:
                opened = opened_html(self._assistant.browser(owner).open(view.memory_id))
            except LookupError:
                opened, view = gone_html(), replace(view, memory_id=None)
        listed = self._list(owner, view, is_emptied=is_emptied)
        return [view.dumped(), self._notice(owner, view.told), opened, listed]

    def _list(self, owner: str, view: View, *, is_emptied: bool = False) -> str:
        emptied = " data-emptied" if is_emptied else ""
        at = "" if view.memory_id is None else f' data-at="{view.memory_id}"'
        return f'<div class="m-listed" data-count="{view.count}"{at}{emptied}>{self._listed(owner, view)}</div>'

    def _notice(self, owner: str, reply_id: int | None) -> str:
        if reply_id is None:
            return ""
        told = self._assistant.explanation(owner, reply_id)
        return memory_list.notice_html(told.changes, told.not_kept, told.unasked, reply_id)

    def _listed(self, owner: str, view: View) -> str:
        today = datetime.now().astimezone().date()
        bank, browser = self._assistant.memory(owner), self._assistant.browser(owner)
        total = browser.page(MemoryFilter(), start=0, count=0).total
        counts, forgettings = bank.kept_back_counts(), bank.forgetting_count()
        head = memory_list.summary_html(total, sum(counts.values()), browser.last_updated(), today=today)
        if view.near is not None:
            found_near = bank.entries_by_id(view.near[:PAGE])
            return head + photo_search.near_html([found_near[number] for number in view.near if number in found_near])
        head += keeping.chips_html(counts, forgettings, view.kept)
        if view.kept == FORGOTTEN:
            past = bank.past_forgettings(PAGE, start=view.start)
            return head + forgotten_html(past) + pages_html(view.start, len(past), forgettings)
        if reason := keeping.reason_of(view.kept):
            found = bank.kept_back(PAGE, reason=reason, start=view.start)
            return head + keeping.listed_html(found) + pages_html(view.start, len(found), counts.get(reason, 0))
        wanted, words = view.wanted(), view.words.strip()
        is_filtered = wanted != MemoryFilter()
        has_summary = not (words or view.start or is_filtered)
        subjects, summary = browser.overview() if has_summary else (browser.subjects(), [])
        head += memory_list.subjects_html(subjects, view.about, today=today)
        if words:
            hits = browser.find(words, wanted, PAGE)
            kept_back = [] if is_filtered else bank.kept_back(PAGE, words=words)
            corrected = bank.corrections_of(
                [hit.record.memory_id for hit in hits if isinstance(hit.record, MemoryEntry)]
            )
            about = next((one.name for one in subjects if one.concept_id == view.about), "")
            return (
                head
                + memory_list.hits_html(hits, words, corrected, about, is_kept_back=bool(kept_back))
                + (keeping.listed_html(kept_back) if kept_back else "")
            )
        page = browser.page(wanted, start=view.start, count=PAGE)
        if has_summary:
            shown = bank.corrections_of([entry.memory_id for one in summary for entry in one.entries])
            head += memory_summary.summary_html(summary, page.total, shown, today=today)
        corrected = bank.corrections_of([entry.memory_id for entry in page.entries])
        return head + memory_list.page_html(page, view.start, corrected, today=today, is_filtered=is_filtered)

    @staticmethod
    def _unchanged() -> list[Any]:
        return [gr.skip()] * 4


def _day(text: str) -> date | None:
    with suppress(ValueError):
        return date.fromisoformat(text)
    return None
