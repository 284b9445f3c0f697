"""Every twentieth case of what a memory must not lose, played without a model. `python -m tests.bench integrity` plays all."""

import asyncio

import pytest

from tests.bench.corpus import INTEGRITY
from tests.bench.integrity import Figures, measure


@pytest.fixture(scope="module")
def figures() -> Figures:
    return asyncio.run(measure(INTEGRITY, every=20))


@pytest.mark.parametrize(
    "name",
    [
        "pairs: rewritten",
        "pairs: false quotations",
        "one memory: false quotations",
        "corrections: false quotations",
        "stories: false quotations",
    ],
)
def test_no_statement_is_rewritten_and_no_quotation_is_invented(figures: Figures, name: str) -> None:
    happened, total = figures.counts[name]
    assert total and not happened, [fault for fault in figures.faults if fault.startswith(name)]


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("one memory: answered", 0.9),
        ("corrections: superseded or tied", 0.8),
        ("lookalikes: superseded or tied", 0.7),
        ("repeated: the newest answers", 0.5),
        ("stories: answered", 0.8),
    ],
)
def test_the_share_of_answers_and_corrections_does_not_fall(figures: Figures, name: str, share: float) -> None:
    happened, total = figures.counts[name]
    assert happened >= share * total, [fault for fault in figures.faults if fault.startswith(name)]


@pytest.mark.parametrize(
    ("name", "share"), [("pairs: lost", 0.03), ("lookalikes: hit another memory", 0.05), ("nothing: kept", 0.1)]
)
def test_few_statements_are_lost_mixed_up_or_kept_needlessly(figures: Figures, name: str, share: float) -> None:
    happened, total = figures.counts[name]
    assert happened <= share * total, [fault for fault in figures.faults if fault.startswith(name)]
