"""The actions of a stage as a language model's tools, and its calls read back as actions."""

import inspect
import json
import re
from functools import cache

from pydantic import ValidationError

from m2a.agents.state import STAGE_ACTIONS, Stage
from m2a.types import Action
from models.chat_model import MalformedReplyError, Tool, ToolCall


def tool_name(action: type[Action]) -> str:
    """What the action is called wherever a model reads of it: `AddMemory` is `add_memory`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", action.__name__).lower()


@cache
def stage_tools(stage: Stage) -> tuple[Tool, ...]:
    """The actions of the stage as tools; docstrings and fields describe them."""
    return tuple(Tool(tool_name(one), inspect.getdoc(one) or "", _schema(one)) for one in STAGE_ACTIONS[stage])


@cache
def tools_text(stage: Stage) -> str:
    """As long as the tools are in a prompt."""
    return "".join(f"{tool.name}{tool.description}{json.dumps(tool.parameters)}" for tool in stage_tools(stage))


def read_action(stage: Stage, call: ToolCall) -> Action:
    """Raises `MalformedReplyError` where the call is no action of the stage."""
    actions = {tool_name(action): action for action in STAGE_ACTIONS[stage]}
    action = actions.get(call.name)
    if action is None:
        raise MalformedReplyError(
            f"There is no tool {call.name!r}; choose one of {', '.join(actions)}.", usage=call.usage
        )
    try:
        return action.model_validate(dict(call.arguments))
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise MalformedReplyError(f"The arguments of {call.name} are wrong: {faults}.", usage=call.usage) from error


def _schema(action: type[Action]) -> dict[str, object]:
    schema = action.model_json_schema()
    schema.pop("title", None)
    schema.pop("description", None)
    return schema
