"""Figures with and without questions whose gold answer an audit found to be wrong."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from m2a.benchmarks import read_locomo
from m2a.evaluation.command import evaluate_app
from m2a.evaluation.known_errors import mark_known_errors
from m2a.evaluation.record import QuestionRecord
from m2a.evaluation.selection import with_long_answers
from m2a.evaluation.summary import summarise
from m2a.evaluation.tables import tables_of
from m2a.evaluation.terminal import UsageError
from tests.dialogues import write_dialogues


def audit(folder: Path, *listed: dict[str, Any]) -> Path:
    file = folder / "errors.json"
    file.write_text(json.dumps(listed))
    return file


def marked_in(folder: Path, *listed: dict[str, Any]) -> list[str]:
    benchmark = mark_known_errors(read_locomo(write_dialogues(folder)), audit(folder, *listed))
    return [question.text for question in benchmark.dialogues[0].questions if question.known_error]


def test_questions_are_known_by_their_words_and_wrong_evidence_alone_is_no_wrong_answer(tmp_path: Path) -> None:
    listed = [
        {
            "question_id": "locomo_0_qa2",
            "question": "where did  Olga move?",
            "golden_answer": "Lisbon",
            "error_type": "X",
        },
        {"question": "Which bird of Ben's can whistle?", "error_type": "WRONG_CITATION"},
        {"question": "Where is the pottery course?", "golden_answer": "Bath"},  # of other data
    ]
    assert marked_in(tmp_path, *listed) == ["Where did Olga move?"]
    assert marked_in(tmp_path, {"question_id": "conv-1/1"}) == ["What did Anna buy at the lake?"]


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ([{"question": "What is the weather?"}], "names none of these questions"),
        ([{"answer": "Lisbon"}], "is not a list of known errors"),
    ],
)
def test_a_list_of_other_data_is_refused(tmp_path: Path, listed: list[dict[str, Any]], expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        marked_in(tmp_path, *listed)
    with pytest.raises(UsageError, match="cannot be read"):
        mark_known_errors(read_locomo(write_dialogues(tmp_path)), tmp_path / "nowhere.json")


def test_figures_are_told_with_and_without_them() -> None:
    rows = [
        QuestionRecord("m2a", "d", f"d/{n}", "temporal", "?", "May", reply=reply, known_error=n == 3)
        for n, reply in enumerate(["May", "June", "May", "June"])
    ]
    summary = summarise(rows)
    assert summary["m2a"]["accepted_match"] == 0.5
    assert summary["m2a"]["without_known_errors"]["accepted_match"] == pytest.approx(2 / 3)
    [table] = [table for table in tables_of(summary, {}) if "known errors" in table.title]
    assert [row[:2] for row in table.rows] == [("m2a", "4"), ("m2a, without known errors", "3")]
    assert "without_known_errors" not in summarise([row for row in rows if not row.known_error])["m2a"]


def test_long_answers_are_asked_for_where_the_benchmark_says_nothing_of_its_own(tmp_path: Path) -> None:
    benchmark = with_long_answers(read_locomo(write_dialogues(tmp_path)))
    assert all("full sentences" in question.instructions for question in benchmark.dialogues[0].questions)


def test_a_run_does_not_go_on_with_another_list(tmp_path: Path) -> None:
    data = write_dialogues(tmp_path)
    command = ["--benchmark", "locomo", "--data", str(data), "--system", "bm25", "--retrieval-only"]
    command += ["--out", str(tmp_path / "out"), "--known-errors", str(tmp_path / "errors.json")]
    audit(tmp_path, {"question_id": "conv-1/1"})
    assert CliRunner().invoke(evaluate_app, command).exit_code == 0
    audit(tmp_path, {"question_id": "conv-1/2"})
    result = CliRunner().invoke(evaluate_app, command)
    assert result.exit_code == 2 and "another known_errors_sha256" in result.output
