"""Layer 2: what is remembered, and on what evidence."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal, NamedTuple

from m2a.types.concept import ConceptMention

MemoryKind = Literal["event", "fact", "preference", "procedure"]

# What an entry rests on: the user's own words, the assistant's words that the user took, or what a photo shows or a
# pasted text says. "unchecked" are the entries that a language model wrote before its writes were checked.
RestsOn = Literal["stated", "agreed", "shown", "unchecked"]

# Why an entry is kept and not used: the user asked not to mention it, or its last day is past.
KeptBackReason = Literal["unmentioned", "expired"]


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
    """What a writer proposes; the store gives it an id, a version and a time.

    `corrects` names a living entry of which this one corrects a part: both stay, and are told together.
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

    `memory_id` rises per owner and is never reused; `version` rises with every change of the entry. `corrects` is the
    entry of which this one corrects a part; `superseded_by` is None while the entry holds, else what took its place.
    `pinned_at` says since when the user has it pinned, `used_until` the last day on which it is used, if they set one.
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
        """The id of each message in the evidence, range by range."""
        return [message_id for first, last in self.evidence_ids for message_id in range(first, last + 1)]


@dataclass(frozen=True, slots=True)
class KeptBack:
    """An entry that is kept and not used in any answer, why, and since when."""

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
    """One change of one memory: who made it, when and why. `text` is the entry's text then.

    `successor_id` is what took its place, of a supersession.
    """

    history_id: int
    memory_id: int
    version: int
    change: EntryChange
    text: str
    who: str
    why: str
    changed_at: datetime
    successor_id: int | None = None
