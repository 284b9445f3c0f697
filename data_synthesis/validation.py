"""`--validate`: checks every rule of a merged folder, whatever made it, and measures how many questions need no photo.

No content of a folder stops the check: a part that cannot be read is a fault as well.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from data_synthesis.group import SynthesisError
from data_synthesis.leakage import AskedQuestion, Rate, leakage
from data_synthesis.merged_folder import (
    BENCHMARK,
    ID_MAP,
    MISSING,
    Fault,
    describe_difference,
    differences,
    read_folder,
)
from data_synthesis.merged_records import record_faults
from data_synthesis.merged_sample import UnwovenSample, take_apart
from data_synthesis.sources import read_concepts
from data_synthesis.wording import long_sentences
from m2a.benchmarks.locomo import CATEGORY_NAMES, read_locomo, read_samples, sample_files, turns_of

__all__ = ["Fault", "Report", "validate"]

SHARED_LIMIT = 0.1
_SHOWN_PER_RULE = 20
# First rules about what cannot be read, then untrue, then too easy to answer, and at last merely untidy
_SEVERITY = (
    *("schema", "host", "numbering", "time", "groups", "photos", "truth", "temporal", "answer", "evidence"),
    *("ambiguous", "photo", "leakage", "names", "ratio", "duplicates", "id map", "records"),
)


@dataclass(frozen=True, slots=True)
class Report:
    """The faults, and the rates of leakage and repetition. `summary` is a line about what was checked."""

    faults: tuple[Fault, ...]
    figures: tuple[Rate, ...]
    summary: str
    samples: tuple[UnwovenSample, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        """The faults by rule, the gravest rule first and at most twenty faults of each, and the figures."""
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
    """Check a folder. With `locomo`, its host part is compared with LoCoMo's own file (or the folder that holds it); with
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
    samples, id_map, right_map = [], merged.id_map or {}, {}
    for place, sample in merged.samples.items():
        sample_id = sample["sample_id"]
        if locomo is not None and sample_id not in originals:
            faults.append(Fault(place, "host", f"{locomo.name} has no sample {sample_id!r}."))
        unwoven, sample_faults = take_apart(place, sample, id_map.get(sample_id), originals.get(sample_id))
        samples.append(unwoven)
        faults += [*sample_faults, *(unwoven.source_faults(source) if source is not None else ())]
        right_map[sample_id] = unwoven.id_map
    for sample_id in right_map | (id_map if merged.whole else {}):
        actual, right = id_map.get(sample_id, MISSING), right_map.get(sample_id, MISSING)
        for difference in differences(actual, right) if right is not None else ():
            faults.append(Fault(f"{ID_MAP}, {sample_id}", "id map", describe_difference(*difference)))
    faults += record_faults(merged)
    told = leakage([question for unwoven in samples for question in _questions_with_text(unwoven)])
    shared = [_shared_sentences(samples)] if len(samples) > 1 else []
    for rule, rates, reason in (
        ("leakage", told, "they are answered without the photos"),
        ("duplicates", shared, "they repeat each other"),
    ):
        faults += [Fault(BENCHMARK, rule, f"{rate}: {reason}.") for rate in rates if rate.too_high]
    inserted = sum(len(group["sessions"]) for unwoven in samples for group in unwoven.merged["groups"])
    questions = sum(len(unwoven.merged["qa"]) for unwoven in samples)
    summary = (
        f"{folder}: {len(samples)} conversations, {inserted} inserted sessions, {questions} questions, "
        f"{'not ' * (locomo is None)}compared with LoCoMo."
    )
    return Report(tuple(dict.fromkeys(faults)), (*told, *shared), summary, tuple(samples))


def _shared_sentences(samples: Sequence[UnwovenSample]) -> Rate:
    """The share of the long sentences that are in more than one dialogue: people who never met do not talk alike."""
    counts: Counter[str] = Counter()
    for sample in samples:
        turns = [turn for made in sample.made for session in made.group.sessions for turn in session]
        counts.update({sentence for turn in turns for sentence in long_sentences(turn.text)})
    shared = sum(count > 1 for count in counts.values())
    return Rate("long sentences of more than one dialogue", shared, len(counts), SHARED_LIMIT)


def _questions_with_text(sample: UnwovenSample) -> list[AskedQuestion]:
    text = [(turn["speaker"], turn["text"]) for turn in turns_of(sample.merged["conversation"])]
    return [
        AskedQuestion(CATEGORY_NAMES[question.category], question.text, (question.answer, *question.accepted), text)
        for _, _, question in sample.questions()
    ]
