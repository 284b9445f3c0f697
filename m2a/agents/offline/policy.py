"""The rules that choose the steps of both agents where no language model is connected. They know English only.

What a message does (`acts`) and whether a memory answers (`relevance`) are small learned decisions over features computed in
plain code; what is kept, corrected, quoted and counted are rules. Every stage reads the state anew, so a step never depends
on an earlier call.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

from m2a.agents.offline import lookups, writes
from m2a.agents.offline.heard import Heard, hear
from m2a.agents.offline.relations import facts_that_lead
from m2a.agents.offline.replies import reply_parts
from m2a.agents.offline.sense import Logistic, Sense
from m2a.agents.state import Decision, FindMessages, FollowedFact, TurnState
from m2a.types import Action, Answer, Finish, QueryMemory, UpdateMemory
from models.chat_model import TokenUsage
from models.load import load_text_encoder
from models.text_encoder import MINILM, TextEncoder

_HEARD = 8  # turns whose message is not read again by each of their stages


class OfflineRules:
    """The policy without a language model: it looks up, quotes, counts and keeps, and never invents.

    `encoder` must be the embedded all-MiniLM-L6-v2, for which the decisions were learned; it is loaded at the first
    use where none is given. `learned` stands in for the committed decisions, in a leave-one-out evaluation.
    """

    name = "offline rules"
    first_search_hits = 25  # of a value told twenty times the newest must be among them
    relevance_floor = False  # whether a memory answers is a decision of their own, finer than the floor
    published_stages = True
    searches_messages = False
    quotes_user_alone = True  # their own replies hold little but such quotations
    consent = None

    def __init__(self, encoder: TextEncoder | None = None, learned: Mapping[str, Logistic] | None = None) -> None:
        self._encoder = encoder
        self._learned = learned
        self._made: Sense | None = None
        self._heard: dict[object, Heard] = {}

    async def sees_photos(self) -> bool:
        return False

    async def decide(self, state: TurnState) -> Decision:
        return Decision(await asyncio.to_thread(self._action, state))

    async def reply(self, state: TurnState) -> AsyncGenerator[str | TokenUsage, None]:
        parts = await asyncio.to_thread(lambda: reply_parts(state, self._hear(state), self._sense()))
        for index, part in enumerate(parts):
            yield part if index == 0 else f"\n\n{part}"

    def follow(self, question: str, find: FindMessages) -> tuple[FollowedFact, ...]:
        return facts_that_lead(question, find, self._sense())

    def _action(self, state: TurnState) -> Action:
        heard = self._hear(state)
        match state.stage:
            case "query":
                done = sum(isinstance(step.action, QueryMemory) for step in state.steps)
                return QueryMemory(query=heard.questions[done].text) if done < len(heard.questions) else Answer()
            case "manage query":
                return lookups.next_step(state, heard, self._sense())
            case "update":
                wishes = [one.text for one in heard.reading.observations]
                wishes += [f"Forget: {what}" for what in heard.reading.forgets]
                wishes += ["Bring back what was replaced."] * heard.reading.restores
                return UpdateMemory(request="\n".join(wishes)) if wishes else Finish()
            case _:
                return writes.next_step(state, heard.reading, self._sense())

    def _hear(self, state: TurnState) -> Heard:
        key = (state.message, state.recent, state.concepts)
        heard = self._heard.get(key)
        if heard is None:
            heard = hear(state.message, state.recent, state.concepts, self._sense())
            self._heard = dict(list(self._heard.items())[1 - _HEARD :]) | {key: heard}
        return heard

    def _sense(self) -> Sense:
        if self._made is None:
            encoder = self._encoder or load_text_encoder(MINILM, Path(sys.prefix) / "share" / "m2a")
            self._made = Sense(encoder, self._learned)
        return self._made
