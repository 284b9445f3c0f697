"""Reads a merged folder and checks its keys and kinds. Nothing in the folder can make this raise."""

import re
from collections.abc import Sequence
from pathlib import Path

from data_synthesis.checks.parts import (
    load,
    moment_of,
    objects_of,
    schema_fault,
    short,
    texts_of,
    unknown_keys,
    value_of,
)
from data_synthesis.checks.seen import (
    BENCHMARK,
    CARD,
    HOST_SOURCE,
    ID_MAP,
    RUN,
    STATISTICS,
    Fault,
    IdMap,
    Json,
    SeenConcept,
    SeenEvent,
    SeenFolder,
    SeenGroup,
    SeenQuestion,
    SeenSample,
    SeenSession,
    SeenTurn,
)
from m2a.benchmarks.locomo import ADVERSARIAL, CATEGORY_NAMES, parse_date_time

_SESSION = re.compile(r"session_([1-9][0-9]{0,5})")
_SESSION_OR_DATE = re.compile(r"session_[1-9][0-9]{0,5}(?:_date_time)?")
_GROUP_KEYS = {"number", "generator", "concepts", "after", "start", "end", "sessions", "times"}
_TURN_KEYS = {"speaker", "dia_id", "text", "photos", "img_url"}
_QUESTION_KEYS = {
    *("question_id", "question", "answer", "accepted_answers", "evidence", "category", "category_name"),
    *("photos", "source", "group", "derivation"),
}


def read_folder(folder: Path) -> tuple[SeenFolder, list[Fault]]:
    """What can be read of a folder, and the faults of its schema."""
    faults: list[Fault] = []
    samples = load(folder / BENCHMARK, faults)
    if samples is not None and (not isinstance(samples, list) or not samples):
        faults.append(schema_fault(BENCHMARK, "it must be a list of samples, and not empty."))
    seen = [
        _sample(sample, number, faults) for number, sample in enumerate(samples if isinstance(samples, list) else (), 1)
    ]
    maps = load(folder / ID_MAP, faults)
    run, statistics = load(folder / RUN, faults), load(folder / STATISTICS, faults)
    for name, content in ((RUN, run), (STATISTICS, statistics)):
        if content is not None and not isinstance(content, dict):
            faults.append(schema_fault(name, "it must be an object."))
    if not (folder / CARD).is_file():
        faults.append(schema_fault(CARD, "it is not there; without its header `datasets` cannot load the folder."))
    found = tuple(sample for sample in seen if sample is not None)
    return SeenFolder(folder, found, _id_maps(maps, faults), run, statistics), faults


def _sample(raw: Json, number: int, faults: list[Fault]) -> SeenSample | None:
    if not isinstance(raw, dict):
        faults.append(schema_fault(f"{BENCHMARK}, sample {number}", f"it must be an object, but is {short(raw)}."))
        return None
    named = raw.get("sample_id")
    place = f"{BENCHMARK}, {named if isinstance(named, str) and named.strip() else f'sample {number}'}"
    sample_id = value_of(raw, "sample_id", str, place, faults) or ""
    conversation = value_of(raw, "conversation", dict, place, faults) or {}
    speakers = [value_of(conversation, key, str, place, faults) for key in ("speaker_a", "speaker_b")]
    groups = [_group(group, f"{place}, group {at}", faults) for at, group in objects_of(raw, "groups", place, faults)]
    questions = [_question(question, at, place, faults) for at, question in objects_of(raw, "qa", place, faults)]
    return SeenSample(
        *(place, sample_id, tuple(speaker for speaker in speakers if speaker is not None)),
        sessions=tuple(_sessions(conversation, groups, place, faults)),
        groups=tuple(groups),
        questions=tuple(question for question in questions if question is not None),
        raw=raw,
    )


def _sessions(
    conversation: dict[str, Json], groups: Sequence[SeenGroup], place: str, faults: list[Fault]
) -> list[SeenSession]:
    group_of = {number: group.number for group in groups for number in group.sessions}
    found = []
    for key in conversation:
        if key.startswith("session_") and not _SESSION_OR_DATE.fullmatch(key):
            faults.append(schema_fault(place, f"the key {key!r} is neither session_N nor session_N_date_time."))
        match = _SESSION.fullmatch(key)
        if not match:
            continue
        number, here = int(match[1]), f"{place}, {key}"
        started_at = None
        date_time = value_of(conversation, f"{key}_date_time", str, place, faults)
        try:
            started_at = parse_date_time(date_time) if date_time is not None else None
        except ValueError:
            faults.append(
                Fault(
                    place, "time", f"{key}_date_time is {date_time!r}; LoCoMo writes it like '1:56 pm on 8 May, 2023'."
                )
            )
        turns = [
            _turn(turn, at, f"{here}, turn {at}", number in group_of, faults)
            for at, turn in objects_of(conversation, key, here, faults)
        ]
        if not turns:
            faults.append(schema_fault(here, "the session has no turns."))
        found.append(SeenSession(here, number, started_at, tuple(turns), group_of.get(number)))
    return sorted(found, key=lambda session: session.number)


def _turn(raw: dict[str, Json], position: int, place: str, inserted: bool, faults: list[Fault]) -> SeenTurn:
    named = raw.get("dia_id")
    place = f"{place} ({named})" if isinstance(named, str) else place
    dia_id = value_of(raw, "dia_id", str, place, faults) or ""
    speaker = value_of(raw, "speaker", str, place, faults) or ""
    text = value_of(raw, "text", str, place, faults) or ""
    photos = texts_of(raw, "photos", place, faults, needed=False)
    if inserted:
        unknown_keys(raw, _TURN_KEYS, place, faults)
        urls = texts_of(raw, "img_url", place, faults, needed=bool(photos))
        if urls != photos[:1]:
            faults.append(schema_fault(place, "'img_url' must hold the first of its 'photos', and nothing else."))
    elif photos:
        faults.append(Fault(place, "host", "a turn of the host has 'photos'; only inserted turns show the concepts."))
    return SeenTurn(place, position, dia_id, speaker, text, photos)


def _group(raw: dict[str, Json], place: str, faults: list[Fault]) -> SeenGroup:
    number = value_of(raw, "number", int, place, faults)
    unknown_keys(raw, _GROUP_KEYS, place, faults)
    concepts = []
    for at, concept in objects_of(raw, "concepts", place, faults):
        here = f"{place}, concept {at}"
        unknown_keys(concept, ("subject", "name", "class_name", "photos", "unseen_photos"), here, faults)
        subject = value_of(concept, "subject", str, here, faults) or ""
        name = value_of(concept, "name", str, here, faults) or ""
        class_name = value_of(concept, "class_name", str, here, faults, needed=False) or ""
        photos = texts_of(concept, "photos", here, faults)
        unseen = texts_of(concept, "unseen_photos", here, faults, needed=False)
        concepts.append(SeenConcept(subject, name, class_name, photos, unseen))
    sessions = value_of(raw, "sessions", list, place, faults) or []
    if not all(type(session) is int for session in sessions):
        faults.append(schema_fault(place, f"'sessions' must be a list of session numbers, but is {short(sessions)}."))
    times = [moment_of(time, "times", place, faults) for time in value_of(raw, "times", list, place, faults) or []]
    return SeenGroup(
        place=place,
        number=number or 0,
        generator=value_of(raw, "generator", str, place, faults) or "",
        concepts=tuple(concepts),
        after=value_of(raw, "after", int, place, faults),
        start=moment_of(raw.get("start"), "start", place, faults),
        end=moment_of(raw.get("end"), "end", place, faults),
        sessions=tuple(session for session in sessions if type(session) is int),
        times=tuple(time for time in times if time is not None),
    )


def _question(raw: dict[str, Json], number: int, place: str, faults: list[Fault]) -> SeenQuestion | None:
    named = raw.get("question_id")
    place = f"{place}, question {named if isinstance(named, str) and named.strip() else f'number {number}'}"
    category = value_of(raw, "category", int, place, faults)
    if category is not None and category not in CATEGORY_NAMES:
        faults.append(schema_fault(place, f"'category' is {category}; the categories are 1 to {max(CATEGORY_NAMES)}."))
    if category not in CATEGORY_NAMES:
        return None
    if raw.get("category_name") != CATEGORY_NAMES[category]:
        told, name = short(raw.get("category_name")), CATEGORY_NAMES[category]
        faults.append(schema_fault(place, f"'category_name' is {told}; the name of category {category} is {name!r}."))
    visual = category > ADVERSARIAL
    answer = raw.get("answer")
    if visual or isinstance(answer, str):
        answer = value_of(raw, "answer", str, place, faults)
    elif type(answer) is not int and (answer is not None or category != ADVERSARIAL):
        faults.append(schema_fault(place, f"'answer' must be text or a number, but is {short(answer)}."))
    source = value_of(raw, "source", str, place, faults) or ""
    if visual:
        unknown_keys(raw, _QUESTION_KEYS, place, faults)
    if visual is (source == HOST_SOURCE):
        faults.append(
            schema_fault(place, f"'source' is {source!r}, but category {category} is {'not ' * visual}the host's.")
        )
    return SeenQuestion(
        place=place,
        question_id=value_of(raw, "question_id", str, place, faults) or "",
        text=value_of(raw, "question", str, place, faults) or "",
        category=category,
        answer=str(answer) if answer is not None else "",
        accepted=texts_of(raw, "accepted_answers", place, faults, needed=visual),
        evidence=texts_of(raw, "evidence", place, faults, needed=visual),
        photos=texts_of(raw, "photos", place, faults),
        source=source,
        group=value_of(raw, "group", int, place, faults, needed=visual),
        derivation=_derivation(raw, place, faults),
    )


def _derivation(raw: dict[str, Json], place: str, faults: list[Fault]) -> tuple[SeenEvent, ...]:
    derivation = value_of(raw, "derivation", dict, place, faults, needed=False)
    if derivation is None:
        return ()
    unknown_keys(derivation, ("event", "since"), f"{place}, derivation", faults)
    events = []
    for key in ("event", "since"):
        event = value_of(derivation, key, dict, f"{place}, derivation", faults, needed=key == "event")
        if event is not None:
            here = f"{place}, derivation, {key}"
            unknown_keys(event, ("turn", "expression"), here, faults)
            turn = value_of(event, "turn", str, here, faults) or ""
            expression = event.get("expression", "")
            if not isinstance(expression, str):
                faults.append(schema_fault(here, f"'expression' must be text, but is {short(expression)}."))
                expression = ""
            events.append(SeenEvent(turn, expression))
        elif key == "event":
            return ()
    return tuple(events)


def _id_maps(raw: Json, faults: list[Fault]) -> dict[str, IdMap]:
    if raw is not None and not isinstance(raw, dict):
        faults.append(schema_fault(ID_MAP, "it must be an object, one entry for each sample."))
    found = {}
    for sample_id, entry in (raw if isinstance(raw, dict) else {}).items():
        place = f"{ID_MAP}, {sample_id}"
        if not isinstance(entry, dict):
            faults.append(schema_fault(place, f"it must be an object, but is {short(entry)}."))
            continue
        unknown_keys(entry, ("sessions", "turns"), place, faults)
        sessions = value_of(entry, "sessions", dict, place, faults) or {}
        turns = value_of(entry, "turns", dict, place, faults) or {}
        kept = {old: new for old, new in sessions.items() if re.fullmatch("[0-9]{1,6}", old) and type(new) is int}
        kept_turns = {old: new for old, new in turns.items() if isinstance(new, str)}
        for name, all_of_it, good in (("sessions", sessions, kept), ("turns", turns, kept_turns)):
            faults += [
                schema_fault(place, f"the entry {old!r}: {short(new)} of {name!r} is not an old id and a new one.")
                for old, new in all_of_it.items()
                if old not in good
            ]
        found[sample_id] = IdMap({int(old): new for old, new in kept.items()}, kept_turns)
    return found
