"""Converts messages and tools to those of pydantic-ai, and its answers back."""

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from models import json_reply
from models.chat_model import CallPart, ChatMessage, PhotoPart, ResultPart, TokenUsage, Tool, in_words

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelRequestPart, ModelResponsePart, UserContent
    from pydantic_ai.models import ModelRequestParameters, StreamedResponse

Mode = Literal["tools", "json_schema", "json_object", "text"]


def prompt(messages: Sequence[ChatMessage], *, photos_at_most: int) -> "list[ModelMessage]":
    """Returns one system message followed by alternating turns, since many chat templates accept nothing else.

    Only the last `photos_at_most` photos are sent; the others are replaced by their labels with a remark.
    """
    from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, UserPromptPart

    turns: list[ModelMessage] = []
    labels = _unsent(messages, photos_at_most)
    for role, group in itertools.groupby(messages, key=lambda message: message.role):
        parts = [part for message in group for part in message.parts]
        content = _content([part for part in parts if isinstance(part, str | PhotoPart)], labels)
        if role == "assistant":
            turns.append(ModelResponse(parts=_response_parts(parts)))
        elif role == "system":
            turns.append(ModelRequest(parts=[SystemPromptPart(_as_text(content))]))
        else:
            request = _results(parts)
            # Without photos, the content is a plain string, since some servers' templates accept no list of parts.
            is_text = all(isinstance(part, str) for part in content)
            if content:
                request.append(UserPromptPart(_as_text(content) if is_text else content))
            turns.append(ModelRequest(parts=request))
    return turns


def parameters(tools: Sequence[Tool], mode: Mode) -> "ModelRequestParameters":
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
                    strict=tool.strict,
                )
                for tool in tools
            ]
        )
    if mode == "text":
        return ModelRequestParameters()
    output = OutputObjectDefinition(
        json_reply.schema(tools), name="tool_call", strict=all(tool.strict for tool in tools)
    )
    # `json_reply.instruction` is already in the prompt, so pydantic-ai must not add its own template.
    output_mode: Literal["native", "prompted"] = "native" if mode == "json_schema" else "prompted"
    return ModelRequestParameters(output_mode=output_mode, output_object=output, prompted_output_template=False)


def usage_of(usage: Any) -> TokenUsage:
    if not usage.input_tokens and not usage.output_tokens:
        return TokenUsage()
    return TokenUsage(usage.input_tokens, usage.output_tokens)


def is_cut(response: "StreamedResponse") -> bool:
    """Returns whether the stream of an OpenAI-compatible server ended without an error before the answer was complete.

    A finish reason proves nothing about the answer, but an answer with neither a reason nor a usage is incomplete.
    """
    from pydantic_ai.models.openai import OpenAIStreamedResponse

    if not isinstance(response, OpenAIStreamedResponse):
        return False
    details: Mapping[str, Any] = response.provider_details or {}
    return not {"finish_reason", "refusal"} & details.keys() and not response.usage.total_tokens


def with_instruction(instruction: str, messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Returns the messages with an instruction that describes the tools, and without tool messages."""
    first = next((n for n, message in enumerate(messages) if message.role != "system"), len(messages))
    return [*messages[:first], ChatMessage("system", (instruction,)), *in_words(messages[first:])]


def _response_parts(parts: Sequence[object]) -> "list[ModelResponsePart]":
    from pydantic_ai.messages import TextPart, ToolCallPart

    words = [part for part in parts if isinstance(part, str)]
    answer_parts: list[ModelResponsePart] = [TextPart("\n\n".join(words))] if words else []
    for part in parts:
        if isinstance(part, CallPart):
            written = json.dumps(part.arguments, ensure_ascii=False)
            answer_parts.append(ToolCallPart(part.name, written, tool_call_id=part.call_id))
    return answer_parts


def _results(parts: Sequence[object]) -> "list[ModelRequestPart]":
    from pydantic_ai.messages import ToolReturnPart

    return [
        ToolReturnPart(part.name, part.text, tool_call_id=part.call_id)
        for part in parts
        if isinstance(part, ResultPart)
    ]


def _unsent(messages: Sequence[ChatMessage], photos_at_most: int) -> dict[int, str]:
    """Returns the texts that replace photos that are not sent, by the identity of their part."""
    photos = [part for message in messages for part in message.parts if isinstance(part, PhotoPart)]
    left_out = photos[: max(0, len(photos) - photos_at_most)]
    remark = " (not sent: there are more photos than the model takes)" if photos_at_most else ""
    return {id(photo): photo.label + remark for photo in left_out}


def _content(parts: "Sequence[str | PhotoPart]", unsent: Mapping[int, str]) -> "list[UserContent]":
    from pydantic_ai.messages import BinaryContent

    content: list[UserContent] = []
    for part in parts:
        if isinstance(part, str):
            content.append(part)
        elif id(part) in unsent:
            content.append(unsent[id(part)])
        else:
            content += [part.label, BinaryContent(part.data, media_type=part.media_type)]
    return content


def _as_text(content: "Sequence[UserContent]") -> str:
    return "\n\n".join(part for part in content if isinstance(part, str))
