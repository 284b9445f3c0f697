"""The rules that choose the steps of both agents if no language model is connected. They read English only.

What a message does (`acts`) and whether a memory answers (`relevance`) are small learned decisions over features computed in
plain code; rules decide what is kept, corrected, quoted and counted. Every stage reads the state anew, so a step never depends
on an earlier call.
"""

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import replace

from m2a.agents.offline import lookups
from m2a.agents.offline.dialogues import has_several_speakers, told_to_each_other
from m2a.agents.offline.interpretation import Interpretation, interpret
from m2a.agents.offline.learned import learned
from m2a.agents.offline.relations import facts_that_lead
from m2a.agents.offline.replies import reply_parts
from m2a.agents.offline.sense import LearnedDecision, Sense
from m2a.agents.offline.utterances import texts_to_encode
from m2a.agents.offline.writes import Writes
from m2a.agents.state import Decision, FindMessages, FollowedFact, Stage, TurnState
from m2a.types import Action, Answer, Finish, QueryMemory, UpdateMemory
from models.chat_model import TokenUsage
from models.text_encoder import TextEncoder

_CACHED_MESSAGES = 8  # whose interpretation is kept for the later stages of their turns
# The latest earlier messages with which a message is interpreted. No rule looks at more, and since the stages of a turn
# have different numbers of them, the interpretation of one stage would not serve another.
_EARLIER_MESSAGES = 10


class OfflineRules:
    """The policy without a language model: it looks up, quotes, counts and keeps, and never invents."""

    name = "offline rules"
    judges_hits = True  # by a learned decision whether a memory answers, which is finer than the floor
    published_stages = True
    searches_messages_in: Collection[Stage] = frozenset({"manage query"})  # an update looks for memories to change
    consent = None

    def __init__(self, encoder: TextEncoder, decisions: Mapping[str, LearnedDecision] | None = None) -> None:
        """`decisions` replace the built-in ones; without them, raises `ValueError` if the built-in do not fit the encoder."""
        self._sense = Sense(encoder, learned(encoder) if decisions is None else decisions)
        self._writes = Writes(self._sense)
        self._interpretations: dict[object, Interpretation] = {}

    async def sees_photos(self) -> bool:
        return False

    def encode_ahead(self, messages: Sequence[str]) -> None:
        """Encodes the user's messages that are taken in next, all at once, which is faster than one after the other."""
        self._sense.wordings([text for message in messages for text in texts_to_encode(message)])

    async def decide(self, state: TurnState) -> Decision:
        return Decision(await asyncio.to_thread(self._action, state))

    async def reply(self, state: TurnState) -> AsyncGenerator[str | TokenUsage, None]:
        parts = await asyncio.to_thread(lambda: reply_parts(state, self._interpret(state), self._sense))
        for index, part in enumerate(parts):
            yield part if index == 0 else f"\n\n{part}"

    def follow(self, question: str, find: FindMessages) -> tuple[FollowedFact, ...]:
        return facts_that_lead(question, find, self._sense)

    def _action(self, state: TurnState) -> Action:
        interpretation = self._interpret(state)
        match state.stage:
            case "query":
                questions = interpretation.questions
                done = sum(isinstance(step.action, QueryMemory) for step in state.steps)
                return QueryMemory(query=questions[done].text) if done < len(questions) else Answer()
            case "manage query":
                return lookups.next_step(state, interpretation, self._sense)
            case "update":
                requests = [observation.text for observation in interpretation.reading.observations]
                requests += [f"Forget: {what}" for what in interpretation.reading.forgets]
                if interpretation.reading.restores:
                    requests.append("Bring back what was replaced.")
                return UpdateMemory(request="\n".join(requests)) if requests else Finish()
            case _:
                return self._writes.next_step(state, interpretation.reading)

    def _interpret(self, state: TurnState) -> Interpretation:
        recent = state.recent[-_EARLIER_MESSAGES:]
        key = (state.message, recent, state.concepts, state.people)
        interpretation = self._interpretations.get(key)
        if interpretation is None:
            interpretation = interpret(state.message, recent, state.concepts, self._sense)
            if has_several_speakers(state):
                interpretation = replace(interpretation, reading=told_to_each_other(interpretation.reading))
            latest = list(self._interpretations.items())[1 - _CACHED_MESSAGES :]
            self._interpretations = dict(latest) | {key: interpretation}
        return interpretation
