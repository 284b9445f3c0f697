"""The settings: thin handlers between the page, the assistant and the functions that write HTML.

A new section gets a part in `build` and in `section_parts`, and an entry in `_outputs` and `sections`; the two
`[gr.skip()] * 5` count the sections. Only the user of this computer may change the model, rebuild the index and repair the data,
whoever else may log in one day.
"""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import gradio as gr

from m2a.types import ConnectionRequest
from m2a.ui import settings_view as view
from m2a.ui.chat_panel import ChatPanel
from m2a.ui.events import connect, forwarded, html_part
from m2a.ui.health_view import health_html
from m2a.ui.memory_panel import MemoryPanel
from m2a.ui.memory_rule_form import memory_rule_html, rule_of
from m2a.ui.notices import memory_html
from m2a.ui.plain_words import logged_sentence, page_error
from m2a.ui.request import numbers_of, owner_of

if TYPE_CHECKING:
    from m2a.assistant import Assistant

DAYS = 30
MAX_NAME_LENGTH = 20_000

# The page's script sends every click and form of the settings as an event with one of these names.
_EVENTS = ["show", "connect", "offline", "rule", "verify", "repair", "reindex", "cancel"]
_EVENTS += ["check", "remedy", "dismiss", "undo"]


class SettingsPanel:
    """Builds the parts of the settings and connects them."""

    def __init__(self, assistant: "Assistant") -> None:
        self._assistant = assistant

    def build(self) -> None:
        html_part(view.head_html(), elem_id="m2a-settings-head")
        with gr.Column(elem_id="m2a-settings-body"):
            self.connection = html_part(script=forwarded("m2a-settings", _EVENTS))
            self.connected = html_part()
            self.rule = html_part()
            html_part(view.theme_html())
            self.costs = html_part()
            self.data = html_part()
            self.report = html_part()
            self.health = html_part()
            self.notice = html_part()
            html_part(view.erasing_html())

    def connect(self, page: gr.Blocks, chat: ChatPanel, memory: MemoryPanel) -> list[Any]:
        """Returns the events after which another language model may be in use."""
        section_parts = [self.connection, self.rule, self.costs, self.data, self.health]
        connection_parts, data_parts = [self.connected, *section_parts], [self.report, self.data]
        health_parts = [self.health, self.notice]
        connect(page.load, self.on_load, outputs=section_parts)
        events = self.connection
        connect(events.show, self.on_show, outputs=[*section_parts, self.connected, self.report, self.notice])
        connect(events.rule, self.on_rule, outputs=self.rule)
        connect(events.cancel, self.on_cancel)
        connect(events.dismiss, self.on_dismiss, outputs=health_parts)
        connected = [
            connect(event, handler, outputs=connection_parts, trigger_mode="once")
            for event, handler in ((events.connect, self.on_connect), (events.offline, self.on_offline))
        ]
        for event, handler, outputs in (
            (events.verify, self.on_verify, data_parts),
            (events.repair, self.on_repair, data_parts),
            (events.reindex, self.on_reindex, data_parts),
            (events.check, self.on_check, health_parts),
        ):
            connect(event, handler, outputs=outputs, trigger_mode="once")
        for event, act in ((events.remedy, self.on_remedy), (events.undo, self.on_undo)):
            done = connect(event, act, outputs=health_parts)  # the change shows in the chat and the memory, too
            connect(done.then, chat.on_change, [chat.current, chat.shown], chat.parts)
            connect(done.then, memory.on_change, memory.view, memory.parts)
        return connected

    def on_load(self, request: gr.Request) -> list[Any]:
        """Fills the settings if the address names them."""
        owner = owner_of(request)
        return self._outputs(owner) if "settings" in request.query_params else [gr.skip()] * 5

    def sections(self, owner: str) -> list[str]:
        """Returns all sections below the heading, in order."""
        connection, rule, costs, data, health = self._outputs(owner)
        return [connection, rule, view.theme_html(), costs, data, health, view.erasing_html()]

    def on_show(self, request: gr.Request) -> list[Any]:
        """Redraws the settings without the reports of the last visit."""
        return [*self._outputs(owner_of(request)), "", "", ""]

    def on_rule(self, event: gr.EventData, request: gr.Request) -> str:
        """Sets when memories are written."""
        owner = owner_of(request)
        self._assistant.memory(owner).set_rule(rule_of(event))
        return memory_rule_html(self._assistant.memory(owner).rule(), is_saved=True)

    async def on_connect(self, event: gr.EventData, request: gr.Request) -> AsyncIterator[list[Any]]:
        """Tests the model that was entered, and uses it if it answers. A field that the form left out stays as it is."""
        values = [getattr(event, name, None) for name in ("chat_model", "chat_base_url", "chat_api_key")]
        model, address, key = (None if value is None else str(value) for value in values)
        async for output in self._connected(request, ConnectionRequest(model, address, key)):
            yield output

    async def on_offline(self, request: gr.Request) -> AsyncIterator[list[Any]]:
        async for output in self._connected(request, ConnectionRequest("offline")):
            yield output

    async def on_verify(self, request: gr.Request) -> AsyncIterator[list[Any]]:
        """Reports inconsistencies; changes nothing."""
        self._local_owner(request)
        yield [view.working_html("Checking the database, the photos and the search index…"), gr.skip()]
        yield [view.faults_html(await self._assistant.upkeep.verify()), gr.skip()]

    async def on_repair(self, request: gr.Request) -> AsyncIterator[list[Any]]:
        owner = self._local_owner(request)
        yield [view.working_html("Fixing…"), gr.skip()]
        fixed = await self._assistant.upkeep.repair()
        yield [view.working_html("Checking again…"), gr.skip()]
        left = await self._assistant.upkeep.verify()
        yield [view.faults_html(left, fixed), self._data(owner)]

    async def on_reindex(self, request: gr.Request) -> AsyncIterator[list[Any]]:
        """Rebuilds the index and reports the progress. The rebuild goes on if the page is left."""
        owner = self._local_owner(request)
        reindexing = self._assistant.upkeep.reindex()
        async for done, total in reindexing.follow():
            yield [view.reindexing_html(done, total, is_cancelled=reindexing.is_cancelled), gr.skip()]
        if reindexing.failure is not None:
            yield [view.failed_html(reindexing.failure), self._data(owner)]
        else:
            left = reindexing.left if reindexing.is_cancelled else 0
            yield [view.reindexed_html(reindexing.records, left), self._data(owner)]

    def on_cancel(self, request: gr.Request) -> None:
        """Cancels the rebuild of the index; `on_reindex` reports that."""
        self._local_owner(request)
        self._assistant.upkeep.cancel_reindexing()

    async def on_check(self, request: gr.Request) -> AsyncIterator[list[Any]]:
        """Checks the memory of the logged-in user."""
        owner = owner_of(request)
        yield [health_html(None, working=view.working_html("Checking the memory…")), ""]
        async for done, total in self._assistant.health_checks.check(owner):
            words = f"{done:,} of {total:,} records checked…"
            yield [health_html(None, working=view.working_html(words, done, total)), gr.skip()]
        yield [self._health(owner), gr.skip()]

    async def on_remedy(self, event: gr.EventData, request: gr.Request) -> list[Any]:
        """Fixes the finding that a click names; the change is shown and can be undone."""
        owner, (kind, subject, remedy) = owner_of(request), _texts_of(event, "kind", "subject", "remedy")
        reply_id = await self._assistant.health_checks.repair(owner, kind, subject, remedy)  # type: ignore[arg-type]
        return [self._health(owner), self._notice(owner, reply_id)]

    def on_dismiss(self, event: gr.EventData, request: gr.Request) -> list[Any]:
        owner, (kind, subject) = owner_of(request), _texts_of(event, "kind", "subject")
        self._assistant.health_checks.dismiss(owner, kind, subject)
        return [self._health(owner), ""]

    def on_undo(self, event: gr.EventData, request: gr.Request) -> list[Any]:
        owner, (reply_id, number) = owner_of(request), numbers_of(event, "reply_id", "number")
        self._assistant.undo(owner, reply_id, number)
        return [self._health(owner), self._notice(owner, reply_id)]

    async def _connected(self, request: gr.Request, connection_request: ConnectionRequest) -> AsyncIterator[list[Any]]:
        owner = self._local_owner(request)
        unchanged = [gr.skip()] * 5
        yield [view.working_html("Asking the model… A large model may need a minute for its first answer."), *unchanged]
        try:
            sentences = await self._assistant.connect(connection_request)
        except Exception as error:  # shown in place, not in a toast that disappears; the form keeps what was typed
            yield [view.failed_html(logged_sentence(error)), *unchanged]
        else:
            yield [view.connected_html(sentences), *self._outputs(owner)]

    def _local_owner(self, request: gr.Request) -> str:
        owner = owner_of(request)
        if owner != self._assistant.local_owner:
            raise page_error("Only the user of this computer can do this.")
        return owner

    def _outputs(self, owner: str) -> list[Any]:
        days, total = self._assistant.memory(owner).replies.daily_costs(DAYS)
        today = datetime.now().astimezone().date()
        return [
            view.connection_html(self._assistant.connection()),
            memory_rule_html(self._assistant.memory(owner).rule()),
            view.costs_html(days, total, shown_days=DAYS, today=today),
            self._data(owner),
            self._health(owner),
        ]

    def _health(self, owner: str) -> str:
        checks = self._assistant.health_checks
        return health_html(checks.health(owner), checks.checked_at(owner))

    def _notice(self, owner: str, reply_id: int | None) -> str:
        if reply_id is None:
            return view.report_html(["Done. You can now find this photo by searching for words."])
        changes = self._assistant.explanation(owner, reply_id).changes
        return f'<div class="m-report" role="status">{memory_html(changes, reply_id=reply_id, id_prefix="s")}</div>'

    def _data(self, owner: str) -> str:
        upkeep = self._assistant.upkeep
        return view.data_html(upkeep.data_size(owner), is_reindexing=upkeep.is_reindexing)


def _texts_of(event: gr.EventData, *names: str) -> list[str]:
    """Returns the texts that a click sends. They are only looked up, never trusted."""
    return [str(getattr(event, name, ""))[:MAX_NAME_LENGTH] for name in names]
