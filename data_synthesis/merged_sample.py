"""One sample of a merged folder, taken apart again: its groups held against the rules of a group, and the whole against
what weaving the same groups into the host gives.

So whatever `weave` computes (numbers, dates, ids, references, the host's own part) needs no rule of its own.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

from data_synthesis.check_group import GroupFault, faults_of
from data_synthesis.group import GroupRequest, SynthesisError, TurnPlace
from data_synthesis.groups import CONCEPTS_PER_GROUP, PHOTOS_PER_CONCEPT
from data_synthesis.interpolation import MadeGroup, host_questions, host_sessions, unweave, weave
from data_synthesis.merged_folder import ID_MAP, Fault, short
from data_synthesis.placement import session_times
from data_synthesis.wording import words_of
from m2a.benchmarks.locomo import ADVERSARIAL, Sample, evidence_references, parse_date_time, session_numbers

_SESSION = re.compile(r"session_(\d+)(_date_time)?")
_TIMES = ("after", "start", "end", "times", "sessions")
_MISSING: Any = object()


@dataclass(frozen=True, slots=True)
class TakenApart:
    """A sample with its groups, as far as they could be told from the host."""

    place: str
    sample: Sample
    made: Sequence[MadeGroup] = ()

    def turn_name(self, request: GroupRequest, place: TurnPlace) -> str:
        return f"D{self._first_session(request) + place.session - 1}:{place.turn}"

    def place_of(self, fault: GroupFault, request: GroupRequest) -> str:
        """The place of a fault of a group in the folder."""
        if fault.question is not None:
            return self.question_place(request, fault.question)
        if fault.place is None:
            return f"{self.place}, group {request.group.number}"
        session = f"{self.place}, session_{self._first_session(request) + fault.place.session - 1}"
        turn = f", turn {fault.place.turn} ({self.turn_name(request, fault.place)})"
        return session + turn * (fault.place.turn > 0)

    def question_place(self, request: GroupRequest, number: int) -> str:
        own = [one for one in self.sample["qa"] if one.get("group") == request.group.number]
        return f"{self.place}, question {own[number - 1]['question_id']}"

    def texts_besides(self, request: GroupRequest) -> list[str]:
        """What is said outside of a group."""
        group = next(one for one in self.sample["groups"] if one["number"] == request.group.number)
        talk, own = self.sample["conversation"], set(group["sessions"])
        return [turn["text"] for n in session_numbers(talk) if n not in own for turn in talk[f"session_{n}"]]

    def _first_session(self, request: GroupRequest) -> int:
        group = next(one for one in self.sample["groups"] if one["number"] == request.group.number)
        return int(group["sessions"][0])


def take_apart(place: str, sample: Sample, id_map: Any, original: Sample | None) -> tuple[TakenApart, list[Fault]]:
    """The sample with its groups, and all that is wrong with it. `original` is LoCoMo's own sample, if it is at hand."""
    faults = list(_order_faults(place, sample))
    if blocking := list(_layout_faults(place, sample)):
        return TakenApart(place, sample), faults + blocking
    numbers, recorded = _old_numbers(sample, id_map)
    host, made = unweave(sample, numbers)
    host = original or host
    try:
        made = [replace(one, request=_with_times(one.request, len(one.group.sessions), host)) for one in made]
        again, right_map = weave(host, made, lambda photo: photo.as_posix())
    except SynthesisError as error:
        return TakenApart(place, sample), [*faults, Fault(place, "time", str(error))]
    apart = TakenApart(place, sample, made)
    for one in made:
        others = apart.texts_besides(one.request)
        found = faults_of(one.group, one.request, partial(apart.turn_name, one.request), others)
        found += _shape_faults(one.request)
        faults += [Fault(apart.place_of(fault, one.request), fault.rule, fault.sentence) for fault in found]
    faults += _question_faults(apart)
    if [group["sessions"] for group in again["groups"]] != [group["sessions"] for group in sample["groups"]]:
        faults += _moved_faults(apart, again)
    else:
        faults += _woven_faults(apart, again, is_original=original is not None)
        sample_id = sample["sample_id"]
        if recorded is _MISSING:
            faults.append(Fault(f"{ID_MAP}, {sample_id}", "id map", f"{sample_id!r} has no entry."))
        else:
            faults += [
                Fault(f"{ID_MAP}, {sample_id}", "id map", _difference(path, old, new, "it must be"))
                for path, old, new in differences(recorded, right_map)
            ]
    return apart, faults


# Where sessions and groups stand


def _order_faults(place: str, sample: Sample) -> Iterator[Fault]:
    conversation = sample["conversation"]
    dates = [(number, conversation[f"session_{number}_date_time"]) for number in session_numbers(conversation)]
    for (before, earlier), (number, date) in pairwise(dates):
        if parse_date_time(date) <= parse_date_time(earlier):
            sentence = f"its date {date} is not after that of session_{before} ({earlier})."
            yield Fault(f"{place}, session_{number}", "time", sentence)


def _layout_faults(place: str, sample: Sample) -> Iterator[Fault]:
    """What keeps the groups from being told from the host."""
    numbers = session_numbers(sample["conversation"])
    for expected, number in enumerate(numbers, start=1):
        if number != expected:
            sentence = f"session_{expected} is missing before it; sessions count from 1 without a gap."
            yield Fault(f"{place}, session_{number}", "numbering", sentence)
            break
    groups = sample["groups"]
    for name, values in (
        ("the group number", [group["number"] for group in groups]),
        ("the gap after host session", [group["after"] for group in groups]),
        ("the session", [number for group in groups for number in group["sessions"]]),
    ):
        for value, count in Counter(values).items():
            if count > 1:
                yield Fault(place, "groups", f"{name} {short(value)} occurs {count} times among its groups.")
    for group in groups:
        own = group["sessions"]
        if not own or own != list(range(own[0], own[0] + len(own))) or not set(own) <= set(numbers):
            sentence = f"its sessions are {short(own)}; they must be there, one after the other."
            yield Fault(f"{place}, group {group['number']}", "groups", sentence)
    known = {group["number"] for group in groups}
    for question in sample["qa"]:
        if question["category"] > ADVERSARIAL and question["group"] not in known:
            sentence = f"its group {short(question['group'])} does not exist."
            yield Fault(f"{place}, question {question['question_id']}", "groups", sentence)


def _old_numbers(sample: Sample, id_map: Any) -> tuple[dict[int, int], Any]:
    """The host's own numbers of its sessions by the new ones, as the id map has them, or else counted; and that map."""
    inserted = {number for group in sample["groups"] for number in group["sessions"]}
    hosts = [number for number in session_numbers(sample["conversation"]) if number not in inserted]
    entry = id_map.get(sample["sample_id"], _MISSING) if isinstance(id_map, dict) else _MISSING
    try:
        numbers = {new: int(old) for old, new in entry["sessions"].items()}
    except (TypeError, KeyError, ValueError, AttributeError):
        numbers = {}
    if sorted(numbers) != hosts or sorted(numbers.values()) != [numbers[number] for number in hosts]:
        numbers = {new: old for old, new in enumerate(hosts, start=1)}
    return numbers, entry


def _with_times(request: GroupRequest, count: int, host: Sample) -> GroupRequest:
    """The request with the times that follow from the host's gap by equation 7. Raises SynthesisError without a gap."""
    sessions, placement = host_sessions(host), request.placement
    gap = next(((one, two) for one, two in pairwise(sessions) if one[0] == placement.after), None)
    if gap is None:
        raise SynthesisError(
            f"Group {request.group.number} stands after host session {placement.after}, where no gap is."
        )
    start, end = gap[0][1], gap[1][1]
    times = session_times(start, end, count)
    return replace(request, placement=replace(placement, start=start, end=end, times=times))


def _moved_faults(apart: TakenApart, again: Sample) -> Iterator[Fault]:
    for found, right in zip(apart.sample["groups"], again["groups"], strict=True):
        if found["sessions"] != right["sessions"]:
            sentence = f"its sessions are {short(found['sessions'])}, but after host session {short(found['after'])} "
            sentence += f"they must be {short(right['sessions'])}."
            yield Fault(f"{apart.place}, group {found['number']}", "time", sentence)


# Groups and questions


def _shape_faults(request: GroupRequest) -> Iterator[GroupFault]:
    concepts = request.group.concepts
    if len(concepts) not in CONCEPTS_PER_GROUP:
        yield GroupFault("groups", f"it has {len(concepts)} concepts; a group has 3 or 4.")
    for kind, values in (
        ("name", [concept.name for concept in concepts]),
        ("subject", [concept.subject for concept in concepts]),
        ("class", [concept.class_name for concept in concepts if concept.class_name]),
    ):
        for value, count in Counter(values).items():
            if count > 1:
                yield GroupFault("groups", f"{count} of its concepts have the {kind} {value!r}.")
    for concept in concepts:
        if len({photo.path for photo in concept.photos}) not in PHOTOS_PER_CONCEPT:
            count = len({photo.path for photo in concept.photos})
            yield GroupFault("groups", f"{concept.name} has {count} photos; a concept has 2 or 3.")


def _question_faults(apart: TakenApart) -> Iterator[Fault]:
    """What concerns the questions of a sample together: ids, questions asked twice, evidence of the host, concepts."""
    sample, asked = apart.sample, dict[tuple[str, ...], str]()
    inserted = {f"D{n}:" for group in sample["groups"] for n in group["sessions"]}
    turns = {turn["dia_id"] for value in sample["conversation"].values() if isinstance(value, list) for turn in value}
    for question in sorted(sample["qa"], key=lambda one: bool(one["category"] > ADVERSARIAL)):
        place, question_id = f"{apart.place}, question {question['question_id']}", question["question_id"]
        same = (*words_of(question["question"]), *question["photos"])
        if question["category"] > ADVERSARIAL:
            head = f"{sample['sample_id']}/g{question['group']}/"
            if not question_id.startswith(head):
                sentence = f"its question_id must begin with {head!r}, for it is of that group."
                yield Fault(place, "schema", sentence)
            if not asked.get(same, head).startswith(head):  # those of one group are held against each other already
                sentence = f"it asks the same as {asked[same]}: {question['question']!r}."
                yield Fault(place, "duplicates", sentence)
        else:
            for dia_id in evidence_references(question["evidence"], turns)[0]:
                if f"{dia_id.split(':')[0]}:" in inserted:
                    sentence = f"a question of the host names {dia_id}, a turn of an inserted session."
                    yield Fault(place, "evidence", sentence)
        asked.setdefault(same, question_id)
    subjects = Counter(subject for one in apart.made for subject in {own.subject for own in one.request.group.concepts})
    for subject, count in subjects.items():
        if count > 1:
            yield Fault(apart.place, "groups", f"the concept {subject!r} is in {count} groups.")


# Against what weaving gives


def differences(found: Any, right: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any, Any]]:
    """Where two JSON values differ, as a path with what was found there and what is right; `_MISSING` is nothing."""
    if isinstance(found, dict) and isinstance(right, dict):
        for key in dict.fromkeys((*right, *found)):
            yield from differences(found.get(key, _MISSING), right.get(key, _MISSING), (*path, key))
    elif _are_lists(found, right) and len(found) == len(right) and any(isinstance(one, dict | list) for one in found):
        for at, (one, other) in enumerate(zip(found, right, strict=True)):
            yield from differences(one, other, (*path, at))
    elif type(found) is not type(right) or found != right:
        yield path, found, right


def _woven_faults(apart: TakenApart, again: Sample, *, is_original: bool) -> Iterator[Fault]:
    inserted = {str(number) for group in apart.sample["groups"] for number in group["sessions"]}
    standard = "LoCoMo has" if is_original else "it must be"
    for path, found, right in differences(_without_questions(apart.sample), _without_questions(again)):
        place, rule, told = _woven_place(path, apart, inserted)
        told_as = standard if rule == "host" else "it must be"
        yield Fault(f"{apart.place}, {place}", rule, _difference(told, found, right, told_as))
    compared: tuple[tuple[str, list[dict[str, Any]], list[dict[str, Any]], str], ...] = (
        ("host", host_questions(apart.sample), host_questions(again), standard),
        ("schema", _inserted_questions(apart.sample), _inserted_questions(again), "it must be"),
    )
    for rule, old, new, told_as in compared:
        if len(old) != len(new):
            yield Fault(f"{apart.place}, qa", rule, f"there are {len(old)} questions; {told_as} {len(new)}.")
            continue
        for one, other in zip(old, new, strict=True):
            place = f"{apart.place}, question {one['question_id']}"
            ids = {"question_id": one["question_id"]}  # held against its own rules
            for path, found, right in differences(one, other | ids):
                yield Fault(place, rule, _difference(path, found, right, told_as))


def _without_questions(sample: Sample) -> dict[str, Any]:
    return {key: value for key, value in sample.items() if key != "qa"}


def _inserted_questions(sample: Sample) -> list[dict[str, Any]]:
    questions = [question for question in sample["qa"] if question["category"] > ADVERSARIAL]
    return sorted(questions, key=lambda one: [group["number"] for group in sample["groups"]].index(one["group"]))


def _woven_place(path: tuple[Any, ...], apart: TakenApart, inserted: set[str]) -> tuple[str, str, tuple[Any, ...]]:
    """Place and rule of a difference, and the part of its path that the sentence is about."""
    first, *rest = path
    if first == "groups" and len(rest) > 1:
        rule = "time" if rest[1] in _TIMES else "photos" if "unseen_photos" in rest else "schema"
        return f"group {apart.sample['groups'][rest[0]]['number']}", rule, tuple(rest[1:])
    if first != "conversation" or not rest:
        return ", ".join([str(first), *map(str, rest[:1])]), "host", tuple(rest)
    match = _SESSION.fullmatch(str(rest[0]))
    if not match:
        return "conversation", "host", tuple(rest)
    session, own = f"session_{match[1]}", match[1] in inserted
    if match[2]:
        return session, "time" if own else "host", ("date",)
    if len(rest) < 2:
        return session, "host", ("turns",)
    turn = apart.sample["conversation"][session][rest[1]]
    rule = "numbering" if "dia_id" in rest else "schema" if own else "host"
    return f"{session}, turn {rest[1] + 1} ({turn['dia_id']})", rule, tuple(rest[2:])


def _difference(path: Sequence[Any], found: Any, right: Any, standard: str) -> str:
    subject = " of ".join(repr(step) if isinstance(step, str) else f"number {step + 1}" for step in reversed(path))
    if path[-1:] == ("turns",) and _are_lists(found, right):
        return f"it has {len(found)} turns; {standard} {len(right)}."
    return f"its {subject or 'content'} is {_told(found)}; {standard} {_told(right)}."


def _are_lists(*values: Any) -> bool:
    return all(isinstance(value, list) for value in values)


def _told(value: Any) -> str:
    return "not there" if value is _MISSING else short(value)


def id_map_strangers(id_map: Any, sample_ids: Mapping[str, Any] | set[str]) -> Iterator[Fault]:
    """Entries of the id map for samples that the benchmark does not have."""
    for name in id_map if isinstance(id_map, dict) else ():
        if name not in sample_ids:
            yield Fault(f"{ID_MAP}, {name}", "id map", f"{name!r} is no sample of the benchmark.")
