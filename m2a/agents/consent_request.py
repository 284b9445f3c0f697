"""The request to the consent check, and its answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from m2a.agents.state import PhotoView
from m2a.types import Change, MemoryEntry, Message
from models.chat_model import TokenUsage


class Verdict(BaseModel):
    """What the check says of one proposal."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    proposal: int = Field(description="Its number.")
    reason: str = Field(
        description="One short sentence for the user, in the user's language: why it is supported or not."
    )
    words: str = Field(
        description="The words that say so, copied exactly: from the user's messages, or for agreed from the assistant's "
        "message. Empty where nothing says so, or only a photo shows it."
    )
    supported: bool
    rests_on: Literal["stated", "agreed", "shown"]
    user_says_so: bool = Field(
        default=False,
        description="For a change of a memory: the user says in the new message that it changed, was wrong, is to be "
        "forgotten, or that both are true.",
    )
    nothing_lost: bool = Field(
        default=False, description="For a change of a memory: nothing that still holds goes away with it."
    )
    asked_for: bool = Field(
        description="The user tells this or asks for it in the new message, whether or not it can be done. False where "
        "nobody asked."
    )


class Verdicts(BaseModel):
    """Say for each proposal whether the user wants it. One verdict for each, in order."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change that a writer proposes.

    `memory` is the entry that it changes, corrects or restores. `words` are the words of a message to forget, `sentences` the
    user's sentences that would be forgotten with the memory and say more than it, and `photos` the numbers of the photos that
    the change names.
    """

    change: Change
    memory: MemoryEntry | None = None
    words: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    photos: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ConsentRequest:
    """What the check sees: in the first step no photos and no pasted texts, and in the second (`shown`) the proposals that rest
    on these, but nothing of the memory.

    `message` and `earlier` contain only the user's own words. `numbers` are the numbers of their photos, by photo id, and
    `names` one line for each name that the user has given to what the proposals are about. `people` are the names of the
    speakers if several count as the user. `fault` says what was wrong with the previous answer.
    """

    now: datetime
    message: Message
    proposals: tuple[Proposal, ...]
    earlier: tuple[Message, ...] = ()
    before: Message | None = None
    shown: bool = False
    photos: tuple[PhotoView, ...] = ()
    numbers: Mapping[str, int] = field(default_factory=dict)
    pasted: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    fault: str = ""


class ConsentCheck(Protocol):
    """A language model that answers consent requests. `sees_photos` is whether it sees photos."""

    @property
    def sees_photos(self) -> bool: ...

    async def verdicts(self, request: ConsentRequest) -> tuple[Verdicts, TokenUsage]:
        """Returns the verdicts. Raises `models.chat_model.MalformedReplyError` for an unusable answer, and `ChatModelError` if
        the service fails."""
        ...
