"""Checks of the files beside the benchmark: the photos, the record of the run, the statistics and the rows for `datasets`."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from data_synthesis.dataset_card import STATISTICS_FILE, tables_of
from data_synthesis.group import SynthesisError
from data_synthesis.merged_folder import MISSING, RUN, Fault, MergedFolder, describe_difference, differences, short
from data_synthesis.merged_sample import parts_of
from data_synthesis.run_folder import PHOTOS, kept_name
from m2a.benchmarks.photos import is_decodable

_ABSOLUTE = re.compile(r'"((?:/|~/|file:|[A-Za-z]:[\\/])[^"]*)"')
_BY_THE_BENCHMARK = "by the benchmark it must be"


def record_faults(merged: MergedFolder) -> Iterator[Fault]:
    """Where a file disagrees with the benchmark; most files can only be checked if all samples could be read."""
    if merged.run is not None:
        yield from (Fault(RUN, "records", sentence) for sentence in _run_faults(merged))
    for name, right in tables_of(list(merged.samples.values())).items() if merged.whole else ():
        try:
            actual = _read(name, (merged.path / name).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            if name != STATISTICS_FILE:  # for which there is a fault already
                yield Fault(name, "records", "it is not there, or not JSON in lines.")
            continue
        for difference in differences(actual, _read(name, right)):
            yield Fault(name, "records", describe_difference(*difference, _BY_THE_BENCHMARK))
    if merged.whole:
        yield from _photo_faults(merged)


def _read(name: str, text: str) -> Any:
    return json.loads(text) if name == STATISTICS_FILE else [json.loads(line) for line in text.split("\n") if line]


def _run_faults(merged: MergedFolder) -> Iterator[str]:
    if merged.run.get("finished") is not True:
        yield "the run did not reach its end; the same command resumes it."
    for text in _ABSOLUTE.findall(json.dumps(merged.run)):
        yield f"it holds a path of one machine, {short(text)}."
    try:
        generator = merged.run["settings"]["generator"]
        recorded = {
            f"group {one['group']} of {one['sample_id']}": _drawn({**one, "generator": generator})
            for one in merged.run["groups"]
            if one.get("state", "made") == "made"
        }
    except (AttributeError, KeyError, TypeError):
        yield "its 'settings', or its list of 'groups', are not of the form that a run writes."
        return
    made = {
        f"group {group['number']} of {sample['sample_id']}": _drawn(group)
        for sample in merged.samples.values()
        for group in sample["groups"]
    }
    for path, actual, right in differences(recorded, made):
        if merged.whole or right is not MISSING:
            yield describe_difference(path, actual, right, _BY_THE_BENCHMARK)


def _drawn(group: Mapping[str, Any]) -> dict[str, Any]:
    """The choices for a group. A run records the photos of a concept with their hashes, a sample has their names."""
    concepts = []
    for concept in group["concepts"]:
        photos = concept["photos"]
        hashes = photos.values() if isinstance(photos, Mapping) else (Path(photo).stem for photo in photos)
        concepts.append([concept["subject"], concept["name"], *sorted(hashes)])
    return {"concepts": concepts, **{key: group[key] for key in ("after", "times", "generator")}}


def _photo_faults(merged: MergedFolder) -> Iterator[Fault]:
    """Photos that are not there, not named by their content or not pictures, and files that are no photo of the set."""
    places: dict[str, str] = {}
    for sample_place, sample in merged.samples.items():
        for (_, place), part in parts_of(sample).items():
            for named in (part, *part.get("concepts", ())) if isinstance(part, dict) else ():
                for photo in (*(named.get("photos") or ()), *named.get("unseen_photos", ())):
                    places.setdefault(photo, f"{sample_place}, {place}")
    for photo, place in places.items():
        if fault := _file_fault(merged.path, photo):
            yield Fault(place, "photos", f"{photo!r}: {fault}")
    for file in sorted((merged.path / PHOTOS).rglob("*")):
        name = file.relative_to(merged.path).as_posix()
        if not file.is_dir() and name not in places:
            yield Fault(name, "photos", "no turn shows this file, and no question comes with it.")


def _file_fault(folder: Path, photo: str) -> str | None:
    """Why a run would not have kept this photo, or None."""
    file = folder / photo
    try:
        if file.is_symlink() or not file.is_file():
            return "it is not a plain file." if file.exists() else "the file is not there."
        if (right := kept_name(file)) != photo:
            return f"by its bytes its name must be {right!r}."
    except (SynthesisError, OSError, ValueError) as error:  # ValueError: a name that no file can have
        return f"it cannot be read: {error}"
    return None if is_decodable(file) else "it cannot be decoded."
