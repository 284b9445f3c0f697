"""Layer 2: what is remembered, and on what evidence."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal, NamedTuple

from m2a.types.action import ConceptMention

MemoryKind = Literal["event", "fact", "preference", "procedure", "update record"]


class EvidenceRange(NamedTuple):
    """Raw message ids, both ends included, within one conversation."""

    first: int
    last: int


class DateInterval(NamedTuple):
    """Days, both ends included: "May 2023" is one interval."""

    first: date
    last: date


@dataclass(frozen=True, slots=True)
class EntryDraft:
    """What a writer proposes; the store gives it an id, a version and a time."""

    text: str
    evidence_ids: tuple[EvidenceRange, ...]
    kind: MemoryKind = "fact"
    caption: str = ""
    photo_ids: tuple[str, ...] = ()
    concepts: tuple[ConceptMention, ...] = ()
    happened: DateInterval | None = None


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """An observation with its photos, their captions and the raw messages that support it (M2A, equation 2).

    `memory_id` rises per owner and is never reused; `version` rises with every change of the entry.
    """

    memory_id: int
    owner: str
    version: int
    kind: MemoryKind
    text: str
    caption: str
    photo_ids: tuple[str, ...]
    evidence_ids: tuple[EvidenceRange, ...]
    concept_ids: tuple[int, ...]
    recorded_at: datetime
    happened: DateInterval | None = None


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One change of one memory: who made it, when and why. `text` is the entry's text after it (before a deletion)."""

    history_id: int
    memory_id: int
    version: int
    change: Literal["added", "deleted", "changed"]
    text: str
    who: str
    why: str
    changed_at: datetime
