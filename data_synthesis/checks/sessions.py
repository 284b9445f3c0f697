"""Sessions: their order and numbering, their times by equation 7, the shape of groups, names, words said twice."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise

from data_synthesis.check_group import wording_faults
from data_synthesis.checks.seen import Fault, IdMap, SeenFolder, SeenGroup, SeenSample, SeenSession
from data_synthesis.group import SESSIONS_PER_GROUP, TURNS_PER_SESSION
from data_synthesis.groups import CONCEPTS_PER_GROUP, PHOTOS_PER_CONCEPT
from data_synthesis.wording import LONG_SENTENCE, bracketed_names, sentences
from m2a.benchmarks.locomo import format_date_time

_ROUNDING = timedelta(seconds=30)  # a session is dated to the minute


def session_faults(seen: SeenFolder) -> Iterator[Fault]:
    counts = Counter(sample.sample_id for sample in seen.samples)
    for sample in seen.samples:
        if counts[sample.sample_id] > 1:
            yield Fault(
                sample.place,
                "duplicates",
                f"the sample_id {sample.sample_id!r} occurs {counts[sample.sample_id]} times.",
            )
        yield from _order_faults(sample)
        yield from _numbering_faults(sample)
        yield from _group_list_faults(sample)
        for group in sample.groups:
            yield from _shape_faults(group, sample)
            yield from _time_faults(group, sample, seen.id_maps.get(sample.sample_id, IdMap()))
            yield from _name_faults(group, sample)
    yield from _repetition_faults(seen)


def _order_faults(sample: SeenSample) -> Iterator[Fault]:
    dated = [session for session in sample.sessions if session.started_at is not None]
    for before, session in pairwise(dated):
        if _at(session) <= _at(before):
            told, earlier = format_date_time(_at(session)), format_date_time(_at(before))
            yield Fault(
                session.place, "time", f"its date {told} is not after that of session_{before.number} ({earlier})."
            )


def _at(session: SeenSession) -> datetime:
    assert session.started_at is not None
    return session.started_at


def _numbering_faults(sample: SeenSample) -> Iterator[Fault]:
    for expected, session in enumerate(sample.sessions, start=1):
        if session.number != expected:
            yield Fault(
                session.place,
                "numbering",
                f"session_{expected} is missing before it; sessions count from 1 without a gap.",
            )
            break
    for session in sample.sessions:
        for turn in session.turns:
            right = f"D{session.number}:{turn.position}"
            if turn.dia_id != right:
                yield Fault(
                    turn.place, "numbering", f"its dia_id is {turn.dia_id!r}, but by its place it must be {right!r}."
                )
            if sample.speakers and turn.speaker not in sample.speakers:
                yield Fault(
                    turn.place, "names", f"{turn.speaker!r} is none of the speakers {' and '.join(sample.speakers)}."
                )
    counts = Counter(turn.dia_id for turn in sample.turns)
    for dia_id, count in counts.items():
        if count > 1:
            yield Fault(sample.place, "duplicates", f"the dia_id {dia_id!r} occurs {count} times.")
    if len(sample.speakers) == 2 and sample.speakers[0] == sample.speakers[1]:
        yield Fault(sample.place, "names", f"both speakers are called {sample.speakers[0]!r}.")


def _group_list_faults(sample: SeenSample) -> Iterator[Fault]:
    for number, count in Counter(group.number for group in sample.groups).items():
        if count > 1:
            yield Fault(sample.place, "groups", f"the group number {number} occurs {count} times.")
    for after, count in Counter(group.after for group in sample.groups if group.after is not None).items():
        if count > 1:
            yield Fault(sample.place, "groups", f"{count} groups stand in the same gap, after host session {after}.")
    for number, count in Counter(number for group in sample.groups for number in group.sessions).items():
        if count > 1:
            yield Fault(sample.place, "groups", f"session_{number} is named {count} times as a group's.")
    for subject, count in Counter(
        subject for group in sample.groups for subject in {one.subject for one in group.concepts}
    ).items():
        if count > 1:
            yield Fault(sample.place, "groups", f"the concept {subject!r} is in {count} groups.")


def _shape_faults(group: SeenGroup, sample: SeenSample) -> Iterator[Fault]:
    def fault(sentence: str, place: str = group.place) -> Fault:
        return Fault(place, "groups", sentence)

    if len(group.concepts) not in CONCEPTS_PER_GROUP:
        yield fault(f"it has {len(group.concepts)} concepts; a group has 3 or 4.")
    alike = {
        "name": [concept.name for concept in group.concepts],
        "subject": [concept.subject for concept in group.concepts],
        "class": [concept.class_name for concept in group.concepts if concept.class_name],
    }
    for kind, values in alike.items():
        for value, count in Counter(values).items():
            if count > 1:
                yield fault(f"{count} of its concepts have the {kind} {value!r}.")
    for concept in group.concepts:
        if len(set(concept.photos)) not in PHOTOS_PER_CONCEPT:
            yield fault(f"{concept.name} has {len(set(concept.photos))} photos; a concept has 2 or 3.")
    if len(group.sessions) not in SESSIONS_PER_GROUP:
        yield fault(f"it has {len(group.sessions)} sessions; a group has 5 or 6.")
    known = {session.number for session in sample.sessions}
    yield from (fault(f"its session_{number} does not exist.") for number in group.sessions if number not in known)
    for session in sample.sessions_of(group):
        if len(session.turns) not in TURNS_PER_SESSION:
            yield fault(f"an inserted session has 5 to 15 turns, this one {len(session.turns)}.", session.place)
        silent = [speaker for speaker in sample.speakers if all(turn.speaker != speaker for turn in session.turns)]
        yield from (Fault(session.place, "names", f"{speaker} says nothing in it.") for speaker in silent)


def _time_faults(group: SeenGroup, sample: SeenSample, id_map: IdMap) -> Iterator[Fault]:
    """The gap is the one between two host sessions, and every time follows from it by equation 7."""

    def fault(sentence: str) -> Fault:
        return Fault(group.place, "time", sentence)

    hosts = [session for session in sample.sessions if session.group is None]
    before = next(
        (one for one in hosts if group.after is not None and one.number == id_map.sessions.get(group.after)), None
    )
    if before is None:
        yield fault(
            f"it stands after host session {group.after}, which the id map does not name, or is not the host's."
        )
    else:
        after = next((session for session in hosts if session.number > before.number), None)
        if after is None:
            yield fault(f"no host session follows host session {group.after}, after which it stands.")
        for name, moment, session in (("start", group.start, before), ("end", group.end, after)):
            if session is not None and None not in (moment, session.started_at) and moment != session.started_at:
                yield fault(f"its {name} is not the date of the host session there, session_{session.number}.")
        places = [before.number + step for step in range(1, len(group.sessions) + 1)]
        if list(group.sessions) != places:
            yield fault(
                f"its sessions are {list(group.sessions)}, but after session_{before.number} they must be {places}."
            )
    if len(group.times) != len(group.sessions):
        yield fault(f"it has {len(group.times)} times for {len(group.sessions)} sessions.")
    yield from _equation_faults(group, sample)


def _equation_faults(group: SeenGroup, sample: SeenSample) -> Iterator[Fault]:
    if group.start is None or group.end is None:
        return
    if group.start >= group.end:
        yield Fault(group.place, "time", "its start is not before its end.")
        return
    count = len(group.sessions)
    dated = {session.number: session for session in sample.sessions if session.started_at is not None}
    for step, number in enumerate(group.sessions, start=1):
        expected = group.start + (group.end - group.start) * step / (count + 1)
        minute = format_date_time(expected + min(_ROUNDING, group.end - expected))
        told = f"by equation 7 session {step} of {count} is at {minute}"
        if number in dated and abs(_at(dated[number]) - expected) > _ROUNDING:
            yield Fault(dated[number].place, "time", f"{told}, but its date is {format_date_time(_at(dated[number]))}.")
        if step <= len(group.times) and abs(group.times[step - 1] - expected) > _ROUNDING:
            yield Fault(group.place, "time", f"{told}, but its time is {group.times[step - 1].isoformat()}.")


def _name_faults(group: SeenGroup, sample: SeenSample) -> Iterator[Fault]:
    sessions = sample.sessions_of(group)
    if sessions and sessions[0].turns:
        first = sessions[0].turns[0]
        for concept in group.concepts:
            if concept.name not in bracketed_names(first.text):
                yield Fault(
                    first.place, "names", f"the first message of group {group.number} does not name <{concept.name}>."
                )
    for session in sessions:
        for turn in session.turns:
            yield from (Fault(turn.place, "names", sentence) for sentence in wording_faults(turn.text, group.names))


def _repetition_faults(seen: SeenFolder) -> Iterator[Fault]:
    """A sentence is said once in its group, and a long one once in all."""
    said: dict[str, tuple[str, object]] = {}
    inserted = (
        (sample, session) for sample in seen.samples for session in sample.sessions if session.group is not None
    )
    for sample, session in inserted:
        group = (sample.place, session.group)
        for turn in session.turns:
            for sentence in sentences(turn.text):
                before = said.get(sentence)
                if before and (before[1] == group or len(sentence.split()) >= LONG_SENTENCE):
                    yield Fault(turn.place, "duplicates", f'the sentence "{sentence}" was said before ({before[0]}).')
                said.setdefault(sentence, (turn.place, group))
