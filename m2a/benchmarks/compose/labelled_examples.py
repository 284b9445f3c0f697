"""Composes the five classification sets of MemoryAgentBench's test-time learning: labelled examples, then texts to label.

The recipe is as published. An example is a text, followed by a line "Label: number". Every class has the same number of examples,
so a class with too few repeats some. The numbers of the labels are arbitrary.
"""

import csv
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from m2a.benchmarks.dialogue import BenchmarkError
from m2a.benchmarks.memoryagentbench import OWN

QUESTIONS = 100
Example = tuple[str, str]


def compose_labelled_examples(intents: Path, *, seed: int = 1) -> list[dict[str, Any]]:
    """Returns a row for each set in the folder, in MemoryAgentBench's layout. Raises `BenchmarkError` if there is none."""
    rows = []
    for name, (shots, read) in SETS.items():
        try:
            train, test = read(intents)
        except FileNotFoundError:
            continue
        rows.append(_row(f"{OWN}icl_{name}_{shots}shot_balance", shots, train, test, random.Random(f"{seed}/{name}")))
    if not rows:
        raise BenchmarkError(f"{intents} holds none of banking77, clinc150, nlu_evaluation and trec.")
    return rows


def _row(
    source: str, shots: int, train: Sequence[Example], test: Sequence[Example], rng: random.Random
) -> dict[str, Any]:
    by_label: dict[str, list[str]] = defaultdict(list)
    for text, label in train:
        by_label[label].append(text)
    names = sorted(by_label)
    rng.shuffle(names)
    numbers = {label: number for number, label in enumerate(names)}
    per_label = -(-shots // len(names))
    examples = []
    for label in names:
        rng.shuffle(by_label[label])
        examples += [(text, label) for text in islice(cycle(by_label[label]), per_label)]
    rng.shuffle(examples)
    examples = examples[:shots]
    candidates = [(text, label) for text, label in test if label in numbers]
    questions = rng.sample(candidates, min(QUESTIONS, len(candidates)))
    return {
        "context": "\n".join(f"{text}\nLabel: {numbers[label]}\n" for text, label in examples),
        "questions": [text for text, _ in questions],
        "answers": [[str(numbers[label])] for _, label in questions],
        "metadata": {
            "source": source,
            "qa_pair_ids": [f"{source}_no{number}" for number in range(len(questions))],
            "labels": len(names),
            "repeated": len(examples) - len(set(examples)),
        },
    }


def _table(file: Path, label: str) -> list[Example]:
    with file.open(encoding="utf-8", newline="") as stream:
        return [(" ".join(row["text"].split()), row[label]) for row in csv.DictReader(stream)]


def _tables(name: str, label: str) -> Callable[[Path], tuple[list[Example], list[Example]]]:
    def read(folder: Path) -> tuple[list[Example], list[Example]]:
        train, test = (_table(folder / name / f"{part}.csv", label) for part in ("train", "test"))
        return train, test

    return read


def _clinc(folder: Path) -> tuple[list[Example], list[Example]]:
    parts: Mapping[str, Iterable[Sequence[str]]] = json.loads(
        (folder / "clinc150" / "data_full.json").read_text(encoding="utf-8")
    )
    train, test = ([(text, label) for text, label in parts[part]] for part in ("train", "test"))
    return train, test


def _trec(is_fine: bool) -> Callable[[Path], tuple[list[Example], list[Example]]]:
    def read(folder: Path) -> tuple[list[Example], list[Example]]:
        train, test = (_labels(folder / "trec" / name, is_fine) for name in ("train_5500.label", "TREC_10.label"))
        return train, test

    return read


def _labels(file: Path, is_fine: bool) -> list[Example]:
    examples = []
    for line in file.read_text(encoding="latin-1").splitlines():
        label, _, text = line.partition(" ")
        examples.append((text.strip(), label if is_fine else label.partition(":")[0]))
    return examples


Reader = Callable[[Path], tuple[list[Example], list[Example]]]
SETS: Mapping[str, tuple[int, Reader]] = {
    "banking77": (5900, _tables("banking77", "category")),
    "clinic150": (7050, _clinc),
    "nlu": (8296, _tables("nlu_evaluation", "intent")),
    "trec_coarse": (6600, _trec(False)),
    "trec_fine": (6400, _trec(True)),
}
"""By name, the number of examples in the published set, and the reader of its source."""
