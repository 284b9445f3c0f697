"""A chat model that counts its calls and tokens."""

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

PHOTO_TOKENS = 500  # the estimate for a photo if the server does not count


def tokens_of(text: str) -> int:
    """Returns an estimate of the tokens of a text."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


class MeteredChatModel:
    """Passes everything on, and adds the usage to the meter."""

    def __init__(self, chat_model: ChatModel, meter: Meter) -> None:
        self.name = chat_model.name
        self._meter = meter
        self._chat_model = chat_model

    @property
    def usage(self) -> Usage:
        return self._meter.usage

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
        said, counted = "", TokenUsage()
        try:
            async with aclosing(self._chat_model.stream(messages, tools)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, TokenUsage):
                        counted = piece
                    elif isinstance(piece, ToolCall):
                        said += str(piece.arguments)
                    else:
                        said += piece
                    yield piece
        except ChatModelError:
            self._meter.usage += Usage(failures=1)
            raise
        self._count(messages, said, counted)

    def _count(self, messages: Sequence[ChatMessage], said: str, counted: TokenUsage) -> None:
        self._meter.usage += Usage(
            prompt_tokens(messages) if counted.input_tokens is None else counted.input_tokens,
            tokens_of(said) if counted.output_tokens is None else counted.output_tokens,
            calls=1,
            estimated=counted.input_tokens is None or counted.output_tokens is None,
        )


def prompt_tokens(messages: Sequence[ChatMessage]) -> int:
    """Returns an estimate of the tokens of a text."""
    return sum(
        tokens_of(part) if isinstance(part, str) else PHOTO_TOKENS
        for message in in_words(messages)
        for part in message.parts
    )
