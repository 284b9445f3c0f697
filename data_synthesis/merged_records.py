"""What a merged folder says of itself: the record of its run, its statistics, the rows for `datasets` and their card."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from data_synthesis.dataset_card import CONVERSATIONS_FILE, QUESTIONS_FILE, conversation_rows, question_rows
from data_synthesis.merged_folder import CARD, RUN, STATISTICS, Fault, MergedFolder, short
from data_synthesis.merged_sample import differences
from data_synthesis.statistics import statistics_of
from m2a.benchmarks.locomo import Sample, sample_files

_ABSOLUTE = re.compile(r"(?:/|~/|file:|[A-Za-z]:[\\/]).*", re.DOTALL)
_DATA_FILE = re.compile(r"^[\s-]*path:\s*[\"']?([\w./-]+)", re.MULTILINE)


def record_faults(merged: MergedFolder, locomo: Path | None) -> Iterator[Fault]:
    """Each record against the benchmark; where a part of that is not of its form, nothing can be said of them."""
    folder, samples = merged.path, list(merged.samples.values())
    for part in sorted([*folder.glob("*.part"), *folder.glob("*/*.part")]):
        yield Fault(part.name, "records", "it is left over from a write that did not end.")
    if merged.run is not None:
        yield from (Fault(RUN, "records", sentence) for sentence in _run_faults(merged, locomo))
    if not merged.whole:
        return
    if merged.statistics is not None:
        for path, found, right in differences(merged.statistics, json.loads(json.dumps(statistics_of(samples)))):
            place = ", ".join([STATISTICS, *map(str, path[:-1])])
            yield Fault(place, "records", f"{path[-1]}: it says {short(found)}; the benchmark has {short(right)}.")
    yield from _card_faults(folder, samples)


def _run_faults(merged: MergedFolder, locomo: Path | None) -> Iterator[str]:
    run: Mapping[str, Any] = merged.run
    if run.get("finished") is not True:
        yield "the run did not reach its end; the same command takes it up again."
    yield from (
        f"it holds a path of one machine, {short(text)}." for text in _texts_within(run) if _ABSOLUTE.fullmatch(text)
    )
    settings = run.get("settings")
    if not isinstance(settings, dict) or type(settings.get("seed")) is not int:
        yield "the seed is not recorded in 'settings'."
        return
    hashes = settings.get("locomo")
    if locomo is not None and isinstance(hashes, dict):
        for file in sample_files(locomo):
            if hashes.get(file.name, own := hashlib.sha256(file.read_bytes()).hexdigest()) != own:
                yield f"its sha256 of {file.name} is not that of the file given with --locomo."
    entries = run.get("groups")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        yield "'groups' is missing, or no list of objects."
        return
    recorded = {
        (str(entry.get("sample_id")), str(entry.get("group"))): entry
        for entry in entries
        if entry.get("state", "made") == "made"
    }
    made = {
        (sample["sample_id"], str(group["number"])): group
        for sample in merged.samples.values()
        for group in sample["groups"]
    }
    for sample_id, number in sorted(set(recorded) - set(made)):
        if merged.whole:
            yield f"group {number} of {sample_id} is recorded as made, but is not in the benchmark."
    for key, group in made.items():
        if key not in recorded:
            yield f"group {key[1]} of {key[0]} is in the benchmark, but is not recorded as made."
            continue
        right = _record_of(group)
        told = _record_of_entry(recorded[key], settings)
        for name, value in right.items():
            if told.get(name) != value:
                written = f"recorded as {short(told.get(name))}; the benchmark has {short(value)}"
                yield f"group {key[1]} of {key[0]}: its {name} {written}."


def _record_of(group: Mapping[str, Any]) -> dict[str, Any]:
    concepts = group["concepts"]
    return {
        "place is": group["after"],
        "times are": group["times"],
        "generator is": group["generator"],
        "concepts are": [[concept["subject"], concept["name"]] for concept in concepts],
        "photos are": [sorted(Path(photo).stem for photo in concept["photos"]) for concept in concepts],
    }


def _record_of_entry(entry: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    listed = entry.get("concepts")
    concepts = [one if isinstance(one, dict) else {} for one in listed] if isinstance(listed, list) else []
    photos = (one.get("photos") for one in concepts)
    return {
        "place is": entry.get("after"),
        "times are": entry.get("times"),
        "generator is": settings.get("generator"),
        "concepts are": [[one.get("subject"), one.get("name")] for one in concepts],
        "photos are": [sorted(map(str, one.values())) if isinstance(one, dict) else [] for one in photos],
    }


def _texts_within(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting += [*one, *one.values()]
        elif isinstance(one, list):
            waiting += one


def _card_faults(folder: Path, samples: Sequence[Sample]) -> Iterator[Fault]:
    """The header of the card names data files that are there, and their rows are those of the benchmark."""
    if not (folder / CARD).is_file():
        return  # a fault of the schema
    try:
        card = (folder / CARD).read_text(encoding="utf-8")
    except (OSError, ValueError):
        yield Fault(CARD, "records", "it cannot be read as text.")
        return
    header = card.split("---")[1] if card.startswith("---") and card.count("---") > 1 else ""
    files = _DATA_FILE.findall(header)
    if not files:
        yield Fault(CARD, "records", "its header names no data file, so `datasets` cannot load the folder.")
    for name in files:
        if not (folder / name).is_file():
            yield Fault(CARD, "records", f"its header names {name}, which is not there.")
    right: dict[str, Mapping[tuple[str, ...], Mapping[str, Any]]] = {
        QUESTIONS_FILE: {(row["question_id"],): row for row in question_rows(samples)},
        CONVERSATIONS_FILE: {(row["sample_id"], row["dia_id"]): row for row in conversation_rows(samples)},
    }
    for name, rows in right.items():
        if (folder / name).is_file():
            yield from _row_faults(folder / name, rows)


def _row_faults(file: Path, right: Mapping[tuple[str, ...], Mapping[str, Any]]) -> Iterator[Fault]:
    keys = ("question_id",) if file.name == QUESTIONS_FILE else ("sample_id", "dia_id")
    try:
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
        found = {tuple(str(row[key]) for key in keys): row for row in rows}
    except (OSError, ValueError, RecursionError, KeyError, TypeError) as error:
        yield Fault(file.name, "records", f"it is not JSON in lines of the right form: {error}.")
        return
    for path, told, row in differences(found, dict(right)):
        name = " ".join(path[0])
        if len(path) == 1:
            there = "not in the benchmark" if isinstance(told, dict) else "not in it"
            yield Fault(file.name, "records", f"{name} is {there}.")
        else:
            yield Fault(
                file.name, "records", f"{name}: its {path[1]} is {short(told)}; the benchmark has {short(row)}."
            )
