"""Weaving generated groups into a host conversation, with all ids and references of the host updated.

Sessions are renumbered in the order of time. LoCoMo's dates without a session follow after the last session. References are
renumbered; one to a missing turn stays without a target. `unweave` is the inverse of `weave`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from data_synthesis.group import GeneratedGroup, PersonalConcept, SynthesisError
from data_synthesis.group_records import PhotoName, WovenGroup, group_record, question_records, read_group, turn_record
from data_synthesis.renumbering import NUMBERED, Renumbering, by_number
from m2a.benchmarks.locomo import (
    CATEGORY_NAMES,
    VISUAL_CATEGORIES,
    Sample,
    format_date_time,
    parse_date_time,
    session_numbers,
)

HOST_SOURCE = "locomo"


def host_sessions(sample: Sample) -> list[tuple[int, datetime]]:
    """Returns the numbers and times of the sessions with turns, in the order of time."""
    conversation = sample["conversation"]
    sessions = [
        (number, parse_date_time(conversation[f"session_{number}_date_time"]))
        for number in session_numbers(conversation)
    ]
    return sorted(sessions, key=lambda session: session[1])


def weave(
    sample: Sample, woven_groups: Sequence[WovenGroup], photo_name: PhotoName
) -> tuple[Sample, dict[str, dict[str, Any]]]:
    """Returns the merged sample, and its map from old session numbers and turn ids to new ones.

    `photo_name` gives the path, relative to the benchmark's file, of the copy of a photo.
    """
    woven_groups = _as_stored(woven_groups)
    if "groups" in sample:
        raise SynthesisError(f"{sample['sample_id']} has groups already; start from LoCoMo as published.")
    new_numbers, inserted = _numbers(sample, woven_groups)
    remap = Renumbering(new_numbers, sum(map(len, inserted)))
    conversation = sample["conversation"]
    sessions = {
        number: [remap.turn(turn) for turn in conversation[f"session_{number}"]]
        for number in session_numbers(conversation)
    }
    keyed: dict[str, Any] = {remap.key(key): value for key, value in conversation.items() if NUMBERED.fullmatch(key)}
    keyed |= {f"session_{new_numbers[number]}": turns for number, turns in sessions.items()}
    for woven, numbers in zip(woven_groups, inserted, strict=True):
        for number, moment, turns in zip(numbers, woven.request.placement.times, woven.group.sessions, strict=True):
            keyed[f"session_{number}_date_time"] = format_date_time(moment)
            keyed[f"session_{number}"] = [
                turn_record(turn.speaker, turn.text, [photo_name(photo) for photo in turn.photos], f"D{number}:{place}")
                for place, turn in enumerate(turns, start=1)
            ]
    rest = {key: value for key, value in conversation.items() if not NUMBERED.fullmatch(key)}
    merged = {key: remap.section(value) if isinstance(value, dict) else value for key, value in sample.items()}
    merged["conversation"] = rest | by_number(keyed)
    merged["qa"] = [
        *(_host_question(question, sample["sample_id"], n, remap) for n, question in enumerate(sample["qa"], start=1)),
        *(
            question
            for woven, numbers in zip(woven_groups, inserted, strict=True)
            for question in question_records(woven, numbers, photo_name)
        ),
    ]
    merged["groups"] = [
        group_record(woven, numbers, photo_name) for woven, numbers in zip(woven_groups, inserted, strict=True)
    ]
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
    """Returns the host conversation and the groups of a merged sample; photos are named as in the sample.

    `old_numbers` gives the host's own number of each of its sessions by the new one. References of the host come back in
    one spelling ("D5:3"), and a host question without evidence comes back with an empty list.
    """
    groups = sample["groups"]
    remap = Renumbering(old_numbers, -sum(len(group["sessions"]) for group in groups))
    inserted = {number for group in groups for number in group["sessions"]}
    conversation: dict[str, Any] = {}
    for key, value in sample["conversation"].items():
        match = NUMBERED.fullmatch(key)
        if not match or int(match[2]) not in inserted:
            turns = [remap.turn(turn) for turn in value] if match and not match[3] else value
            conversation[remap.key(key)] = turns
    host = {
        key: remap.section(value) if isinstance(value, dict) else value
        for key, value in sample.items()
        if key != "groups"
    }
    host["conversation"] = by_number(conversation)
    host_questions = (question for question in sample["qa"] if question["category"] not in VISUAL_CATEGORIES)
    host["qa"] = [
        _without_additions(question, f"{sample['sample_id']}/{number}", remap)
        for number, question in enumerate(host_questions, start=1)
    ]
    return host, _as_stored([read_group(sample, group) for group in groups])


def _without_additions(question: Mapping[str, Any], question_id: str, remap: Renumbering) -> dict[str, Any]:
    added = {"category_name", "photos", "source"} | (
        {"question_id"} if question["question_id"] == question_id else set()
    )
    kept = {key: value for key, value in question.items() if key not in added}
    return kept | {"evidence": [remap.reference(str(text)) for text in question["evidence"]]}


def _as_stored(woven_groups: Sequence[WovenGroup]) -> list[WovenGroup]:
    """Returns the groups as a merged sample stores them: without unused photos, each with the other groups' concepts."""
    kept = [[kept_concept(concept, woven.group) for concept in woven.request.group.concepts] for woven in woven_groups]
    requests = [
        replace(
            woven.request,
            group=replace(woven.request.group, concepts=tuple(concepts)),
            elsewhere=tuple(concept for other in kept if other is not concepts for concept in other),
        )
        for woven, concepts in zip(woven_groups, kept, strict=True)
    ]
    return [replace(woven, request=request) for woven, request in zip(woven_groups, requests, strict=True)]


def kept_concept(concept: PersonalConcept, group: GeneratedGroup) -> PersonalConcept:
    """Returns the concept as a merged sample keeps it: without unused unseen photos and what is stated of them."""
    in_questions = {photo for question in group.questions for photo in question.photos}
    unseen = tuple(photo for photo in concept.unseen if photo.path in in_questions)
    paths = [photo.path for photo in (*concept.photos, *unseen)]
    attributes = (
        replace(attribute, photos=tuple(path for path in attribute.photos if path in paths))
        for attribute in concept.attributes
        if not attribute.photos or set(attribute.photos) & set(paths)
    )
    return replace(concept, unseen=unseen, attributes=tuple(attributes))


def _numbers(sample: Sample, woven_groups: Sequence[WovenGroup]) -> tuple[dict[int, int], list[list[int]]]:
    """Returns the new number of each session and date of the host, and the numbers of the sessions of each group."""
    host = host_sessions(sample)
    order: list[tuple[datetime, int, int]] = [(moment, -1, number) for number, moment in host]
    for place, woven in enumerate(woven_groups):
        order += [(moment, place, number) for number, moment in enumerate(woven.request.placement.times)]
    order.sort(key=lambda entry: entry[0])
    new: dict[int, int] = {}
    inserted: list[list[int]] = [[] for _ in woven_groups]
    for number, (_, place, old) in enumerate(order, start=1):
        if place < 0:
            new[old] = number
        else:
            inserted[place].append(number)
    conversation = sample["conversation"]
    dated = {int(match[2]) for key in conversation if (match := NUMBERED.fullmatch(key))}
    for number, old in enumerate(sorted(dated - set(new)), start=len(order) + 1):
        new[old] = number
    return new, inserted


def _host_question(question: Mapping[str, Any], sample_id: str, number: int, remap: Renumbering) -> dict[str, Any]:
    return {
        "question_id": f"{sample_id}/{number}",
        **question,
        "evidence": [remap.reference(str(text)) for text in question.get("evidence") or ()],
        "category_name": CATEGORY_NAMES[int(question["category"])],
        "photos": [],
        "source": HOST_SOURCE,
    }
