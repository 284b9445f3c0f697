"""One sample of a merged folder, taken apart again: its groups held against the rules of a group, and the whole against
what weaving the same groups into the host gives.

So whatever `weave` computes (numbers, dates, ids, references, the host's own part) needs no rule of its own.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

from data_synthesis.check_group import GroupFault, faults_of
from data_synthesis.group import (
    CONCEPTS_PER_GROUP,
    PHOTOS_PER_CONCEPT,
    ConceptGroup,
    GroupRequest,
    SynthesisError,
    TurnPlace,
)
from data_synthesis.interpolation import MadeGroup, host_sessions, unweave, weave
from data_synthesis.merged_folder import ID_MAP, Fault, short
from data_synthesis.placement import session_times
from data_synthesis.wording import words_of
from m2a.benchmarks.locomo import ADVERSARIAL, Sample, evidence_references, parse_date_time, session_numbers

MISSING: Any = object()
_SESSION = re.compile(r"session_(\d+)(_date_time)?")
_RULES = dict.fromkeys(("after", "start", "end", "times", "sessions"), "time")
_RULES |= {"dia_id": "numbering", "unseen_photos": "photos"}


@dataclass(frozen=True, slots=True)
class TakenApart:
    """A sample with its groups, as far as they could be told from the host."""

    place: str
    sample: Sample
    made: Sequence[MadeGroup] = ()

    def turn_name(self, request: GroupRequest, place: TurnPlace) -> str:
        return f"D{self._sessions(request)[0] + place.session - 1}:{place.turn}"

    def place_of(self, fault: GroupFault, request: GroupRequest) -> str:
        """The place of a fault of a group in the folder."""
        if fault.question is not None:
            return self.question_place(request, fault.question)
        if fault.place is None:
            return f"{self.place}, group {request.group.number}"
        session = f"{self.place}, session_{self._sessions(request)[0] + fault.place.session - 1}"
        turn = f", turn {fault.place.turn} ({self.turn_name(request, fault.place)})"
        return session + turn * (fault.place.turn > 0)

    def question_place(self, request: GroupRequest, number: int) -> str:
        own = [one for one in self.sample["qa"] if one.get("group") == request.group.number]
        return f"{self.place}, question {own[number - 1]['question_id']}"

    def texts_besides(self, request: GroupRequest) -> list[str]:
        """What is said outside of a group."""
        talk, own = self.sample["conversation"], self._sessions(request)
        return [turn["text"] for n in session_numbers(talk) if n not in own for turn in talk[f"session_{n}"]]

    def _sessions(self, request: GroupRequest) -> list[int]:
        groups = (group for group in self.sample["groups"] if group["number"] == request.group.number)
        return list(next(groups)["sessions"])


def take_apart(place: str, sample: Sample, id_map: Any, original: Sample | None) -> tuple[TakenApart, list[Fault]]:
    """The sample with its groups, and all that is wrong with it. `original` is LoCoMo's own sample, if it is at hand."""
    faults = [*_order_faults(place, sample), *(blocking := list(_layout_faults(place, sample)))]
    if blocking:
        return TakenApart(place, sample), faults
    recorded = id_map.get(sample["sample_id"], MISSING) if isinstance(id_map, dict) else MISSING
    host, made = unweave(sample, _old_numbers(sample, recorded))
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
        found += [GroupFault("groups", told) for told in _shape_faults(one.request.group)]
        faults += [Fault(apart.place_of(fault, one.request), fault.rule, fault.sentence) for fault in found]
    faults += _question_faults(apart)
    for before, after in zip(sample["groups"], again["groups"], strict=True):
        if before["sessions"] != after["sessions"]:
            told = f"its sessions are {short(before['sessions'])}; after its host session they must be {after['sessions']}."
            return apart, [*faults, Fault(f"{place}, group {before['number']}", "time", told)]
    faults += _woven_faults(apart, again, "LoCoMo has" if original else "it must be")
    for path, old, new in differences(recorded, right_map):
        faults.append(Fault(f"{ID_MAP}, {sample['sample_id']}", "id map", told_difference(path, old, new)))
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
    numbers, groups = session_numbers(sample["conversation"]), sample["groups"]
    for expected, number in enumerate(numbers, start=1):
        if number != expected:
            sentence = f"session_{expected} is missing before it; sessions count from 1 without a gap."
            yield Fault(f"{place}, session_{number}", "numbering", sentence)
            break
    values = [("the group number", group["number"]) for group in groups]
    values += [("the gap after host session", group["after"]) for group in groups]
    values += [("the session", number) for group in groups for number in group["sessions"]]
    for (name, value), count in Counter(values).items():
        if count > 1:
            yield Fault(place, "groups", f"{name} {short(value)} occurs {count} times among its groups.")
    for group in groups:
        own = group["sessions"]
        if not own or own != list(range(own[0], own[0] + len(own))) or not set(own) <= set(numbers):
            sentence = f"its sessions are {short(own)}; they must be there, one after the other."
            yield Fault(f"{place}, group {group['number']}", "groups", sentence)
    for question in _inserted_questions(sample):
        if question["group"] not in {group["number"] for group in groups}:
            sentence = f"its group {short(question['group'])} does not exist."
            yield Fault(f"{place}, question {question['question_id']}", "groups", sentence)


def _old_numbers(sample: Sample, entry: Any) -> dict[int, int]:
    """The host's own numbers of its sessions by the new ones, as the id map has them, or else counted."""
    inserted = {number for group in sample["groups"] for number in group["sessions"]}
    hosts = [number for number in session_numbers(sample["conversation"]) if number not in inserted]
    try:
        numbers = {new: int(old) for old, new in entry["sessions"].items()}
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


# What concerns the groups of a sample together


def _shape_faults(group: ConceptGroup) -> Iterator[str]:
    if len(group.concepts) not in CONCEPTS_PER_GROUP:
        yield f"it has {len(group.concepts)} concepts; a group has 3 or 4."
    for kind in ("name", "subject", "class_name"):
        for value, count in Counter(getattr(concept, kind) for concept in group.concepts).items():
            if value and count > 1:
                yield f"{count} of its concepts have the {kind} {value!r}."
    for concept in group.concepts:
        if (count := len({photo.path for photo in concept.photos})) not in PHOTOS_PER_CONCEPT:
            yield f"{concept.name} has {count} photos; a concept has 2 or 3."


def _question_faults(apart: TakenApart) -> Iterator[Fault]:
    sample, asked = apart.sample, dict[tuple[str, ...], str]()
    inserted = {f"D{n}" for group in sample["groups"] for n in group["sessions"]}
    turns = {turn["dia_id"] for value in sample["conversation"].values() if isinstance(value, list) for turn in value}
    for question in sorted(sample["qa"], key=lambda one: bool(one["category"] > ADVERSARIAL)):
        place, question_id = f"{apart.place}, question {question['question_id']}", question["question_id"]
        same = (*words_of(question["question"]), *question["photos"])
        if question["category"] > ADVERSARIAL:
            head = f"{sample['sample_id']}/g{question['group']}/"
            if not question_id.startswith(head):
                yield Fault(place, "schema", f"its question_id must begin with {head!r}, for it is of that group.")
            if not asked.get(same, head).startswith(head):  # those of one group are held against each other already
                told = f"it asks the same as {asked[same]}: {question['question']!r}."
                yield Fault(place, "duplicates", told)
        else:
            for dia_id in evidence_references(question["evidence"], turns)[0]:
                if dia_id.split(":")[0] in inserted:
                    told = f"a question of the host names {dia_id}, a turn of an inserted session."
                    yield Fault(place, "evidence", told)
        asked.setdefault(same, question_id)
    subjects = Counter(subject for one in apart.made for subject in {own.subject for own in one.request.group.concepts})
    for subject, count in subjects.items():
        if count > 1:
            yield Fault(apart.place, "groups", f"the concept {subject!r} is in {count} groups.")


# Against what weaving gives


def differences(found: Any, right: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any, Any]]:
    """Where two JSON values differ, as a path with what was found there and what is right; MISSING is nothing."""
    if isinstance(found, dict) and isinstance(right, dict):
        for key in dict.fromkeys((*right, *found)):
            yield from differences(found.get(key, MISSING), right.get(key, MISSING), (*path, key))
    elif isinstance(found, list) and isinstance(right, list) and len(found) == len(right) > 0:
        if all(isinstance(one, dict | list) for one in (*found, *right)):
            for at, (one, other) in enumerate(zip(found, right, strict=True), start=1):
                yield from differences(one, other, (*path, at))
        elif found != right:
            yield path, found, right
    elif type(found) is not type(right) or found != right:
        yield path, found, right


def told_difference(path: Sequence[Any], found: Any, right: Any, standard: str = "it must be") -> str:
    subject = " of ".join(repr(step) if isinstance(step, str) else f"number {step}" for step in reversed(path))
    told = "not there" if found is MISSING else short(found)
    wanted = "nothing" if right is MISSING else short(right)
    return f"{f'its {subject}' if subject else 'it'} is {told}; {standard} {wanted}."


def _woven_faults(apart: TakenApart, again: Sample, standard: str) -> Iterator[Fault]:
    """Where the sample is not what weaving its groups into the host gives; `standard` is what the host is held against."""
    found, right = _parts(apart.sample), _parts(again)
    for new, old in zip(_inserted_questions(apart.sample), _inserted_questions(again), strict=True):
        place = f"question {new['question_id']}"
        found[place] = ("schema", new)
        right[place] = ("schema", old | {"question_id": new["question_id"]})  # ids are held against their own rules
    for place in dict.fromkeys((*right, *found)):
        rule = found.get(place, right.get(place))[0]  # type: ignore[index]
        (_, one), (_, other) = found.get(place, (rule, MISSING)), right.get(place, (rule, MISSING))
        for path, old, new in differences(one, other):
            own = next((_RULES[step] for step in path if step in _RULES), rule)
            told = told_difference(path, old, new, standard if rule == "host" else "it must be")
            yield Fault(f"{apart.place}, {place}", rule if rule == "host" and own != "numbering" else own, told)


def _parts(sample: Sample) -> dict[str, tuple[str, Any]]:
    """The parts of a sample by their places, each with the rule that it breaks where it differs; inserted questions apart."""
    inserted = {str(number) for group in sample["groups"] for number in group["sessions"]}
    parts: dict[str, tuple[str, Any]] = {}
    for key, value in sample["conversation"].items():
        match = _SESSION.fullmatch(key)
        own = match is not None and match[1] in inserted
        if match and match[2]:
            parts[f"session_{match[1]}, its date"] = ("time" if own else "host", value)
        elif match:
            for at, turn in enumerate(value, start=1):
                parts[f"{key}, turn {at} (D{match[1]}:{at})"] = ("schema" if own else "host", turn)
        else:
            parts[f"conversation, {key}"] = ("host", value)
    parts |= {f"group {one['number']}": ("schema", one) for one in sample["groups"]}
    hosts = [one for one in sample["qa"] if one["category"] <= ADVERSARIAL]
    parts |= {f"question {one['question_id']}": ("host", one) for one in hosts}
    rest = {key: value for key, value in sample.items() if key not in ("conversation", "qa", "groups")}
    return parts | {key: ("host", value) for key, value in rest.items()}


def _inserted_questions(sample: Sample) -> list[dict[str, Any]]:
    """In the order of their groups."""
    numbers = [group["number"] for group in sample["groups"]]
    questions = (question for question in sample["qa"] if question["category"] > ADVERSARIAL)
    return sorted(questions, key=lambda one: numbers.index(one["group"]) if one["group"] in numbers else -1)
