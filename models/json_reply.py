"""A tool call as JSON: how to ask for one, its schema, and how to read one out of what a model wrote.

Every complaint is a sentence for the model, which gets it back and may try again.
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
    """What the prompt says where the server knows no tool calls."""
    return (
        f"{_listed(tools)}\n\n"
        f"Answer with one JSON object and nothing else: {_EXAMPLE}. "
        'The value of "tool" is the name of one tool, "arguments" is an object that fits its schema.'
    )


def choice(tools: Sequence[Tool]) -> str:
    """What the prompt says where the server knows no tool calls, and a tool may be called or not."""
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
    """The JSON schema of an answer to `instruction`. Definitions move to the root, where `$ref` looks for them."""
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
    """Name and arguments of every tool call that the text holds: the first as by `parse_call`, then the whole ones after it."""
    calls = [parse_call(text, tools)]
    named = [_named(found) for found in _objects(without_thoughts(text))]
    for name, arguments in [one for one in named if one[0] is not None][1:]:
        calls.append(check_call(name, arguments, tools))
    return calls


def parse_call(text: str, tools: Sequence[Tool]) -> tuple[str, dict[str, Any]]:
    """Name and arguments of the first tool call that the text holds as a JSON object.

    Understands `{"tool", "arguments"}` and the forms that models were trained on: `{"name", "parameters"}`,
    `{"function": {"name", "arguments"}}`, inside prose, code fences or `<tool_call>` tags.
    """
    said = without_thoughts(text)
    if not said:
        raise MalformedReplyError(f"The answer was empty. {_remedy(tools)}")
    first: dict[str, Any] | None = None
    for found in _objects(said):
        first = found if first is None else first
        name, arguments = _named(found)
        if name is not None:
            return check_call(name, arguments, tools)
    if first is not None:
        raise MalformedReplyError(f'The JSON object {_quote(json.dumps(first))} names no "tool". {_remedy(tools)}')
    if "{" in said:
        raise MalformedReplyError(
            f"The JSON object in the answer is broken or was cut off: {_quote(said[said.index('{') :])}. {_remedy(tools)}"
        )
    raise MalformedReplyError(f"The answer was text and no tool call: {_quote(said)}. {_remedy(tools)}")


def check_call(name: object, arguments: object, tools: Sequence[Tool]) -> tuple[str, dict[str, Any]]:
    """The call if it names one of the tools and its arguments are an object, also written out as a JSON string."""
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        raise MalformedReplyError(f"There is no tool named {name!r}. {_remedy(tools)}")
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        if tool.parameters.get("required"):
            wanted = ", ".join(tool.parameters["required"])
            raise MalformedReplyError(f"The arguments of {tool.name!r} are missing; it needs: {wanted}.")
        arguments = {}
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError) as error:
            raise MalformedReplyError(
                f"The arguments of {tool.name!r} are no valid JSON, perhaps cut off: {error}. "
                "Call it again with complete arguments, shorter if need be."
            ) from None
    if not isinstance(arguments, Mapping):
        kind = type(arguments).__name__
        raise MalformedReplyError(f"The arguments of {tool.name!r} must be a JSON object, not a {kind}.")
    return tool.name, dict(arguments)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The complete JSON objects in a text, in order, none inside another."""
    decoder = json.JSONDecoder(strict=False)
    start = text.find("{")
    while start >= 0:
        try:
            found, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            # What stands inside a broken object is not the call; a brace in prose is no object.
            if _OBJECT_START.match(text, start):
                return
            end = start + 1
        else:
            yield found
        start = text.find("{", end)


def _named(found: Mapping[str, Any]) -> tuple[object | None, object]:
    name = found.get("tool", found.get("name", found.get("function")))
    if isinstance(name, Mapping):
        return _named(name)
    return name, found.get("arguments", found.get("parameters"))


def _remedy(tools: Sequence[Tool]) -> str:
    return f"Answer with one call of: {', '.join(tool.name for tool in tools)}, as {_EXAMPLE}."


def _quote(text: str) -> str:
    return repr(text if len(text) <= _QUOTED else text[:_QUOTED] + "…")
