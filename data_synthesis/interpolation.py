"""Weaving generated groups into a host conversation, with all ids and references of the host updated.

Sessions are renumbered in the order of time. LoCoMo's dates without a session follow after the last session. A reference
keeps its target, and one to a turn that does not exist still has none. `unweave` is the inverse of `weave`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
    SynthesisError,
    TurnPlace,
    VisualQuestion,
)
from data_synthesis.group_view import GroupView
from m2a.benchmarks.locomo import (
    CATEGORY_NAMES,
    VISUAL_CATEGORIES,
    Sample,
    format_date_time,
    parse_date_time,
    session_numbers,
)

HOST_SOURCE = "locomo"
_TURN_ID = re.compile(r"D\s*:?\s*(\d+)\s*:\s*(\d+)")
_NUMBERED = re.compile(r"(events_)?session_(\d+)(\w*)")


@dataclass(frozen=True, slots=True)
class WovenGroup:
    """A group to be woven in. `generator` is the source of its questions, `set_source` that of the concept set's own."""

    request: GroupRequest
    group: GeneratedGroup
    generator: str
    set_source: str


def host_sessions(sample: Sample) -> list[tuple[int, datetime]]:
    """The numbers and times of the sessions with turns, in the order of time."""
    conversation = sample["conversation"]
    sessions = [
        (number, parse_date_time(conversation[f"session_{number}_date_time"]))
        for number in session_numbers(conversation)
    ]
    return sorted(sessions, key=lambda session: session[1])


def weave(
    sample: Sample, made: Sequence[WovenGroup], photo_name: Callable[[Path], str]
) -> tuple[Sample, dict[str, dict[str, Any]]]:
    """The merged sample, and its map from old session numbers and turn ids to new ones.

    `photo_name` gives the path, relative to the benchmark's file, of the copy of a photo.
    """
    made = _as_kept(made)
    if "groups" in sample:
        raise SynthesisError(f"{sample['sample_id']} has groups already; start from LoCoMo as published.")
    new_numbers, inserted = _numbers(sample, made)
    remap = _Remap(new_numbers, sum(map(len, inserted)))
    conversation = sample["conversation"]
    sessions = {
        number: [remap.turn(turn) for turn in conversation[f"session_{number}"]]
        for number in session_numbers(conversation)
    }
    keyed: dict[str, Any] = {remap.key(key): value for key, value in conversation.items() if _NUMBERED.fullmatch(key)}
    keyed |= {f"session_{new_numbers[number]}": turns for number, turns in sessions.items()}
    for woven, numbers in zip(made, inserted, strict=True):
        for number, moment, turns in zip(numbers, woven.request.placement.times, woven.group.sessions, strict=True):
            keyed[f"session_{number}_date_time"] = format_date_time(moment)
            keyed[f"session_{number}"] = [
                _turn(turn.speaker, turn.text, [photo_name(photo) for photo in turn.photos], f"D{number}:{place}")
                for place, turn in enumerate(turns, start=1)
            ]
    rest = {key: value for key, value in conversation.items() if not _NUMBERED.fullmatch(key)}
    merged = {key: remap.section(value) if isinstance(value, dict) else value for key, value in sample.items()}
    merged["conversation"] = rest | _by_number(keyed)
    merged["qa"] = [
        *(_host_question(question, sample["sample_id"], n, remap) for n, question in enumerate(sample["qa"], start=1)),
        *(
            question
            for woven, numbers in zip(made, inserted, strict=True)
            for question in _questions(woven, numbers, photo_name)
        ),
    ]
    merged["groups"] = [_group(woven, numbers, photo_name) for woven, numbers in zip(made, inserted, strict=True)]
    id_map = {
        "sessions": {str(old): new_numbers[old] for old in sorted(sessions)},
        "turns": {
            turn["dia_id"]: new["dia_id"]
            for old in sorted(sessions)
            for turn, new in zip(conversation[f"session_{old}"], sessions[old], strict=True)
        },
    }
    return merged, id_map


def unweave(sample: Sample, old_numbers: Mapping[int, int]) -> tuple[Sample, list[WovenGroup]]:
    """The host conversation and the groups of a merged sample; photos are named as in the sample.

    `old_numbers` gives the host's own number of each of its sessions by the new one. References of the host come back in
    one spelling ("D5:3"), and a host question without evidence comes back with an empty list.
    """
    groups = sample["groups"]
    remap = _Remap(old_numbers, -sum(len(group["sessions"]) for group in groups))
    inserted = {number for group in groups for number in group["sessions"]}
    conversation: dict[str, Any] = {}
    for key, value in sample["conversation"].items():
        match = _NUMBERED.fullmatch(key)
        if not match or int(match[2]) not in inserted:
            turns = [remap.turn(turn) for turn in value] if match and not match[3] else value
            conversation[remap.key(key)] = turns
    host = {
        key: remap.section(value) if isinstance(value, dict) else value
        for key, value in sample.items()
        if key != "groups"
    }
    host["conversation"] = _by_number(conversation)
    own = (question for question in sample["qa"] if question["category"] not in VISUAL_CATEGORIES)
    host["qa"] = [
        _without_additions(question, f"{sample['sample_id']}/{number}", remap)
        for number, question in enumerate(own, start=1)
    ]
    return host, _as_kept([_made(sample, group) for group in groups])


def _without_additions(question: Mapping[str, Any], question_id: str, remap: "_Remap") -> dict[str, Any]:
    added = {"category_name", "photos", "source"} | (
        {"question_id"} if question["question_id"] == question_id else set()
    )
    own = {key: value for key, value in question.items() if key not in added}
    return own | {"evidence": [remap.reference(str(text)) for text in question["evidence"]]}


def _made(sample: Sample, group: Mapping[str, Any]) -> WovenGroup:
    conversation, first = sample["conversation"], group["sessions"][0]

    def place(dia_id: str) -> TurnPlace:
        session, turn = dia_id.removeprefix("D").split(":")
        return TurnPlace(int(session) - first + 1, int(turn))

    def event(entry: Mapping[str, str]) -> DatedEvent:
        return DatedEvent(place(entry["turn"]), entry["expression"])

    def derivation(entry: Mapping[str, Any]) -> Derivation:
        return Derivation(event(entry["event"]), event(entry["since"]) if entry.get("since") else None)

    concepts = tuple(
        PersonalConcept(
            *(concept["subject"], concept["name"], concept["class_name"]),
            photos=tuple(_photo(concept, photo) for photo in concept["photos"]),
            short_description=concept["short_description"],
            attributes=tuple(
                Attribute(entry["key"], entry["value"], tuple(entry["accepted"]), tuple(map(Path, entry["photos"])))
                for entry in concept["attributes"]
            ),
            questions=tuple(
                VisualQuestion(Path(entry["photo"]), entry["question"], tuple(entry["options"]), entry["answer"])
                for entry in concept["questions"]
            ),
            unseen=tuple(_photo(concept, photo) for photo in concept["unseen_photos"]),
        )
        for concept in group["concepts"]
    )
    start, end, *times = (datetime.fromisoformat(text) for text in (group["start"], group["end"], *group["times"]))
    own = [question for question in sample["qa"] if question.get("group") == group["number"]]
    questions = tuple(
        GeneratedQuestion(
            *(question["category"], question["question"], question["answer"], tuple(map(place, question["evidence"]))),
            accepted=tuple(question["accepted_answers"]),
            photos=tuple(map(Path, question["photos"])),
            derivation=derivation(question["derivation"]) if question.get("derivation") else None,
        )
        for question in own
    )
    sessions = tuple(
        tuple(
            GeneratedTurn(turn["speaker"], turn["text"], tuple(map(Path, turn.get("photos", ()))))
            for turn in conversation[f"session_{number}"]
        )
        for number in group["sessions"]
    )
    request = GroupRequest(
        sample["sample_id"],
        (conversation["speaker_a"], conversation["speaker_b"]),
        ConceptGroup(group["number"], concepts),
        Placement(group["after"], start, end, tuple(times)),
        seed=0,
        texts_elsewhere=tuple(
            turn["text"]
            for number in session_numbers(conversation)
            if number not in group["sessions"]
            for turn in conversation[f"session_{number}"]
        ),
    )
    sources = [question["source"] for question, made in zip(own, questions, strict=True) if _of_the_set(made)]
    generated = GeneratedGroup(
        *(sessions, questions),
        dropped=tuple(group.get("dropped_questions", ())),
        retrieval_only=group.get("retrieval_only", False),
    )
    return WovenGroup(request, generated, group["generator"], next(iter(sources), ""))


def _photo(concept: Mapping[str, Any], name: str) -> ConceptPhoto:
    return ConceptPhoto(Path(name), **concept["scenes"].get(name, {}))


def _as_kept(made: Sequence[WovenGroup]) -> list[WovenGroup]:
    """The groups with what a merged sample keeps of their concepts, each with the concepts of the other groups."""
    kept = [[kept_concept(concept, woven.group) for concept in woven.request.group.concepts] for woven in made]
    requests = [
        replace(
            woven.request,
            group=replace(woven.request.group, concepts=tuple(concepts)),
            elsewhere=tuple(concept for other in kept if other is not concepts for concept in other),
        )
        for woven, concepts in zip(made, kept, strict=True)
    ]
    return [replace(woven, request=request) for woven, request in zip(made, requests, strict=True)]


def kept_concept(concept: PersonalConcept, group: GeneratedGroup) -> PersonalConcept:
    """The concept as a merged sample keeps it: without unused unseen photos and what is stated of them."""
    in_questions = {photo for question in group.questions for photo in question.photos}
    unseen = tuple(photo for photo in concept.unseen if photo.path in in_questions)
    paths = [photo.path for photo in (*concept.photos, *unseen)]
    attributes = (
        replace(attribute, photos=tuple(path for path in attribute.photos if path in paths))
        for attribute in concept.attributes
        if not attribute.photos or set(attribute.photos) & set(paths)
    )
    return replace(concept, unseen=unseen, attributes=tuple(attributes))


def _numbers(sample: Sample, made: Sequence[WovenGroup]) -> tuple[dict[int, int], list[list[int]]]:
    """The new number of each session and date of the host, and the numbers of the sessions of each group."""
    host = host_sessions(sample)
    order: list[tuple[datetime, int, int]] = [(moment, -1, number) for number, moment in host]
    for place, woven in enumerate(made):
        order += [(moment, place, number) for number, moment in enumerate(woven.request.placement.times)]
    order.sort(key=lambda entry: entry[0])
    new: dict[int, int] = {}
    inserted: list[list[int]] = [[] for _ in made]
    for number, (_, place, old) in enumerate(order, start=1):
        if place < 0:
            new[old] = number
        else:
            inserted[place].append(number)
    conversation = sample["conversation"]
    dated = {int(match[2]) for key in conversation if (match := _NUMBERED.fullmatch(key))}
    for number, old in enumerate(sorted(dated - set(new)), start=len(order) + 1):
        new[old] = number
    return new, inserted


class _Remap:
    """Replaces old session numbers in keys and references. Numbers that the host does not have move past its end."""

    def __init__(self, numbers: Mapping[int, int], inserted: int) -> None:
        self._numbers = numbers
        self._inserted = inserted

    def number(self, old: int) -> int:
        return self._numbers.get(old, old + self._inserted)

    def key(self, key: str) -> str:
        return _NUMBERED.sub(lambda match: f"{match[1] or ''}session_{self.number(int(match[2]))}{match[3]}", key)

    def reference(self, text: str) -> str:
        return _TURN_ID.sub(lambda match: f"D{self.number(int(match[1]))}:{int(match[2])}", text)

    def turn(self, turn: Mapping[str, Any]) -> dict[str, Any]:
        return {**turn, "dia_id": self.reference(str(turn["dia_id"]))}

    def section(self, section: Mapping[str, Any]) -> dict[str, Any]:
        """An `observation`, `session_summary` or `event_summary`: keys by session, facts as [text, reference(s)]."""
        return _by_number({self.key(key): self._facts(value) for key, value in section.items()})

    def _facts(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._facts(entry) for key, entry in value.items()}
        if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and _names_turns(value[1]):
            return [value[0], self._references(value[1])]
        if isinstance(value, list):
            return [self._facts(entry) if isinstance(entry, dict | list) else entry for entry in value]
        return value

    def _references(self, value: str | list[str]) -> str | list[str]:
        return self.reference(value) if isinstance(value, str) else [self.reference(text) for text in value]


def _names_turns(value: object) -> bool:
    """Whether a text or a list of texts holds only ids of turns."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(text, str) and _names_turns(text) for text in value)
    return isinstance(value, str) and bool(_TURN_ID.search(value)) and not _TURN_ID.sub("", value).strip(" ,;()[]")


def _by_number(keyed: Mapping[str, Any]) -> dict[str, Any]:
    """The entries in the order of the sessions, each session after its date, as in LoCoMo."""

    def place(key: str) -> tuple[int, int]:
        match = _NUMBERED.fullmatch(key)
        return (int(match[2]), 0 if match[3] else 1) if match else (0, 0)

    return {key: keyed[key] for key in sorted(keyed, key=place)}


def _turn(speaker: str, text: str, photos: list[str], dia_id: str) -> dict[str, Any]:
    """A turn with `img_url`, which LoCoMo's readers look for, but no caption, which would say what its photo shows."""
    turn: dict[str, Any] = {"speaker": speaker, "dia_id": dia_id, "text": text}
    return turn | {"photos": photos, "img_url": photos[:1]} if photos else turn


def _host_question(question: Mapping[str, Any], sample_id: str, number: int, remap: _Remap) -> dict[str, Any]:
    return {
        "question_id": f"{sample_id}/{number}",
        **question,
        "evidence": [remap.reference(str(text)) for text in question.get("evidence") or ()],
        "category_name": CATEGORY_NAMES[int(question["category"])],
        "photos": [],
        "source": HOST_SOURCE,
    }


def _questions(woven: WovenGroup, numbers: Sequence[int], photo_name: Callable[[Path], str]) -> list[dict[str, Any]]:
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


def _group(woven: WovenGroup, numbers: Sequence[int], photo_name: Callable[[Path], str]) -> dict[str, Any]:
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
