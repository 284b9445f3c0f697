"""A wrapper that counts the calls and tokens of a chat model."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from m2a.systems.system import Meter, Usage
from models.abilities import Abilities, Probe
from models.chat_model import (
    CHARACTERS_PER_TOKEN,
    ChatMessage,
    ChatModel,
    ChatModelError,
    MalformedReplyError,
    TokenUsage,
    Tool,
    ToolCall,
    in_words,
)

PHOTO_TOKENS = 500  # the estimate for a photo if the server does not count tokens


def tokens_of(text: str) -> int:
    """Returns an estimate of the tokens of a text."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


class MeteredChatModel:
    """A chat model that passes every call on to another, and adds the usage to the meter."""

    def __init__(self, chat_model: ChatModel, meter: Meter) -> None:
        self.name = chat_model.name
        self._meter = meter
        self._chat_model = chat_model

    @property
    def reply_tokens(self) -> int:
        return self._chat_model.reply_tokens

    @property
    def sees_photos(self) -> bool:
        return self._chat_model.sees_photos

    @property
    def known_abilities(self) -> Abilities:
        return self._chat_model.known_abilities

    async def abilities(self, probe: tuple[Probe, ...] = ()) -> Abilities:
        return await self._chat_model.abilities(probe)

    async def choose(self, messages: Sequence[ChatMessage], tools: Sequence[Tool]) -> ToolCall:
        try:
            call = await self._chat_model.choose(messages, tools)
        except MalformedReplyError as error:
            self._count(messages, error.text, error.usage)
            raise
        except ChatModelError:
            self._meter.usage += Usage(failures=1)
            raise
        self._count(messages, str(call.arguments), call.usage)
        return call

    async def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = ()
    ) -> AsyncGenerator[str | ToolCall | TokenUsage, None]:
        reply, usage = "", TokenUsage()
        try:
            async with aclosing(self._chat_model.stream(messages, tools)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, TokenUsage):
                        usage = piece
                    elif isinstance(piece, ToolCall):
                        reply += str(piece.arguments)
                    else:
                        reply += piece
                    yield piece
        except ChatModelError:
            self._meter.usage += Usage(failures=1)
            raise
        self._count(messages, reply, usage)

    def _count(self, messages: Sequence[ChatMessage], reply: str, usage: TokenUsage) -> None:
        self._meter.usage += Usage(
            prompt_tokens(messages) if usage.input_tokens is None else usage.input_tokens,
            tokens_of(reply) if usage.output_tokens is None else usage.output_tokens,
            calls=1,
            estimated=usage.input_tokens is None or usage.output_tokens is None,
        )


def prompt_tokens(messages: Sequence[ChatMessage]) -> int:
    """Returns an estimate of the tokens of a prompt."""
    return sum(
        tokens_of(part) if isinstance(part, str) else PHOTO_TOKENS
        for message in in_words(messages)
        for part in message.parts
    )
