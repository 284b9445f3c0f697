"""The records of a woven group in a merged sample: its entry in `groups`, its turns and its questions, written and read."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, StrictInt, StringConstraints, TypeAdapter

from data_synthesis.group import (
    VISUAL_RETRIEVAL,
    Attribute,
    ConceptGroup,
    ConceptPhoto,
    GeneratedGroup,
    GeneratedQuestion,
    GeneratedTurn,
    GroupRequest,
    PersonalConcept,
    Placement,
    SeenDetail,
    TurnPlace,
    VisualQuestion,
    with_photos_named,
)
from data_synthesis.group_view import GroupView
from data_synthesis.question_view import QuestionView
from m2a.benchmarks.locomo import CATEGORY_NAMES, Sample, session_numbers

PhotoName = Callable[[Path], str]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
_TURN_ID = re.compile(r"D([1-9][0-9]{0,5}):([1-9][0-9]{0,5})")


@dataclass(frozen=True, slots=True)
class WovenGroup:
    """A group to be woven in. `generator` is the source of its questions, `set_source` that of the concept set's own: those
    of visual retrieval that come without a photo."""

    request: GroupRequest
    group: GeneratedGroup
    generator: str
    set_source: str


def turn_record(speaker: str, text: str, photos: list[str], dia_id: str) -> dict[str, Any]:
    """Returns a turn with `img_url`, which LoCoMo's readers look for, but no caption, which would say what its photo shows."""
    turn: dict[str, Any] = {"speaker": speaker, "dia_id": dia_id, "text": text}
    return turn | {"photos": photos, "img_url": photos[:1]} if photos else turn


def question_records(woven: WovenGroup, numbers: Sequence[int], photo_name: PhotoName) -> list[dict[str, Any]]:
    turn_id = id_by_place(numbers[0])

    def entry(number: int, question: GeneratedQuestion) -> dict[str, Any]:
        named = replace(question, photos=tuple(Path(photo_name(photo)) for photo in question.photos))
        details = QuestionView(question, view).details
        seen = [replace(detail, photo=Path(photo_name(detail.photo))) for detail in details]
        return {
            "question_id": f"{woven.request.dialogue_id}/g{woven.request.group.number}/{number}",
            **QUESTION.dump_python(named, mode="json", by_alias=True, exclude_none=True, context=turn_id),
            "category_name": CATEGORY_NAMES[question.category],
            "source": woven.generator if question.photos or question.category != VISUAL_RETRIEVAL else woven.set_source,
            "group": woven.request.group.number,
            "seen": _SEEN.dump_python(seen, mode="json", by_alias=True, context=turn_id),
        }

    view = GroupView(woven.group, woven.request)
    return [entry(number, question) for number, question in enumerate(woven.group.questions, start=1)]


def concept_entry(concept: PersonalConcept, photo_name: PhotoName) -> dict[str, Any]:
    """Returns a concept in the form of a merged sample, which has the scenes of its photos beside their names."""
    named = with_photos_named(concept, lambda path: Path(photo_name(path)))
    entry: dict[str, Any] = _CONCEPT.dump_python(named, mode="json", by_alias=True, exclude={"live", "unseen"})
    return entry | {
        "photos": [photo.path.as_posix() for photo in named.photos],
        "unseen_photos": [photo.path.as_posix() for photo in named.unseen],
        "scenes": {
            photo.path.as_posix(): {"setting": photo.setting, "description": photo.description}
            for photo in (*named.photos, *named.unseen)
            if photo.setting or photo.description
        },
    }


def group_record(woven: WovenGroup, numbers: Sequence[int], photo_name: PhotoName) -> dict[str, Any]:
    placement = woven.request.placement
    further: dict[str, Any] = {"dropped_questions": sorted(woven.group.dropped)} if woven.group.dropped else {}
    further |= {"retrieval_only": True} if woven.group.retrieval_only else {}
    return {
        "number": woven.request.group.number,
        "generator": woven.generator,
        **further,
        "concepts": [concept_entry(concept, photo_name) for concept in woven.request.group.concepts],
        "after": placement.after,
        "start": placement.start.isoformat(),
        "end": placement.end.isoformat(),
        "sessions": list(numbers),
        "times": [moment.isoformat() for moment in placement.times],
    }


class GroupRecord(BaseModel):
    """The record of a group in a merged sample, of which every part but the concepts is a plain value."""

    model_config = ConfigDict(extra="allow", frozen=True)
    number: StrictInt
    generator: str
    concepts: tuple["ConceptRecord", ...]
    after: StrictInt
    start: AwareDatetime
    end: AwareDatetime
    sessions: list[StrictInt]
    times: tuple[AwareDatetime, ...]
    dropped_questions: tuple[int, ...] = ()
    retrieval_only: bool = False


class ConceptRecord(BaseModel):
    """The record of a concept, which has the scenes of its photos beside their names."""

    model_config = ConfigDict(extra="allow", frozen=True)
    subject: Text
    name: Text
    class_name: str
    short_description: str
    attributes: tuple[Attribute, ...]
    photos: tuple[Text, ...]
    unseen_photos: tuple[Text, ...]
    scenes: dict[str, dict[Literal["setting", "description"], str]]
    questions: tuple[VisualQuestion, ...]

    def concept(self) -> PersonalConcept:
        shown, unseen = (
            tuple(ConceptPhoto(Path(name), **self.scenes.get(name, {})) for name in names)
            for names in (self.photos, self.unseen_photos)
        )
        return PersonalConcept(
            *(self.subject, self.name, self.class_name, shown),
            short_description=self.short_description,
            attributes=self.attributes,
            questions=self.questions,
            unseen=unseen,
        )


TURNS, QUESTION = TypeAdapter(tuple[GeneratedTurn, ...]), TypeAdapter(GeneratedQuestion)
_SEEN, _CONCEPT = TypeAdapter(list[SeenDetail]), TypeAdapter(PersonalConcept)


def id_by_place(first: int) -> Callable[[TurnPlace], str]:
    """Returns a function that gives the id of the turn at a place in a group whose sessions are numbered from `first`."""
    return lambda place: f"D{first + place.session - 1}:{place.turn}"


def place_by_id(first: int) -> Callable[[str], TurnPlace]:
    """Returns the inverse of `id_by_place`."""

    def place(turn_id: str) -> TurnPlace:
        match = _TURN_ID.fullmatch(turn_id)
        if match is None:
            raise ValueError(f"{turn_id!r} is not the id of a turn, as D5:3 is")
        return TurnPlace(int(match[1]) - first + 1, int(match[2]))

    return place


def read_group(sample: Sample, entry: Mapping[str, Any]) -> WovenGroup:
    """Returns the group with this record; its photos are named as in the sample. Raises ValidationError for another form."""
    record, conversation = GroupRecord.model_validate(entry), sample["conversation"]
    group_questions = [question for question in sample["qa"] if question.get("group") == record.number]
    place = place_by_id(record.sessions[0])
    by_session = {number: conversation[f"session_{number}"] for number in session_numbers(conversation)}
    request = GroupRequest(
        sample["sample_id"],
        (conversation["speaker_a"], conversation["speaker_b"]),
        ConceptGroup(record.number, tuple(concept.concept() for concept in record.concepts)),
        Placement(record.after, record.start, record.end, record.times),
        seed=0,
        texts_elsewhere=tuple(
            turn["text"] for number, turns in by_session.items() if number not in record.sessions for turn in turns
        ),
    )
    generated = GeneratedGroup(
        tuple(TURNS.validate_python(by_session[number]) for number in record.sessions),
        tuple(QUESTION.validate_python(question, context=place) for question in group_questions),
        dropped=record.dropped_questions,
        retrieval_only=record.retrieval_only,
    )
    set_sources = (
        question.get("source", "")
        for question in group_questions
        if question["category"] == VISUAL_RETRIEVAL and not question["photos"]
    )
    return WovenGroup(request, generated, record.generator, next(set_sources, ""))
