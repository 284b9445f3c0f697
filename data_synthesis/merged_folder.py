"""A merged folder as it was found: its JSON, and what in it is not of the form that `weave` and the pipeline write.

Nothing in a folder makes this raise. A sample that is not of the form is a fault and is left out of what is checked next.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Tag, TypeAdapter, ValidationError

from m2a.benchmarks.locomo import ADVERSARIAL, CATEGORY_NAMES, Sample, parse_date_time

BENCHMARK, ID_MAP, RUN, STATISTICS, CARD = "benchmark.json", "id_map.json", "run.json", "statistics.json", "README.md"
FILES = (BENCHMARK, ID_MAP, RUN, STATISTICS)
_SESSION = re.compile(r"session_([1-9][0-9]{0,5})")
_DIA_ID = re.compile(r"D[1-9][0-9]{0,5}:[1-9][0-9]{0,5}")
_NEEDED = {"string_type": "text", "int_type": "a number", "list_type": "a list", "dict_type": "an object"}
_NEEDED |= dict.fromkeys(("model_type", "model_attributes_type"), "an object")


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: where, against which rule, and a sentence that says what."""

    place: str
    rule: str
    sentence: str

    def __str__(self) -> str:
        """In one line that every terminal can print."""
        line = " ".join(f"{self.place}: [{self.rule}] {self.sentence}".split())
        return line.encode("utf-8", "backslashreplace").decode("utf-8")


@dataclass(frozen=True, slots=True)
class MergedFolder:
    """`samples` are those of the right form, by their places. `whole` is whether that is all of them."""

    path: Path
    samples: Mapping[str, Sample]
    whole: bool
    id_map: Any
    run: Any
    statistics: Any


def read_folder(folder: Path) -> tuple[MergedFolder, list[Fault]]:
    """What can be read of a folder, and the faults of its form."""
    faults: list[Fault] = []
    samples, id_map, run, statistics = (_load(folder / name, faults) for name in FILES)
    for name, content in ((ID_MAP, id_map), (RUN, run), (STATISTICS, statistics)):
        if content is not None and not isinstance(content, dict):
            faults.append(Fault(name, "schema", "it must be an object."))
    if samples is not None and (not isinstance(samples, list) or not samples):
        faults.append(Fault(BENCHMARK, "schema", "it must be a list of samples, and not empty."))
    found = {}
    listed = samples if isinstance(samples, list) else []
    for number, sample in enumerate(listed, start=1):
        sample_id = sample.get("sample_id") if isinstance(sample, dict) else None
        place = f"{BENCHMARK}, {sample_id if isinstance(sample_id, str) and sample_id.strip() else f'sample {number}'}"
        if place in found:
            count = sum(isinstance(one, dict) and one.get("sample_id") == sample_id for one in listed)
            faults.append(Fault(place, "duplicates", f"the sample_id {sample_id!r} occurs {count} times."))
            continue
        wrong = list(_form_faults(sample, place))
        faults += wrong
        if not wrong:
            found[place] = sample
    if not (folder / CARD).is_file():
        faults.append(Fault(CARD, "schema", "it is not there; without its header `datasets` cannot load the folder."))
    whole = bool(listed) and len(found) == len(listed)
    parts = (content if isinstance(content, dict) else None for content in (id_map, run, statistics))
    return MergedFolder(folder, found, whole, *parts), faults


def short(value: object) -> str:
    """A value in a sentence, cut where it is long."""
    try:
        text = "nothing" if value is None else repr(value)
    except (RecursionError, ValueError):  # a number of thousands of digits has no decimal form
        return "something too long to write"
    return text if len(text) <= 80 else text[:80] + "…"


def _load(file: Path, faults: list[Fault]) -> Any:
    """The content, or None with a fault."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        if len(set(keys)) < len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            faults.append(Fault(file.name, "schema", f"the key {twice!r} stands twice in one object."))
        return dict(pairs)

    try:
        content = json.loads(file.read_text(encoding="utf-8"), object_pairs_hook=unique)
    except FileNotFoundError:
        faults.append(Fault(file.name, "schema", "it is not there."))
    except OSError as error:
        faults.append(Fault(file.name, "schema", f"it cannot be read: {error.strerror}."))
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}: {error.msg}"
        faults.append(Fault(file.name, "schema", f"it is not JSON ({where})."))
    except (ValueError, RecursionError) as error:  # not UTF-8, a number of thousands of digits, nested without end
        faults.append(Fault(file.name, "schema", f"it is not JSON that can be read: {error}."))
    else:
        if content is None:
            faults.append(Fault(file.name, "schema", "it holds nothing."))
        return content
    return None


# The form of a sample


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return text


def _turn_id(text: str) -> str:
    if not _DIA_ID.fullmatch(text):
        raise ValueError(f"holds {short(text)}, which is no turn's id like 'D3:1'")
    return text


def _moment(text: str) -> str:
    try:
        has_zone = datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        has_zone = False
    if not has_zone:
        raise ValueError(f"must be a time like 2023-05-08T13:56:00+00:00, but is {short(text)}")
    return text


def _category(number: int) -> int:
    if number not in CATEGORY_NAMES:
        raise ValueError(f"is {short(number)}; the categories are 1 to {max(CATEGORY_NAMES)}")
    return number


_Text = Annotated[str, AfterValidator(_filled)]
_TurnId = Annotated[str, AfterValidator(_turn_id)]
_Moment = Annotated[str, AfterValidator(_moment)]
_Category = Annotated[int, AfterValidator(_category)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _OpenPart(BaseModel):
    """LoCoMo has keys of its own in it."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)


class _InsertedTurn(_Part):
    speaker: _Text
    dia_id: _Text
    text: _Text
    photos: list[str] = []
    img_url: list[str] = []


class _HostTurn(_OpenPart):
    speaker: _Text
    dia_id: _Text
    text: str
    photos: None = None


class _Attribute(_Part):
    key: str
    value: _Text
    accepted: list[str]
    photos: list[_Text]


class _Scene(_Part):
    setting: str
    description: str


class _SetQuestion(_Part):
    photo: _Text
    question: _Text
    options: list[str]
    answer: _Text


class _Concept(_Part):
    subject: _Text
    name: _Text
    class_name: str
    short_description: str
    attributes: list[_Attribute]
    photos: list[_Text]
    unseen_photos: list[_Text]
    scenes: dict[str, _Scene]
    questions: list[_SetQuestion]


class _Group(_Part):
    number: int
    generator: _Text
    concepts: list[_Concept]
    after: int
    start: _Moment
    end: _Moment
    sessions: list[int]
    times: list[_Moment]
    dropped_questions: list[int] = []
    retrieval_only: bool = False


class _Event(_Part):
    turn: _TurnId
    expression: str


class _Derivation(_Part):
    event: _Event
    since: _Event | None = None


class _Seen(_Part):
    photo: _Text
    shown_in: _TurnId | None
    words: _Text
    meant_by: list[_TurnId]


class _Question(_Part):
    question_id: _Text
    question: _Text
    answer: _Text
    accepted_answers: list[str]
    evidence: list[_TurnId]
    category: _Category
    category_name: str
    photos: list[str]
    source: str
    group: int
    seen: list[_Seen]
    derivation: _Derivation | None = None


class _HostQuestion(_OpenPart):
    question_id: _Text
    question: str
    evidence: list[str]
    category: _Category
    category_name: str
    photos: list[str]
    source: str


def _kind_of_question(raw: object) -> str:
    category = raw.get("category") if isinstance(raw, dict) else None
    return "visual" if not isinstance(category, int) or category > ADVERSARIAL else "host"


_AnyQuestion = Annotated[
    Annotated[_Question, Tag("visual")] | Annotated[_HostQuestion, Tag("host")], Discriminator(_kind_of_question)
]


class _Conversation(_OpenPart):
    speaker_a: _Text
    speaker_b: _Text


class _Sample(_OpenPart):
    sample_id: _Text
    conversation: _Conversation
    qa: list[_AnyQuestion]
    groups: list[_Group]


_SAMPLE, _HOST_TURNS = TypeAdapter(_Sample), TypeAdapter(list[_HostTurn])
_INSERTED_TURNS = TypeAdapter(list[_InsertedTurn])


def _form_faults(sample: Any, place: str) -> Iterator[Fault]:
    if found := list(_faults_by(_SAMPLE, sample, place)):
        yield from found
        return
    inserted = {number for group in sample["groups"] for number in group["sessions"]}
    conversation = sample["conversation"]
    for key in conversation:
        if key.startswith("session_") and not _SESSION.fullmatch(key.removesuffix("_date_time")):
            yield Fault(place, "schema", f"the key {key!r} is neither session_N nor session_N_date_time.")
        match = _SESSION.fullmatch(key)
        if not match:
            continue
        if not conversation[key]:
            yield Fault(f"{place}, {key}", "schema", "the session has no turns.")
        turns = _INSERTED_TURNS if int(match[1]) in inserted else _HOST_TURNS
        yield from _faults_by(turns, conversation[key], f"{place}, {key}")
        try:
            parse_date_time(conversation.get(f"{key}_date_time"))
        except (ValueError, AttributeError):
            told = short(conversation.get(f"{key}_date_time"))
            yield Fault(place, "time", f"{key}_date_time is {told}; LoCoMo writes it like '1:56 pm on 8 May, 2023'.")


def _faults_by(form: TypeAdapter[Any], found: Any, place: str) -> Iterator[Fault]:
    try:
        form.validate_python(found)
    except RecursionError:
        yield Fault(place, "schema", "it is nested too deeply.")
    except ValidationError as error:
        for one in error.errors(include_url=False):
            path = tuple(step for step in one["loc"] if step not in ("visual", "host"))
            yield Fault(place + _place_within(path, found), "schema", _sentence(path, one))


def _place_within(path: tuple[int | str, ...], found: Any) -> str:
    """Where in a sample, or in the turns of a session, a path leads: its questions, groups and turns by their own ids."""
    place, kind = "", "turn"
    for step in path:
        if isinstance(step, str):
            kind = {"qa": "question", "groups": "group", "concepts": "concept"}.get(step, "")
        elif kind:
            part = found[step] if isinstance(found, list) and isinstance(found[step], dict) else {}
            own = part.get({"question": "question_id", "turn": "dia_id"}.get(kind, ""))
            named = own if isinstance(own, str) and own.strip() else None
            place += f", {kind} {step + 1}" + f" ({named})" * bool(named) if kind != "question" else ""
            place += f", question {named or f'number {step + 1}'}" if kind == "question" else ""
            kind = ""
        try:
            found = found[step]
        except (TypeError, KeyError, IndexError):
            found = None
    return place


def _sentence(path: tuple[int | str, ...], error: Any) -> str:
    key = next((step for step in reversed(path) if isinstance(step, str)), None)
    subject = f"{key!r}" if key else "it"
    inner = " holds something that" if path and isinstance(path[-1], int) and key else ""
    match error["type"]:
        case "missing":
            return f"{subject} is missing."
        case "extra_forbidden":
            return f"the key {subject} is unknown."
        case "value_error":
            return f"{subject} {error['ctx']['error']}."
        case kind if kind in _NEEDED:
            return f"{subject}{inner} must be {_NEEDED[kind]}, but is {short(error['input'])}."
    return f"{subject}{inner} is {short(error['input'])}: {error['msg'][0].lower()}{error['msg'][1:]}."
