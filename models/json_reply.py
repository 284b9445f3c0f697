"""Tool calls as JSON: the instructions and the schema for the model, and the parser of its answers.

The errors are sentences for the model, which receives them and may try again.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from models.chat_model import MalformedReplyError, Tool
from models.thoughts import without_thoughts

_QUOTED = 120
_OBJECT_START = re.compile(r'\{\s*"')
_EXAMPLE = '{"tool": "<name>", "arguments": {...}}'


def instruction(tools: Sequence[Tool]) -> str:
    """Returns the instruction for a model on a server without tool calls."""
    return (
        f"{_listed(tools)}\n\n"
        f"Answer with one JSON object and nothing else: {_EXAMPLE}. "
        'The value of "tool" is the name of one tool, "arguments" is an object that fits its schema.'
    )


def choice(tools: Sequence[Tool]) -> str:
    """Returns the instruction for a model on a server without tool calls that may call a tool or reply."""
    return (
        f"{_listed(tools)}\n\n"
        f"To call one, answer with one line and nothing else: {_EXAMPLE}. Otherwise answer in plain text."
    )


def _listed(tools: Sequence[Tool]) -> str:
    listed = (
        f"- {tool.name}: {tool.description}\n  arguments (JSON schema): {json.dumps(tool.parameters)}" for tool in tools
    )
    return "\n".join(("You have these tools:", *listed))


def schema(tools: Sequence[Tool]) -> dict[str, Any]:
    """Returns the JSON schema of an answer to `instruction`. Definitions move to the root, where `$ref` looks for them."""
    definitions: dict[str, Any] = {}
    calls = []
    for tool in tools:
        arguments = {key: value for key, value in tool.parameters.items() if key != "$defs"}
        own: Mapping[str, Any] = tool.parameters.get("$defs", {})
        if any(name in definitions and definitions[name] != value for name, value in own.items()):
            arguments = {"type": "object"}
        else:
            definitions.update(own)
        calls.append(
            {
                "type": "object",
                "properties": {"tool": {"type": "string", "enum": [tool.name]}, "arguments": arguments},
                "required": ["tool", "arguments"],
                "additionalProperties": False,
            }
        )
    whole: dict[str, Any] = calls[0] if len(calls) == 1 else {"anyOf": calls}
    return {**whole, "$defs": definitions} if definitions else whole


def parse_calls(text: str, tools: Sequence[Tool]) -> list[tuple[str, dict[str, Any]]]:
    """Returns name and arguments of every tool call in the text: the first like `parse_call`, then further complete ones."""
    calls = [parse_call(text, tools)]
    named = [_name_and_arguments(value) for value in _objects(without_thoughts(text))]
    for name, arguments in [call for call in named if call[0] is not None][1:]:
        calls.append(check_call(name, arguments, tools))
    return calls


def parse_call(text: str, tools: Sequence[Tool]) -> tuple[str, dict[str, Any]]:
    """Returns name and arguments of the first tool call in the text. Raises `MalformedReplyError`.

    Understands `{"tool", "arguments"}` and the forms that models were trained on (`{"name", "parameters"}` and
    `{"function": {"name", "arguments"}}`), inside prose, code fences or `<tool_call>` tags.
    """
    answer = without_thoughts(text)
    if not answer:
        raise MalformedReplyError(f"The answer was empty. {_remedy(tools)}")
    first: dict[str, Any] | None = None
    for value in _objects(answer):
        first = value if first is None else first
        name, arguments = _name_and_arguments(value)
        if name is not None:
            return check_call(name, arguments, tools)
    if first is not None:
        raise MalformedReplyError(f'The JSON object {_quote(json.dumps(first))} names no "tool". {_remedy(tools)}')
    if "{" in answer:
        broken = _quote(answer[answer.index("{") :])
        raise MalformedReplyError(f"The JSON object in the answer is broken or was cut off: {broken}. {_remedy(tools)}")
    raise MalformedReplyError(f"The answer was text, not a tool call: {_quote(answer)}. {_remedy(tools)}")


def check_call(name: object, arguments: object, tools: Sequence[Tool]) -> tuple[str, dict[str, Any]]:
    """Checks that the call names one of the tools and that its arguments are an object, or a JSON string of one.

    Returns the name and the arguments. Raises `MalformedReplyError`.
    """
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        raise MalformedReplyError(f"There is no tool named {name!r}. {_remedy(tools)}")
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        if tool.parameters.get("required"):
            required = ", ".join(tool.parameters["required"])
            raise MalformedReplyError(f"The arguments of {tool.name!r} are missing; it needs: {required}.")
        arguments = {}
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError) as error:
            raise MalformedReplyError(
                f"The arguments of {tool.name!r} are not valid JSON, perhaps cut off: {error}. "
                "Call it again with complete arguments, shorter if need be."
            ) from None
    if not isinstance(arguments, Mapping):
        kind = type(arguments).__name__
        raise MalformedReplyError(f"The arguments of {tool.name!r} must be a JSON object, not a {kind}.")
    return tool.name, dict(arguments)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yields the complete JSON objects in a text, in order, without nested ones."""
    decoder = json.JSONDecoder(strict=False)
    start = text.find("{")
    while start >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            # An object inside a broken one is not the call, but a brace in prose does not start an object.
            if _OBJECT_START.match(text, start):
                return
            end = start + 1
        else:
            yield value
        start = text.find("{", end)


def _name_and_arguments(value: Mapping[str, Any]) -> tuple[object | None, object]:
    name = value.get("tool", value.get("name", value.get("function")))
    if isinstance(name, Mapping):
        return _name_and_arguments(name)
    return name, value.get("arguments", value.get("parameters"))


def _remedy(tools: Sequence[Tool]) -> str:
    return f"Answer with one call of: {', '.join(tool.name for tool in tools)}, as {_EXAMPLE}."


def _quote(text: str) -> str:
    return repr(text if len(text) <= _QUOTED else text[:_QUOTED] + "…")
