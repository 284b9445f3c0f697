"""What an agent sees when it chooses its next step."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from m2a.types import (
    Action,
    AddMemory,
    Answer,
    Change,
    Concept,
    DeleteMemory,
    FetchRawMessages,
    FetchRawMessagesByTime,
    Finish,
    ForgetWords,
    Hit,
    MemoryChanged,
    MemoryEntry,
    Message,
    QueryMemory,
    Recognition,
    ReplaceMemory,
    RestoreMemory,
    SearchRawMessages,
    SearchSemanticMemories,
    UpdateMemory,
)
from models.chat_model import TokenUsage

SEARCH_HITS = 10

# ChatAgent: query, generate, update. MemoryManager: manage query, manage update.
Stage = Literal["query", "generate", "update", "manage query", "manage update"]

_LOOK = (SearchSemanticMemories, FetchRawMessages, FetchRawMessagesByTime, SearchRawMessages)

# What may be done where. Only the manager's update can write.
STAGE_ACTIONS: dict[Stage, tuple[type[Action], ...]] = {
    "query": (QueryMemory, Answer),
    "update": (UpdateMemory, Finish),
    "generate": _LOOK,
    "manage query": (*_LOOK, Finish),
    "manage update": (*_LOOK, AddMemory, ReplaceMemory, DeleteMemory, ForgetWords, RestoreMemory, Finish),
}


@dataclass(frozen=True, slots=True)
class PhotoView:
    """A photo as an agent sees it. `number` is how actions and replies name it: `[photo 2]`. A conversation counts the photos
    that the user shows in it from 1, so that one keeps its number from turn to turn; recalled ones come behind.

    `memory` is the entry and `message_id` the message that it was recalled with, or in which the user showed it earlier in
    this conversation; both are None for a photo of the new message, of which `recognition` is what memory knows.
    """

    number: int
    photo_id: str
    caption: str
    data: bytes
    media_type: str
    memory: MemoryEntry | None = None
    message_id: int | None = None
    recognition: Recognition = field(default_factory=Recognition)


# By message id: entries that no longer hold and that rest on the message. What it says of them is history.
Superseded = Mapping[int, Sequence[MemoryEntry]]

# By photo id, of the messages that go along.
Captions = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Searched:
    """Observation of a search: entries, or raw messages after SearchRawMessages. Best first."""

    hits: tuple[Hit, ...]
    superseded: Superseded = field(default_factory=dict)
    captions: Captions = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Opened:
    """Observation of a fetch, in order of message id. `more` messages were left out."""

    messages: tuple[Message, ...]
    more: int = 0
    superseded: Superseded = field(default_factory=dict)
    captions: Captions = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FollowedFact:
    """A sentence of a message, word for word, that led on to an answer, and the value that it gives."""

    message_id: int
    sentence: str
    value: str


FindMessages = Callable[[str], Sequence[Message]]
"""What the user said that holds words of a text."""

Follow = Callable[[str, FindMessages], tuple[FollowedFact, ...]]
"""The facts that lead from a question's subject to its answer, in order; none where there are none that do."""


@dataclass(frozen=True, slots=True)
class MemoryContext:
    """What the manager found for one query: its words, and the records that they rest on, best first.

    `nearest` are records that are not near to the query, where nothing is: no reply rests on one that it does not cite.
    `complete` is False where the manager ran out of rounds. `facts` are those that lead to the answer, one by one.
    """

    text: str
    hits: tuple[Hit, ...]
    messages: tuple[Message, ...]
    nearest: tuple[Hit, ...] = ()
    complete: bool = True
    superseded: Superseded = field(default_factory=dict)
    captions: Captions = field(default_factory=dict)
    facts: tuple[FollowedFact, ...] = ()


@dataclass(frozen=True, slots=True)
class Staged:
    """Observation of a write: it is checked, and written with the others when the update finishes."""

    change: Change


@dataclass(frozen=True, slots=True)
class Rejected:
    """Observation of an action that was not carried out; `reason` tells its author what to mend."""

    reason: str


Observation = Searched | Opened | MemoryContext | Staged | Rejected


@dataclass(frozen=True, slots=True)
class Step:
    """An action and what came of it. A malformed action is None, with the reason in the observation."""

    action: Action | None
    observation: Observation


@dataclass(frozen=True, slots=True)
class Planned:
    """What an answer asked for besides its first action: it is carried out before the policy is asked again."""

    stage: Stage
    actions: tuple[Action | Rejected, ...]


@dataclass(frozen=True, slots=True)
class TurnState:
    """Everything that a step may depend on; no owner, no store, no clock but `now`.

    `message` is the user's message of this turn and `reply` the answer to it (from the update stage on). `recent` are the
    messages of the newest turns before it, oldest first, and `earlier` the photos that the user showed before it in the
    conversation, in the order in which they were shown. `pinned` are the memories that the user wants each answer to go by,
    `preferences` others that matter on turns that trigger no query. `request` is what the ChatAgent asked of the
    MemoryManager. `steps` are those of the current stage. In the generate stage `recalled` are the photos that go into the
    prompt and `context` what the queries brought. In the update stages `changes` are what the turn before this one changed in
    the memory. `planned` is of no account in another stage than its own. Where several `people` talk to each other, each
    counts as the user, and `parts` are the texts of those who speak in `message`, which holds one after the other. Nothing
    of a turn that `is_temporary` is kept.
    """

    stage: Stage
    now: datetime
    message: Message
    recent: tuple[Message, ...] = ()
    reply: Message | None = None
    request: str = ""
    photos: tuple[PhotoView, ...] = ()
    earlier: tuple[PhotoView, ...] = ()
    recalled: tuple[PhotoView, ...] = ()
    pinned: tuple[MemoryEntry, ...] = ()
    preferences: tuple[MemoryEntry, ...] = ()
    concepts: tuple[Concept, ...] = ()
    context: tuple[MemoryContext, ...] = ()
    steps: tuple[Step, ...] = ()
    rounds_left: int = 0
    changes: tuple[MemoryChanged, ...] = ()
    superseded: Superseded = field(default_factory=dict)
    planned: Planned | None = None
    people: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    is_temporary: bool = False

    @property
    def views(self) -> tuple[PhotoView, ...]:
        """Every photo that has a number."""
        return (*self.photos, *self.earlier, *self.recalled)

    @property
    def photo_numbers(self) -> dict[str, int]:
        """The numbers of the photos that the user showed in the conversation, by photo id."""
        return {view.photo_id: view.number for view in (*self.photos, *self.earlier)}

    @property
    def may_search(self) -> bool:
        """Whether the policy may look into the memory before it replies."""
        return self.stage == "generate" and self.rounds_left > 0


@dataclass(frozen=True, slots=True)
class Decision:
    """The next action; `usage` is None where no model was called.

    `further` are to be carried out after it, in order; a malformed one is the reason why.
    """

    action: Action
    usage: TokenUsage | None = None
    further: tuple[Action | Rejected, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchScope:
    """How a policy may look into the memory; its tools and its prompts name nothing else.

    `raw_messages`: it may open and search the raw log. `finds_messages`: a search of the memory brings raw messages too.
    `compares_photos`: a search may go by the photos of the user's message. `searches_again`: what was found may lead to
    another search.
    """

    raw_messages: bool = True
    finds_messages: bool = True
    compares_photos: bool = True
    searches_again: bool = True
