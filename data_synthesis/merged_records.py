"""Checks of the files beside the benchmark: the photos, the record of the run, the statistics and the rows for `datasets`."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from data_synthesis.dataset_card import STATISTICS_FILE, tables_of
from data_synthesis.group import SynthesisError
from data_synthesis.merged_folder import RUN, Fault, MergedFolder, describe_difference, differences, short
from data_synthesis.merged_sample import parts_of
from data_synthesis.run_folder import PHOTOS, kept_name
from m2a.benchmarks.photos import is_decodable

_ABSOLUTE = re.compile(r'"((?:/|~/|file:|[A-Za-z]:[\\/])[^"]*)"')


def record_faults(merged: MergedFolder) -> Iterator[Fault]:
    """Where a file disagrees with the benchmark; most files can only be checked if all samples could be read."""
    if merged.run is not None and merged.run.get("finished") is not True:
        yield Fault(RUN, "records", "the run did not reach its end; the same command resumes it.")
    for text in _ABSOLUTE.findall(json.dumps(merged.run)):
        yield Fault(RUN, "records", f"it holds a path of one machine, {short(text)}.")
    for name, right in tables_of(list(merged.samples.values())).items() if merged.whole else ():
        try:
            actual = _read(name, (merged.path / name).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            if name != STATISTICS_FILE:  # for which there is a fault already
                yield Fault(name, "records", "it is not there, or not JSON in lines.")
            continue
        for difference in differences(actual, _read(name, right)):
            yield Fault(name, "records", describe_difference(*difference, "by the benchmark it must be"))
    if merged.whole:
        yield from _photo_faults(merged)


def _read(name: str, text: str) -> Any:
    return json.loads(text) if name == STATISTICS_FILE else [json.loads(line) for line in text.split("\n") if line]


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
