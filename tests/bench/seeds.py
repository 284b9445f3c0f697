"""The synthesis without a model over many seeds, on the half of the subjects and conversations that was held out.

`python -m tests.bench seeds [--layout NAME …] [--seeds FIRST LAST] [--groups N] [--split SEED] [--whole] [--keep FOLDER]`

The subjects of `../shared/data/dreambooth` and the conversations of LoCoMo are split in two by a seed; the subjects are then laid
out in four ways: as they are with their `concepts.json`, as Yo'LLaVA has them, as MC-LLaVA has them (both with questions of two
options made of the attributes), and as photos alone. For each layout it prints how many seeds end with every group made, how many
questions of categories 6 to 9 were asked for and delivered, in how many sets `--validate` finds nothing, and the seconds for
each set and its check. Failures are printed with their seed.
"""

import argparse
import asyncio
import json
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from data_synthesis.grammar import GrammarGenerator
from data_synthesis.group import QUESTION_RATIO, SynthesisError
from data_synthesis.pipeline import run_settings, synthesize
from data_synthesis.plan import plan_run
from data_synthesis.run_folder import RunFolder
from data_synthesis.validation import validate
from data_synthesis.wording import content_of
from m2a.benchmarks.locomo import read_samples, sample_files
from m2a.benchmarks.progress import Progress
from tests.bench.grammar import DREAMBOOTH, LOCOMO

SPLIT = 20261124
FAULTS_TOLD = 3


def half(items: Sequence[Any], seed: int) -> list[Any]:
    """Returns the half that is held out."""
    shuffled = random.Random(seed).sample(items, len(items))
    return [item for item in items if item in shuffled[len(items) // 2 :]]


# The layouts


def described(subjects: list[Any], folder: Path) -> None:
    """A folder for each subject, with `concepts.json`."""
    photos_alone(subjects, folder)
    (folder / "concepts.json").write_text(json.dumps({"format": "dreambooth-concepts/1", "subjects": subjects}))


def photos_alone(subjects: list[Any], folder: Path) -> None:
    for subject in subjects:
        for image in subject["images"]:
            _copy(image["path"], folder / image["path"])


def yollava(subjects: list[Any], folder: Path) -> None:
    questions = {}
    for subject in subjects:
        name = subject["alias"].lower().replace(" ", "-")
        entries = {}
        for number, image in enumerate(subject["images"]):
            _copy(image["path"], folder / ("test" if number % 2 else "train") / name / f"{number}.jpg")
        tested = [number for number in range(len(subject["images"])) if number % 2]
        for number, (text, options, right) in zip(tested, _two_options(subject, subjects), strict=False):
            entries[f"./yollava-data/test/{name}/{number}.jpg"] = {
                "question": text,
                "options": dict(zip("AB", options, strict=True)),
                "correct_answer": "AB"[options.index(right)],
            }
        questions[name] = entries
    (folder / "yollava-visual-qa.json").write_text(json.dumps(questions))


def mc_llava(subjects: list[Any], folder: Path) -> None:
    for subject in subjects:
        name, root = subject["alias"].replace(" ", ""), folder / "three_concept" / "concept"
        for number, image in enumerate(subject["images"]):
            _copy(image["path"], root / ("test" if number % 2 else "train") / name / f"{number}.jpg")
        tested = [number for number in range(len(subject["images"])) if number % 2]
        questions = {
            f"{name}/{number}.jpg": {
                "Human": f"<image>{text.replace('<sks>', f'<{name}>')} A. {options[0]} B. {options[1]}",
                "AI": "AB"[options.index(right)],
            }
            for number, (text, options, right) in zip(tested, _two_options(subject, subjects), strict=False)
        }
        (root / "test" / name / "choice.json").write_text(json.dumps(questions))


LAYOUTS: dict[str, Callable[[list[Any], Path], None]] = {
    "dreambooth": described,
    "yollava": yollava,
    "mc-llava": mc_llava,
    "photos": photos_alone,
}


def _copy(name: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(DREAMBOOTH / name, target)


def _two_options(subject: Any, subjects: list[Any]) -> list[tuple[str, list[str], str]]:
    """Returns question, options and answer of each attribute that looks quite different on another subject."""
    result = []
    for number, own in enumerate(subject["attributes"]):
        others = (
            a["value"] for peer in subjects if peer is not subject for a in peer["attributes"] if a["key"] == own["key"]
        )
        right = frozenset[str]().union(*map(content_of, (own["value"], *own["accept"])))
        wrong = [value for value in others if not content_of(value) & right]
        if wrong:
            options = [own["value"], wrong[number % len(wrong)]][:: 1 if number % 2 else -1]
            result.append((f"What is the {own['key'].replace('_', ' ')} of <sks>?", options, own["value"]))
    return result


# The runs


@dataclass(slots=True)
class Tally:
    ended: int = 0
    requested: int = 0
    delivered: int = 0
    least: float = 1.0
    clean: int = 0
    seconds: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def row(self, layout: str, seeds: int) -> str:
        share = f"{self.delivered} of {self.requested}" if self.requested else "waived"
        least = f"{self.least:.0%}" if self.requested else "–"
        spent = f"{mean(self.seconds):.1f} s" if self.seconds else "–"
        return f"{layout:12}{self.ended:3} of {seeds:3}   {share:14}{least:8}{self.clean:3}     {spent}"


def run_seed(locomo: Path, concepts: Path, out: Path, *, groups: int, seed: int, tally: Tally) -> None:
    start = time.perf_counter()
    try:
        plan = plan_run(locomo, concepts, groups=groups, seed=seed)
        generator, folder = GrammarGenerator(), RunFolder(out)
        with folder.opened(run_settings(plan, generator)), closing(Progress(len(plan.groups))) as progress:
            outcome = asyncio.run(synthesize(plan, folder, generator, progress=progress))
    except SynthesisError as error:
        tally.failed.append(f"seed {seed}: {error}")
        return
    report = validate(out, locomo, concepts)
    tally.seconds.append(time.perf_counter() - start)
    tally.ended += not outcome.set_aside
    tally.clean += not report.faults
    tally.failed += [f"seed {seed}: set aside: {reason}" for reason in outcome.set_aside.values()]
    tally.failed += [f"seed {seed}: {fault}" for fault in report.faults[:FAULTS_TOLD]]
    finished = [group for group in outcome.made.values() if not group.retrieval_only]
    delivered = sum(question.category in QUESTION_RATIO for group in finished for question in group.questions)
    requested = delivered + sum(len(group.dropped) for group in finished)
    tally.requested += requested
    tally.delivered += delivered
    tally.least = min(tally.least, delivered / requested if requested else 1.0)


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench seeds")
    parser.add_argument("--layout", nargs="+", choices=LAYOUTS, default=list(LAYOUTS))
    parser.add_argument("--seeds", nargs=2, type=int, default=(1, 30), metavar=("FIRST", "LAST"))
    parser.add_argument("--groups", type=int, default=2, help="per conversation")
    parser.add_argument("--split", type=int, default=SPLIT)
    parser.add_argument("--whole", action="store_true", help="all subjects and conversations instead of the half")
    parser.add_argument("--keep", type=Path, help="where the sets are left, to be looked at")
    chosen = parser.parse_args(list(options))
    subjects = json.loads((DREAMBOOTH / "concepts.json").read_text(encoding="utf-8"))["subjects"]
    samples = [sample for file in sample_files(LOCOMO) for sample in read_samples(file)]
    if not chosen.whole:
        subjects, samples = half(subjects, chosen.split), half(samples, chosen.split)
    print("subjects:", *(s["subject"] for s in subjects), "\nconversations:", *(s["sample_id"] for s in samples))
    print(f"{'layout':12}{'seeds':12} {'questions':14}{'least':8}{'clean':8}{'each'}", flush=True)
    first, last = chosen.seeds
    with tempfile.TemporaryDirectory() as folder:
        root = chosen.keep or Path(folder)
        locomo = root / "locomo.json"
        root.mkdir(parents=True, exist_ok=True)
        locomo.write_text(json.dumps(samples), encoding="utf-8")
        for layout in chosen.layout:
            concepts, tally = root / f"{layout}-concepts", Tally()
            LAYOUTS[layout](subjects, concepts)
            for seed in range(first, last + 1):
                out = root / f"{layout}-{seed}"
                run_seed(locomo, concepts, out, groups=chosen.groups, seed=seed, tally=tally)
                if chosen.keep is None:
                    shutil.rmtree(out, ignore_errors=True)
            print("\n".join([tally.row(layout, last - first + 1), *(f"  {row}" for row in tally.failed)]), flush=True)


if __name__ == "__main__":
    main()
