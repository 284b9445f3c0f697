"""The values that the pipeline passes on: personal concepts, the placement of a group, and the generated group.

pydantic reads and writes turns, questions and what is stated of a concept by these classes. Where a key differs from the name
of a field, the field says so. The validation context is a function from turn ids to places; the serialisation context, one from
places to ids.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Protocol

from pydantic import AliasChoices, BeforeValidator, Field, PlainSerializer, SerializationInfo, ValidationInfo

from data_synthesis.voices import Voice
from m2a.benchmarks.locomo import VISUAL_CATEGORIES
from m2a.types.errors import UserError

# Categories of questions, with LoCoMo's numbers
MULTI_HOP, TEMPORAL, OPEN_DOMAIN, SINGLE_HOP, VISUAL_RETRIEVAL = VISUAL_CATEGORIES
QUESTION_RATIO: dict[int, int] = {MULTI_HOP: 2, TEMPORAL: 3, OPEN_DOMAIN: 1, SINGLE_HOP: 4}
QUESTION_COUNTS = {category: 2 * share for category, share in QUESTION_RATIO.items()}  # 20 for a group
LEAST_DELIVERED = 0.9  # of these
CONCEPTS_PER_GROUP = (3, 4)
PHOTOS_PER_CONCEPT = (2, 3)
SESSIONS_PER_GROUP: Sequence[int] = (5, 6)
TURNS_PER_SESSION = range(5, 16)


class SynthesisError(UserError, ValueError):
    """A problem that the user must solve. The message names the value, the place and the remedy."""


class GenerationError(SynthesisError):
    """No valid sessions could be generated for a group. The group is set aside; the run continues."""


@dataclass(frozen=True, slots=True)
class ConceptPhoto:
    """`setting` is a short place label that tells a concept's photos apart; both texts may be empty."""

    path: Path
    setting: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A visible property of a concept. `accepted` are further short answers that count as right.

    `photos` are those on which it is visible; empty means all.
    """

    key: str
    value: str
    accepted: tuple[str, ...] = ()
    photos: tuple[Path, ...] = ()

    def visible_on(self, photo: ConceptPhoto) -> bool:
        return not self.photos or photo.path in self.photos


@dataclass(frozen=True, slots=True)
class VisualQuestion:
    """A question about one photo from the concept set's own VQA. `<sks>` stands for the concept's name."""

    photo: Path
    text: Annotated[str, Field(alias="question")]
    options: tuple[str, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class PersonalConcept:
    """A person, pet or thing with photos. `subject` is its id in the source, `name` what its owner calls it.

    Within a group, `photos` are those to be shown and `unseen` those that the dialogue never shows: a question may come
    with one of these and ask what is remembered of the concept.
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


def with_photos_named(concept: PersonalConcept, name: Callable[[Path], Path]) -> PersonalConcept:
    """Returns the concept with every photo path replaced by `name(path)`."""

    def named(photos: Iterable[ConceptPhoto]) -> tuple[ConceptPhoto, ...]:
        return tuple(replace(photo, path=name(photo.path)) for photo in photos)

    return replace(
        concept,
        photos=named(concept.photos),
        unseen=named(concept.unseen),
        attributes=tuple(
            replace(attribute, photos=tuple(map(name, attribute.photos))) for attribute in concept.attributes
        ),
        questions=tuple(replace(question, photo=name(question.photo)) for question in concept.questions),
    )


@dataclass(frozen=True, slots=True)
class ConceptGroup:
    """3 to 4 concepts that share their sessions, each with the 2 to 3 photos chosen for it. `number` counts from 1."""

    number: int
    concepts: tuple[PersonalConcept, ...]

    @property
    def described(self) -> bool:
        """Whether anything but the concepts' names is known about what its photos show."""
        return any(
            concept.attributes or any(photo.setting for photo in (*concept.photos, *concept.unseen))
            for concept in self.concepts
        )


@dataclass(frozen=True, slots=True)
class Placement:
    """The gap that a group is put into, after host session `after`, and the times of its sessions (M2A, equation 7)."""

    after: int
    start: datetime
    end: datetime
    times: tuple[datetime, ...]


@dataclass(frozen=True, slots=True)
class GroupRequest:
    """Everything that a generator may know. `seed` is this group's own; without a model, equal requests give equal groups.

    `elsewhere` are the concepts of the dialogue's other groups, with which no question may confuse those of this group;
    `voices` describe how the speakers write in the rest of the conversation, and `texts_elsewhere` are their turns there.
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


def _place_of(turn_id: Any, reading: ValidationInfo) -> Any:
    return reading.context(turn_id) if isinstance(turn_id, str) and reading.context else turn_id


def _id_of(place: Any, writing: SerializationInfo) -> Any:
    return writing.context(place) if place and writing.context else place


_TurnById = Annotated[TurnPlace, BeforeValidator(_place_of), PlainSerializer(_id_of)]


@dataclass(frozen=True, slots=True)
class GeneratedTurn:
    speaker: str
    text: str
    photos: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class DatedEvent:
    """When something happened: `expression` is in the turn's text and counts from its session's date.

    An empty expression means the day of the session itself.
    """

    place: Annotated[_TurnById, Field(alias="turn")]
    expression: str = ""


@dataclass(frozen=True, slots=True)
class Derivation:
    """How a temporal answer is computed: the date of `event`, or, with `since`, the days from `since` to `event`."""

    event: DatedEvent
    since: DatedEvent | None = None

    @property
    def events(self) -> tuple[DatedEvent, ...]:
        return (self.event, self.since) if self.since else (self.event,)


@dataclass(frozen=True, slots=True)
class GeneratedQuestion:
    """A question of category 6 to 10. Category 7, temporal, carries its derivation.

    `photos` come with the question; the dialogue shows none of them.
    """

    category: int
    text: Annotated[str, Field(alias="question")]
    answer: str
    evidence: tuple[_TurnById, ...]
    accepted: Annotated[
        tuple[str, ...],
        Field(validation_alias=AliasChoices("accepted_answers", "accepted"), serialization_alias="accepted_answers"),
    ] = ()
    photos: tuple[Path, ...] = ()
    derivation: Derivation | None = None


@dataclass(frozen=True, slots=True)
class SeenDetail:
    """A detail, in `words`, that must be seen in a photo to answer a question.

    `place` is the turn that shows the photo, None where the photo comes with the question. `meant_by` are the turns that
    tell which photo is meant: those that name its concept, or else the one that shows it.
    """

    photo: Path
    words: str
    place: Annotated[_TurnById | None, Field(alias="shown_in")]
    meant_by: tuple[_TurnById, ...]


@dataclass(frozen=True, slots=True)
class GeneratedGroup:
    """Sessions in the order of the placement's times, and the questions about them.

    `notes` go into `run.json` (calls, tokens, cost, repairs). `dropped` are the categories of the questions that were left
    out because they broke a rule. With `retrieval_only` there are only questions of visual retrieval, because the
    generator did not know what the photos show.
    """

    sessions: tuple[tuple[GeneratedTurn, ...], ...]
    questions: tuple[GeneratedQuestion, ...]
    notes: dict[str, object] = field(default_factory=dict)
    dropped: tuple[int, ...] = ()
    retrieval_only: bool = False


class Generator(Protocol):
    """Writes the sessions and questions of one group. `version` changes whenever an equal request may give another group."""

    name: str
    version: str

    async def generate(self, request: GroupRequest) -> GeneratedGroup:
        """Returns a valid group. Raises GenerationError where there is none."""
        ...
