"""What a merged folder says of itself: the record of its run, its statistics, the rows for `datasets` and their card."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from data_synthesis.dataset_card import CONVERSATIONS_FILE, QUESTIONS_FILE, conversation_rows, question_rows
from data_synthesis.merged_folder import CARD, RUN, STATISTICS, Fault, MergedFolder, short
from data_synthesis.merged_sample import MISSING, differences, told_difference
from data_synthesis.statistics import statistics_of
from m2a.benchmarks.locomo import sample_files

_ABSOLUTE = re.compile(r'"((?:/|~/|file:|[A-Za-z]:[\\/])[^"]*)"')


def record_faults(merged: MergedFolder, locomo: Path | None) -> Iterator[Fault]:
    """Each record against the benchmark; where a part of that is not of its form, nothing can be said of them."""
    folder, samples = merged.path, list(merged.samples.values())
    for part in sorted([*folder.glob("*.part"), *folder.glob("*/*.part")]):
        yield Fault(part.name, "records", "it is left over from a write that did not end.")
    if merged.run is not None:
        yield from (Fault(RUN, "records", sentence) for sentence in _run_faults(merged, locomo))
    if not merged.whole:
        return
    rows = {
        QUESTIONS_FILE: {row["question_id"]: row for row in question_rows(samples)},
        CONVERSATIONS_FILE: {f"{row['sample_id']} {row['dia_id']}": row for row in conversation_rows(samples)},
    }
    compared = [(STATISTICS, merged.statistics, json.loads(json.dumps(statistics_of(samples))))]
    compared += [(name, _rows(folder / name), right) for name, right in rows.items()]
    for name, found, right in compared:
        if found is not None:
            told = (told_difference(*one, "by the benchmark it must be") for one in differences(found, right))
            yield from (Fault(name, "records", sentence) for sentence in told)
        elif name != STATISTICS:
            yield Fault(name, "records", "it is not there, or not JSON in lines of the right form.")
    if (folder / CARD).is_file():
        header = (folder / CARD).read_bytes().partition(b"\n---")[0]
        for name in rows:
            if f"path: {name}".encode() not in header:
                yield Fault(CARD, "records", f"its header does not name {name}, so `datasets` cannot load it.")


def _run_faults(merged: MergedFolder, locomo: Path | None) -> Iterator[str]:
    run: Mapping[str, Any] = merged.run
    if run.get("finished") is not True:
        yield "the run did not reach its end; the same command takes it up again."
    for text in _ABSOLUTE.findall(json.dumps(run)):
        yield f"it holds a path of one machine, {short(text)}."
    settings, entries = run.get("settings"), run.get("groups")
    if not isinstance(settings, dict) or not isinstance(entries, list) or not isinstance(settings.get("seed"), int):
        yield "its 'settings' with the seed, or its list of 'groups', are not recorded."
        return
    hashes = own if isinstance(own := settings.get("locomo"), dict) else {}
    for file in sample_files(locomo) if locomo is not None else ():
        if hashes.get(file.name, sha256 := hashlib.sha256(file.read_bytes()).hexdigest()) != sha256:
            yield f"its sha256 of {file.name} is not that of the file given with --locomo."
    try:
        recorded = {
            f"group {one['group']} of {one['sample_id']}": _drawn(one, settings.get("generator"), dict.values)
            for one in entries
            if one.get("state", "made") == "made"
        }
    except (AttributeError, KeyError, TypeError):
        yield "its list of 'groups' is not of the form that a run writes."
        return
    made = {
        f"group {group['number']} of {sample['sample_id']}": _drawn(group, group["generator"], _stems)
        for sample in merged.samples.values()
        for group in sample["groups"]
    }
    for path, found, right in differences(recorded, made):
        if merged.whole or right is not MISSING:
            yield told_difference(path, found, right, "by the benchmark it must be")


def _drawn(group: Mapping[str, Any], generator: Any, hashes: Callable[[Any], Iterable[str]]) -> dict[str, Any]:
    """What was drawn for a group; `hashes` are those of a concept's photos."""
    concepts = [[one["subject"], one["name"], *sorted(hashes(one["photos"]))] for one in group["concepts"]]
    return {"after": group["after"], "times": group["times"], "generator": generator, "concepts": concepts}


def _stems(photos: Iterable[str]) -> Iterator[str]:
    return (Path(photo).stem for photo in photos)


def _rows(file: Path) -> dict[str, Any] | None:
    try:
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
        return {
            row["question_id"] if "question_id" in row else f"{row['sample_id']} {row['dia_id']}": row for row in rows
        }
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None
