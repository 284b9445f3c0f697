"""The five classification sets of MemoryAgentBench's test-time learning: labelled examples first, then texts to label.

The recipe as published: examples are "text", a line, "Label: number"; every class has as many, so a class with too few has
some twice; labels are numbers that say nothing.
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
    """A row for each set that the folder holds, in MemoryAgentBench's layout. Raises BenchmarkError where it holds none."""
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
    source: str, shots: int, train: Sequence[Example], test: Sequence[Example], draw: random.Random
) -> dict[str, Any]:
    by_label: dict[str, list[str]] = defaultdict(list)
    for text, label in train:
        by_label[label].append(text)
    names = sorted(by_label)
    draw.shuffle(names)
    numbers = {label: number for number, label in enumerate(names)}
    each = -(-shots // len(names))
    examples = []
    for label in names:
        draw.shuffle(by_label[label])
        examples += [(text, label) for text in islice(cycle(by_label[label]), each)]
    draw.shuffle(examples)
    examples = examples[:shots]
    known = [one for one in test if one[1] in numbers]
    asked = draw.sample(known, min(QUESTIONS, len(known)))
    return {
        "context": "\n".join(f"{text}\nLabel: {numbers[label]}\n" for text, label in examples),
        "questions": [text for text, _ in asked],
        "answers": [[str(numbers[label])] for _, label in asked],
        "metadata": {
            "source": source,
            "qa_pair_ids": [f"{source}_no{number}" for number in range(len(asked))],
            "labels": len(names),
            "repeated": len(examples) - len(set(examples)),
        },
    }


def _table(file: Path, label: str) -> list[Example]:
    with file.open(encoding="utf-8", newline="") as opened:
        return [(" ".join(row["text"].split()), row[label]) for row in csv.DictReader(opened)]


def _banking(folder: Path) -> tuple[list[Example], list[Example]]:
    train, test = (_table(folder / "banking77" / f"{part}.csv", "category") for part in ("train", "test"))
    return train, test


def _nlu(folder: Path) -> tuple[list[Example], list[Example]]:
    train, test = (_table(folder / "nlu_evaluation" / f"{part}.csv", "intent") for part in ("train", "test"))
    return train, test


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
    found = []
    for line in file.read_text(encoding="latin-1").splitlines():
        label, _, text = line.partition(" ")
        found.append((text.strip(), label if is_fine else label.partition(":")[0]))
    return found


Reader = Callable[[Path], tuple[list[Example], list[Example]]]
SETS: Mapping[str, tuple[int, Reader]] = {
    "banking77": (5900, _banking),
    "clinic150": (7050, _clinc),
    "nlu": (8296, _nlu),
    "trec_coarse": (6600, _trec(False)),
    "trec_fine": (6400, _trec(True)),
}
"""By name how many examples the published set shows."""
