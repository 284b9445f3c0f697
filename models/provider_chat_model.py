"""Chat models on a server, through pydantic-ai.

pydantic-ai and the provider's SDK only transport requests: their retries are off, no agent runs, and nothing is instrumented.
This module decides what a fault means, whether to retry, and how to ask for a tool.
"""

import asyncio
import itertools
import random
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

from pydantic import SecretStr

from models import json_reply
from models.abilities import Abilities, AbilityRecord, Probe
from models.chat_model import (
    CALL_TOKENS,
    REPLY_TOKENS,
    ChatMessage,
    ChatModelError,
    MalformedReplyError,
    PhotoPart,
    TokenUsage,
    Tool,
    ToolCall,
    in_words,
)
from models.probes import ASK_FOR_YES, SAY_YES, ask_for_colours, names_colours
from models.provider_connection import connect, public_address
from models.provider_faults import Fault, FaultError, FaultReader
from models.provider_prompt import Mode, is_cut, parameters, prompt, usage_of, with_instruction
from models.server_facts import ask_server
from models.text_call import TextCallDetector
from models.thoughts import ThoughtFilter, has_lone_end

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse, ToolCallPart
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse

_MODES: tuple[Mode, ...] = ("tools", "json_schema", "json_object", "text")  # in the order tried

_RETRIES = 3
_LONGEST_BACKOFF = 8.0
_CONNECT_TIMEOUT = 10.0
_REFUSAL_STATUS = frozenset({400, 404, 422, 500, 501})


class ProviderChatModel:
    """The model `provider:name` in pydantic-ai's form, or with `base_url` a model on any OpenAI-compatible server.

    Raises `ModelUnavailableError` for a wrong name, a provider that is not installed or a missing key, before any call.
    `backoff` is the first wait in seconds, which doubles each time; `Retry-After` is honoured up to `longest_retry_after`.
    `greedy` requests temperature 0 unless the server refuses it. If `sees_photos` or `context_window` is None, it is
    determined and kept in `record`.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        sees_photos: bool | None = True,
        timeout: float = 120.0,
        greedy: bool = False,
        context_window: int | None = None,
        reply_tokens: int = REPLY_TOKENS,
        record: AbilityRecord | None = None,
        backoff: float = 0.5,
        longest_retry_after: float = 30.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.name = name
        model_name = name.partition(":")[2]
        self.greedy = greedy
        """Whether it requests temperature 0, which ends once the server has refused it."""
        self._set_by_user = Abilities(sees_photos=sees_photos, context_window=context_window)
        self.reply_tokens = reply_tokens
        self._takes_limit = True
        self._timeout = timeout
        self._backoff = backoff
        self._longest_retry_after = longest_retry_after
        self._sleep = sleep
        self._tools_seen = False
        self._plain_answers = 0
        self._unexplained: dict[Mode, int] = {}
        self._asked_server = False
        self._connect: Callable[[], Model[Any]] = lambda: connect(name, base_url, api_key)
        self._models: WeakKeyDictionary[asyncio.AbstractEventLoop, Model[Any]] = WeakKeyDictionary()
        first = self._connect()
        self._address = public_address(first.base_url or self.name)
        self._faults = FaultReader(model_name, self._address, SecretStr(api_key or ""), timeout)
        self._record = record or AbilityRecord()
        self._record_key = f"{self._address} {model_name}"
        # The list of well-known models does not apply to the user's own server.
        self._published = Abilities(context_window=None if base_url else first.context_window)
        self.mode: Mode = _first_mode(self._known)
        """The way to ask for a tool that works on this server, as far as is known."""

    def __repr__(self) -> str:
        return f"ProviderChatModel({self.name!r}, {self._address!r})"

    @property
    def sees_photos(self) -> bool:
        return self.known_abilities.sees_photos is not False

    async def abilities(self, probe: tuple[Probe, ...] = ()) -> Abilities:
        """See `ChatModel.abilities`. Asks the server once per process, since it may have been restarted with other options."""
        await self._ask_server()
        if "photos" in probe and self.known_abilities.sees_photos is None:
            await self._probe_photos()
        if "tools" in probe and self._known.calls_tools is None:
            await self._probe_tools()
        if "schema" in probe and self._known.follows_schema is None:
            await self._probe_schema()
        return self.known_abilities

    def forget_abilities(self) -> None:
        """Forgets the known abilities, since the server may have been restarted with other options."""
        self._record.store(self._record_key, Abilities())
        self.mode, self._asked_server, self._plain_answers, self._tools_seen = "tools", False, 0, False

    async def choose(self, messages: Sequence[ChatMessage], tools: Sequence[Tool]) -> ToolCall:
        """Returns one tool call; see `ChatModel.choose`. Retries three times in all, however many modes it tries."""
        retries = _RETRIES
        explained = True
        for mode in _MODES[_MODES.index(self.mode) :]:
            while True:
                try:
                    response = await self._respond(messages, tools, mode)
                except FaultError as error:
                    fault = error.fault
                else:
                    if explained:
                        self._settle_on(mode)
                    return self._read_call(response, tools, mode)
                refused = fault.status in _REFUSAL_STATUS and not fault.final and mode != "text"
                if refused and (fault.about_tools or not fault.retry):
                    break
                if fault.retry and retries:
                    await self._wait(_RETRIES - retries, fault)
                    retries -= 1
                elif refused:
                    # A 500 without a reason may be caused by the form of the request or by an outage, so the form
                    # is only ruled out if it happens again.
                    self._unexplained[mode] = self._unexplained.get(mode, 0) + 1
                    explained = explained and self._unexplained[mode] > 1
                    break
                else:
                    raise ChatModelError(fault.sentence, unreachable=fault.unreachable, about_photos=fault.about_photos)
        raise AssertionError("the last mode returns or raises")

    async def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = ()
    ) -> AsyncGenerator[str | ToolCall | TokenUsage]:
        """Yields the reply, then its usage; see `ChatModel.stream`. A reply without text counts as a fault."""
        native = self.mode == "tools"
        for attempt in itertools.count():
            started = False
            try:
                async with aclosing(self._pieces(messages, tools, native=native)) as pieces:
                    async for piece in pieces:
                        started = started or isinstance(piece, str)
                        yield piece
                return
            except FaultError as error:
                fault = error.fault
            refused = fault.status in _REFUSAL_STATUS and not fault.final
            given_up = fault.about_tools or not fault.retry or attempt >= _RETRIES
            if tools and native and not started and refused and given_up:
                native = False
                if fault.about_tools:
                    self._settle_on("json_schema")
                continue
            if started or not fault.retry or attempt >= _RETRIES:
                raise ChatModelError(fault.sentence, unreachable=fault.unreachable, about_photos=fault.about_photos)
            await self._wait(attempt, fault)

    # One request

    async def _respond(self, messages: Sequence[ChatMessage], tools: Sequence[Tool], mode: Mode) -> "ModelResponse":
        """Returns the whole answer. It is streamed, so that a long one does not look like a silent server."""
        longest = max((tool.longest or CALL_TOKENS for tool in tools), default=CALL_TOKENS)
        events = self._events(
            messages if mode == "tools" else with_instruction(json_reply.instruction(tools), messages),
            parameters(tools, mode),
            longest,
            tool_choice="required" if mode == "tools" else None,
        )
        async with aclosing(events):
            async for event in events:
                response = event[0]
        return response.get()

    async def _pieces(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool], *, native: bool
    ) -> AsyncGenerator[str | ToolCall | TokenUsage]:
        from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta, ToolCallPart

        request = parameters(tools if native else (), "tools")
        turns = messages
        if not tools:
            turns = in_words(messages)  # some servers refuse tool messages if no tools are offered
        elif not native:
            turns = with_instruction(json_reply.choice(tools), messages)
        detector = TextCallDetector(tools)
        thoughts = ThoughtFilter(begins_thinking=bool(self._known.thinks_unopened))
        empty, usage = True, TokenUsage()
        async with aclosing(self._events(turns, request, self.reply_tokens)) as events:
            async for response, event in events:
                piece, usage = "", usage_of(response.usage)
                if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                    piece = thoughts.feed(event.part.content)
                elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                    piece = thoughts.feed(event.delta.content_delta)
                elif event is None:
                    piece = thoughts.finish(cut_off=response.finish_reason == "length")
                if thoughts.met_lone_end:
                    self._learn(thinks_unopened=True)
                piece = detector.feed(piece) + (detector.finish() if event is None else "")
                if piece:
                    empty = False
                    yield piece
                if detector.call is not None:
                    break
        calls = [part for part in response.get().parts if isinstance(part, ToolCallPart)] if native else []
        if calls:
            yield replace(self._read_calls(calls, tools, usage), usage=TokenUsage(0, 0))
        elif detector.call is not None:
            yield detector.call
        elif empty:
            if response.finish_reason != "length":
                raise FaultError(self._faults.nothing())
            raise FaultError(
                self._faults.too_long(self.known_abilities, self.reply_tokens if self._takes_limit else None)
            )
        yield usage

    async def _events(
        self,
        messages: Sequence[ChatMessage],
        request_parameters: "ModelRequestParameters",
        longest: int,
        tool_choice: Literal["required"] | None = None,
    ) -> AsyncGenerator[tuple["StreamedResponse", Any]]:
        """Yields the events of one request, then None. Every failure of the service is a `FaultError`.

        Leaves out what the server refuses: the temperature, the limit of the answer, or too many photos.
        """
        limit = longest if self._takes_limit else None
        while True:
            greedy, photos = self.greedy, self._photos_sent(messages)
            try:
                request = self._request(messages, request_parameters, tool_choice, limit, photos=photos, greedy=greedy)
                async with aclosing(request) as events:
                    async for event in events:
                        yield event
                return
            except FaultError as error:
                fault = error.fault
                if fault.context_window:
                    self._learn(context_window=fault.context_window)
                if greedy and fault.about_temperature:
                    self.greedy = False
                elif limit and fault.about_limit:
                    limit = None
                    # A limit may only be too high for this prompt, or not supported at all.
                    self._takes_limit = not re.search("unsupported|not supported", fault.sentence, re.I)
                elif fault.photos_per_prompt is not None and fault.photos_per_prompt < photos:
                    self._learn(photos_per_prompt=fault.photos_per_prompt)
                else:
                    raise

    async def _request(
        self,
        messages: Sequence[ChatMessage],
        request_parameters: "ModelRequestParameters",
        tool_choice: Literal["required"] | None,
        limit: int | None,
        *,
        photos: int,
        greedy: bool,
    ) -> AsyncGenerator[tuple["StreamedResponse", Any]]:
        import httpx2
        from pydantic_ai.direct import model_request_stream
        from pydantic_ai.settings import ModelSettings

        # pydantic-ai's type names the class of the older httpx, but the client in use is httpx2's.
        timeout: Any = httpx2.Timeout(self._timeout, connect=_CONNECT_TIMEOUT)
        settings = ModelSettings(max_retries=0, timeout=timeout)
        if limit:
            settings["max_tokens"] = self.known_abilities.answer_tokens(limit)
        if tool_choice:
            settings["tool_choice"] = tool_choice
        if greedy:
            settings["temperature"] = 0.0
        turns = prompt(messages, photos_at_most=photos)
        try:
            async with model_request_stream(
                self._model(),
                turns,
                model_settings=settings,
                model_request_parameters=request_parameters,
                instrument=False,
            ) as response:
                async for event in response:
                    yield response, event
                if is_cut(response):
                    raise FaultError(self._faults.cut())
                yield response, None
                return
        except FaultError as error:
            fault = error.fault
        except Exception as error:
            # The SDKs raise any error that a server's answer can provoke in them: TypeError, AttributeError, …
            fault = self._faults.of(error, has_photos=photos > 0)
        # Raised outside the handler, without a cause, because the SDK's errors contain requests with the key.
        raise FaultError(fault)

    def _photos_sent(self, messages: Sequence[ChatMessage]) -> int:
        if not self.sees_photos:
            return 0
        count = sum(isinstance(part, PhotoPart) for message in messages for part in message.parts)
        at_most = self._known.photos_per_prompt
        return count if at_most is None else min(count, at_most)

    def _model(self) -> "Model[Any]":
        """Returns the model with the connections of the running event loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._models:
            self._models[loop] = self._connect()
        return self._models[loop]

    # Reading the answer

    def _read_call(self, response: "ModelResponse", tools: Sequence[Tool], mode: Mode) -> ToolCall:
        from pydantic_ai.messages import TextPart, ToolCallPart

        calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
        text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
        usage = usage_of(response.usage)
        if has_lone_end(text):
            self._learn(thinks_unopened=True)
        if not calls:
            if mode == "tools":
                self._doubt_tools()
            try:
                (name, arguments), *others = json_reply.parse_calls(text, tools)
            except MalformedReplyError as error:
                raise MalformedReplyError(str(error), text=text, usage=usage) from None
            return ToolCall(name, arguments, usage, tuple(ToolCall(*other, TokenUsage(0, 0)) for other in others))
        return self._read_calls(calls, tools, usage)

    def _read_calls(self, calls: "Sequence[ToolCallPart]", tools: Sequence[Tool], usage: TokenUsage) -> ToolCall:
        self._tools_seen = True
        self._learn(calls_tools=True)
        read: list[ToolCall | MalformedReplyError] = []
        for call in calls:
            try:
                read.append(ToolCall(*json_reply.check_call(call.tool_name, call.args, tools), TokenUsage(0, 0)))
            except MalformedReplyError as error:
                read.append(MalformedReplyError(str(error), text=call.args_as_json_str(), usage=TokenUsage(0, 0)))
        first, further = read[0], tuple(read[1:])
        if isinstance(first, MalformedReplyError):
            # The calls after a failed one may depend on it.
            raise MalformedReplyError(str(first), text=first.text, usage=usage)
        return replace(first, usage=usage, further=further)

    def _settle_on(self, mode: Mode) -> None:
        if mode != self.mode:
            tools, schema = mode == "tools", None if mode == "tools" else mode == "json_schema"
            self._learn(calls_tools=tools, **({} if schema is None else {"follows_schema": schema}))
        self.mode = mode

    def _doubt_tools(self) -> None:
        """Gives up on tools after two plain answers: a server may silently drop them, and its model never sees them."""
        self._plain_answers += 1
        if self._plain_answers > 1 and not self._tools_seen:
            self._learn(calls_tools=False)
            self.mode = "json_schema"

    async def _wait(self, attempt: int, fault: Fault) -> None:
        backoff: float = min(self._backoff * 2**attempt, _LONGEST_BACKOFF) * random.uniform(0.75, 1)
        await self._sleep(max(backoff, min(fault.retry_after or 0.0, self._longest_retry_after)))

    # What the model can do

    @property
    def _known(self) -> Abilities:
        return self._record.get(self._record_key)

    @property
    def known_abilities(self) -> Abilities:
        """See `ChatModel.known_abilities`."""
        return self._set_by_user.over(self._known).over(self._published)

    def _learn(self, **abilities: bool | int) -> None:
        known = self._known
        if any(getattr(known, name) != value for name, value in abilities.items()):
            self._record.store(self._record_key, replace(known, **abilities))  # type: ignore[arg-type]

    async def _ask_server(self) -> None:
        client: Any = getattr(self._model(), "client", None)
        if self._asked_server or not hasattr(client, "chat"):
            return
        if reported := await ask_server(client, self._address, self._faults.model_name):
            self._asked_server = True
            self._record.store(self._record_key, reported.over(self._known))

    async def _probe_photos(self) -> None:
        answer = ""
        try:
            async for piece in self.stream(ask_for_colours()):
                answer += piece if isinstance(piece, str) else ""
        except ChatModelError as error:
            if error.about_photos:
                self._learn(sees_photos=False)
            return
        self._learn(sees_photos=names_colours(answer))

    async def _probe_tools(self) -> None:
        try:
            await self.choose(ASK_FOR_YES, [SAY_YES])
        except (ChatModelError, MalformedReplyError):
            return

    async def _probe_schema(self) -> None:
        try:
            response = await self._respond(ASK_FOR_YES, [SAY_YES], "json_schema")
            self._read_call(response, [SAY_YES], "json_schema")
        except FaultError as error:
            if error.fault.about_tools and error.fault.status is not None:
                self._learn(follows_schema=False)
        except MalformedReplyError:
            self._learn(follows_schema=False)
        else:
            self._learn(follows_schema=True)


def _first_mode(known: Abilities) -> Mode:
    if known.calls_tools is not False:
        return "tools"
    return "json_object" if known.follows_schema is False else "json_schema"
