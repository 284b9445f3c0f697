"""`--validate`: every rule that a merged folder must keep, whoever made it, and how far it can be answered unseen.

Nothing in the folder makes the check fail to run: what cannot be read is a fault as well, with its place.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from data_synthesis.group import SynthesisError
from data_synthesis.leakage import AskedQuestion, Rate, leakage
from data_synthesis.merged_folder import BENCHMARK, ID_MAP, MISSING, Fault, differences, read_folder, told_difference
from data_synthesis.merged_photos import photo_faults
from data_synthesis.merged_records import record_faults
from data_synthesis.merged_sample import TakenApart, take_apart
from data_synthesis.merged_source import source_faults
from data_synthesis.sources import read_concepts
from data_synthesis.wording import long_sentences
from m2a.benchmarks.locomo import CATEGORY_NAMES, read_locomo, read_samples, sample_files, session_numbers

__all__ = ["Fault", "Report", "validate"]

SHARED_LIMIT = 0.1
_TOLD = 20
# What nobody can read first, then what is untrue, then what is answered too easily, then what is merely untidy.
_SEVERITY = (
    *("schema", "host", "numbering", "time", "groups", "photos", "truth", "temporal", "answer", "evidence"),
    *("ambiguous", "photo", "leakage", "names", "ratio", "duplicates", "id map", "records"),
)


@dataclass(frozen=True, slots=True)
class Report:
    """What is wrong, and the rates of leakage and repetition. `read` says in a line what was looked at, `parts` are the
    samples."""

    faults: tuple[Fault, ...]
    figures: tuple[Rate, ...]
    read: str
    parts: tuple[TakenApart, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        """The faults by rule, the gravest first and at most twenty of each, and the figures."""
        faults = sorted(self.faults, key=lambda fault: _SEVERITY.index(fault.rule))
        counts = Counter(fault.rule for fault in faults)
        lines = [self.read]
        for rule, count in counts.items():
            lines += [str(fault) for fault in self.faults if fault.rule == rule][:_TOLD]
            lines += [f"… and {count - _TOLD} more against the rule {rule!r}."] if count > _TOLD else []
        lines += [str(rate) for rate in self.figures]
        told = ", ".join(f"{rule} {count}" for rule, count in counts.items())
        total = len(self.faults)
        lines.append(f"{total} fault{'s' * (total != 1)}: {told}." if total else "No faults.")
        return "\n".join(lines)


def validate(folder: Path, locomo: Path | None = None, concepts: Path | None = None) -> Report:
    """Check a folder: with `locomo` its host's part against LoCoMo's own file (or the folder that holds it), and with
    `concepts` what it states of its concepts and photos against the folder that it was made from.

    Raises SynthesisError if there is no folder or `concepts` cannot be read, and BenchmarkError if LoCoMo's file cannot.
    """
    if not folder.is_dir():
        raise SynthesisError(f"{folder} is no folder; name one that data_synthesis has made.")
    merged, faults = read_folder(folder)
    source = None if concepts is None else read_concepts(concepts)
    originals = {}
    if locomo is not None:
        read_locomo(locomo)
        originals = {sample["sample_id"]: sample for file in sample_files(locomo) for sample in read_samples(file)}
    parts, id_map = [], merged.id_map or {}
    for place, sample in merged.samples.items():
        sample_id = sample["sample_id"]
        if locomo is not None and sample_id not in originals:
            faults.append(Fault(place, "host", f"{locomo.name} has no sample {sample_id!r}."))
        apart, found = take_apart(place, sample, id_map.get(sample_id), originals.get(sample_id))
        parts.append(apart)
        faults += found
        faults += source_faults(apart, source) if source is not None else ()
    right_map = {apart.sample["sample_id"]: apart.id_map for apart in parts if apart.id_map is not None}
    for sample_id in (*right_map, *(one for one in id_map if merged.whole and one not in right_map)):
        for difference in differences(id_map.get(sample_id, MISSING), right_map.get(sample_id, MISSING)):
            faults.append(Fault(f"{ID_MAP}, {sample_id}", "id map", told_difference(*difference)))
    faults += [*photo_faults(merged, parts), *record_faults(merged, locomo)]
    figures = leakage([question for apart in parts for question in _asked(apart)])
    alike = _said_by_others(parts) if len(parts) > 1 else []
    faults += [
        Fault(BENCHMARK, "leakage", f"{rate}: they are answered without the photos.")
        for rate in figures
        if rate.too_high
    ]
    faults += [Fault(BENCHMARK, "duplicates", f"{rate}: they repeat each other.") for rate in alike if rate.too_high]
    inserted = sum(len(group["sessions"]) for apart in parts for group in apart.sample["groups"])
    questions = sum(len(apart.sample["qa"]) for apart in parts)
    read = (
        f"{folder}: {len(parts)} conversations, {inserted} inserted sessions, {questions} questions, "
        f"{'not ' * (locomo is None)}compared with LoCoMo."
    )
    return Report(tuple(dict.fromkeys(faults)), (*figures, *alike), read, tuple(parts))


def _said_by_others(parts: Sequence[TakenApart]) -> list[Rate]:
    """How many of the long sentences more than one dialogue has: people who never met do not talk alike."""
    texts = [[turn.text for one in apart.made for session in one.group.sessions for turn in session] for apart in parts]
    said = Counter(sentence for own in texts for sentence in {s for text in own for s in long_sentences(text)})
    shared = sum(count > 1 for count in said.values())
    return [Rate("long sentences of more than one dialogue", shared, len(said), SHARED_LIMIT)]


def _asked(apart: TakenApart) -> list[AskedQuestion]:
    conversation = apart.sample["conversation"]
    turns = [turn for number in session_numbers(conversation) for turn in conversation[f"session_{number}"]]
    words = [(turn["speaker"], turn["text"]) for turn in turns]
    return [
        AskedQuestion(CATEGORY_NAMES[one.category], one.text, (one.answer, *one.accepted), words)
        for _, _, one in apart.questions()
    ]
