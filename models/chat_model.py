"""The protocol of language models: choose a tool, or stream a reply."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from m2a.types.errors import UserError
from models.abilities import Abilities, Probe

CHARACTERS_PER_TOKEN = 4  # an estimate
REPLY_TOKENS = 4096
CALL_TOKENS = 2048


@dataclass(frozen=True, slots=True)
class PhotoPart:
    """The encoded bytes of a photo, with the label before it in the prompt."""

    label: str
    data: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class CallPart:
    """An earlier tool call, in an assistant message. The next user message contains its result."""

    call_id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ResultPart:
    """The result of a tool call, in a user message."""

    call_id: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message in a prompt. `system` messages come first."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[str | PhotoPart | CallPart | ResultPart, ...]


def in_words(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Converts the messages for a model without tool messages: calls become the requested JSON, and results become text."""
    return [ChatMessage(message.role, tuple(_in_words(part) for part in message.parts)) for message in messages]


def _in_words(part: str | PhotoPart | CallPart | ResultPart) -> str | PhotoPart:
    if isinstance(part, CallPart):
        return json.dumps({"tool": part.name, "arguments": part.arguments}, ensure_ascii=False)
    return part.text if isinstance(part, ResultPart) else part


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool. `parameters` is the JSON schema of its arguments (an object).

    `longest` is the number of tokens that a call may need, or None if the default is enough. `strict` asks the server to enforce
    the schema, in which every object must require all of its keys and allow no others.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    longest: int | None = None
    strict: bool = False


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """The tokens of one call as counted by the server, or None if it does not count them."""

    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model's call of a tool. The arguments are a JSON object that is not yet checked against the schema.

    `further` are the other calls in the same answer, in order; a malformed one is the error that describes it.
    """

    name: str
    arguments: Mapping[str, Any]
    usage: TokenUsage
    further: "tuple[ToolCall | MalformedReplyError, ...]" = ()


class ChatModelError(UserError):
    """The service failed even after retries. The message is a sentence for the user.

    `unreachable` is whether the failure has nothing to do with this request, since the server answers nobody. `about_photos` is
    whether the server refused the photos in the prompt.
    """

    def __init__(self, message: str, *, unreachable: bool = False, about_photos: bool = False) -> None:
        super().__init__(message)
        self.unreachable = unreachable
        self.about_photos = about_photos


class MalformedReplyError(Exception):
    """The model's answer is not a valid tool call. The message tells the model what was wrong.

    `text` is what it answered instead, and `usage` the cost, as far as they are known.
    """

    def __init__(self, message: str, *, text: str = "", usage: TokenUsage | None = None) -> None:
        super().__init__(message)
        self.text = text
        self.usage = usage or TokenUsage()


class ChatModel(Protocol):
    """A language model. Its adapter retries service failures with backoff before it raises `ChatModelError`."""

    name: str

    @property
    def reply_tokens(self) -> int:
        """The maximum number of tokens of a reply, as far as the context window allows it."""
        ...

    @property
    def sees_photos(self) -> bool:
        """Whether photos are sent, as far as is known. If not, only a photo's label is in the prompt."""
        ...

    @property
    def known_abilities(self) -> Abilities:
        """The abilities that are known so far, without asking anyone."""
        ...

    async def abilities(self, probe: tuple[Probe, ...] = ()) -> Abilities:
        """Returns the abilities that the server reports, which costs no tokens, and caches them.

        Unknown abilities that `probe` names are determined with one small model call each. Never raises: abilities that cannot
        be determined stay None, and a server that is down does not change them.
        """
        ...

    async def choose(self, messages: Sequence[ChatMessage], tools: Sequence[Tool]) -> ToolCall:
        """Makes the model call at least one of the tools.

        Uses the first of these ways that the server supports, and remembers it: tool calls, JSON that follows a schema, a JSON
        object, or JSON parsed from text. Never trusts a finish reason. Raises `MalformedReplyError` for a mistake of the
        model, and `ChatModelError` for a failure of the service.
        """
        ...

    def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = ()
    ) -> AsyncGenerator[str | ToolCall | TokenUsage]:
        """Yields pieces of the reply, then one `TokenUsage`. Closing the iterator cancels the call.

        With tools, the model may call one instead of a reply or after some words; the `ToolCall` comes before the usage. On a
        server without tool calls, the first line of a reply may be one. Raises `MalformedReplyError` for an invalid call.

        A stream that breaks off before its first piece is retried; one that breaks off later raises `ChatModelError`.
        """
        ...
