"""`--validate`: every rule that a merged folder must keep, whoever made it, and how far it can be answered unseen.

Nothing in the folder makes the check fail to run: what cannot be read is a fault as well, with its place.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from data_synthesis.checks.host import host_faults, id_map_faults
from data_synthesis.checks.photos import photo_faults
from data_synthesis.checks.questions import question_faults
from data_synthesis.checks.records import record_faults
from data_synthesis.checks.schema import read_folder
from data_synthesis.checks.seen import BENCHMARK, Fault, SeenFolder
from data_synthesis.checks.sessions import session_faults
from data_synthesis.group import SynthesisError
from data_synthesis.leakage import AskedQuestion, Rate, leakage
from m2a.benchmarks.locomo import CATEGORY_NAMES

__all__ = ["Fault", "Report", "validate"]

_TOLD = 20


@dataclass(frozen=True, slots=True)
class Report:
    """What is wrong, and the rates of leakage. `read` says in a line what was looked at."""

    faults: tuple[Fault, ...]
    figures: tuple[Rate, ...]
    read: str

    @property
    def ok(self) -> bool:
        return not self.faults

    def __str__(self) -> str:
        """The faults by rule, at most twenty of each, and the figures."""
        counts = Counter(fault.rule for fault in self.faults)
        lines = [self.read]
        for rule, count in counts.items():
            lines += [str(fault) for fault in self.faults if fault.rule == rule][:_TOLD]
            lines += [f"… and {count - _TOLD} more against the rule {rule!r}."] if count > _TOLD else []
        lines += [str(rate) for rate in self.figures]
        told = ", ".join(f"{rule} {count}" for rule, count in counts.items())
        total = len(self.faults)
        lines.append(f"{total} fault{'s' * (total != 1)}: {told}." if total else "No faults.")
        return "\n".join(lines)


def validate(folder: Path, locomo: Path | None = None) -> Report:
    """Check a folder, and with `locomo` its host's part against LoCoMo's own file (or the folder that holds it).

    Raises SynthesisError if there is no folder, and BenchmarkError if LoCoMo's file cannot be read.
    """
    if not folder.is_dir():
        raise SynthesisError(f"{folder} is no folder; name one that data_synthesis has made.")
    seen, faults = read_folder(folder)
    faults += session_faults(seen)
    faults += photo_faults(seen)
    faults += question_faults(seen)
    faults += id_map_faults(seen)
    faults += record_faults(seen, locomo)
    if locomo is not None:
        faults += host_faults(seen, locomo)
    figures = tuple(leakage(_asked(seen)))
    faults += [
        Fault(BENCHMARK, "leakage", f"{rate}: the visual questions can be answered without the photos.")
        for rate in figures
        if rate.too_high
    ]
    inserted = sum(len(group.sessions) for sample in seen.samples for group in sample.groups)
    read = (
        f"{folder}: {len(seen.samples)} conversations, {inserted} inserted sessions, "
        f"{sum(len(sample.questions) for sample in seen.samples)} questions"
    )
    return Report(
        tuple(dict.fromkeys(faults)), figures, f"{read}, {'not ' if locomo is None else ''}compared with LoCoMo."
    )


def _asked(seen: SeenFolder) -> list[AskedQuestion]:
    asked = []
    for sample in seen.samples:
        turns = [(turn.speaker, turn.text) for turn in sample.turns]
        said = {turn.dia_id: turn for turn in sample.turns}
        shown = {photo for turn in sample.turns for photo in turn.photos}
        asked += [
            AskedQuestion(
                *(CATEGORY_NAMES[one.category], one.text, (one.answer, *one.accepted), turns),
                evidence=tuple(said[dia_id].text for dia_id in one.evidence if dia_id in said),
                rests_on_photos=any(said[dia_id].photos for dia_id in one.evidence if dia_id in said),
                own_photo=("shown" if set(one.photos) & shown else "unseen") if one.photos else None,
                derived=bool(one.derivation),
            )
            for one in sample.questions
            if one.visual
        ]
    return asked
