"""Renders an agent's steps so far as messages of a prompt: each step is a tool call and its result."""

from collections.abc import Sequence

from m2a.agents.action_tools import tool_name
from m2a.agents.budget import Budget, fitted, spread, tokens_of
from m2a.agents.found_lines import NOTHING_FOUND, context_lines, hit_lines, message_lines
from m2a.agents.material import Boundary, entry_line, one_line
from m2a.agents.state import MemoryContext, Opened, PhotoNumbers, Rejected, Searched, Staged, Step
from models.chat_model import CallPart, ChatMessage, ResultPart

NO_CALL = "(an answer that was no tool call)"


def step_needs(steps: Sequence[Step], numbers: PhotoNumbers) -> Budget:
    """Returns the tokens of the results."""
    fetched = sum(_tokens(step, numbers) for step in steps if isinstance(step.observation, Opened))
    memories = sum(_tokens(step, numbers) for step in steps if not isinstance(step.observation, Opened))
    return Budget(memories=memories, fetched=fetched)


def step_messages(
    steps: Sequence[Step], boundary: Boundary, budget: Budget, numbers: PhotoNumbers
) -> list[ChatMessage]:
    """Returns the steps with as much of their results as fits the budget, newest first. `numbers` are those of the photos."""
    rooms: dict[int, int] = {}
    for is_fetch, room in ((False, budget.memories), (True, budget.fetched)):
        newest_first = [n for n in reversed(range(len(steps))) if isinstance(steps[n].observation, Opened) == is_fetch]
        rooms |= dict(zip(newest_first, spread(room, [_tokens(steps[n], numbers) for n in newest_first]), strict=True))
    messages: list[ChatMessage] = []
    for number, step in enumerate(steps):
        if step.action is None:
            messages += [
                ChatMessage("assistant", (NO_CALL,)),
                ChatMessage("user", (_result(step, boundary, 0, numbers),)),
            ]
            continue
        # Mistral's templates require ids of nine letters and digits.
        call_id, name = f"step{number + 1:05}", tool_name(type(step.action))
        arguments = step.action.model_dump(mode="json", exclude_defaults=True)
        messages += [
            ChatMessage("assistant", (CallPart(call_id, name, arguments),)),
            ChatMessage("user", (ResultPart(call_id, name, _result(step, boundary, rooms[number], numbers)),)),
        ]
    return messages


def _result(step: Step, boundary: Boundary, room: int, numbers: PhotoNumbers) -> str:
    observation = step.observation
    if isinstance(observation, Rejected):
        return f"Rejected: {one_line(observation.reason)}"
    if isinstance(observation, Staged):
        accepted = "Accepted; it is written when the update ends."
        if not observation.alongside:
            return accepted
        alongside = boundary.enclose(
            "Resting on the same message", [entry_line(entry, numbers) for entry in observation.alongside]
        )
        return f"{accepted} Forget of these too what the user wants forgotten, and finish.\n{alongside}"
    return boundary.enclose("Result", fitted(_lines(step, numbers), room))


def _lines(step: Step, numbers: PhotoNumbers) -> list[str]:
    observation = step.observation
    if isinstance(observation, Searched):
        return hit_lines(observation, numbers) or [NOTHING_FOUND]
    if isinstance(observation, Opened):
        lines = message_lines(observation, numbers) or ["no messages"]
        return [*lines, f"({observation.more} more messages not shown)"] if observation.more else lines
    return context_lines(observation, numbers=numbers) if isinstance(observation, MemoryContext) else []


def _tokens(step: Step, numbers: PhotoNumbers) -> int:
    return sum(map(tokens_of, _lines(step, numbers)))
