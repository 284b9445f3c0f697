"""A language model as the one who decides: its tools are the actions of the stage."""

import re
from collections.abc import AsyncGenerator
from functools import cache

from pydantic import ValidationError

from m2a.agents.consent_prompt import ModelConsentCheck
from m2a.agents.consent_request import ConsentCheck
from m2a.agents.prompting import reply_messages, stage_messages
from m2a.agents.state import SEARCH_HITS, STAGE_ACTIONS, Decision, Stage, TurnState
from m2a.types import Action
from models.chat_model import ChatModel, MalformedReplyError, TokenUsage, Tool


class LanguagePolicy:
    """Renders the state as a prompt and reads the model's tool call back as an action."""

    first_search_hits = SEARCH_HITS
    relevance_floor = True
    quotes_user_alone = False
    needs_captions = False

    def __init__(self, chat_model: ChatModel) -> None:
        self.chat_model = chat_model

    @property
    def name(self) -> str:
        return self.chat_model.name

    @property
    def consent(self) -> ConsentCheck:
        return ModelConsentCheck(self.chat_model)

    async def decide(self, state: TurnState) -> Decision:
        messages = stage_messages(state, sees_photos=self.chat_model.sees_photos)
        call = await self.chat_model.choose(messages, stage_tools(state.stage))
        action = _actions(state.stage).get(call.name)
        if action is None:
            raise MalformedReplyError(
                f"There is no tool {call.name!r}; choose one of {', '.join(_actions(state.stage))}.", usage=call.usage
            )
        try:
            return Decision(action.model_validate(dict(call.arguments)), call.usage)
        except ValidationError as error:
            faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
            raise MalformedReplyError(f"The arguments of {call.name} are wrong: {faults}.", usage=call.usage) from error

    def reply(self, state: TurnState) -> AsyncGenerator[str | TokenUsage, None]:
        return self.chat_model.stream(reply_messages(state, sees_photos=self.chat_model.sees_photos))


@cache
def stage_tools(stage: Stage) -> tuple[Tool, ...]:
    """The actions of the stage as tools; docstrings and fields describe them."""
    return tuple(
        Tool(name, (action.__doc__ or "").strip(), _schema(action)) for name, action in _actions(stage).items()
    )


def _actions(stage: Stage) -> dict[str, type[Action]]:
    return {tool_name(action): action for action in STAGE_ACTIONS[stage]}


def tool_name(action: type[Action]) -> str:
    """`AddMemory` is `add_memory` to a model."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", action.__name__).lower()


def _schema(action: type[Action]) -> dict[str, object]:
    schema = action.model_json_schema()
    schema.pop("title", None)
    schema.pop("description", None)
    return schema
