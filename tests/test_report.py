"""Reports of a run, of several side by side, and the comparison of two."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from m2a.evaluation.amounts import amounts_of
from m2a.evaluation.command import report_app
from m2a.evaluation.compare import compare
from m2a.evaluation.failures import telling_failures
from m2a.evaluation.record import IngestionRecord, QuestionRecord, RowError, as_line, read_rows
from m2a.evaluation.report import ReportError, merge, write_report
from m2a.evaluation.summary import summarise
from m2a.evaluation.tables import tables_of
from tests.report_rows import rows_of, run_folder


def test_rows_are_written_and_read_alike(tmp_path: Path) -> None:
    rows = rows_of("m2a", 0.5, seed=1, count=3)
    folder = run_folder(tmp_path / "run", rows)
    assert read_rows(folder / "questions.jsonl", QuestionRecord) == rows
    assert read_rows(folder / "ingestion.jsonl", IngestionRecord)[0].messages == 80
    with (folder / "questions.jsonl").open("a", encoding="utf-8") as file:
        file.write(as_line(rows[0])[:40])  # killed in mid-write
    assert read_rows(folder / "questions.jsonl", QuestionRecord) == rows
    assert read_rows(tmp_path / "none.jsonl", QuestionRecord) == []


def test_a_report_has_tables_charts_and_failures_and_runs_nothing(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run", rows_of("m2a", 0.8, seed=1) + rows_of("rag", 0.3, seed=2))
    write_report(folder)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Accuracy by category" in page
    assert "M2A, Qwen3-VL-8B (published)" in page
    assert page.count("<svg") == 3  # by category, against tokens, against time
    assert "The most telling failures" in page
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert set(re.findall(r"https?://[^/\"]*", page)) <= {"http://www.w3.org"}  # names of namespaces, never fetched
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert "| m2a | " in text
    assert (
        "as ENGRAM normalises them, except that signs in numbers are kept: 1.5 is not 15."
        in text.split("### Answers compared")[1]
    )
    assert [path.name for path in folder.iterdir() if path.suffix == ".part"] == []


def test_the_same_run_gives_the_same_report(tmp_path: Path) -> None:
    rows = rows_of("m2a", 0.8, seed=1) + rows_of("rag", 0.3, seed=2)
    first, second = (run_folder(tmp_path / name, rows) for name in ("a", "b"))
    write_report(first)
    write_report(second)
    assert (first / "report.html").read_bytes() == (second / "report.html").read_bytes()


def test_a_run_of_retrieval_alone_has_the_tables_of_retrieval(tmp_path: Path) -> None:
    rows = [
        replace(row, reply=None, calls=0, input_tokens=None, output_tokens=None)
        for row in rows_of("bm25", 0.6, seed=1, judged=False)
    ]
    titles = [table.title for table in tables_of(summarise(rows), amounts_of(rows, []))]
    assert titles == ["Evidence found, %", "recall@10 by category, %", "Cost per question"]
    folder = run_folder(tmp_path / "run", rows)
    write_report(folder)
    assert "recall@10 by category" in (folder / "report.md").read_text(encoding="utf-8")


def test_what_taking_in_took_stands_beside_what_answering_took() -> None:
    rows = rows_of("engram", 0.6, seed=1) + rows_of("rag", 0.6, seed=1)
    ingestion = [
        IngestionRecord("engram", "conv-1", "K = 25", False, 80, 40.0, 9_000, 1_000, calls=170, cost=0.25, failures=2),
        IngestionRecord("rag", "conv-1", "dense", True, 80, 2.0),
    ]
    answering, taking_in = tables_of(summarise(rows), amounts_of(rows, ingestion))[-2:]
    assert answering.title == "Cost per question" and answering.rows[0][:4] == ("engram", "700", "20,020", "3.0")
    assert taking_in.title == "Ingestion of the dialogues"
    cells = [dict(zip(taking_in.columns, row, strict=True)) for row in taking_in.rows]
    assert cells[0] == {
        "system": "engram", "version": "K = 25", "messages": "80", "stored": "by the chat model", "messages/s": "2.0",
        "seconds": "40.0", "calls": "170", "tokens": "10,000", "cost": "$0.25", "failed model calls": "2",
    }  # fmt: skip
    assert (cells[1]["stored"], cells[1]["calls"], cells[1]["cost"]) == ("as they are, without a chat model", "–", "–")


def test_failures_come_first_where_systems_differ() -> None:
    m2a_rows, rag_rows = rows_of("m2a", 1.0, seed=1, count=4), rows_of("rag", 1.0, seed=1, count=4)
    wrong = {"verdicts": {"judge": "wrong"}}
    m2a_rows[1], rag_rows[1] = replace(m2a_rows[1], **wrong), replace(rag_rows[1], **wrong)
    rag_rows[2] = replace(rag_rows[2], **wrong)
    failures = telling_failures(m2a_rows + rag_rows)
    assert [failure.question.question_id for failure in failures] == ["conv-1/2", "conv-1/1"]
    assert [right for _, right in failures[0].rows] == [True, False]


def test_runs_side_by_side_give_table_1_and_the_figures(tmp_path: Path) -> None:
    context = [row for turns in (0, 5, 20) for row in rows_of(f"m2a-context-{turns}", 0.3 + turns / 50, seed=turns)]
    runs = [
        run_folder(tmp_path / "a", rows_of("m2a", 0.8, seed=1) + rows_of("rag", 0.3, seed=2)),
        run_folder(tmp_path / "b", context, chat_model="openai:large"),
    ]
    page = merge(runs, tmp_path / "out").read_text(encoding="utf-8")
    for words in ("openai:small", "openai:large", "figure 4", "figure 5", "Published: table 1", "visual-centric"):
        assert words in page


def test_two_runs_are_compared_question_by_question(tmp_path: Path) -> None:
    before = rows_of("m2a", 0.4, seed=1)
    after = [replace(row, verdicts={"judge": "right"}) for row in before[:30]]
    text = compare(run_folder(tmp_path / "a", before), run_folder(tmp_path / "b", after))
    (line,) = [line for line in text.splitlines() if line.startswith("| accuracy")]
    assert "| 30 |" in line
    assert "100.0" in line
    assert "(+" in line  # the whole interval is above zero


def test_only_judges_of_both_runs_are_compared(tmp_path: Path) -> None:
    rows = [replace(row, reply="red") for row in rows_of("m2a", 1.0, seed=1)]
    first_folder, second_folder, unjudged_folder = (
        run_folder(tmp_path / str(at), [replace(row, verdicts=dict.fromkeys(judges, "right")) for row in rows])
        for at, judges in enumerate((("a", "b"), ("b", "c"), ()))
    )
    text = compare(first_folder, second_folder)
    assert (
        "| judge:b | 40 | 100.0 | 100.0 | +0.0 (+0.0 to +0.0) |" in text and "| accuracy | 40 | 100.0 | 100.0 |" in text
    )
    assert "judge:a" not in text and "judge:c" not in text
    assert "The first run was judged by a, b, the second by b, c; only judges of both count." in text
    unjudged = compare(first_folder, unjudged_folder)
    assert "accuracy" not in unjudged and "judge" in unjudged and "| f1 | 40 | 100.0 | 100.0 |" in unjudged


def test_a_system_that_has_learned_from_the_dialogues_is_marked(tmp_path: Path) -> None:
    rows = rows_of("m2a", 0.8, seed=1) + rows_of("m2a-paper", 0.4, seed=2)
    folder = run_folder(tmp_path / "run", rows, learned_from={"m2a": ["conv-1"]})
    write_report(folder)
    for name in ("report.html", "report.md"):
        page = (folder / name).read_text(encoding="utf-8")
        assert "m2a †" in page and "m2a-paper †" not in page
        assert "learned from questions about 1 of these dialogues (conv-1)" in page
    text = compare(folder, folder)
    assert "learned from questions about 1 of these dialogues" in text.split("### m2a-paper")[0]
    assert text.startswith("### m2a †\n") and "learned" not in text.split("### m2a-paper")[1]
    merge([folder], tmp_path / "out")
    assert "m2a †" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    for page in (folder / "report.html", tmp_path / "out" / "report.html"):
        drawn = re.findall(r">([^<>]*)</text>", page.read_text(encoding="utf-8"))
        assert "m2a †" in drawn and "m2a-paper" in drawn and "m2a" not in drawn


def test_a_comparison_marks_the_run_that_has_learned_from_the_dialogues(tmp_path: Path) -> None:
    rows = rows_of("m2a", 0.8, seed=1)
    seen_folder = run_folder(tmp_path / "seen", rows, learned_from={"m2a": ["conv-1"]})
    text = compare(seen_folder, run_folder(tmp_path / "unseen", rows))
    assert text.startswith("### m2a † against m2a\n") and text.count("learned from questions about 1") == 1


def test_the_ablations_stand_beside_their_own_full_system(tmp_path: Path) -> None:
    rows = [row for name in ("m2a-paper", "m2a-dense-only") for row in rows_of(name, 0.5, seed=1)]
    [table] = [
        table for table in tables_of(summarise(rows), amounts_of(rows, [])) if table.title.startswith("Ablations")
    ]
    assert [(row[0], row[-1]) for row in table.rows] == [("m2a-paper (full)", "54.7"), ("m2a-dense-only", "50.6")]


def test_a_list_that_ends_before_25_is_named() -> None:
    short = rows_of("m2a-paper", 0.5, seed=1)
    whole = [replace(row, system="rag", retrieved=tuple(f"D1:{n}" for n in range(25))) for row in short]
    [table] = [
        table
        for table in tables_of(summarise(short + whole), amounts_of(short + whole, []))
        if "Evidence" in table.title
    ]
    assert "m2a-paper returned at most 2 turns per question" in table.note and "rag" not in table.note


def test_what_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="holds no finished run"):
        write_report(tmp_path)
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "run.json").write_text("{}")
    with pytest.raises(ReportError, match="is not finished; run the same"):
        write_report(tmp_path / "begun")
    with pytest.raises(ReportError, match=r"holds no questions\.jsonl"):
        compare(tmp_path / "begun", tmp_path / "begun")
    first_folder = run_folder(tmp_path / "a", rows_of("m2a", 0.8, seed=1))
    second_folder = run_folder(tmp_path / "b", rows_of("rag", 0.8, seed=1) + rows_of("bm25", 0.8, seed=1))
    with pytest.raises(ReportError, match="no system in common"):
        compare(first_folder, second_folder)


def test_what_is_damaged_is_named_with_its_place(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run", rows_of("m2a", 0.8, seed=1, count=5))
    (folder / "summary.json").write_text("[]")
    with pytest.raises(ReportError, match=r"summary\.json is damaged"):
        write_report(folder)
    (folder / "summary.json").write_text('{"m2a": 3}')
    with pytest.raises(ReportError, match=r"summary\.json is damaged"):
        merge([folder], tmp_path / "out")
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "questions.jsonl").write_text("".join([*lines[:2], "{system\n", *lines[3:]]), encoding="utf-8")
    with pytest.raises(RowError, match=r"questions\.jsonl, line 3 is not a row .*delete the line"):
        compare(folder, folder)
    (folder / "questions.jsonl").unlink()
    (folder / "summary.json").write_text(json.dumps(summarise(rows_of("m2a", 0.8, seed=1, count=5))))
    with pytest.raises(ReportError, match=r"no questions\.jsonl"):
        write_report(folder)


def test_a_data_set_is_no_run(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "set", [], format="m2a-synthesis/1")
    (folder / "questions.jsonl").write_text('{"question_id": "conv-1/1"}\n')
    for action in (lambda: compare(folder, folder), lambda: write_report(folder)):
        with pytest.raises(ReportError, match="is a data set made by data_synthesis"):
            action()


def test_runs_that_were_not_asked_alike_are_told_apart(tmp_path: Path) -> None:
    rows = rows_of("bm25", 0.5, seed=1)
    whole = run_folder(tmp_path / "whole", rows, data_sha256="a", turns=None)
    part = run_folder(tmp_path / "part", rows, benchmark="locomo", data_sha256="b", turns=40)
    sentence = "These runs differ in benchmark (visual and locomo), data, turns (all and 40)"
    assert compare(whole, part).startswith(sentence)
    assert "differ in" not in compare(whole, whole)
    merge([whole, part], tmp_path / "out")
    text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "| openai:small | bm25 | visual | 40 |" in text and "| openai:small | bm25 | locomo, turns 40 | 40 |" in text
    assert sentence in text and str(tmp_path) not in text


def test_a_merged_report_writes_over_nothing_but_another(tmp_path: Path) -> None:
    runs = [run_folder(tmp_path / name, rows_of("bm25", 0.5, seed=1)) for name in ("a", "b")]
    for _ in range(2):
        merge(runs, tmp_path / "out")
    with pytest.raises(ReportError, match="holds other files"):
        merge(runs, runs[0])
    with pytest.raises(ReportError, match="cannot be written to"):
        merge(runs, runs[0] / "run.json")
    with pytest.raises(ReportError, match="named twice"):
        merge([runs[0], runs[0]], tmp_path / "out")


def test_the_report_of_one_run_goes_where_it_is_told(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run", rows_of("bm25", 0.5, seed=1))
    result = CliRunner().invoke(report_app, [str(folder), "--out", str(tmp_path / "out")])
    assert result.exit_code == 0 and (tmp_path / "out" / "report.html").is_file(), result.output
    assert not (folder / "report.html").exists()
    refused = CliRunner().invoke(report_app, [str(tmp_path / "nowhere")])
    assert refused.exit_code == 2 and "holds no finished run" in refused.output and "Traceback" not in refused.output


def test_a_column_in_which_nothing_stands_is_left_out(tmp_path: Path) -> None:
    """Retrieval alone costs nothing and asks no server: its table of costs has no column of dashes."""
    rows = [
        replace(row, reply=None, verdicts={}, calls=0, input_tokens=None, output_tokens=None, context_tokens=None)
        for row in rows_of("bm25", 0.5, seed=1)
    ]
    tables = tables_of(summarise(rows), amounts_of(rows, []))
    assert tables and not [
        (table.title, column)
        for table in tables
        for place, column in enumerate(table.columns)
        if place and all(row[place] == "–" for row in table.rows)
    ]


def test_what_the_papers_judges_were_told_stands_under_its_figures(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run", rows_of("m2a", 0.5, seed=1))
    write_report(folder)
    merged = merge([folder], tmp_path / "merged").read_text(encoding="utf-8")
    assert "right as long as it touches on the same topic" in merged


def test_longmemeval_stands_by_ability_with_abstention_and_both_means() -> None:
    def record(number: int, category: str, gold: str | None, reply: str) -> QuestionRecord:
        return QuestionRecord("m2a", f"q{number}", f"q{number}", category, "?", gold, reply=reply)

    rows = [
        record(1, "multi-session", "red", "It is red."),
        record(2, "multi-session", "red", "It is blue."),
        record(3, "multi-session", "red", "It is blue."),
        record(4, "abstention", None, "I don't know that."),
    ]
    [table] = [table for table in tables_of(summarise(rows), {}) if table.title.startswith("By ability")]
    assert table.columns[1:3] == ("multi-session (n = 3)", "abstention (n = 1)")
    assert table.rows[0][-2:] == ("50.0", "66.7")
