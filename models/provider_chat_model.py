"""Chat models behind an address, through pydantic-ai's plumbing.

pydantic-ai and the provider's SDK transport a request and nothing else: their retries are off, no agent runs and
nothing is instrumented. What a fault means, whether to try again and how to ask for a tool is decided here.
"""

import asyncio
import itertools
import logging
import random
import re
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

from pydantic import SecretStr

from models import json_reply
from models.chat_model import (
    ChatMessage,
    ChatModelError,
    MalformedReplyError,
    PhotoPart,
    TokenUsage,
    Tool,
    ToolCall,
)
from models.provider_connection import connect, public_address
from models.thoughts import ThoughtFilter

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse, UserContent
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse

Mode = Literal["tools", "json_schema", "json_object", "text"]
_LADDER: tuple[Mode, ...] = ("tools", "json_schema", "json_object", "text")

_RETRIES = 3
_LONGEST_BACKOFF = 8.0
_CONNECT_TIMEOUT = 10.0
_RETRIED_STATUS = frozenset({408, 409, 429})
_ANSWERS_NOBODY = frozenset({429, 502, 503, 504})
_REFUSAL_STATUS = frozenset({400, 404, 422, 500, 501})
_ABOUT_TOOLS = re.compile(r"tool|function|response_format|json|schema|grammar|guided|structured|jinja", re.IGNORECASE)
_ABOUT_TEMPERATURE = re.compile(r"temperature", re.IGNORECASE)
_ABOUT_PHOTOS = re.compile(r"image|vision|multimodal|photo", re.IGNORECASE)
_QUOTED = 200

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Fault:
    """Why a request failed: a sentence for the user, and what may be done about it."""

    sentence: str
    retry: bool = False
    retry_after: float | None = None
    status: int | None = None
    about_tools: bool = False
    about_temperature: bool = False
    final: bool = False
    """No other way to ask for a tool would help."""
    unreachable: bool = False
    """Says nothing of the request: nobody answers, or answers nobody."""


class _FaultError(Exception):
    def __init__(self, fault: _Fault) -> None:
        super().__init__(fault.sentence)
        self.fault = fault


class ProviderChatModel:
    """`provider:name` in pydantic-ai's form; with `base_url`, any OpenAI-compatible server.

    A wrong name, a provider that is not installed and a missing key raise `ValueError` here, before any call. `backoff`
    is the first wait in seconds, doubled each time; `Retry-After` is honoured up to `longest_retry_after`. `greedy` asks
    for temperature 0 until the server refuses one.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        sees_photos: bool = True,
        timeout: float = 120.0,
        greedy: bool = False,
        backoff: float = 0.5,
        longest_retry_after: float = 30.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.name = name
        self.sees_photos = sees_photos
        self.mode: Mode = "tools"
        """The way to ask for a tool that works here, as far as is known."""
        self._model_name = name.partition(":")[2]
        self._key = SecretStr(api_key or "")
        self.greedy = greedy
        """Whether it asks for temperature 0; no more, once the server has refused one."""
        self._timeout = timeout
        self._backoff = backoff
        self._longest_retry_after = longest_retry_after
        self._sleep = sleep
        self._tools_seen = False
        self._plain_answers = 0
        self._unexplained: dict[Mode, int] = {}
        self._connect: Callable[[], Model[Any]] = lambda: connect(name, base_url, api_key)
        self._models: WeakKeyDictionary[asyncio.AbstractEventLoop, Model[Any]] = WeakKeyDictionary()
        self._address = public_address(self._connect().base_url or self.name)

    def __repr__(self) -> str:
        return f"ProviderChatModel({self.name!r}, {self._address!r})"

    async def choose(self, messages: Sequence[ChatMessage], tools: Sequence[Tool]) -> ToolCall:
        """One tool call; see `ChatModel.choose`. Three retries in all, however far it goes down the ladder."""
        retries = _RETRIES
        explained = True
        for mode in _LADDER[_LADDER.index(self.mode) :]:
            while True:
                try:
                    response = await self._respond(messages, tools, mode)
                except _FaultError as error:
                    fault = error.fault
                else:
                    if explained:
                        self.mode = mode
                    return self._read_call(response, tools, mode)
                refused = fault.status in _REFUSAL_STATUS and not fault.final and mode != "text"
                if refused and (fault.about_tools or not fault.retry):
                    break
                if fault.retry and retries:
                    await self._wait(_RETRIES - retries, fault)
                    retries -= 1
                elif refused:
                    # A 500 that gives no reason may be the request's form or an outage: the form is blamed
                    # for good only when it happens again.
                    self._unexplained[mode] = self._unexplained.get(mode, 0) + 1
                    explained = explained and self._unexplained[mode] > 1
                    break
                else:
                    raise ChatModelError(fault.sentence, unreachable=fault.unreachable)
        raise AssertionError("the last rung of the ladder returns or raises")

    async def stream(self, messages: Sequence[ChatMessage]) -> AsyncGenerator[str | TokenUsage]:
        """Pieces of the reply, then its usage; see `ChatModel.stream`. A reply without any text counts as a fault."""
        for attempt in itertools.count():
            started = False
            try:
                async with aclosing(self._pieces(messages)) as pieces:
                    async for piece in pieces:
                        started = started or isinstance(piece, str)
                        yield piece
                return
            except _FaultError as error:
                fault = error.fault
            if started or not fault.retry or attempt == _RETRIES:
                raise ChatModelError(fault.sentence, unreachable=fault.unreachable)
            await self._wait(attempt, fault)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        model = self._models.pop(asyncio.get_running_loop(), None)
        client: Any = getattr(model, "client", None)
        if hasattr(client, "close"):
            await client.close()

    # One request

    async def _respond(self, messages: Sequence[ChatMessage], tools: Sequence[Tool], mode: Mode) -> "ModelResponse":
        """The whole answer; streamed, so that a long one is not taken for a silent server."""
        if mode != "tools":
            messages = _with_instruction(messages, json_reply.instruction(tools))
        events = self._events(messages, _parameters(tools, mode), tool_choice="required" if mode == "tools" else None)
        async with aclosing(events):
            async for event in events:
                response = event[0]
        return response.get()

    async def _pieces(self, messages: Sequence[ChatMessage]) -> AsyncGenerator[str | TokenUsage]:
        from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
        from pydantic_ai.models import ModelRequestParameters

        thoughts = ThoughtFilter()
        empty, usage = True, TokenUsage()
        async with aclosing(self._events(messages, ModelRequestParameters())) as events:
            async for response, event in events:
                piece, usage = "", _usage(response.usage)
                if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                    piece = thoughts.feed(event.part.content)
                elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                    piece = thoughts.feed(event.delta.content_delta)
                elif event is None:
                    piece = thoughts.finish()
                if piece:
                    empty = False
                    yield piece
        if empty:
            raise _FaultError(
                _Fault(f"{self._model_at} answered with nothing; try again or choose another model.", retry=True)
            )
        yield usage

    async def _events(
        self,
        messages: Sequence[ChatMessage],
        parameters: "ModelRequestParameters",
        tool_choice: Literal["required"] | None = None,
    ) -> AsyncGenerator[tuple["StreamedResponse", Any]]:
        """The events of one request, then None. Every failure of the service is a `_FaultError`.

        A server that takes no temperature is asked once more without one, and with none from then on.
        """
        greedy = self.greedy
        try:
            async with aclosing(self._request(messages, parameters, tool_choice, greedy=greedy)) as events:
                async for event in events:
                    yield event
            return
        except _FaultError as error:
            if not (greedy and error.fault.about_temperature):
                raise
        self.greedy = False
        async with aclosing(self._request(messages, parameters, tool_choice, greedy=False)) as events:
            async for event in events:
                yield event

    async def _request(
        self,
        messages: Sequence[ChatMessage],
        parameters: "ModelRequestParameters",
        tool_choice: Literal["required"] | None,
        *,
        greedy: bool,
    ) -> AsyncGenerator[tuple["StreamedResponse", Any]]:
        import httpx2
        from pydantic_ai.direct import model_request_stream
        from pydantic_ai.settings import ModelSettings

        # pydantic-ai names the class of the older httpx in its type; the client in use is httpx2's.
        timeout: Any = httpx2.Timeout(self._timeout, connect=_CONNECT_TIMEOUT)
        settings = ModelSettings(max_retries=0, timeout=timeout)
        if tool_choice:
            settings["tool_choice"] = tool_choice
        if greedy:
            settings["temperature"] = 0.0
        prompt = _prompt(messages, self.sees_photos)
        has_photos = self.sees_photos and any(isinstance(part, PhotoPart) for m in messages for part in m.parts)
        try:
            async with model_request_stream(
                self._model(), prompt, model_settings=settings, model_request_parameters=parameters, instrument=False
            ) as response:
                async for event in response:
                    yield response, event
                if _is_cut(response):
                    raise _FaultError(self._cut())
                yield response, None
                return
        except _FaultError as error:
            fault = error.fault
        except Exception as error:
            # The SDKs let anything through that a server's answer can provoke in them: TypeError, AttributeError, …
            fault = self._fault(error, has_photos)
        # Raised outside of the handler, without a cause: the SDK's errors carry requests, and those the key.
        raise _FaultError(fault)

    def _model(self) -> "Model[Any]":
        """The model with its connections, which belong to one event loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._models:
            self._models[loop] = self._connect()
        return self._models[loop]

    # Reading the answer

    def _read_call(self, response: "ModelResponse", tools: Sequence[Tool], mode: Mode) -> ToolCall:
        from pydantic_ai.messages import TextPart, ToolCallPart

        call = next((part for part in response.parts if isinstance(part, ToolCallPart)), None)
        text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
        try:
            if call is not None:
                self._tools_seen = True
                name, arguments = json_reply.check_call(call.tool_name, call.args, tools)
            else:
                if mode == "tools":
                    self._doubt_tools()
                name, arguments = json_reply.parse_call(text, tools)
        except MalformedReplyError as error:
            said = text if call is None else call.args_as_json_str()
            raise MalformedReplyError(str(error), text=said, usage=_usage(response.usage)) from None
        return ToolCall(name, arguments, _usage(response.usage))

    def _doubt_tools(self) -> None:
        """A server may drop the tools from the prompt without a word; then its model can only ever answer in text."""
        self._plain_answers += 1
        if self._plain_answers > 1 and not self._tools_seen:
            self.mode = "json_schema"

    # Faults

    @property
    def _model_at(self) -> str:
        return f"The model {self._model_name!r} at {self._address}"

    async def _wait(self, attempt: int, fault: _Fault) -> None:
        backoff: float = min(self._backoff * 2**attempt, _LONGEST_BACKOFF) * random.uniform(0.75, 1)
        await self._sleep(max(backoff, min(fault.retry_after or 0.0, self._longest_retry_after)))

    def _cut(self) -> _Fault:
        return _Fault(f"{self._model_at} broke off in the middle of its answer; try again.", retry=True)

    def _fault(self, error: Exception, has_photos: bool) -> _Fault:
        import httpx2
        from pydantic_ai import exceptions as failed

        where, remedy = self._address, "try again later or look at its log"
        if isinstance(error, failed.ModelContextWindowExceededError):
            return _Fault(
                f"The prompt is longer than {self._model_name!r} at {where} accepts; "
                "lower M2A_HISTORY_TOKENS or serve the model with a longer context.",
                final=True,
            )
        if isinstance(error, failed.ModelHTTPError):
            return self._status_fault(error, has_photos)
        if isinstance(error, failed.ModelTimeoutError | TimeoutError | httpx2.TimeoutException):
            if getattr(error, "phase", None) == "connect" or isinstance(error, httpx2.ConnectTimeout):
                return _Fault(f"Nothing answers at {where}; is the server running there?", retry=True, unreachable=True)
            sentence = (
                f"The server at {where} sent nothing for {self._timeout:g} seconds; is it stuck? (M2A_CHAT_TIMEOUT)"
            )
            return _Fault(sentence, retry=True)
        if isinstance(error, failed.ModelConnectionError | httpx2.TransportError | OSError):
            if getattr(error, "phase", None) == "connect" or isinstance(error, httpx2.ConnectError):
                return _Fault(f"Cannot connect to {where}; is the server running there?", retry=True, unreachable=True)
            return self._cut()
        if isinstance(error, failed.ModelAPIError) and error.in_stream:
            words = self._words(error)
            about_tools = bool(_ABOUT_TOOLS.search(words))
            return _Fault(f"{self._model_at} failed{words}; {remedy}.", True, about_tools=about_tools)
        if isinstance(error, failed.UserError):
            return _Fault(f"{self._model_at} cannot take this request{self._words(error)}.", final=True)
        if not isinstance(error, failed.AgentRunError):
            # A mistake in the SDK or here looks no different, so its place is logged; its words might hold the key.
            place = traceback.extract_tb(error.__traceback__)[-1]
            _log.warning(
                "%s at %s:%s, over what %s answers.", type(error).__name__, place.filename, place.lineno, where
            )
        return _Fault(
            f"What {where} answers is no chat completion; is it the address of an OpenAI-compatible server? "
            "(M2A_CHAT_BASE_URL, which usually ends in /v1)",
            retry=True,
        )

    def _status_fault(self, error: Any, has_photos: bool) -> _Fault:
        from pydantic_ai import exceptions as failed

        status, where, words = error.status_code, self._address, self._words(error)
        about_tools = bool(_ABOUT_TOOLS.search(words))
        if status in (401, 403):
            sentence = f"The server at {where} refuses the key ({status}); set M2A_CHAT_API_KEY to one that may use this model."
            return _Fault(sentence, status=status, final=True, unreachable=True)
        if isinstance(error, failed.ModelQuotaExceededError):
            sentence = f"The account at {where} has no quota left ({status}){words}."
            return _Fault(sentence, status=status, final=True, unreachable=True)
        if status == 404 and not about_tools:
            if "model" in words.lower():
                sentence = (
                    f"The server at {where} has no model {self._model_name!r}; check the name in M2A_CHAT_MODEL{words}."
                )
            else:
                sentence = f"There is no chat server at {where} (404); M2A_CHAT_BASE_URL usually ends in /v1{words}."
            return _Fault(sentence, status=status, final=True, unreachable=True)
        if status in _RETRIED_STATUS or status >= 500:
            if status == 429:
                sentence = f"The server at {where} takes no more requests for now (429); try again later{words}."
            else:
                sentence = f"{self._model_at} failed ({status}); try again later or look at its log{words}."
            unreachable = status in _ANSWERS_NOBODY
            return _Fault(sentence, status != 501, error.retry_after, status, about_tools, unreachable=unreachable)
        sentence = f"{self._model_at} refuses the request ({status}){words}."
        if has_photos and _ABOUT_PHOTOS.search(words):
            sentence += " If it sees no photos, set M2A_CHAT_SEES_PHOTOS=false."
        about_temperature = bool(_ABOUT_TEMPERATURE.search(words))
        return _Fault(sentence, status=status, about_tools=about_tools, about_temperature=about_temperature)

    def _words(self, error: Any) -> str:
        """What the server said, as the end of a sentence; short, on one line and without the key."""
        body = getattr(error, "body", None)
        while isinstance(body, Mapping):
            body = body.get("error") or body.get("message") or body.get("detail")
        said = " ".join(str(body or "").split()).rstrip(".")
        if key := self._key.get_secret_value():
            said = said.replace(key, "***")
        if not said or said.startswith("<"):
            return ""
        return f": {said if len(said) <= _QUOTED else said[:_QUOTED] + '…'}"


# Our values to pydantic-ai's and back


def _prompt(messages: Sequence[ChatMessage], sees_photos: bool) -> "list[ModelMessage]":
    """One system message and then turns that alternate: many chat templates take nothing else."""
    from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart

    prompt: list[ModelMessage] = []
    for role, group in itertools.groupby(messages, key=lambda message: message.role):
        content = _content([part for message in group for part in message.parts], sees_photos)
        if role == "assistant":
            prompt.append(ModelResponse(parts=[TextPart(_as_text(content))]))
        elif role == "system":
            prompt.append(ModelRequest(parts=[SystemPromptPart(_as_text(content))]))
        else:
            # A plain string where there is no photo: some servers' templates know no list of parts.
            is_text = all(isinstance(part, str) for part in content)
            prompt.append(ModelRequest(parts=[UserPromptPart(_as_text(content) if is_text else content)]))
    return prompt


def _content(parts: "Sequence[str | PhotoPart]", sees_photos: bool) -> "list[UserContent]":
    from pydantic_ai.messages import BinaryContent

    content: list[UserContent] = []
    for part in parts:
        if isinstance(part, str):
            content.append(part)
        elif sees_photos:
            content += [part.label, BinaryContent(part.data, media_type=part.media_type)]
        else:
            content.append(part.label)
    return content


def _as_text(content: "Sequence[UserContent]") -> str:
    return "\n\n".join(part for part in content if isinstance(part, str))


def _with_instruction(messages: Sequence[ChatMessage], text: str) -> list[ChatMessage]:
    """The messages with one more system message after the first ones."""
    first = next((n for n, message in enumerate(messages) if message.role != "system"), len(messages))
    return [*messages[:first], ChatMessage("system", (text,)), *messages[first:]]


def _parameters(tools: Sequence[Tool], mode: Mode) -> "ModelRequestParameters":
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    if mode == "tools":
        return ModelRequestParameters(
            function_tools=[
                ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=dict(tool.parameters),
                    strict=False,
                )
                for tool in tools
            ]
        )
    if mode == "text":
        return ModelRequestParameters()
    output = OutputObjectDefinition(json_reply.schema(tools), name="tool_call", strict=False)
    # The template is ours (`json_reply.instruction`), so pydantic-ai adds none.
    output_mode: Literal["native", "prompted"] = "native" if mode == "json_schema" else "prompted"
    return ModelRequestParameters(output_mode=output_mode, output_object=output, prompted_output_template=False)


def _usage(usage: Any) -> TokenUsage:
    if not usage.input_tokens and not usage.output_tokens:
        return TokenUsage()
    return TokenUsage(usage.input_tokens, usage.output_tokens)


def _is_cut(response: "StreamedResponse") -> bool:
    """Whether a stream of an OpenAI-compatible server ended politely before its end.

    A finish reason says nothing about the answer, but an answer with neither a reason nor a usage is not over.
    """
    from pydantic_ai.models.openai import OpenAIStreamedResponse

    if not isinstance(response, OpenAIStreamedResponse):
        return False
    details = response.provider_details or {}
    return not {"finish_reason", "refusal"} & details.keys() and not response.usage.total_tokens
