"""Parts of JSON that must be of a kind: each is given as it should be, or left out with a fault of the schema."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from data_synthesis.checks.seen import Fault, Json

_KINDS = {str: "text", int: "a number", list: "a list", dict: "an object"}


def load(file: Path, faults: list[Fault]) -> Json:
    """The content, or None with a fault."""

    def unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        made = dict(pairs)
        if len(made) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            faults.append(schema_fault(file.name, f"the key {twice!r} stands twice in one object."))
        return made

    if not file.is_file():
        faults.append(schema_fault(file.name, "it is not there."))
        return None
    try:
        content: Json = json.loads(file.read_text(encoding="utf-8"), object_pairs_hook=unique)
    except OSError as error:
        faults.append(schema_fault(file.name, f"it cannot be read: {error.strerror}."))
    except json.JSONDecodeError as error:
        faults.append(
            schema_fault(file.name, f"it is not JSON (line {error.lineno}, column {error.colno}: {error.msg}).")
        )
    except (ValueError, RecursionError) as error:  # not UTF-8, a number of thousands of digits, nested without end
        faults.append(schema_fault(file.name, f"it is not JSON that can be read: {error}."))
    else:
        if content is None:
            faults.append(schema_fault(file.name, "it holds nothing."))
        return content
    return None


def schema_fault(place: str, sentence: str) -> Fault:
    return Fault(place, "schema", sentence)


def value_of(raw: dict[str, Json], key: str, kind: type, place: str, faults: list[Fault], needed: bool = True) -> Json:
    """The value of a key if it is of this kind, else None with a fault; text that is needed must not be empty."""
    value = raw.get(key)
    if value is None and not needed:
        return None
    if not isinstance(value, kind) or isinstance(value, bool):
        what = "is missing" if key not in raw else f"must be {_KINDS[kind]}, but is {short(value)}"
        faults.append(schema_fault(place, f"{key!r} {what}."))
        return None
    if needed and kind is str and not str(value).strip():
        faults.append(schema_fault(place, f"{key!r} is empty."))
    return value


def short(value: Json) -> str:
    """A value as it stands in the file, cut where it is long."""
    try:
        text = "nothing" if value is None else json.dumps(value, ensure_ascii=True)
    except RecursionError:
        return "nested too deeply"
    return text if len(text) <= 80 else text[:80] + "…"


def texts_of(raw: dict[str, Json], key: str, place: str, faults: list[Fault], needed: bool = True) -> tuple[str, ...]:
    values = value_of(raw, key, list, place, faults, needed) or ()
    for value in values:
        if not isinstance(value, str):
            faults.append(schema_fault(place, f"{key!r} must be a list of texts, but holds {short(value)}."))
    return tuple(value for value in values if isinstance(value, str))


def objects_of(raw: dict[str, Json], key: str, place: str, faults: list[Fault]) -> list[tuple[int, dict[str, Json]]]:
    """The objects of a list, each with its number from 1."""
    values = list(enumerate(value_of(raw, key, list, place, faults) or (), start=1))
    for number, value in values:
        if not isinstance(value, dict):
            faults.append(
                schema_fault(place, f"{key!r} must be a list of objects, but its number {number} is {short(value)}.")
            )
    return [(number, value) for number, value in values if isinstance(value, dict)]


def unknown_keys(raw: dict[str, Json], known: Iterable[str], place: str, faults: list[Fault]) -> None:
    faults += [schema_fault(place, f"the key {key!r} is unknown.") for key in sorted(set(raw) - set(known))]


def moment_of(text: Json, key: str, place: str, faults: list[Fault]) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, TypeError, OverflowError):
        faults.append(schema_fault(place, f"{key!r} must be a time like 2023-05-08T13:56:00, but is {short(text)}."))
        return None
