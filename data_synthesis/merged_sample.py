"""Checks of one sample of a merged folder: its groups against the rules of a group, and the whole sample against the result
of weaving the same groups into the host again.

So the values that `weave` computes (numbers, dates, ids, references, the host's part) need no rules of their own.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from data_synthesis.check_group import faults_of
from data_synthesis.group import GeneratedQuestion, GroupRequest, SynthesisError, TurnPlace
from data_synthesis.group_records import WovenGroup
from data_synthesis.groups import choice_faults
from data_synthesis.interpolation import host_sessions, unweave, weave
from data_synthesis.merged_folder import Fault, describe_difference, differences, short
from data_synthesis.placement import session_times
from data_synthesis.wording import words_of
from m2a.benchmarks.locomo import ADVERSARIAL, Sample, session_numbers

_SESSION = re.compile(r"session_(\d+)(_date_time)?")
_RULES = dict.fromkeys(("after", "start", "end", "times", "sessions"), "time")
_RULES |= {"dia_id": "numbering", "unseen_photos": "photos"}


@dataclass(frozen=True, slots=True)
class UnwovenSample:
    """A merged sample with its groups (none if they cannot be separated from the host) and its right map of ids."""

    place: str
    merged: Sample
    made: Sequence[WovenGroup] = ()
    id_map: Any = None

    def questions(self) -> Iterator[tuple[str, WovenGroup, GeneratedQuestion]]:
        """The questions of its groups, each with its place and its group."""
        for made in self.made:
            for entry, question in zip(self._entries(made), made.group.questions, strict=True):
                yield f"{self.place}, question {entry['question_id']}", made, question

    def faults(self) -> Iterator[Fault]:
        """The faults of its groups."""
        for made, group in zip(self.made, self.merged["groups"], strict=True):
            first = group["sessions"][0]

            def turn_name(place: TurnPlace, first: int = first) -> str:
                return f"D{first + place.session - 1}:{place.turn}"

            for sentence in choice_faults(made.request.group, made.request.elsewhere):
                yield Fault(f"{self.place}, group {group['number']}", "groups", sentence)
            for fault in faults_of(made.group, made.request, turn_name):
                where = f"group {group['number']}"
                if fault.question is not None:
                    where = f"question {self._entries(made)[fault.question - 1]['question_id']}"
                elif fault.place is not None:
                    where = f"session_{first + fault.place.session - 1}"
                    where += f", turn {fault.place.turn} ({turn_name(fault.place)})" * (fault.place.turn > 0)
                yield Fault(f"{self.place}, {where}", fault.rule, fault.sentence)

    def _entries(self, made: WovenGroup) -> list[dict[str, Any]]:
        return [entry for entry in self.merged["qa"] if entry.get("group") == made.request.group.number]


def take_apart(place: str, sample: Sample, id_map: Any, original: Sample | None) -> tuple[UnwovenSample, list[Fault]]:
    """The sample with its groups, and all of its faults. `id_map` is the folder's map of this sample's ids, `original`
    LoCoMo's own sample if it is given."""
    if faults := list(_layout_faults(place, sample)):
        return UnwovenSample(place, sample), faults
    host, made = unweave(sample, _old_numbers(sample, id_map))
    host = original or host
    try:
        made = [replace(one, request=_with_times(one.request, len(one.group.sessions), host)) for one in made]
        right, right_map = weave(host, made, lambda photo: photo.as_posix())
    except SynthesisError as error:
        return UnwovenSample(place, sample), [Fault(place, "time", str(error))]
    unwoven = UnwovenSample(place, sample, made, right_map)
    faults = [*unwoven.faults(), *_repeated_questions(unwoven)]
    for group, right_group in zip(sample["groups"], right["groups"], strict=True):
        sessions, right_sessions = group["sessions"], right_group["sessions"]
        if sessions != right_sessions:
            sentence = f"its sessions are {short(sessions)}; after its host session they must be {right_sessions}."
            return unwoven, [*faults, Fault(f"{place}, group {group['number']}", "time", sentence)]
    return unwoven, [*faults, *_woven_faults(unwoven, right, "LoCoMo has" if original else "it must be")]


def _layout_faults(place: str, sample: Sample) -> Iterator[Fault]:
    """Faults that make it impossible to separate the groups from the host."""
    numbers, groups = session_numbers(sample["conversation"]), sample["groups"]
    uses = Counter(number for group in groups for number in group["sessions"])
    for number, count in Counter(group["number"] for group in groups).items():
        if count > 1:
            yield Fault(place, "groups", f"the group number {short(number)} occurs {count} times.")
    for group in groups:
        own = group["sessions"]
        if not own or own != [n for n in range(own[0], own[0] + len(own)) if n in numbers and uses[n] == 1]:
            sentence = f"its sessions are {short(own)}; they must be there, one after the other, and of no other group."
            yield Fault(f"{place}, group {group['number']}", "groups", sentence)
    for question in sample["qa"]:
        if question["category"] > ADVERSARIAL and question["group"] not in {group["number"] for group in groups}:
            sentence = f"its group {short(question['group'])} does not exist."
            yield Fault(f"{place}, question {question['question_id']}", "groups", sentence)


def _old_numbers(sample: Sample, id_map: Any) -> dict[int, int]:
    """The host's own numbers of its sessions by the new ones: those of the id map, or consecutive ones if that is wrong."""
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
    """The request with the times by equation 7 for the host's gap. Raises SynthesisError if there is no such gap."""
    after = request.placement.after
    gap = next((pair for pair in pairwise(host_sessions(host)) if pair[0][0] == after), None)
    if gap is None:
        raise SynthesisError(f"Group {request.group.number} stands after host session {after}, where no gap is.")
    (_, start), (_, end) = gap
    times = session_times(start, end, count)
    return replace(request, placement=replace(request.placement, start=start, end=end, times=times))


def _repeated_questions(sample: UnwovenSample) -> Iterator[Fault]:
    """Questions of a group that another group or the host asks too; `faults_of` reports those within a group."""
    first: dict[tuple[str, ...], dict[str, Any]] = {}
    for question in sample.merged["qa"]:
        before = first.setdefault((*words_of(question["question"]), *question["photos"]), question)
        if question["category"] > ADVERSARIAL and before.get("group") != question["group"]:
            sentence = f"it asks the same as {before['question_id']}: {question['question']!r}."
            yield Fault(f"{sample.place}, question {question['question_id']}", "duplicates", sentence)


def _woven_faults(sample: UnwovenSample, right: Sample, standard: str) -> Iterator[Fault]:
    """Where the sample differs from the result of weaving; `standard` introduces the right value in the host's part."""
    for ((rule, place), *path), actual, right_value in differences(parts_of(sample.merged), parts_of(right)):
        own_rule = next((_RULES[step] for step in path if step in _RULES), rule)
        if rule == "host" and own_rule != "numbering":
            own_rule = rule
        sentence = describe_difference(path, actual, right_value, standard if rule == "host" else "it must be")
        yield Fault(f"{sample.place}, {place}", own_rule, sentence)


def parts_of(sample: Sample) -> dict[tuple[str, str], Any]:
    """The parts of a sample by place, each with the rule that a difference in it breaks."""
    inserted = {str(number) for group in sample["groups"] for number in group["sessions"]}
    parts: dict[tuple[str, str], Any] = {}
    for key, value in sample["conversation"].items():
        match = _SESSION.fullmatch(key)
        is_inserted = match is not None and match[1] in inserted
        if match and match[2]:
            parts["time" if is_inserted else "host", f"session_{match[1]}, its date"] = value
        elif match:
            for number, turn in enumerate(value, start=1):
                parts["schema" if is_inserted else "host", f"{key}, turn {number} (D{match[1]}:{number})"] = turn
        else:
            parts["host", f"conversation, {key}"] = value
    for question in sample["qa"]:
        if question["category"] <= ADVERSARIAL:
            parts["host", f"question {question['question_id']}"] = question
    for group in sample["groups"]:
        parts["schema", f"group {group['number']}"] = group
        questions = (question for question in sample["qa"] if question.get("group") == group["number"])
        for number, question in enumerate(questions, start=1):
            parts["schema", f"question {sample['sample_id']}/g{group['number']}/{number}"] = question
    rest = {key: value for key, value in sample.items() if key not in ("conversation", "qa", "groups")}
    return parts | {("host", key): value for key, value in rest.items()}
