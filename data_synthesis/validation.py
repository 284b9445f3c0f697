"""`--validate`: checks every rule of a merged folder, whatever made it, and measures how many questions need no photo.

No content of a folder stops the check: a part that cannot be read is a fault as well.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from data_synthesis.dataset_card import STATISTICS_FILE, tables_of
from data_synthesis.group import SynthesisError
from data_synthesis.leakage import AskedQuestion, Rate, leakage
from data_synthesis.merged_folder import (
    MISSING,
    Fault,
    MergedFolder,
    describe_difference,
    differences,
    read_folder,
    short,
)
from data_synthesis.merged_sample import UnwovenSample, check_sample, parts_of
from data_synthesis.run_folder import ID_MAP_FILE, PHOTOS, RUN_FILE, kept_name
from data_synthesis.sources import read_concepts
from data_synthesis.wording import long_sentences
from m2a.benchmarks.locomo import CATEGORY_NAMES, read_locomo, read_samples, sample_files, turns_of
from m2a.benchmarks.photos import is_decodable
from m2a.benchmarks.visual import FILE_NAME

__all__ = ["Fault", "Report", "validate"]

SHARED_LIMIT = 0.1
_ABSOLUTE = re.compile(r'"((?:/|~/|file:|[A-Za-z]:[\\/])[^"]*)"')
_SHOWN_PER_RULE = 20
# First rules about what cannot be read, then untrue, then too easy to answer, and at last merely untidy
_SEVERITY = (
    *("schema", "host", "numbering", "time", "groups", "photos", "truth", "temporal", "answer", "evidence"),
    *("ambiguous", "photo need", "leakage", "names", "ratio", "duplicates", "id map", "records"),
)


@dataclass(frozen=True, slots=True)
class Report:
    """The faults, and the rates of leakage and repetition. `summary` is a line about what was checked."""

    faults: tuple[Fault, ...]
    figures: tuple[Rate, ...]
    summary: str
    samples: tuple[UnwovenSample, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        """Returns the faults by rule, the most serious rule first and at most twenty faults of each, and the figures."""
        faults = sorted(self.faults, key=lambda fault: _SEVERITY.index(fault.rule))
        counts = Counter(fault.rule for fault in faults)
        lines = [self.summary]
        for rule, count in counts.items():
            lines += [str(fault) for fault in self.faults if fault.rule == rule][:_SHOWN_PER_RULE]
            if count > _SHOWN_PER_RULE:
                lines.append(f"… and {count - _SHOWN_PER_RULE} more against the rule {rule!r}.")
        lines += [str(rate) for rate in self.figures]
        by_rule = ", ".join(f"{rule} {count}" for rule, count in counts.items())
        total = len(self.faults)
        lines.append(f"{total} fault{'s' * (total != 1)}: {by_rule}." if total else "No faults.")
        return "\n".join(lines)


def validate(folder: Path, locomo: Path | None = None, concepts: Path | None = None) -> Report:
    """Checks a folder. With `locomo`, its host part is compared with LoCoMo's own file (or the folder that holds it); with
    `concepts`, its statements about concepts and photos are compared with the folder that it was made from.

    Raises SynthesisError if the folder does not exist or `concepts` cannot be read, and BenchmarkError if LoCoMo's file
    cannot be read.
    """
    if not folder.is_dir():
        raise SynthesisError(f"{folder} is not a folder; name one that data_synthesis has made.")
    merged, faults = read_folder(folder)
    source = {concept.subject: concept for concept in read_concepts(concepts).concepts} if concepts else None
    originals = {}
    if locomo is not None:
        read_locomo(locomo)
        originals = {sample["sample_id"]: sample for file in sample_files(locomo) for sample in read_samples(file)}
    samples, id_map, expected_id_map = [], merged.id_map or {}, {}
    for place, sample in merged.samples.items():
        sample_id = sample["sample_id"]
        if locomo is not None and sample_id not in originals:
            faults.append(Fault(place, "host", f"{locomo.name} has no sample {sample_id!r}."))
        unwoven, sample_faults = check_sample(place, sample, id_map.get(sample_id), originals.get(sample_id))
        samples.append(unwoven)
        faults += [*sample_faults, *(unwoven.source_faults(source) if source is not None else ())]
        expected_id_map[sample_id] = unwoven.id_map
    for sample_id in expected_id_map | (id_map if merged.whole else {}):
        actual, expected = id_map.get(sample_id, MISSING), expected_id_map.get(sample_id, MISSING)
        for difference in differences(actual, expected) if expected is not None else ():
            faults.append(Fault(f"{ID_MAP_FILE}, {sample_id}", "id map", describe_difference(*difference)))
    faults += _record_faults(merged)
    leaks = leakage([question for unwoven in samples for question in _questions_with_text(unwoven)])
    shared = [_shared_sentences(samples)] if len(samples) > 1 else []
    for rule, rates, reason in (
        ("leakage", leaks, "they are answered without the photos"),
        ("duplicates", shared, "they repeat each other"),
    ):
        faults += [Fault(FILE_NAME, rule, f"{rate}: {reason}.") for rate in rates if rate.too_high]
    inserted = sum(len(group["sessions"]) for unwoven in samples for group in unwoven.merged["groups"])
    questions = sum(len(unwoven.merged["qa"]) for unwoven in samples)
    summary = (
        f"{folder}: {len(samples)} conversations, {inserted} inserted sessions, {questions} questions, "
        f"{'not ' * (locomo is None)}compared with LoCoMo."
    )
    return Report(tuple(dict.fromkeys(faults)), (*leaks, *shared), summary, tuple(samples))


def _shared_sentences(samples: Sequence[UnwovenSample]) -> Rate:
    """Returns the share of the long sentences that are in more than one dialogue: people who never met do not talk alike."""
    counts: Counter[str] = Counter()
    for sample in samples:
        turns = [turn for woven in sample.woven_groups for session in woven.group.sessions for turn in session]
        counts.update({sentence for turn in turns for sentence in long_sentences(turn.text)})
    shared = sum(count > 1 for count in counts.values())
    return Rate("long sentences of more than one dialogue", shared, len(counts), SHARED_LIMIT)


def _questions_with_text(sample: UnwovenSample) -> list[AskedQuestion]:
    text = [(turn["speaker"], turn["text"]) for turn in turns_of(sample.merged["conversation"])]
    return [
        AskedQuestion(CATEGORY_NAMES[question.category], question.text, (question.answer, *question.accepted), text)
        for _, _, question in sample.questions()
    ]


# The files beside the benchmark


def _record_faults(merged: MergedFolder) -> Iterator[Fault]:
    """Yields where a file disagrees with the benchmark; most files can only be checked if all samples could be read."""
    if merged.run is not None and merged.run.get("finished") is not True:
        yield Fault(RUN_FILE, "records", "the run did not reach its end; the same command resumes it.")
    for text in _ABSOLUTE.findall(json.dumps(merged.run)):
        yield Fault(RUN_FILE, "records", f"it holds a path of one machine, {short(text)}.")
    for name, expected in tables_of(list(merged.samples.values())).items() if merged.whole else ():
        try:
            actual = _read(name, (merged.path / name).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            if name != STATISTICS_FILE:  # for which there is a fault already
                yield Fault(name, "records", "it is not there, or not JSON in lines.")
            continue
        for difference in differences(actual, _read(name, expected)):
            yield Fault(name, "records", describe_difference(*difference, "by the benchmark it must be"))
    if merged.whole:
        yield from _photo_faults(merged)


def _read(name: str, text: str) -> Any:
    return json.loads(text) if name == STATISTICS_FILE else [json.loads(line) for line in text.split("\n") if line]


def _photo_faults(merged: MergedFolder) -> Iterator[Fault]:
    """Yields photos that are not there, not named by their content or not pictures, and files that are no photo of the set."""
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
    """Returns why a run would not have kept this photo, or None."""
    file = folder / photo
    try:
        if file.is_symlink() or not file.is_file():
            return "it is not a plain file." if file.exists() else "the file is not there."
        if (expected := kept_name(file)) != photo:
            return f"by its bytes its name must be {expected!r}."
    except (SynthesisError, OSError, ValueError) as error:  # ValueError: a name that no file can have
        return f"it cannot be read: {error}"
    return None if is_decodable(file) else "it cannot be decoded."
