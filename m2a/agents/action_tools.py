"""Offers the actions of a stage to a language model as tools, and reads its calls back as actions."""

import inspect
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from m2a.agents.state import STAGE_ACTIONS, SearchScope, Stage
from m2a.types import (
    Action,
    AddMemory,
    FetchRawMessages,
    FetchRawMessagesByTime,
    Finish,
    ReplaceMemory,
    SearchRawMessages,
    SearchSemanticMemories,
)
from models.chat_model import MalformedReplyError, Tool, ToolCall

_OF_RAW_MESSAGES = (FetchRawMessages, FetchRawMessagesByTime, SearchRawMessages)
# Descriptions for a scope in which a search of the memory finds only entries.
_OF_ENTRIES_ALONE: Mapping[type[Action], str] = {
    SearchSemanticMemories: "Search the semantic memories by words, and by the attached photos where they help.",
    SearchRawMessages: "Find raw messages by exact words.",
}
# A query ends with what was found, an update of the manager with what could not be forgotten.
_FINISH_FIELDS: Mapping[Stage, tuple[str, ...]] = {
    "manage query": ("context", "memory_ids", "message_ids"),
    "manage update": ("missing",),
}
_BY_PHOTOS = ", and by the attached photos where they help"

Form = TypeVar("Form", bound=BaseModel)


def tool_name(form: type[BaseModel]) -> str:
    """Returns the name of an action or another form for the model: `AddMemory` is `add_memory`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", form.__name__).lower()


@cache
def stage_tools(stage: Stage, scope: SearchScope) -> tuple[Tool, ...]:
    """Returns the actions of the stage as tools, described by their docstrings and fields."""
    return tuple(
        Tool(tool_name(action), _description(action, scope), _schema(action, stage, scope))
        for action in _actions(stage, scope)
    )


@cache
def tools_text(stage: Stage, scope: SearchScope) -> str:
    """Returns a text that is as long as the tools are in a prompt."""
    tools = stage_tools(stage, scope)
    return "".join(f"{tool.name}{tool.description}{json.dumps(tool.parameters)}" for tool in tools)


def read_action(stage: Stage, scope: SearchScope, call: ToolCall) -> Action:
    """Returns the action of a call. Raises `MalformedReplyError` if it is not an action that the stage and the scope allow."""
    return read_form({tool_name(action): action for action in _actions(stage, scope)}, call)


def read_form(forms: Mapping[str, type[Form]], call: ToolCall) -> Form:
    """Returns the form that a call fills in, from the forms by tool name. Raises `MalformedReplyError`."""
    if call.name not in forms:
        raise MalformedReplyError(
            f"There is no tool {call.name!r}; choose one of {', '.join(forms)}.", usage=call.usage
        )
    try:
        return forms[call.name].model_validate(dict(call.arguments))
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise MalformedReplyError(f"The arguments of {call.name} are wrong: {faults}.", usage=call.usage) from error


def _actions(stage: Stage, scope: SearchScope) -> tuple[type[Action], ...]:
    return tuple(action for action in STAGE_ACTIONS[stage] if scope.raw_messages or action not in _OF_RAW_MESSAGES)


def _description(action: type[Action], scope: SearchScope) -> str:
    text = inspect.getdoc(action) or ""
    if not scope.finds_messages:
        text = _OF_ENTRIES_ALONE.get(action, text)
    return text if scope.compares_photos else text.replace(_BY_PHOTOS, "")


def _schema(action: type[Action], stage: Stage, scope: SearchScope) -> dict[str, object]:
    schema = compact_schema(action)
    fields = schema["properties"]
    if action is ReplaceMemory:  # add_memory, in the same list, already describes the shared fields
        fields |= {name: _undescribed(fields[name]) for name in AddMemory.model_fields if name in fields}
    if action is Finish:
        schema["properties"] = {name: fields[name] for name in _FINISH_FIELDS.get(stage, ())}
    if action is SearchSemanticMemories and not scope.compares_photos:
        schema["properties"] = {"query": {**fields["query"], "description": "Words to look for."}}
    return schema


def compact_schema(form: type[BaseModel]) -> dict[str, Any]:
    """Returns the JSON schema of a form without what tells a model nothing: titles, references, defaults, and null beside a
    type, since a field may be left out. The form's own description is left out too."""
    schema = form.model_json_schema()
    compacted = _compacted(schema, schema.get("$defs", {}))
    return {name: value for name, value in compacted.items() if name != "description"}


def _compacted(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        [some_type] = [option for option in schema["anyOf"] if option != {"type": "null"}]
        schema = {**schema, **some_type}
    remaining = {name: value for name, value in schema.items() if name not in ("title", "default", "anyOf", "$defs")}
    if "properties" in remaining:
        fields = remaining["properties"].items()
        remaining["properties"] = {name: _compacted(field, definitions) for name, field in fields}
    if "prefixItems" in remaining:  # pairs of one type
        remaining["items"] = remaining.pop("prefixItems")[0]
    if "items" in remaining:
        remaining["items"] = _compacted(remaining["items"], definitions)
    return remaining


def _undescribed(field: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the field, and those inside it, without descriptions."""
    remaining = {name: value for name, value in field.items() if name != "description"}
    if "items" in remaining:
        remaining["items"] = _undescribed(remaining["items"])
    if "properties" in remaining:
        remaining["properties"] = {name: _undescribed(inner) for name, inner in remaining["properties"].items()}
    return remaining
