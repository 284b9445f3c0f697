"""Reads the JSON of a merged folder and reports where it differs from the format that the pipeline writes.

Never raises because of a folder's content. A sample in a wrong format is a fault and is left out of the further checks.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from data_synthesis.dataset_card import CARD_FILE, STATISTICS_FILE
from data_synthesis.group_records import QUESTION, GroupRecord, Text, place_by_id
from data_synthesis.run_folder import ID_MAP_FILE, RUN_FILE
from m2a.benchmarks.locomo import ADVERSARIAL, CATEGORY_NAMES, Sample, parse_date_time
from m2a.benchmarks.visual import FILE_NAME

FILES = (FILE_NAME, ID_MAP_FILE, RUN_FILE, STATISTICS_FILE)
MISSING: Any = object()
_SESSION = re.compile(r"session_([1-9][0-9]{0,5})")


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault: its place, the rule that it breaks, and a sentence about it."""

    place: str
    rule: str
    sentence: str

    def __str__(self) -> str:
        """Returns the fault in one line that every terminal can print."""
        line = " ".join(f"{self.place}: [{self.rule}] {self.sentence}".split())
        return line.encode("utf-8", "backslashreplace").decode("utf-8")


@dataclass(frozen=True, slots=True)
class MergedFolder:
    """`samples` are those in the right form, by their places. `whole` is whether these are all samples."""

    path: Path
    samples: Mapping[str, Sample]
    whole: bool
    id_map: Any
    run: Any


def read_folder(folder: Path) -> tuple[MergedFolder, list[Fault]]:
    """Returns the readable part of a folder, and the faults of its form."""
    faults: list[Fault] = []
    entries = _load(folder / FILE_NAME, list, faults) or []
    id_map, run, _statistics = (_load(folder / name, dict, faults) for name in FILES[1:])
    samples: dict[str, Sample] = {}
    for number, sample in enumerate(entries, start=1):
        sample_id = sample.get("sample_id") if isinstance(sample, dict) else None
        place = f"{FILE_NAME}, {sample_id if isinstance(sample_id, str) and sample_id.strip() else f'sample {number}'}"
        sample_faults = list(_form_faults(sample, place))
        if place in samples:
            sample_faults = [Fault(place, "duplicates", f"the sample_id {sample_id!r} occurs again.")]
        faults += sample_faults
        if not sample_faults:
            samples[place] = sample
    if not (folder / CARD_FILE).is_file():
        faults.append(
            Fault(CARD_FILE, "schema", "it is not there; without its header `datasets` cannot load the folder.")
        )
    return MergedFolder(folder, samples, len(samples) == len(entries) > 0, id_map, run), faults


def short(value: object) -> str:
    """Returns a value for a sentence, cut if it is long."""
    try:
        text = "nothing" if value is None else repr(value)
    except (RecursionError, ValueError):  # a number of thousands of digits has no decimal form
        return "something too long to write"
    return text if len(text) <= 80 else text[:80] + "…"


def differences(actual: Any, expected: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any, Any]]:
    """Yields the path, the actual and the expected value wherever two JSON values differ; MISSING stands for no value."""
    if isinstance(actual, dict) and isinstance(expected, dict):
        for key in dict.fromkeys((*expected, *actual)):
            yield from differences(actual.get(key, MISSING), expected.get(key, MISSING), (*path, key))
    elif isinstance(actual, list) and isinstance(expected, list) and len(actual) == len(expected) > 0:
        if all(isinstance(item, dict | list) for item in (*actual, *expected)):
            for number, (item, expected_item) in enumerate(zip(actual, expected, strict=True), start=1):
                yield from differences(item, expected_item, (*path, number))
        elif actual != expected:
            yield path, actual, expected
    elif type(actual) is not type(expected) or actual != expected:
        yield path, actual, expected


def describe_difference(path: Sequence[Any], actual: Any, expected: Any, standard: str = "it must be") -> str:
    """Returns a sentence about a difference; `standard` introduces the expected value."""
    subject = " of ".join(repr(step) if isinstance(step, str) else f"number {step}" for step in reversed(path))
    actual_words = "missing" if actual is MISSING else short(actual)
    nothing = "absent" if standard.endswith("must be") else "nothing"
    expected_words = nothing if expected is MISSING else short(expected)
    return f"{f'its {subject}' if subject else 'it'} is {actual_words}; {standard} {expected_words}."


def _load(file: Path, kind: type, faults: list[Fault]) -> Any:
    """Returns the content of a file, or None with a fault."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        reason = "it is not there."
    except (OSError, ValueError, RecursionError) as error:  # ValueError: not JSON, not UTF-8, a number that is too long
        reason = f"it is not JSON that can be read: {error}."
    else:
        if isinstance(content, kind) and content:
            return content
        reason = f"it must be {'a list of samples' if kind is list else 'an object'}, and not empty."
    faults.append(Fault(file.name, "schema", reason))
    return None


# The form of a sample. Computed values (keys, ids, `seen`) are compared with the result of weaving instead.


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True, strict=True)


class _Turn(_Part):
    speaker: Text
    dia_id: Text
    text: str
    photos: list[Text] = []


class _Question(_Part):
    question_id: Text
    question: str
    evidence: list[str]
    category: Annotated[int, Field(ge=min(CATEGORY_NAMES), le=max(CATEGORY_NAMES))]
    photos: list[str]
    source: str
    group: int | None = None


class _Conversation(_Part):
    speaker_a: Text
    speaker_b: Text


class _Sample(_Part):
    sample_id: Text
    conversation: _Conversation
    qa: list[dict[str, Any]]
    groups: list[dict[str, Any]]


_SAMPLE, _GROUP, _TURN, _QUESTION = (TypeAdapter[Any](form) for form in (_Sample, GroupRecord, _Turn, _Question))


def _form_faults(sample: Any, place: str) -> Iterator[Fault]:
    if faults := list(_faults_by(_SAMPLE, sample, place)):
        yield from faults
        return
    conversation = sample["conversation"]
    parts = [(_GROUP, group, f"group {number}") for number, group in enumerate(sample["groups"], start=1)]
    for number, question in enumerate(sample["qa"], start=1):
        category, name = question.get("category"), f"question {question.get('question_id') or number}"
        is_visual = not isinstance(category, int) or category > ADVERSARIAL
        parts += [(form, question, name) for form in (_QUESTION, *([QUESTION] if is_visual else []))]
    for key in filter(_SESSION.fullmatch, conversation):
        turns, date = conversation[key], conversation.get(f"{key}_date_time")
        if not isinstance(turns, list) or not turns:
            yield Fault(
                f"{place}, {key}", "schema", f"it is {short(turns)}; it must be a list of turns, and not empty."
            )
        for number, turn in enumerate(turns if isinstance(turns, list) else (), start=1):
            parts.append((_TURN, turn, f"{key}, turn {number} (D{key.removeprefix('session_')}:{number})"))
        try:
            parse_date_time(date)
        except (ValueError, AttributeError):
            sentence = f"{key}_date_time is {short(date)}; LoCoMo writes it like '1:56 pm on 8 May, 2023'."
            yield Fault(place, "time", sentence)
    for form, value, part in parts:
        yield from _faults_by(form, value, f"{place}, {part}")


def _faults_by(form: TypeAdapter[Any], value: Any, place: str) -> Iterator[Fault]:
    try:
        form.validate_python(value, context=place_by_id(1))
    except RecursionError:
        yield Fault(place, "schema", "it is nested too deeply.")
    except ValidationError as error:
        for details in error.errors(include_url=False):
            path, message = ".".join(map(str, details["loc"])), details["msg"]
            reason = f"is {short(details['input'])}: {message[0].lower()}{message[1:]}"
            reason = "is missing" if details["type"] == "missing" else reason
            yield Fault(place, "schema", f"{repr(path) if path else 'it'} {reason}.")
