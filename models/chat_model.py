"""Language models behind one protocol: choose a tool, or stream a reply."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from m2a.types.errors import UserError
from models.abilities import Abilities, Probe

CHARACTERS_PER_TOKEN = 4  # where nobody counts
REPLY_TOKENS = 4096
CALL_TOKENS = 2048


@dataclass(frozen=True, slots=True)
class PhotoPart:
    """Encoded bytes of a photo with the label that stands before it in the prompt."""

    label: str
    data: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class CallPart:
    """A tool call that the model made before, in an assistant message; the next user message holds its result."""

    call_id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ResultPart:
    """What came of a tool call, in a user message."""

    call_id: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a prompt, in order. `system` messages come first."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[str | PhotoPart | CallPart | ResultPart, ...]


def in_words(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """The messages for a model without tool messages: a call is the JSON that it is asked for, a result is text."""
    return [ChatMessage(message.role, tuple(_in_words(part) for part in message.parts)) for message in messages]


def _in_words(part: str | PhotoPart | CallPart | ResultPart) -> str | PhotoPart:
    if isinstance(part, CallPart):
        return json.dumps({"tool": part.name, "arguments": part.arguments}, ensure_ascii=False)
    return part.text if isinstance(part, ResultPart) else part


@dataclass(frozen=True, slots=True)
class Tool:
    """`parameters` is the JSON schema of the arguments (an object).

    `longest` is how many tokens a call may need; None where a short one will do. `strict` asks the server to hold the
    model to the schema: every object of it names all of its keys as required and allows no others.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    longest: int | None = None
    strict: bool = False


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one call as the server counted them; None where it did not."""

    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The tool that the model chose. The arguments are a JSON object, not yet checked against the schema.

    `further` are the other calls of the same answer, in order; one that is malformed stands there as its complaint.
    """

    name: str
    arguments: Mapping[str, Any]
    usage: TokenUsage
    further: "tuple[ToolCall | MalformedReplyError, ...]" = ()


class ChatModelError(UserError):
    """The service failed after retries; the message is a sentence for the user.

    `unreachable` where that says nothing of the request: nobody answers, or answers nobody. `about_photos` where the
    photos of the prompt are what was refused.
    """

    def __init__(self, message: str, *, unreachable: bool = False, about_photos: bool = False) -> None:
        super().__init__(message)
        self.unreachable = unreachable
        self.about_photos = about_photos


class MalformedReplyError(Exception):
    """The model answered with something that is no tool call; the message says what was wrong, for the model.

    `text` is what it said instead, and `usage` what it cost, as far as they are known.
    """

    def __init__(self, message: str, *, text: str = "", usage: TokenUsage | None = None) -> None:
        super().__init__(message)
        self.text = text
        self.usage = usage or TokenUsage()


class ChatModel(Protocol):
    """Service failures are retried with backoff inside the adapter, then raise `ChatModelError`."""

    name: str

    @property
    def sees_photos(self) -> bool:
        """Whether photos are sent, by what is known so far; else a photo's label stands alone in the prompt."""
        ...

    @property
    def known_abilities(self) -> Abilities:
        """What was found out so far; costs nothing."""
        ...

    async def abilities(self, probe: tuple[Probe, ...] = ()) -> Abilities:
        """What the model can do: asked of the server, which costs no tokens, and kept.

        Of what `probe` names and nobody knows yet, the model itself is asked, in one small call each. Never raises: what
        cannot be found out stays None, and an outage says nothing of a model.
        """
        ...

    async def choose(self, messages: Sequence[ChatMessage], tools: Sequence[Tool]) -> ToolCall:
        """Make the model call the tools, one at least.

        Tool calls where the model has them, else JSON under a schema, else a JSON object, else JSON parsed
        out of text; what the server lacks is found out once and remembered. A finish reason is never trusted.
        Raises `MalformedReplyError` for the model's mistake, `ChatModelError` for the service's.
        """
        ...

    def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = ()
    ) -> AsyncGenerator[str | ToolCall | TokenUsage]:
        """Pieces of the reply, then one `TokenUsage`. Closing the iterator cancels the call.

        With tools the model may call them in place of a reply, or after some words of one: the `ToolCall` stands before the
        usage. Where the server has no tool calls, the first line of a reply may be one. Raises `MalformedReplyError` for a
        call that is none.

        A stream that is cut before its first piece is retried; one cut later raises `ChatModelError`.
        """
        ...
