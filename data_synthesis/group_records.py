"""The records of a woven group in a merged sample: its entry in `groups`, its turns and its questions, written and read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from data_synthesis.group import (
    VISUAL_RETRIEVAL,
    Attribute,
    ConceptGroup,
    ConceptPhoto,
    DatedEvent,
    Derivation,
    GeneratedGroup,
    GeneratedQuestion,
    GeneratedTurn,
    GroupRequest,
    PersonalConcept,
    Placement,
    TurnPlace,
    VisualQuestion,
)
from data_synthesis.group_view import GroupView
from m2a.benchmarks.locomo import CATEGORY_NAMES, Sample, session_numbers

PhotoName = Callable[[Path], str]


@dataclass(frozen=True, slots=True)
class WovenGroup:
    """A group to be woven in. `generator` is the source of its questions, `set_source` that of the concept set's own."""

    request: GroupRequest
    group: GeneratedGroup
    generator: str
    set_source: str


def turn_record(speaker: str, text: str, photos: list[str], dia_id: str) -> dict[str, Any]:
    """A turn with `img_url`, which LoCoMo's readers look for, but no caption, which would say what its photo shows."""
    turn: dict[str, Any] = {"speaker": speaker, "dia_id": dia_id, "text": text}
    return turn | {"photos": photos, "img_url": photos[:1]} if photos else turn


def question_records(
    woven: WovenGroup, numbers: Sequence[int], photo_name: Callable[[Path], str]
) -> list[dict[str, Any]]:
    def turn_id(place: TurnPlace) -> str:
        return f"D{numbers[0] + place.session - 1}:{place.turn}"  # the sessions of a group follow one another

    def derivation(value: Derivation) -> dict[str, Any]:
        named = zip(("event", "since"), value.events, strict=False)
        return {name: {"turn": turn_id(event.place), "expression": event.expression} for name, event in named}

    view = GroupView(woven.group, woven.request)

    def entry(number: int, question: GeneratedQuestion) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "question_id": f"{woven.request.dialogue_id}/g{woven.request.group.number}/{number}",
            "question": question.text,
            "answer": question.answer,
            "accepted_answers": list(question.accepted),
            "evidence": [turn_id(place) for place in question.evidence],
            "category": question.category,
            "category_name": CATEGORY_NAMES[question.category],
            "photos": [photo_name(photo) for photo in question.photos],
            "source": woven.set_source if _of_the_set(question) else woven.generator,
            "group": woven.request.group.number,
            "seen": [
                {
                    "photo": photo_name(detail.photo),
                    "shown_in": turn_id(detail.place) if detail.place else None,
                    "words": detail.words,
                    "meant_by": [turn_id(place) for place in detail.meant_by],
                }
                for detail in view.seen_details(question)
            ],
        }
        return fields | ({"derivation": derivation(question.derivation)} if question.derivation else {})

    return [entry(number, question) for number, question in enumerate(woven.group.questions, start=1)]


def _of_the_set(question: GeneratedQuestion) -> bool:
    """Whether it is the concept set's own question; one that comes with a photo is the generator's."""
    return question.category == VISUAL_RETRIEVAL and not question.photos


def group_record(woven: WovenGroup, numbers: Sequence[int], photo_name: Callable[[Path], str]) -> dict[str, Any]:
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


def concept_entry(concept: PersonalConcept, photo_name: Callable[[Path], str]) -> dict[str, Any]:
    """A concept in the form of a merged sample."""
    return {
        "subject": concept.subject,
        "name": concept.name,
        "class_name": concept.class_name,
        "short_description": concept.short_description,
        "attributes": [
            {"key": attribute.key, "value": attribute.value, "accepted": list(attribute.accepted)}
            | {"photos": [photo_name(photo) for photo in attribute.photos]}
            for attribute in concept.attributes
        ],
        "photos": [photo_name(photo.path) for photo in concept.photos],
        "unseen_photos": [photo_name(photo.path) for photo in concept.unseen],
        "scenes": {
            photo_name(photo.path): {"setting": photo.setting, "description": photo.description}
            for photo in (*concept.photos, *concept.unseen)
            if photo.setting or photo.description
        },
        "questions": [
            {"photo": photo_name(question.photo), "question": question.text}
            | {"options": list(question.options), "answer": question.answer}
            for question in concept.questions
        ],
    }


def read_group(sample: Sample, group: Mapping[str, Any]) -> WovenGroup:
    """The group with this record; its photos are named as in the sample."""
    conversation, first = sample["conversation"], group["sessions"][0]

    def place(dia_id: str) -> TurnPlace:
        session, turn = map(int, dia_id.removeprefix("D").split(":"))
        return TurnPlace(session - first + 1, turn)

    def question(record: Mapping[str, Any]) -> GeneratedQuestion:
        dated = record.get("derivation") or {}
        events = [dated[name] for name in ("event", "since") if dated.get(name)]
        return GeneratedQuestion(
            *(record["category"], record["question"], record["answer"], tuple(map(place, record["evidence"]))),
            accepted=tuple(record["accepted_answers"]),
            photos=tuple(map(Path, record["photos"])),
            derivation=Derivation(*(DatedEvent(place(event["turn"]), event["expression"]) for event in events))
            if events
            else None,
        )

    start, end, *times = (datetime.fromisoformat(text) for text in (group["start"], group["end"], *group["times"]))
    own = [record for record in sample["qa"] if record.get("group") == group["number"]]
    by_session = {number: conversation[f"session_{number}"] for number in session_numbers(conversation)}
    request = GroupRequest(
        sample["sample_id"],
        (conversation["speaker_a"], conversation["speaker_b"]),
        ConceptGroup(group["number"], tuple(map(_concept, group["concepts"]))),
        Placement(group["after"], start, end, tuple(times)),
        seed=0,
        texts_elsewhere=tuple(
            turn["text"] for number, turns in by_session.items() if number not in group["sessions"] for turn in turns
        ),
    )
    generated = GeneratedGroup(
        tuple(
            tuple(
                GeneratedTurn(turn["speaker"], turn["text"], tuple(map(Path, turn.get("photos", ()))))
                for turn in by_session[number]
            )
            for number in group["sessions"]
        ),
        tuple(map(question, own)),
        dropped=tuple(group.get("dropped_questions", ())),
        retrieval_only=group.get("retrieval_only", False),
    )
    of_the_set = (record["source"] for record in own if record["category"] == VISUAL_RETRIEVAL and not record["photos"])
    return WovenGroup(request, generated, group["generator"], next(of_the_set, ""))


def _concept(record: Mapping[str, Any]) -> PersonalConcept:
    def photos(key: str) -> tuple[ConceptPhoto, ...]:
        return tuple(ConceptPhoto(Path(name), **record["scenes"].get(name, {})) for name in record[key])

    return PersonalConcept(
        *(record["subject"], record["name"], record["class_name"], photos("photos")),
        short_description=record["short_description"],
        attributes=tuple(
            Attribute(one["key"], one["value"], tuple(one["accepted"]), tuple(map(Path, one["photos"])))
            for one in record["attributes"]
        ),
        questions=tuple(
            VisualQuestion(Path(one["photo"]), one["question"], tuple(one["options"]), one["answer"])
            for one in record["questions"]
        ),
        unseen=photos("unseen_photos"),
    )
