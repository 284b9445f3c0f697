"""The state from which an agent chooses its next step."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from m2a.types import (
    Action,
    AddMemory,
    Answer,
    Certainty,
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

# The actions of each stage. Only the manager's update can write.
STAGE_ACTIONS: dict[Stage, tuple[type[Action], ...]] = {
    "query": (QueryMemory, Answer),
    "update": (UpdateMemory, Finish),
    "generate": _LOOK,
    "manage query": (*_LOOK, Finish),
    "manage update": (*_LOOK, AddMemory, ReplaceMemory, DeleteMemory, ForgetWords, RestoreMemory, Finish),
}


@dataclass(frozen=True, slots=True)
class PhotoView:
    """A photo as an agent sees it.

    Actions and replies refer to it by its `number`: `[photo 2]`. The photos that the user shows in a conversation are counted
    from 1, so that each keeps its number from turn to turn; recalled ones follow, in the order of the searches. A recalled
    photo has the `memory` or the `message_id` with which it was recalled, and an earlier photo of the conversation the
    `message_id` that shows it. A photo of the new message has neither, but a `recognition`.
    """

    number: int
    photo_id: str
    caption: str
    data: bytes
    media_type: str
    memory: MemoryEntry | None = None
    message_id: int | None = None
    recognition: Recognition = field(default_factory=Recognition)


# By message id, the superseded entries that rest on the message, and those that correct a part of what rests on it.
Revisions = Mapping[int, Sequence[MemoryEntry]]


def superseded_among(revisions: Sequence[MemoryEntry]) -> list[MemoryEntry]:
    """Returns the superseded entries among the revisions of a message."""
    return [entry for entry in revisions if entry.superseded_by is not None]


# By photo id, the numbers of photos.
PhotoNumbers = Mapping[str, int]

# By photo id, the captions of the photos in the messages.
Captions = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Searched:
    """The observation of a search: memories and raw messages, best first."""

    hits: tuple[Hit, ...]
    revisions: Revisions = field(default_factory=dict)
    captions: Captions = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Opened:
    """The observation of a fetch: messages in order. `more` is the number of messages left out."""

    messages: tuple[Message, ...]
    more: int = 0
    revisions: Revisions = field(default_factory=dict)
    captions: Captions = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FollowedFact:
    """A sentence of a message, verbatim, in a chain of facts to the answer, and the value that it gives."""

    message_id: int
    sentence: str
    value: str


FindMessages = Callable[[str], Sequence[Message]]
"""Returns the user's messages that contain words of a text."""

SENTENCES_FOR_FACTS = 11
"""A message with fewer sentences is not searched for chains of facts, since all its statements are memories already."""

Follow = Callable[[str, FindMessages], tuple[FollowedFact, ...]]
"""Returns the chain of facts from a question's subject to its answer, or nothing if there is none."""


@dataclass(frozen=True, slots=True)
class MemoryContext:
    """The manager's result for one query: its text, and the records that this rests on, best first.

    `nearest` are the records nearest to a message that finds nothing by itself. A reply rests on one only if it cites it.
    `complete` is False if the manager ran out of rounds. Unless the hits surely answer, they are only near. `facts` is the
    chain of facts to the answer.
    """

    text: str
    hits: tuple[Hit, ...]
    messages: tuple[Message, ...]
    nearest: tuple[Hit, ...] = ()
    complete: bool = True
    revisions: Revisions = field(default_factory=dict)
    captions: Captions = field(default_factory=dict)
    facts: tuple[FollowedFact, ...] = ()
    answers: Certainty = "surely"


@dataclass(frozen=True, slots=True)
class Staged:
    """The observation of a write: it was checked, and is written with the others when the update ends.

    `alongside` are the memories that rest on the same messages as one to be forgotten, and that its author has not seen.
    """

    change: Change
    alongside: tuple[MemoryEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class Rejected:
    """The observation of an action that was not carried out. `reason` tells its author what to fix."""

    reason: str


Observation = Searched | Opened | MemoryContext | Staged | Rejected


def records_of(observation: Observation) -> list[MemoryEntry | Message]:
    """Returns the memories and messages that a search or a fetch found, best first."""
    match observation:
        case Searched():
            return [hit.record for hit in observation.hits]
        case MemoryContext():
            return [hit.record for hit in (*observation.hits, *observation.nearest)]
        case Opened():
            return list(observation.messages)
    return []


@dataclass(frozen=True, slots=True)
class Step:
    """An action and its observation. A malformed action is None, and the observation gives the reason."""

    action: Action | None
    observation: Observation


@dataclass(frozen=True, slots=True)
class Planned:
    """The further actions of a policy's answer, which are carried out before the policy is asked again."""

    stage: Stage
    actions: tuple[Action | Rejected, ...]


@dataclass(frozen=True, slots=True)
class TurnState:
    """Everything that a step may depend on. It contains no owner, no store, and no clock except `now`.

    - `message` is the user's message of this turn, and `reply` the answer to it (from the update stage on).
    - `recent` are the messages of the latest turns before it, oldest first.
    - `photos` are those of `message`, `earlier` those that the user showed before it in the conversation, in order, and
      `recalled` those of search results.
    - `pinned` are the memories that every answer must consider, and `preferences` others that matter without a query.
    - `corrections` are, by memory id, the entries that correct a part of those.
    - `request` is the ChatAgent's request to the MemoryManager, and `context` the results of queries.
    - `steps` are those of the current stage, and `planned` actions count only in their own stage.
    - `changes` are, in the update stages, those that the previous turn made to the memory.
    - `asked` are the memories that the user may have asked to forget and has yet to decide on; no prompt may contain them.
    - `untouched` are sentences of `message` that an update asks of once more, since what it would write says nothing of them.
    - `people` are the names of several speakers who all count as the user, and `parts` their texts in `message`.
    - `is_temporary` is whether the turn belongs to a temporary chat, of which nothing is kept.
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
    corrections: Mapping[int, Sequence[MemoryEntry]] = field(default_factory=dict)
    concepts: tuple[Concept, ...] = ()
    context: tuple[MemoryContext, ...] = ()
    steps: tuple[Step, ...] = ()
    rounds_left: int = 0
    changes: tuple[MemoryChanged, ...] = ()
    revisions: Revisions = field(default_factory=dict)
    planned: Planned | None = None
    asked: tuple[MemoryEntry, ...] = ()
    untouched: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    is_temporary: bool = False

    @property
    def views(self) -> tuple[PhotoView, ...]:
        """All numbered photos."""
        return (*self.photos, *self.earlier, *self.recalled)

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The hits of all searches of the current stage, in order; a record found twice is in it twice."""
        observations = (step.observation for step in self.steps)
        return tuple(hit for searched in observations if isinstance(searched, Searched) for hit in searched.hits)

    @property
    def photo_numbers(self) -> dict[str, int]:
        """The numbers of all numbered photos, by photo id. A recalled photo of the conversation keeps its number there."""
        return {view.photo_id: view.number for view in reversed(self.views)}

    @property
    def may_search(self) -> bool:
        """Whether the policy may search the memory before it replies."""
        return self.stage == "generate" and self.rounds_left > 0


@dataclass(frozen=True, slots=True)
class Decision:
    """The next action. `usage` is None if no model was called.

    `further` are the actions to carry out after it, in order; for a malformed one, the reason.
    """

    action: Action
    usage: TokenUsage | None = None
    further: tuple[Action | Rejected, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchScope:
    """How a policy may search the memory. Its tools and prompts mention nothing else.

    `raw_messages` is whether it may open and search the raw log, `finds_messages` whether a search of the memory also returns
    raw messages, `compares_photos` whether a search may use the photos of the user's message, and `searches_again` whether
    it may search again after seeing results.
    """

    raw_messages: bool = True
    finds_messages: bool = True
    compares_photos: bool = True
    searches_again: bool = True
