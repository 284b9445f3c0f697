"""Who decides the steps of a turn."""

from collections.abc import AsyncGenerator
from typing import Protocol

from m2a.agents.consent_request import ConsentCheck
from m2a.agents.state import Decision, Follow, TurnState
from models.chat_model import TokenUsage


class Policy(Protocol):
    """Chooses the steps of both agents.

    `first_search_hits`: how many memories the first search of a stage brings. `relevance_floor`: whether a search leaves out
    memories that are far from its words; False for a policy that judges every hit itself. `quotes_user_alone`: whether a
    search of the raw messages leaves out the assistant's. `searches_messages`: whether a search of the memory brings raw
    messages too. `published_stages`: whether each stage is asked for by itself, as published: Query and the manager's rounds
    before a reply, Update and the manager's rounds after it. Else the memory is searched with the message before the policy
    is asked anything, a reply may be preceded by further searches, and the writes of one answer end an update.
    """

    first_search_hits: int
    relevance_floor: bool
    quotes_user_alone: bool
    searches_messages: bool
    published_stages: bool

    @property
    def name(self) -> str:
        """Who writes, in the history."""
        ...

    @property
    def consent(self) -> ConsentCheck | None:
        """Asked before an update is written, whether the user wants it. None where every change that the policy
        decides on follows from the user's message itself."""
        ...

    @property
    def follow(self) -> Follow | None:
        """Asked before the manager searches, whether facts in what the user said lead to the answer. None for a policy that
        searches alone."""
        ...

    async def sees_photos(self) -> bool:
        """Whether photos are shown to it; else a caption is all that it has of one."""
        ...

    async def decide(self, state: TurnState) -> Decision:
        """The next action of the stage.

        Raises `models.chat_model.MalformedReplyError` where a model's answer is no action, and
        `models.chat_model.ChatModelError` where its service failed.
        """
        ...

    def reply(self, state: TurnState) -> AsyncGenerator[str | TokenUsage | Decision, None]:
        """The generate stage, in pieces; or, where it may search, a decision on what to look at first.

        `[photo N]` shows a photo and `[memory N]` cites a memory; the ChatAgent takes both marks out of the text. Raises like
        `decide`.
        """
        ...
