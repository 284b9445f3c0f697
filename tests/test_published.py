"""Published figures against their own totals."""

from dataclasses import replace
from statistics import mean

import pytest

from m2a.evaluation import published_memoryagentbench
from m2a.evaluation.published_locomo import AGREES, LOCOMO_ROWS, QUESTIONS
from m2a.evaluation.record import QuestionRecord
from m2a.evaluation.summary import summarise
from m2a.evaluation.tables import tables_of


def test_rows_of_locomo_reproduce_their_overall_once_their_columns_are_put_right() -> None:
    for row in LOCOMO_ROWS:
        assert set(row.accuracy) == set(QUESTIONS)
        assert ("weighted mean" in row.note) == (abs(row.weighted_mean - row.overall) > AGREES)
    off = [(row.system, row.source) for row in LOCOMO_ROWS if "weighted mean" in row.note]
    assert off == [("LangMem", "HyMem, table 1")]  # 58.11, and not 49.91
    [hymem] = [row for row in LOCOMO_ROWS if row.system == "HyMem"]
    assert hymem.accuracy == {"multi-hop": 85.15, "temporal": 88.16, "open-domain": 77.08, "single-hop": 92.98}
    assert "columns corrected" in hymem.note and not next(row.note for row in LOCOMO_ROWS if row.system == "ENGRAM")


def test_a_judged_run_on_locomo_shows_them_with_question_counts_and_weighted_means() -> None:
    rows = [
        QuestionRecord("m2a", "d", f"d/{category}", category, "?", "May", reply="May", verdicts={"judge": "right"})
        for category in QUESTIONS
    ]
    [table] = [table for table in tables_of(summarise(rows), {}) if table.title.startswith("Published on LoCoMo")]
    counted = ("multi-hop (n = 282)", "temporal (n = 321)", "open-domain (n = 96)", "single-hop (n = 841)")
    assert table.columns == ("system", "source", *counted, "overall", "weighted mean", "note")
    cells = ("85.15", "88.16", "77.08", "92.98", "89.55", "89.55", "columns corrected: printed under other categories")
    assert ("HyMem, gpt-4.1-mini", "HyMem, table 1", *cells) in table.rows
    for other_rows in (rows[1:], [replace(row, verdicts={}) for row in rows]):  # a category or the judge is missing
        assert not any(table.title.startswith("Published") for table in tables_of(summarise(other_rows), {}))


def test_rows_of_memoryagentbench_reproduce_their_overall() -> None:
    for row in published_memoryagentbench.ROWS:
        competencies = (row.printed[:4], row.printed[4:6], row.printed[6:8], row.printed[8:])
        assert mean(map(mean, competencies)) == pytest.approx(row.overall, abs=0.1), row.system
