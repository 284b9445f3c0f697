"""A policy whose decisions are scripted by a test, in place of a model's judgement."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Iterable

from m2a.agents.state import Decision, Stage, TurnState
from m2a.types import Action, Answer, Finish
from models.chat_model import TokenUsage

Decide = Callable[[TurnState], Action]


class ScriptedPolicy:
    """Each stage plays a list of actions, functions of the state, or errors to raise, and then finishes.

    `seen` holds every state, in order.
    """

    name = "scripted"
    judges_hits = True
    published_stages = True
    searches_messages_in: Collection[Stage] = frozenset()
    consent = None
    follow = None

    def __init__(
        self, steps: dict[Stage, Iterable[Action | Decide | Exception]] | None = None, reply: str | Exception = "Fine."
    ) -> None:
        self.steps = {stage: list(actions) for stage, actions in (steps or {}).items()}
        self.text = reply
        self.seen: list[TurnState] = []

    async def sees_photos(self) -> bool:
        return False

    async def decide(self, state: TurnState) -> Decision:
        self.seen.append(state)
        waiting = self.steps.get(state.stage, [])
        if not waiting:
            return Decision(Answer() if state.stage == "query" else Finish())
        step = waiting.pop(0)
        if isinstance(step, Exception):
            raise step
        return Decision(step(state) if callable(step) else step)

    async def reply(self, state: TurnState) -> AsyncGenerator[str | TokenUsage, None]:
        self.seen.append(state)
        if isinstance(self.text, Exception):
            raise self.text
        for word in self.text.split(" "):
            yield word + " "
            await asyncio.sleep(0)  # as a model that is waited for: others get their turn
