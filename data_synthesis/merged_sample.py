"""One sample of a merged folder, taken apart again: its groups held against the rules of a group, and the whole against
what weaving the same groups into the host gives.

So whatever `weave` computes (numbers, dates, ids, references, the host's own part) needs no rule of its own.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from data_synthesis.check_group import faults_of
from data_synthesis.group import GeneratedQuestion, GroupRequest, SynthesisError, TurnPlace
from data_synthesis.groups import choice_faults
from data_synthesis.interpolation import MadeGroup, host_sessions, unweave, weave
from data_synthesis.merged_folder import Fault, differences, short, told_difference
from data_synthesis.placement import session_times
from data_synthesis.wording import words_of
from m2a.benchmarks.locomo import ADVERSARIAL, Sample, session_numbers

_SESSION = re.compile(r"session_(\d+)(_date_time)?")
_RULES = dict.fromkeys(("after", "start", "end", "times", "sessions"), "time")
_RULES |= {"dia_id": "numbering", "unseen_photos": "photos"}


@dataclass(frozen=True, slots=True)
class TakenApart:
    """A sample with its groups, as far as they could be told from the host, and the map of ids that it should have."""

    place: str
    sample: Sample
    made: Sequence[MadeGroup] = ()
    id_map: Any = None

    def questions(self) -> Iterator[tuple[str, MadeGroup, GeneratedQuestion]]:
        """The questions of its groups, each with its place and its group."""
        for one in self.made:
            for own, question in zip(self._entries(one.request), one.group.questions, strict=True):
                yield f"{self.place}, question {own['question_id']}", one, question

    def faults(self) -> Iterator[Fault]:
        """Where its groups break the rules of a group."""
        for one, entry in zip(self.made, self.sample["groups"], strict=True):
            first = entry["sessions"][0]

            def turn_name(at: TurnPlace, first: int = first) -> str:
                return f"D{first + at.session - 1}:{at.turn}"

            for sentence in choice_faults(one.request.group, one.request.elsewhere):
                yield Fault(f"{self.place}, group {entry['number']}", "groups", sentence)
            for fault in faults_of(one.group, one.request, turn_name):
                where = f"group {entry['number']}"
                if fault.question is not None:
                    where = f"question {self._entries(one.request)[fault.question - 1]['question_id']}"
                elif fault.place is not None:
                    where = f"session_{first + fault.place.session - 1}"
                    where += f", turn {fault.place.turn} ({turn_name(fault.place)})" * (fault.place.turn > 0)
                yield Fault(f"{self.place}, {where}", fault.rule, fault.sentence)

    def _entries(self, request: GroupRequest) -> list[dict[str, Any]]:
        return [one for one in self.sample["qa"] if one.get("group") == request.group.number]


def take_apart(place: str, sample: Sample, id_map: Any, original: Sample | None) -> tuple[TakenApart, list[Fault]]:
    """The sample with its groups, and all that is wrong with it. `id_map` is what the folder has of this sample, `original`
    LoCoMo's own sample, if it is at hand."""
    if faults := list(_layout_faults(place, sample)):
        return TakenApart(place, sample), faults
    host, made = unweave(sample, _old_numbers(sample, id_map))
    host = original or host
    try:
        made = [replace(one, request=_with_times(one.request, len(one.group.sessions), host)) for one in made]
        again, right_map = weave(host, made, lambda photo: photo.as_posix())
    except SynthesisError as error:
        return TakenApart(place, sample), [Fault(place, "time", str(error))]
    apart = TakenApart(place, sample, made, right_map)
    faults = [*apart.faults(), *_asked_again(apart)]
    for before, after in zip(sample["groups"], again["groups"], strict=True):
        if before["sessions"] != after["sessions"]:
            told = f"its sessions are {short(before['sessions'])}; after its host session they must be {after['sessions']}."
            return apart, [*faults, Fault(f"{place}, group {before['number']}", "time", told)]
    return apart, [*faults, *_woven_faults(apart, again, "LoCoMo has" if original else "it must be")]


def _layout_faults(place: str, sample: Sample) -> Iterator[Fault]:
    """What keeps the groups from being told from the host."""
    numbers, groups = session_numbers(sample["conversation"]), sample["groups"]
    taken = Counter(number for group in groups for number in group["sessions"])
    for number, count in Counter(group["number"] for group in groups).items():
        if count > 1:
            yield Fault(place, "groups", f"the group number {short(number)} occurs {count} times.")
    for group in groups:
        own = group["sessions"]
        if not own or own != [n for n in range(own[0], own[0] + len(own)) if n in numbers and taken[n] == 1]:
            sentence = f"its sessions are {short(own)}; they must be there, one after the other, and of no other group."
            yield Fault(f"{place}, group {group['number']}", "groups", sentence)
    for question in sample["qa"]:
        if question["category"] > ADVERSARIAL and question["group"] not in {group["number"] for group in groups}:
            sentence = f"its group {short(question['group'])} does not exist."
            yield Fault(f"{place}, question {question['question_id']}", "groups", sentence)


def _old_numbers(sample: Sample, id_map: Any) -> dict[int, int]:
    """The host's own numbers of its sessions by the new ones, as the id map has them, or else counted."""
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
    """The request with the times that follow from the host's gap by equation 7. Raises SynthesisError without a gap."""
    after = request.placement.after
    gap = next((pair for pair in pairwise(host_sessions(host)) if pair[0][0] == after), None)
    if gap is None:
        raise SynthesisError(f"Group {request.group.number} stands after host session {after}, where no gap is.")
    (_, start), (_, end) = gap
    times = session_times(start, end, count)
    return replace(request, placement=replace(request.placement, start=start, end=end, times=times))


def _asked_again(apart: TakenApart) -> Iterator[Fault]:
    """Questions of one group that ask what another group or the host asks; within a group `faults_of` tells."""
    asked: dict[tuple[str, ...], dict[str, Any]] = {}
    for question in apart.sample["qa"]:
        before = asked.setdefault((*words_of(question["question"]), *question["photos"]), question)
        if question["category"] > ADVERSARIAL and before.get("group") != question["group"]:
            told = f"it asks the same as {before['question_id']}: {question['question']!r}."
            yield Fault(f"{apart.place}, question {question['question_id']}", "duplicates", told)


def _woven_faults(apart: TakenApart, again: Sample, standard: str) -> Iterator[Fault]:
    """Where the sample is not what weaving its groups into the host gives; `standard` is what the host is held against."""
    for ((rule, place), *path), old, new in differences(_parts(apart.sample), _parts(again)):
        own = next((_RULES[step] for step in path if step in _RULES), rule)
        told = told_difference(path, old, new, standard if rule == "host" else "it must be")
        yield Fault(f"{apart.place}, {place}", rule if rule == "host" and own != "numbering" else own, told)


def _parts(sample: Sample) -> dict[tuple[str, str], Any]:
    """The parts of a sample, each by the rule that it breaks where it differs, and its place."""
    inserted = {str(number) for group in sample["groups"] for number in group["sessions"]}
    parts: dict[tuple[str, str], Any] = {}
    for key, value in sample["conversation"].items():
        match = _SESSION.fullmatch(key)
        own = match is not None and match[1] in inserted
        if match and match[2]:
            parts["time" if own else "host", f"session_{match[1]}, its date"] = value
        elif match:
            for at, turn in enumerate(value, start=1):
                parts["schema" if own else "host", f"{key}, turn {at} (D{match[1]}:{at})"] = turn
        else:
            parts["host", f"conversation, {key}"] = value
    for question in sample["qa"]:
        if question["category"] <= ADVERSARIAL:
            parts["host", f"question {question['question_id']}"] = question
    for group in sample["groups"]:
        parts["schema", f"group {group['number']}"] = group
        asked = [question for question in sample["qa"] if question.get("group") == group["number"]]
        for number, question in enumerate(asked, start=1):
            parts["schema", f"question {sample['sample_id']}/g{group['number']}/{number}"] = question
    rest = {key: value for key, value in sample.items() if key not in ("conversation", "qa", "groups")}
    return parts | {("host", key): value for key, value in rest.items()}
