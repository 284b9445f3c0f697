"""The policy that decides the steps of a turn."""

from collections.abc import AsyncGenerator, Collection
from typing import Protocol

from m2a.agents.consent_request import ConsentCheck
from m2a.agents.state import Decision, Follow, Stage, TurnState
from models.chat_model import TokenUsage


class Policy(Protocol):
    """Chooses the steps of both agents.

    `judges_hits` is whether the policy judges each hit itself: then searches also return memories that are far from their
    words, and the first search of a stage more of them, but nothing that the assistant said. `searches_messages_in` are the
    stages in which a search of the memory also returns raw messages. `published_stages` is whether the policy is asked for
    each stage separately, as in the paper: Query and the manager's rounds before a reply, and Update and the manager's after.
    Otherwise, the memory is searched with the message before the policy is asked anything, the policy may search further before
    it replies, and an update ends with the writes of one answer.
    """

    judges_hits: bool
    searches_messages_in: Collection[Stage]
    published_stages: bool

    @property
    def name(self) -> str:
        """The author of changes in the history."""
        ...

    @property
    def consent(self) -> ConsentCheck | None:
        """The check that asks, before an update is written, whether the user wants it; None for a policy whose changes all
        follow from the user's message itself."""
        ...

    @property
    def follow(self) -> Follow | None:
        """The function that looks for a chain of facts to the answer before the manager searches; None for a policy that only
        searches."""
        ...

    async def sees_photos(self) -> bool:
        """Returns whether the policy sees photos; if not, it gets their captions."""
        ...

    async def decide(self, state: TurnState) -> Decision:
        """Returns the next action of the stage.

        Raises `models.chat_model.MalformedReplyError` if a model's answer is not an action, and
        `models.chat_model.ChatModelError` if its service fails.
        """
        ...

    def reply(self, state: TurnState) -> AsyncGenerator[str | TokenUsage | Decision, None]:
        """Yields the pieces of the reply in the generate stage, or, if it may search, a decision on what to search first.

        `[photo N]` shows a photo and `[memory N]` cites a memory; the ChatAgent removes both marks from the text. Raises like
        `decide`.
        """
        ...
