"""Layer 2: memories and their evidence."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal, NamedTuple

from m2a.types.concept import ConceptMention

MemoryKind = Literal["event", "fact", "preference", "procedure"]

# What an entry rests on: the user's own words, the assistant's words that the user agreed to, or what a photo or a pasted text
# shows. Entries that a language model wrote before its changes were checked are "unchecked".
RestsOn = Literal["stated", "agreed", "shown", "unchecked"]

# Why an entry is kept but not used: the user asked not to mention it, its last day has passed, or the user may have asked to
# forget it and has not yet said which of several they mean.
KeptBackReason = Literal["unmentioned", "expired", "asked"]


class EvidenceRange(NamedTuple):
    """An inclusive range of raw message ids within one conversation."""

    first: int
    last: int


class DateInterval(NamedTuple):
    """An inclusive range of days: "May 2023" is one interval."""

    first: date
    last: date


@dataclass(frozen=True, slots=True)
class EntryDraft:
    """An entry before it is written. The store assigns its id, version and time.

    `corrects` is the id of a live entry of which this one corrects a part; both stay and are shown together.
    """

    text: str
    evidence_ids: tuple[EvidenceRange, ...]
    kind: MemoryKind = "fact"
    caption: str = ""
    photo_ids: tuple[str, ...] = ()
    concepts: tuple[ConceptMention, ...] = ()
    happened: DateInterval | None = None
    rests_on: RestsOn = "stated"
    corrects: int | None = None


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """An observation with its photos, their captions and the raw messages that support it (M2A, equation 2).

    `memory_id` rises per owner and is never reused; `version` rises with every change to the entry. `corrects` is the id of the
    entry of which this one corrects a part, and `superseded_by` that of the entry that replaced this one, None while it is
    live. `pinned_at` is when the user pinned it, and `used_until` the last day on which it is used.
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
    rests_on: RestsOn = "stated"
    corrects: int | None = None
    superseded_by: int | None = None
    pinned_at: datetime | None = None
    used_until: date | None = None

    def rests_on_message(self, message_id: int) -> bool:
        return any(first <= message_id <= last for first, last in self.evidence_ids)

    def evidence_message_ids(self) -> list[int]:
        """Returns the ids of all messages in the evidence."""
        return [message_id for first, last in self.evidence_ids for message_id in range(first, last + 1)]


@dataclass(frozen=True, slots=True)
class KeptBack:
    """An entry that is kept but not used in any answer, with the reason and the time it began."""

    entry: MemoryEntry
    reason: KeptBackReason
    since: datetime


EntryChange = Literal[
    "added",
    "superseded",
    "deleted",
    "undone",
    "restored",
    "reduced",
    "pinned",
    "unpinned",
    "dated",
    "withheld",
    "expired",
]


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One change to a memory: who made it, when and why. `text` is the entry's text at that time.

    `successor_id` is the id of the replacing entry, if the change is "superseded".
    """

    version: int
    change: EntryChange
    text: str
    who: str
    why: str
    changed_at: datetime
    successor_id: int | None = None
