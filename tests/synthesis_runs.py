"""Shared by the tests of the synthesis: sources made once, a run with any generator, and its output."""

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from data_synthesis.answer_store import AnswerStore
from data_synthesis.group import Generator
from data_synthesis.pipeline import Outcome, run_settings, synthesize
from data_synthesis.plan import Plan
from data_synthesis.run_folder import RunFolder
from m2a.benchmarks.progress import Progress
from tests.requirements import SHARED, needs
from tests.synthesis_sources import make_concepts, make_locomo
from tests.tiny_generator import TinyGenerator

needs_shared = needs(SHARED)


@pytest.fixture(scope="module", name="concepts")
def drawn_concepts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_concepts(tmp_path_factory.mktemp("sources") / "concepts")


@pytest.fixture(scope="module", name="locomo")
def small_locomo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_locomo(tmp_path_factory.mktemp("sources") / "locomo.json")


def made(
    plan: Plan, out: Path, generator: Generator | None = None, answers: AnswerStore | None = None, concurrency: int = 1
) -> Outcome:
    generator = generator or TinyGenerator()
    folder = RunFolder(out)
    with folder.opened(run_settings(plan, generator)), closing(Progress(len(plan.groups))) as progress:
        return asyncio.run(
            synthesize(plan, folder, generator, progress=progress, concurrency=concurrency, answers=answers)
        )


def contents(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def samples_of(folder: Path) -> list[dict[str, Any]]:
    samples: list[dict[str, Any]] = json.loads((folder / "benchmark.json").read_text(encoding="utf-8"))
    return samples
