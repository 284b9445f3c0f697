"""What the pipeline passes along: personal concepts, the place of a group, and what a generator made of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from data_synthesis.voices import Voice
from m2a.types.errors import UserError


class SynthesisError(UserError, ValueError):
    """Something that a person must mend. Its words name the value, the place and the remedy."""


class GenerationFailed(SynthesisError):
    """A group for which no valid sessions could be had. The group is set aside; the run goes on."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One thing that can be seen on the concept. `accepted` are further short answers that count as right.

    `photos` are those on which it can be seen; none are named where it can be on all.
    """

    key: str
    value: str
    accepted: tuple[str, ...] = ()
    photos: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class ConceptPhoto:
    """`setting` is a short place label that tells a concept's photos apart; both texts may be empty."""

    path: Path
    setting: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class VisualQuestion:
    """A question of the concept set's own VQA about one photo. `<sks>` stands for the concept's name."""

    photo: Path
    text: str
    options: tuple[str, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class PersonalConcept:
    """A person, pet or thing with photos. `subject` is its id in the source, `name` what its owner calls it.

    Within a group `photos` are those to be shown, and `unseen` those that the dialogue never shows: with one of these
    a question may ask what is remembered of the concept.
    """

    subject: str
    name: str
    class_name: str
    photos: tuple[ConceptPhoto, ...]
    live: bool = False
    short_description: str = ""
    attributes: tuple[Attribute, ...] = ()
    questions: tuple[VisualQuestion, ...] = ()
    unseen: tuple[ConceptPhoto, ...] = ()


@dataclass(frozen=True, slots=True)
class ConceptGroup:
    """3 to 4 concepts that are told together, each with the 2 to 3 photos chosen for it. `number` counts from 1."""

    number: int
    concepts: tuple[PersonalConcept, ...]

    @property
    def described(self) -> bool:
        """Whether anything is known of what its photos show, but for the concepts' names."""
        return any(
            concept.attributes or any(photo.setting for photo in (*concept.photos, *concept.unseen))
            for concept in self.concepts
        )


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a group goes: after host session `after`, at these times (M2A, equation 7), each within the gap."""

    after: int
    start: datetime
    end: datetime
    times: tuple[datetime, ...]


@dataclass(frozen=True, slots=True)
class GroupRequest:
    """All that a generator may know. `seed` is this group's own; equal requests give equal results without a model.

    `elsewhere` are the concepts of the other groups of the dialogue, which no question may be taken to mean; `voices` are
    how the speakers write in the rest of the conversation, and `texts_elsewhere` what they say there, as far as it is known.
    """

    dialogue_id: str
    speakers: tuple[str, str]
    group: ConceptGroup
    placement: Placement
    seed: int
    elsewhere: tuple[PersonalConcept, ...] = ()
    voices: tuple[Voice, Voice] = (Voice(), Voice())
    texts_elsewhere: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, order=True)
class TurnPlace:
    """A turn of a generated group: session and turn, both counted from 1 within the group."""

    session: int
    turn: int


@dataclass(frozen=True, slots=True)
class GeneratedTurn:
    speaker: str
    text: str
    photos: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class DatedEvent:
    """When something happened: `expression` stands in the turn's text and counts from its session's date.

    An empty expression is the day of the session itself.
    """

    place: TurnPlace
    expression: str = ""


@dataclass(frozen=True, slots=True)
class Derivation:
    """How a temporal answer follows: the date of `event`, or, with `since`, the days from `since` to `event`."""

    event: DatedEvent
    since: DatedEvent | None = None


@dataclass(frozen=True, slots=True)
class GeneratedQuestion:
    """A question of category 6 to 9, or of 10, visual retrieval. Category 7 carries its derivation.

    `photos` come with the question, and the dialogue shows none of them.
    """

    category: int
    text: str
    answer: str
    evidence: tuple[TurnPlace, ...]
    accepted: tuple[str, ...] = ()
    photos: tuple[Path, ...] = ()
    derivation: Derivation | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """What must be seen on a photo to answer a question: `words` say it.

    `place` is the turn that shows the photo, None where the photo comes with the question. `meant_by` are the turns that
    say which photo is meant: those that name its concept, or else the one that shows it.
    """

    photo: Path
    words: str
    place: TurnPlace | None
    meant_by: tuple[TurnPlace, ...]


@dataclass(frozen=True, slots=True)
class GeneratedGroup:
    """Sessions in the order of the placement's times, and the questions about them.

    `notes` is what the generator wants recorded in `run.json` (calls, tokens, cost, retries). `dropped` are the
    categories of questions that were asked for and left out, for they broke a rule. With `retrieval_only` nothing but
    visual retrieval was asked for: who wrote the group knew nothing of what its photos show.
    """

    sessions: tuple[tuple[GeneratedTurn, ...], ...]
    questions: tuple[GeneratedQuestion, ...]
    notes: dict[str, object] = field(default_factory=dict)
    dropped: tuple[int, ...] = ()
    retrieval_only: bool = False


class Generator(Protocol):
    """Writes the sessions and questions of one group. `version` changes whenever equal requests may give other words."""

    name: str
    version: str

    async def generate(self, request: GroupRequest) -> GeneratedGroup:
        """Raises GenerationFailed when no valid group could be had."""
        ...


VISUAL_RETRIEVAL = 10
QUESTION_RATIO: dict[int, int] = {6: 2, 7: 3, 8: 1, 9: 4}
LEAST_DELIVERED = 0.9  # of the questions asked for
CONCEPTS_PER_GROUP = (3, 4)
PHOTOS_PER_CONCEPT = (2, 3)
SESSIONS_PER_GROUP: Sequence[int] = (5, 6)
TURNS_PER_SESSION = range(5, 16)
