"""Checks of one sample of a merged folder: its groups against the rules of a group, and the whole sample against the result
of weaving the same groups into the host again.

So the values that `weave` computes (numbers, dates, ids, references, the host's part) need no rules of their own.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from data_synthesis.check_group import faults_of
from data_synthesis.group import (
    GeneratedQuestion,
    GroupRequest,
    PersonalConcept,
    SynthesisError,
    with_photos_named,
)
from data_synthesis.group_records import WovenGroup, concept_entry, id_by_place
from data_synthesis.groups import choice_faults
from data_synthesis.interpolation import host_sessions, kept_concept, unweave, weave
from data_synthesis.merged_folder import MISSING, Fault, describe_difference, differences, short
from data_synthesis.placement import session_times
from data_synthesis.run_folder import kept_name
from m2a.benchmarks.locomo import ADVERSARIAL, Sample, session_numbers

_SESSION = re.compile(r"session_(\d+)(_date_time)?")
_RULES = dict.fromkeys(("after", "start", "end", "times", "sessions"), "time")
_RULES |= {"dia_id": "numbering", "unseen_photos": "photos"}


@dataclass(frozen=True, slots=True)
class UnwovenSample:
    """A merged sample with its groups (none if they cannot be separated from the host) and the map of ids that it must have."""

    place: str
    merged: Sample
    woven_groups: Sequence[WovenGroup] = ()
    id_map: Any = None

    def questions(self) -> Iterator[tuple[str, WovenGroup, GeneratedQuestion]]:
        """Yields the questions of its groups, each with its place and its group."""
        for woven in self.woven_groups:
            for number, question in enumerate(woven.group.questions, start=1):
                yield self._question_place(woven, number), woven, question

    def _question_place(self, woven: WovenGroup, number: int) -> str:
        return f"{self.place}, question {woven.request.dialogue_id}/g{woven.request.group.number}/{number}"

    def faults(self) -> Iterator[Fault]:
        """Yields the faults of its groups."""
        for woven, group in zip(self.woven_groups, self.merged["groups"], strict=True):
            first, group_place = group["sessions"][0], f"{self.place}, group {group['number']}"
            turn_id = id_by_place(first)
            for sentence in choice_faults(woven.request.group, woven.request.elsewhere):
                yield Fault(group_place, "groups", sentence)
            for fault in faults_of(woven.group, woven.request, turn_id):
                where = group_place
                if fault.question is not None:
                    where = self._question_place(woven, fault.question)
                elif fault.place is not None:
                    where = f"{self.place}, session_{first + fault.place.session - 1}"
                    where += f", turn {fault.place.turn} ({turn_id(fault.place)})" * (fault.place.turn > 0)
                yield Fault(where, fault.rule, fault.sentence)

    def source_faults(self, source: Mapping[str, PersonalConcept]) -> Iterator[Fault]:
        """Yields where the entry of a concept differs from the one that weaving would write for the source's concept."""
        for woven, group in zip(self.woven_groups, self.merged["groups"], strict=True):
            for concept, entry in zip(woven.request.group.concepts, group["concepts"], strict=True):
                expected: Any = MISSING
                if concept.subject in source:
                    chosen = _chosen(source[concept.subject], concept)
                    expected = concept_entry(kept_concept(chosen, woven.group), Path.as_posix)
                for difference in differences(entry, expected):
                    sentence = f"{concept.subject}: {describe_difference(*difference, 'its source has')}"
                    yield Fault(f"{self.place}, group {group['number']}", "truth", sentence)


def _chosen(concept: PersonalConcept, merged: PersonalConcept) -> PersonalConcept:
    """Returns the source's concept with only the photos of the merged one, under their names in the folder."""
    named = with_photos_named(concept, lambda path: Path(kept_name(path)))
    shown, unseen = ({photo.path for photo in photos} for photos in (merged.photos, merged.unseen))
    return replace(
        named,
        photos=tuple(photo for photo in named.photos if photo.path in shown),
        unseen=tuple(photo for photo in named.photos if photo.path in unseen),
        questions=tuple(question for question in named.questions if question.photo in shown),
    )


def check_sample(place: str, sample: Sample, id_map: Any, original: Sample | None) -> tuple[UnwovenSample, list[Fault]]:
    """Returns the sample with its groups, and all of its faults. `id_map` is the folder's map of this sample's ids, `original`
    LoCoMo's own sample if it is given."""
    if faults := list(_layout_faults(place, sample)):
        return UnwovenSample(place, sample), faults
    host, woven_groups = unweave(sample, _old_numbers(sample, id_map))
    host = original or host
    try:
        woven_groups = [
            replace(woven, request=_with_times(woven.request, len(woven.group.sessions), host))
            for woven in woven_groups
        ]
        expected, expected_id_map = weave(host, woven_groups, lambda photo: photo.as_posix())
    except SynthesisError as error:
        return UnwovenSample(place, sample), [Fault(place, "time", str(error))]
    unwoven, faults = UnwovenSample(place, sample, woven_groups, expected_id_map), list[Fault]()
    for ((rule, part), *path), actual, expected_value in differences(parts_of(sample), parts_of(expected)):
        own_rule = next((_RULES[step] for step in path if step in _RULES), rule)
        standard = "LoCoMo has" if original and rule == "host" else "it must be"
        sentence = describe_difference(path, actual, expected_value, standard)
        is_host = rule == "host" and own_rule != "numbering"
        faults.append(Fault(f"{place}, {part}", rule if is_host else own_rule, sentence))
    return unwoven, [*unwoven.faults(), *faults]


def _layout_faults(place: str, sample: Sample) -> Iterator[Fault]:
    """Yields the faults that make it impossible to separate the groups from the host."""
    numbers, groups = session_numbers(sample["conversation"]), sample["groups"]
    uses = Counter(number for group in groups for number in group["sessions"])
    for group in groups:
        sessions = group["sessions"]
        if not sessions or sessions != [
            n for n in range(sessions[0], sessions[0] + len(sessions)) if n in numbers and uses[n] == 1
        ]:
            sentence = (
                f"its sessions are {short(sessions)}; they must exist, be consecutive and belong to no other group."
            )
            yield Fault(f"{place}, group {group['number']}", "groups", sentence)
    for question in sample["qa"]:
        if question["category"] > ADVERSARIAL and question.get("group") not in [group["number"] for group in groups]:
            sentence = f"its group {short(question.get('group'))} does not exist."
            yield Fault(f"{place}, question {question['question_id']}", "groups", sentence)


def _old_numbers(sample: Sample, id_map: Any) -> dict[int, int]:
    """Returns the host's own session numbers by the new ones: those of the id map, or consecutive ones if that is wrong."""
    inserted = {number for group in sample["groups"] for number in group["sessions"]}
    hosts = [number for number in session_numbers(sample["conversation"]) if number not in inserted]
    try:
        numbers = {new: int(old) for old, new in id_map["sessions"].items()}
    except (TypeError, KeyError, ValueError, AttributeError):
        numbers = {}
    if sorted(numbers) != hosts or sorted(numbers.values()) != [numbers[number] for number in hosts]:
        return {new: old for old, new in enumerate(hosts, start=1)}
    return numbers


def _with_times(request: GroupRequest, count: int, host: Sample) -> GroupRequest:
    """Returns the request with the times by equation 7 for the host's gap. Raises SynthesisError if there is no such gap."""
    after = request.placement.after
    for (number, start), (_, end) in pairwise(host_sessions(host)):
        if number == after:
            times = session_times(start, end, count)
            return replace(request, placement=replace(request.placement, start=start, end=end, times=times))
    raise SynthesisError(
        f"Group {request.group.number} is placed after host session {after}, but there is no gap there."
    )


def parts_of(sample: Sample) -> dict[tuple[str, str], Any]:
    """Returns the parts of a sample by place, each with the rule that a difference in it breaks."""
    inserted = {str(number) for group in sample["groups"] for number in group["sessions"]}
    parts: dict[tuple[str, str], Any] = {}
    for key, value in sample["conversation"].items():
        match = _SESSION.fullmatch(key)
        if match is None:
            parts["host", f"conversation, {key}"] = value
        elif match[2]:
            parts["time" if match[1] in inserted else "host", f"session_{match[1]}, its date"] = value
        else:
            for number, turn in enumerate(value, start=1):
                rule = "schema" if match[1] in inserted else "host"
                parts[rule, f"{key}, turn {number} (D{match[1]}:{number})"] = turn
    for group in sample["groups"]:
        parts["schema", f"group {group['number']}"] = group
    counts: Counter[Any] = Counter()
    for question in sample["qa"]:
        if question["category"] <= ADVERSARIAL:
            parts["host", f"question {question['question_id']}"] = question
        else:
            counts[group_number := question.get("group")] += 1
            place = f"question {sample['sample_id']}/g{group_number}/{counts[group_number]}"
            parts["schema", place] = question
    rest = {key: value for key, value in sample.items() if key not in ("conversation", "qa", "groups")}
    return parts | {("host", key): value for key, value in rest.items()}
