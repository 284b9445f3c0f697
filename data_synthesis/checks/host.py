"""The host: the map of its ids, and all of LoCoMo's own part equal to LoCoMo."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from data_synthesis.checks.parts import short
from data_synthesis.checks.seen import ID_MAP, Fault, IdMap, Json, SeenFolder, SeenSample
from m2a.benchmarks.locomo import (
    ADVERSARIAL,
    evidence_references,
    read_locomo,
    read_samples,
    sample_files,
    session_numbers,
)

_SESSION_KEY = re.compile(r"(\D*)session_([0-9]{1,6})(\D*)")
_BESIDE_REFERENCES = re.compile(r"[^D\d:;,\s()\[\]]")
_ADDED_TO_QUESTIONS = {"question_id", "category_name", "source", "photos"}


def id_map_faults(seen: SeenFolder) -> Iterator[Fault]:
    """Old ids to new ones: one to one, onto the host's part, in order."""
    known = {sample.sample_id for sample in seen.samples}
    yield from (
        _map_fault(name, f"{name!r} is no sample of the benchmark.") for name in seen.id_maps if name not in known
    )
    for sample in seen.samples:
        name = sample.sample_id
        if name not in seen.id_maps:
            yield _map_fault(name, f"{name!r} has no entry.")
            continue
        id_map = seen.id_maps[name]
        hosts = {session.number: session for session in sample.sessions if session.group is None}
        yield from (
            _map_fault(name, f"the new session {new} stands for {count} old ones.")
            for new, count in _twice(id_map.sessions)
        )
        for old, new in id_map.sessions.items():
            if new not in hosts:
                yield _map_fault(name, f"session {old} becomes {new}, which is no session of the host.")
        for number in sorted(set(hosts) - set(id_map.sessions.values())):
            yield Fault(hosts[number].place, "id map", "it is in no group, and in the id map neither.")
        for before, after in pairwise(sorted(id_map.sessions)):
            if id_map.sessions[before] > id_map.sessions[after]:
                yield _map_fault(name, f"the sessions {before} and {after} change places.")
        yield from _turn_map_faults(name, id_map, {turn.dia_id for one in hosts.values() for turn in one.turns})


def _turn_map_faults(name: str, id_map: IdMap, host_turns: set[str]) -> Iterator[Fault]:
    yield from (
        _map_fault(name, f"the new turn {new} stands for {count} old ones.") for new, count in _twice(id_map.turns)
    )
    for old, new in id_map.turns.items():
        match = re.fullmatch(r"D([0-9]{1,6}):([0-9]{1,6})", old)
        right = f"D{id_map.sessions.get(int(match[1]))}:{int(match[2])}" if match else "nothing, for it is no turn's id"
        if new != right:
            yield _map_fault(name, f"the turn {old} becomes {new}, but by its session it must be {right}.")
        elif new not in host_turns:
            yield _map_fault(name, f"the turn {old} becomes {new}, which is no turn of the host.")
    for missing in sorted(host_turns - set(id_map.turns.values())):
        yield _map_fault(name, f"no old turn becomes {missing}, a turn of the host.")


def _map_fault(sample_id: str, sentence: str) -> Fault:
    return Fault(f"{ID_MAP}, {sample_id}", "id map", sentence)


def _twice(entries: Mapping[Json, Json]) -> list[tuple[Json, int]]:
    return [(value, count) for value, count in Counter(entries.values()).items() if count > 1]


def host_faults(seen: SeenFolder, locomo: Path) -> Iterator[Fault]:
    """Where the host's part differs from LoCoMo. Raises BenchmarkError if LoCoMo itself cannot be read."""
    read_locomo(locomo)
    originals = {sample["sample_id"]: sample for file in sample_files(locomo) for sample in read_samples(file)}
    for sample in seen.samples:
        original = originals.get(sample.sample_id)
        if original is None:
            yield Fault(sample.place, "host", f"{locomo.name} has no sample {sample.sample_id!r}.")
        else:
            compared = _Compared(sample, original, seen.id_maps.get(sample.sample_id, IdMap()))
            yield from compared.conversation_faults()
            yield from compared.question_faults()
            yield from compared.section_faults()


class _Compared:
    """One sample beside LoCoMo's own."""

    def __init__(self, sample: SeenSample, original: Mapping[str, Json], id_map: IdMap) -> None:
        self._sample, self._original, self._id_map = sample, original, id_map
        self._old = original["conversation"]
        conversation = sample.raw.get("conversation")
        self._new = conversation if isinstance(conversation, dict) else {}
        self._old_turns = {turn["dia_id"] for n in session_numbers(self._old) for turn in self._old[f"session_{n}"]}
        self._new_turns = {turn.dia_id for turn in sample.turns}

    def conversation_faults(self) -> Iterator[Fault]:
        for key, value in self._old.items():
            if not _SESSION_KEY.fullmatch(key) and self._new.get(key) != value:
                yield self._fault("conversation", f"{key!r} is {short(self._new.get(key))}; LoCoMo has {short(value)}.")
        for key in sorted(set(self._new) - set(self._old)):
            if not _SESSION_KEY.fullmatch(key):
                yield self._fault("conversation", f"LoCoMo has no key {key!r} there.")
        numbers = session_numbers(self._old)
        for old in sorted(set(self._id_map.sessions) - set(numbers)):
            yield self._fault(
                f"session_{self._id_map.sessions[old]}", f"LoCoMo has no session {old}, which it is said to be."
            )
        for old in numbers:
            new = self._id_map.sessions.get(old)
            if f"session_{new}" not in self._new:
                yield self._fault("conversation", f"LoCoMo's session {old} is not there.")
                continue
            date, told = self._old[f"session_{old}_date_time"], self._new.get(f"session_{new}_date_time")
            if told != date:
                yield self._fault(
                    f"session_{new}", f"its date is {short(told)}; LoCoMo's session {old} has {short(date)}."
                )
            yield from self._turn_faults(f"session_{new}", self._old[f"session_{old}"], self._new[f"session_{new}"])
        if _dates_alone(self._old) != _dates_alone(self._new):
            yield self._fault("conversation", "the dates without a session are not LoCoMo's.")

    def _turn_faults(self, session: str, old_turns: Sequence[Json], new_turns: Json) -> Iterator[Fault]:
        turns = new_turns if isinstance(new_turns, list) else []
        if len(turns) != len(old_turns):
            yield self._fault(session, f"it has {len(turns)} turns; LoCoMo has {len(old_turns)}.")
        for position, (old, new) in enumerate(zip(old_turns, turns, strict=False), start=1):
            if not isinstance(new, dict):
                continue  # a fault of the schema
            place = f"{session}, turn {position} ({new.get('dia_id')})"
            for key in sorted({*old, *new} - {"dia_id"}):
                if old.get(key) != new.get(key):
                    yield self._fault(place, f"its {key!r} is {short(new.get(key))}; LoCoMo has {short(old.get(key))}.")
            right = self._id_map.turns.get(old["dia_id"])
            if new.get("dia_id") != right:
                yield self._fault(place, f"LoCoMo's {old['dia_id']} stands here, which the id map calls {right}.")

    def question_faults(self) -> Iterator[Fault]:
        raw = self._sample.raw.get("qa")
        questions = [one for one in (raw if isinstance(raw, list) else []) if isinstance(one, dict)]
        hosts = [one for one in questions if type(one.get("category")) is not int or one["category"] <= ADVERSARIAL]
        old_questions = self._original["qa"]
        if len(hosts) != len(old_questions):
            yield self._fault("qa", f"it has {len(hosts)} questions of the host; LoCoMo has {len(old_questions)}.")
        for old, new in zip(old_questions, hosts, strict=False):
            place = f"question {new.get('question_id')}"
            for key in sorted({*old, *new} - _ADDED_TO_QUESTIONS - {"evidence"}):
                if old.get(key) != new.get(key):
                    yield self._fault(place, f"its {key!r} is {short(new.get(key))}; LoCoMo has {short(old.get(key))}.")
            yield from self._evidence_faults(place, _list(old.get("evidence")), _list(new.get("evidence")))

    def _evidence_faults(self, place: str, old: Sequence[Json], new: Sequence[Json]) -> Iterator[Fault]:
        """The same turns in the new count, and as many strings that name none, as LoCoMo has some."""
        named, empty = evidence_references(old, self._old_turns)
        right = [self._id_map.turns.get(one, f"({one})") for one in named]
        told, told_empty = evidence_references(new, self._new_turns)
        if told != right:
            yield self._fault(place, f"its evidence names {told}; LoCoMo's, in the new count, names {right}.")
        elif len(told_empty) != len(empty):
            yield self._fault(place, f"{len(told_empty)} of its evidence name no turn; in LoCoMo it is {len(empty)}.")

    def section_faults(self) -> Iterator[Fault]:
        """Observations and summaries, by their sessions; what belongs to no session with turns, in its order."""
        for key in sorted(set(self._sample.raw) - set(self._original) - {"groups"}):
            yield self._fault(key, "LoCoMo has no such key.")
        for section, old in self._original.items():
            if section in ("conversation", "qa"):
                continue
            new = self._sample.raw.get(section)
            if not isinstance(old, dict) or not isinstance(new, dict):
                if old != new:
                    yield self._fault(section, f"it is {short(new)}; LoCoMo has {short(old)}.")
                continue
            expected = {self._renumbered(key): value for key, value in old.items()}
            for key in sorted({*expected, *new}):
                if key not in new or key not in expected:
                    yield self._fault(
                        f"{section}, {key}", f"it is {'not there' if key not in new else 'not of LoCoMo'}."
                    )
                elif not self._same(expected[key], new[key]):
                    yield self._fault(f"{section}, {key}", "it is not LoCoMo's.")

    def _renumbered(self, key: str) -> str:
        """Numbers beyond LoCoMo's sessions follow after all sessions of the merged conversation."""
        match = _SESSION_KEY.fullmatch(key)
        if not match:
            return key
        old = int(match[2])
        added = len(self._sample.sessions) - len(session_numbers(self._old))
        return f"{match[1]}session_{self._id_map.sessions.get(old, old + added)}{match[3]}"

    def _same(self, old: Json, new: Json) -> bool:
        if isinstance(old, dict) and isinstance(new, dict):
            return old.keys() == new.keys() and all(self._same(value, new[key]) for key, value in old.items())
        if isinstance(old, list) and isinstance(new, list):
            return len(old) == len(new) and all(map(self._same, old, new))
        if isinstance(old, str) and isinstance(new, str) and not _BESIDE_REFERENCES.search(f"{old}{new}"):
            return not list(self._evidence_faults("", [old], [new]))
        return bool(old == new)

    def _fault(self, place: str, sentence: str) -> Fault:
        return Fault(f"{self._sample.place}, {place}", "host", sentence)


def _dates_alone(conversation: Mapping[str, Json]) -> list[Json]:
    """The dates that have no session, in the order of their numbers."""
    found = []
    for key, value in conversation.items():
        match = _SESSION_KEY.fullmatch(key)
        if match and match[3] == "_date_time" and not conversation.get(f"session_{match[2]}"):
            found.append((int(match[2]), str(value)))
    return [value for _, value in sorted(found)]


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
