"""A merged folder as it was found: whatever can be read of it, each part with its place for the faults about it.

A part that is missing or of a wrong kind is a fault of the schema and is left out here, so that the rules that follow
may rely on every kind, and one broken part hides no other.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

BENCHMARK, ID_MAP, RUN, STATISTICS, CARD = "benchmark.json", "id_map.json", "run.json", "statistics.json", "README.md"
PHOTOS = "photos"
HOST_SOURCE = "locomo"

Json = Any


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: where, against which rule, and a sentence that says what."""

    place: str
    rule: str
    sentence: str

    def __str__(self) -> str:
        """In one line that every terminal can print."""
        line = " ".join(f"{self.place}: [{self.rule}] {self.sentence}".split())
        return line.encode("utf-8", "backslashreplace").decode("utf-8")


@dataclass(frozen=True, slots=True)
class SeenTurn:
    place: str
    position: int
    dia_id: str
    speaker: str
    text: str
    photos: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SeenSession:
    """`group` is the number of the group that it was inserted for, None for the host's own."""

    place: str
    number: int
    started_at: datetime | None
    turns: tuple[SeenTurn, ...]
    group: int | None


@dataclass(frozen=True, slots=True)
class SeenConcept:
    """`photos` are those that the group shows, `unseen` those that only questions come with."""

    subject: str
    name: str
    class_name: str
    photos: tuple[str, ...]
    unseen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SeenGroup:
    place: str
    number: int
    generator: str
    concepts: tuple[SeenConcept, ...]
    after: int | None
    start: datetime | None
    end: datetime | None
    sessions: tuple[int, ...]
    times: tuple[datetime, ...]

    @property
    def names(self) -> set[str]:
        return {concept.name for concept in self.concepts}

    @property
    def photos(self) -> set[str]:
        return {photo for concept in self.concepts for photo in concept.photos}


@dataclass(frozen=True, slots=True)
class SeenEvent:
    turn: str
    expression: str


@dataclass(frozen=True, slots=True)
class SeenQuestion:
    """`answer` is empty where it is none, as for the adversarial questions. `derivation` is the event, then since."""

    place: str
    question_id: str
    text: str
    category: int
    answer: str
    accepted: tuple[str, ...]
    evidence: tuple[str, ...]
    photos: tuple[str, ...]
    source: str
    group: int | None
    derivation: tuple[SeenEvent, ...]

    @property
    def visual(self) -> bool:
        return self.category > 5


@dataclass(frozen=True, slots=True)
class SeenSample:
    place: str
    sample_id: str
    speakers: tuple[str, ...]
    sessions: tuple[SeenSession, ...]
    groups: tuple[SeenGroup, ...]
    questions: tuple[SeenQuestion, ...]
    raw: Mapping[str, Json]

    @property
    def turns(self) -> Iterator[SeenTurn]:
        return (turn for session in self.sessions for turn in session.turns)

    def sessions_of(self, group: SeenGroup) -> list[SeenSession]:
        """In the order in which the group names them; a session that is not there is passed over."""
        known = {session.number: session for session in self.sessions}
        return [known[number] for number in group.sessions if number in known]


@dataclass(frozen=True, slots=True)
class IdMap:
    """Old to new ids of the host's sessions and turns of one sample."""

    sessions: dict[int, int] = field(default_factory=dict)
    turns: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SeenFolder:
    folder: Path
    samples: tuple[SeenSample, ...]
    id_maps: dict[str, IdMap]
    run: Json
    statistics: Json
