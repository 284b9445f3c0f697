"""Takes one step of either agent: asks the policy, returns malformed answers to it, and counts the cost."""

from dataclasses import replace

from m2a.agents.action_tools import tool_name
from m2a.agents.policy import Policy
from m2a.agents.state import STAGE_ACTIONS, Decision, Planned, Rejected, Step, TurnState
from m2a.types import Action, Usage
from m2a.types.errors import UserError
from models.chat_model import MalformedReplyError, TokenUsage

MALFORMED_AT_MOST = 3


class GaveUpError(UserError):
    """The model gave no usable action, not even in `MALFORMED_AT_MOST` further tries."""


class UsageMeter:
    """Adds up the model calls of a turn."""

    def __init__(self) -> None:
        self._calls = 0
        self._input: int | None = 0
        self._output: int | None = 0

    def count(self, usage: TokenUsage | None) -> None:
        """Adds a call, or nothing for None. A call whose tokens are unknown makes the sum unknown."""
        if usage is None:
            return
        self._calls += 1
        self._input = _sum(self._input, usage.input_tokens)
        self._output = _sum(self._output, usage.output_tokens)

    @property
    def usage(self) -> Usage | None:
        """The sum of all calls, or None if no model was called."""
        return Usage(self._calls, self._input, self._output) if self._calls else None


async def next_action(policy: Policy, state: TurnState, meter: UsageMeter) -> tuple[Action, TurnState]:
    """Returns the next action that the stage allows, and the state with any rejected attempts among its steps.

    Further actions of the policy's last answer come first. Raises `GaveUpError`.
    """
    while state.planned is not None and state.planned.stage == state.stage and state.planned.actions:
        following, *rest = state.planned.actions
        state = replace(state, planned=replace(state.planned, actions=tuple(rest)))
        if not isinstance(following, Rejected):
            return following, state
        state = with_step(state, Step(None, following))
    for _attempt in range(1 + MALFORMED_AT_MOST):
        try:
            decision: Decision = await policy.decide(state)
        except MalformedReplyError as error:
            meter.count(error.usage)
            state = with_step(state, Step(None, Rejected(str(error))))
            continue
        meter.count(decision.usage)
        if isinstance(decision.action, STAGE_ACTIONS[state.stage]):
            return decision.action, replace(state, planned=Planned(state.stage, decision.further))
        allowed = ", ".join(map(tool_name, STAGE_ACTIONS[state.stage]))
        state = with_step(state, Step(decision.action, Rejected(f"Not possible here; choose one of {allowed}.")))
    raise GaveUpError(f"{policy.name} gave no usable answer in {1 + MALFORMED_AT_MOST} tries.")


def with_step(state: TurnState, step: Step) -> TurnState:
    return replace(state, steps=(*state.steps, step))


def _sum(total: int | None, tokens: int | None) -> int | None:
    return None if total is None or tokens is None else total + tokens
