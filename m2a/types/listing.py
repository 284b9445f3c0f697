"""Views of the memory for its owner: a page of a list, the subjects, and one memory with everything that belongs to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime

from m2a.types.concept import Concept, ConceptKind
from m2a.types.entry import HistoryRow, KeptBack, MemoryEntry, MemoryKind, RestsOn
from m2a.types.message import Conversation, Message


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """Which memories to list. A field that is None or False does not restrict them.

    `since` and `until` are inclusive: a memory matches if it was last recorded, or if its event happens, in that period.
    """

    rests_on: RestsOn | None = None
    concept_id: int | None = None
    since: date | None = None
    until: date | None = None
    with_photos: bool = False
    about_nobody: bool = False  # only memories about no subject
    kind: MemoryKind | None = None
    subject_kind: ConceptKind | None = None  # only memories about a subject of this kind
    unused: bool = False  # only memories that no answer has used yet


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """A page of the memories that pass a filter, newest first. `total` is the number of all of them."""

    entries: tuple[MemoryEntry, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Subject:
    """A named person, pet, place or thing, the number of memories about it, and when the newest of them was recorded."""

    concept_id: int
    name: str
    kind: ConceptKind
    memories: int
    last_updated: datetime


@dataclass(frozen=True, slots=True)
class SubjectSummary:
    """The newest memories about a subject, newest first, or about no subject if `subject` is None."""

    subject: Subject | None
    entries: tuple[MemoryEntry, ...]
    memories: int
    last_updated: datetime


@dataclass(frozen=True, slots=True)
class FoundConversation:
    """A conversation found by a search, with the best matching message, or None if its title matches."""

    conversation: Conversation
    message: Message | None


@dataclass(frozen=True, slots=True)
class OpenedMemory:
    """A memory with everything that belongs to it.

    `evidence` are the first of the `evidence_count` messages that it rests on, and `before` holds, by their ids, the preceding
    messages of the conversations. `versions` are the memories that it replaced, newest first, and `successor` the one that
    replaced it. `kept_back` says why it is not used, if so.
    """

    entry: MemoryEntry
    evidence: tuple[Message, ...]
    evidence_count: int
    before: Mapping[int, Message] = field(default_factory=dict)
    versions: tuple[MemoryEntry, ...] = ()
    history: tuple[HistoryRow, ...] = ()
    concepts: tuple[Concept, ...] = ()
    corrections: tuple[MemoryEntry, ...] = ()
    corrects: MemoryEntry | None = None
    successor: MemoryEntry | None = None
    kept_back: KeptBack | None = None


@dataclass(frozen=True, slots=True)
class PastForgetting:
    """An act of forgetting that can still be undone or erased, without its words.

    `memories` is the number of memories that it removed, 0 if it only withholds words of messages. Change `number` of `reply`
    reports it and can undo it; `reply` is None if it was erased.
    """

    forgetting_id: int
    memories: int
    reply: Message | None
    number: int
