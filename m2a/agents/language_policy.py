"""The policy of a language model, whose tools are the actions of the stage."""

from collections.abc import AsyncGenerator, Collection, Iterator
from contextlib import aclosing

from m2a.agents.action_tools import read_action, stage_tools
from m2a.agents.consent_prompt import ModelConsentCheck
from m2a.agents.consent_request import ConsentCheck
from m2a.agents.prompting import reply_messages, stage_messages
from m2a.agents.state import STAGE_ACTIONS, Decision, Rejected, SearchScope, Stage, TurnState
from m2a.types import Action
from models.abilities import Abilities
from models.chat_model import ChatModel, MalformedReplyError, TokenUsage, ToolCall


class LanguagePolicy:
    """Renders the state as a prompt and reads the model's tool calls back as actions."""

    judges_hits = False
    follow = None

    def __init__(
        self,
        chat_model: ChatModel,
        *,
        published_stages: bool = False,
        scope: SearchScope | None = None,
        style: str = "",
    ) -> None:
        """`scope` limits how it may search the memory; `style` is a final instruction for replies."""
        self.chat_model = chat_model
        self.published_stages = published_stages
        self._scope = scope or SearchScope()
        self.searches_messages_in: Collection[Stage] = frozenset(STAGE_ACTIONS if self._scope.finds_messages else ())
        self._style = style

    @property
    def name(self) -> str:
        return self.chat_model.name

    @property
    def consent(self) -> ConsentCheck:
        return ModelConsentCheck(self.chat_model)

    async def sees_photos(self) -> bool:
        return (await self.chat_model.abilities(("photos",))).sees_photos is not False

    async def decide(self, state: TurnState) -> Decision:
        messages = stage_messages(state, await self._abilities(state), self._scope)
        call = await self.chat_model.choose(messages, stage_tools(state.stage, self._scope))
        return Decision(read_action(state.stage, self._scope, call), call.usage, tuple(self._further(state, call)))

    async def reply(self, state: TurnState) -> AsyncGenerator[str | TokenUsage | Decision, None]:
        abilities = await self._abilities(state)
        messages = reply_messages(state, abilities, self._scope, self.chat_model.reply_tokens, self._style)
        tools = stage_tools("generate", self._scope) if state.may_search else ()
        async with aclosing(self.chat_model.stream(messages, tools)) as pieces:
            async for piece in pieces:
                if isinstance(piece, ToolCall):
                    action = read_action(state.stage, self._scope, piece)
                    yield Decision(action, further=tuple(self._further(state, piece)))
                else:
                    yield piece

    async def _abilities(self, state: TurnState) -> Abilities:
        return await self.chat_model.abilities(("photos",) if state.photos or state.earlier or state.recalled else ())

    def _further(self, state: TurnState, call: ToolCall) -> Iterator[Action | Rejected]:
        for further in call.further:
            try:
                if isinstance(further, MalformedReplyError):
                    raise further
                yield read_action(state.stage, self._scope, further)
            except MalformedReplyError as error:
                yield Rejected(str(error))
