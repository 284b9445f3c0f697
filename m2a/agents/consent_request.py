"""What the consent check is shown, and what it answers."""

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
    """A change that a writer proposes. `memory` is the entry that it changes, ties to or brings back; `words` are those
    to be forgotten of a message, `sentences` the user's own that go along and say more than the memory, and `photos` the
    numbers of the photos that it names."""

    change: Change
    memory: MemoryEntry | None = None
    words: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    photos: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ConsentRequest:
    """What the check sees. In the first step (`shown` is False) no photo and no pasted text; in the second the proposals
    that rest on them, and nothing of the memory.

    `message` and `earlier` hold the user's own words alone. `numbers` are those of the photos in them, by photo
    id, and `names` those that the user gave to what the proposals are about, each as a line.
    `people` are those who talk to each other, where each of several counts as the user.
    `fault` says what was wrong with the answer before.
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
    """A language model that is asked. `sees_photos` says whether photos reach it."""

    @property
    def sees_photos(self) -> bool: ...

    async def verdicts(self, request: ConsentRequest) -> tuple[Verdicts, TokenUsage]:
        """Raises `models.chat_model.MalformedReplyError` for an answer that is none, and `ChatModelError` where the service
        failed."""
        ...
