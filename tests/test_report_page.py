"""The page of a report in a browser, narrow and wide: tables and charts scroll in boxes of their own, and can be read."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from m2a.evaluation.report import merge, write_report
from tests.report_rows import rows_of, run_folder

SYSTEMS = (
    "m2a", "m2a-paper", "m2a-semantic-only", "m2a-single-retrieval", "m2a-dense-only", "m2a-context-0", "m2a-context-10",
    "rag", "bm25", "full-context", "mem0", "a-mem",
)  # fmt: skip
LONG_NAME = "openai:an-organisation/a-model-with-a-long-name-72B-Instruct-AWQ"

# Words that lie over other words of the same chart, or outside of it.
OVERLAPS = """() => [...document.querySelectorAll("svg")].flatMap((svg) => {
  const box = svg.getBoundingClientRect();
  const words = [...svg.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
  const outside = (a) => a.left < box.left - 1 || a.right > box.right + 1 || a.top < box.top - 1 || a.bottom > box.bottom + 1;
  return words.flatMap(([text, a], at) => [
    ...(outside(a) ? [text] : []),
    ...words.slice(at + 1).filter(([, b]) => meet(a, b)).map(([other]) => `${text} | ${other}`),
  ]);
})"""
SMALLEST_WORDS = """() => Math.min(
  ...[...document.querySelectorAll("svg text")].map((text) => text.getBoundingClientRect().height)
)"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The reports of one run with many systems and of two runs side by side."""
    folder = tmp_path_factory.mktemp("reports")
    many = [
        row for number, system in enumerate(SYSTEMS) for row in rows_of(system, 0.3 + 0.04 * (number % 5), seed=number)
    ]
    first = run_folder(folder / "first", many)
    write_report(first)
    second = run_folder(folder / "second", rows_of("m2a", 0.5, seed=1), LONG_NAME)
    return [first / "report.html", merge([first, second], folder / "merged")]


@pytest.fixture(params=[(390, "dark"), (1280, "light")], ids=["narrow", "wide"])
def page(request: pytest.FixtureRequest, chromium: Browser) -> Iterator[Page]:
    width, scheme = request.param
    opened = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    yield opened
    opened.close()


@pytest.mark.parametrize("number", [0, 1], ids=["a run", "runs side by side"])
def test_nothing_is_wider_than_the_page_or_lies_over_something_else(
    page: Page, reports: list[Path], number: int
) -> None:
    page.goto(reports[number].as_uri())
    width = page.viewport_size["width"] if page.viewport_size else 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(OVERLAPS) == []
    assert page.evaluate(SMALLEST_WORDS) >= 8
    for place in page.locator("table").all():
        first = place.locator("tbody td").first.bounding_box()
        assert first is not None and 60 < first["width"] <= width / 2
        if width >= 1280:
            assert place.evaluate("table => table.scrollWidth <= table.parentElement.clientWidth")
