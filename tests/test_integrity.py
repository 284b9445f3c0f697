"""A tenth of the cases of what a memory must not lose, played without a model. `python -m tests.bench integrity` plays all."""

import asyncio

import pytest

from tests.bench.integrity import CASES, Figures, measure


@pytest.fixture(scope="module")
def figures() -> Figures:
    return asyncio.run(measure(CASES, every=10))


@pytest.mark.parametrize(
    "name",
    [
        "pairs: lost",
        "pairs: rewritten",
        "pairs: false quotations",
        "one memory: false quotations",
        "corrections: false quotations",
        "stories: false quotations",
        "lookalikes: hit another memory",
    ],
)
def test_what_must_never_happen(figures: Figures, name: str) -> None:
    happened, of = figures.counts[name]
    assert of and not happened, [fault for fault in figures.faults if fault.startswith(name)]


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("one memory: answered", 0.8),
        ("corrections: superseded or tied", 0.7),
        ("lookalikes: superseded or tied", 0.7),
        ("repeated: the newest answers", 0.8),
        ("stories: answered", 0.6),
    ],
)
def test_what_should_mostly_happen(figures: Figures, name: str, share: float) -> None:
    happened, of = figures.counts[name]
    assert happened >= share * of, [fault for fault in figures.faults if fault.startswith(name)]


def test_little_is_kept_for_nothing(figures: Figures) -> None:
    happened, of = figures.counts["nothing: kept"]
    assert happened <= 0.1 * of, figures.faults
