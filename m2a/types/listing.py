"""What an owner sees of the memory: a page of the list, the subjects, and one memory with all that belongs to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime

from m2a.types.concept import Concept, ConceptKind
from m2a.types.entry import HistoryRow, KeptBack, MemoryEntry, MemoryKind, RestsOn
from m2a.types.message import Conversation, Message


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """Which memories are wanted; what is None or False asks for nothing. Both days count, by when it was last told."""

    rests_on: RestsOn | None = None
    concept_id: int | None = None
    since: date | None = None
    until: date | None = None
    with_photos: bool = False
    about_nobody: bool = False  # those that name no subject
    kind: MemoryKind | None = None
    subject_kind: ConceptKind | None = None  # those that name such a subject
    unused: bool = False  # those on which no answer rested so far


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """A part of the memories that a filter lets through, the newest first; `total` counts them all."""

    entries: tuple[MemoryEntry, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Subject:
    """Somebody or something with a name: how many memories are about it, and when the newest of them was told."""

    concept_id: int
    name: str
    kind: ConceptKind
    memories: int
    last_updated: datetime


@dataclass(frozen=True, slots=True)
class SubjectSummary:
    """What was told last about a subject, the newest first. Without a subject it is of the memories that name none."""

    subject: Subject | None
    entries: tuple[MemoryEntry, ...]
    memories: int
    last_updated: datetime


@dataclass(frozen=True, slots=True)
class FoundConversation:
    """A conversation that a search found: by its title, else by the message that fits best."""

    conversation: Conversation
    message: Message | None


@dataclass(frozen=True, slots=True)
class OpenedMemory:
    """A memory with all that belongs to it.

    `evidence` are the first of the `evidence_count` messages that it rests on; `before` holds, for those of them that have
    one, the message before it in its conversation. `versions` are the memories whose place it took, the newest first.
    `successor` is what took its own place. `kept_back` says why it is not used, where it is not.
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
