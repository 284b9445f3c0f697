"""Checks of a merged folder's records: its run, its statistics, the rows for `datasets` and their card."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from data_synthesis.dataset_card import CONVERSATIONS_FILE, QUESTIONS_FILE, STATISTICS_FILE, tables_of
from data_synthesis.merged_folder import (
    CARD,
    MISSING,
    RUN,
    Fault,
    MergedFolder,
    describe_difference,
    differences,
    short,
)
from m2a.benchmarks.locomo import sample_files

_ABSOLUTE = re.compile(r'"((?:/|~/|file:|[A-Za-z]:[\\/])[^"]*)"')
_BY_THE_BENCHMARK = "by the benchmark it must be"


def record_faults(merged: MergedFolder, locomo: Path | None) -> Iterator[Fault]:
    """Where a record disagrees with the benchmark; most records can only be checked if all samples could be read."""
    folder = merged.path
    if merged.run is not None:
        yield from (Fault(RUN, "records", sentence) for sentence in _run_faults(merged, locomo))
    if not merged.whole:
        return
    for name, right in tables_of(list(merged.samples.values())).items():
        try:
            actual = _read(name, (folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            if name != STATISTICS_FILE:  # for which there is a fault already
                yield Fault(name, "records", "it is not there, or not JSON in lines.")
            continue
        for difference in differences(actual, _read(name, right)):
            yield Fault(name, "records", describe_difference(*difference, _BY_THE_BENCHMARK))
    if (folder / CARD).is_file():
        header = (folder / CARD).read_bytes().partition(b"\n---")[0]
        for name in (QUESTIONS_FILE, CONVERSATIONS_FILE):
            if f"path: {name}".encode() not in header:
                yield Fault(CARD, "records", f"its header does not name {name}, so `datasets` cannot load it.")


def _read(name: str, text: str) -> Any:
    return json.loads(text) if name == STATISTICS_FILE else [json.loads(line) for line in text.split("\n") if line]


def _run_faults(merged: MergedFolder, locomo: Path | None) -> Iterator[str]:
    run: Mapping[str, Any] = merged.run
    if run.get("finished") is not True:
        yield "the run did not reach its end; the same command resumes it."
    for text in _ABSOLUTE.findall(json.dumps(run)):
        yield f"it holds a path of one machine, {short(text)}."
    try:
        settings, hashes = run["settings"], run["settings"].get("locomo") or {}
        recorded = {
            f"group {one['group']} of {one['sample_id']}": _drawn(one, settings["generator"], dict.values)
            for one in run["groups"]
            if one.get("state", "made") == "made"
        }
        for file in sample_files(locomo) if locomo is not None else ():
            if hashes.get(file.name, sha256 := hashlib.sha256(file.read_bytes()).hexdigest()) != sha256:
                yield f"its sha256 of {file.name} is not that of the file given with --locomo."
    except (AttributeError, KeyError, TypeError):
        yield "its 'settings', or its list of 'groups', are not of the form that a run writes."
        return
    made = {
        f"group {group['number']} of {sample['sample_id']}": _drawn(group, group["generator"], _hashes)
        for sample in merged.samples.values()
        for group in sample["groups"]
    }
    for path, actual, right in differences(recorded, made):
        if merged.whole or right is not MISSING:
            yield describe_difference(path, actual, right, _BY_THE_BENCHMARK)


def _drawn(group: Mapping[str, Any], generator: Any, hashes: Callable[[Any], Iterable[str]]) -> dict[str, Any]:
    """The choices for a group; `hashes` gives the hashes of a concept's photos."""
    concepts = [
        [concept["subject"], concept["name"], *sorted(hashes(concept["photos"]))] for concept in group["concepts"]
    ]
    return {"after": group["after"], "times": group["times"], "generator": generator, "concepts": concepts}


def _hashes(photos: Iterable[str]) -> Iterator[str]:
    return (Path(photo).stem for photo in photos)
