"""The merged visual set: LoCoMo with photo-grounded sessions woven in, as `data_synthesis` writes it."""

from dataclasses import replace
from pathlib import Path

from m2a.benchmarks.dialogue import Benchmark, BenchmarkError
from m2a.benchmarks.locomo import CATEGORY_NAMES, VISUAL_CATEGORIES, read_locomo

FILE_NAME = "benchmark.json"
VISUAL_CENTRIC = tuple(CATEGORY_NAMES[category] for category in VISUAL_CATEGORIES)


def read_visual(path: Path) -> Benchmark:
    """Returns the benchmark in a folder made by `data_synthesis`, or in its file. Raises `BenchmarkError`."""
    file = path / FILE_NAME if path.is_dir() else path
    if not file.is_file():
        raise BenchmarkError(f"{path} holds no {FILE_NAME}. Make the set with: python -m data_synthesis --out {path}")
    benchmark = replace(read_locomo(file), name="visual")
    if not set(benchmark.categories) & set(VISUAL_CENTRIC):
        raise BenchmarkError(f"{file} has no visual-centric question. For plain LoCoMo, use --benchmark locomo.")
    return benchmark
