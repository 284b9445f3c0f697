"""Whole runs: what they leave in their folder, how they go on after an end in between, and what a failure costs."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from m2a.benchmarks import Benchmark, read_locomo
from m2a.benchmarks.folders import write_json
from m2a.evaluation.command import evaluate_app
from m2a.evaluation.estimate import estimate
from m2a.evaluation.judge import Judge
from m2a.evaluation.record import FailedAttempt, IngestionRecord, read_rows
from m2a.evaluation.run_folder import RunFolder, RunFolderError
from m2a.evaluation.runner import RunResult, run
from m2a.evaluation.selection import SelectionError, select
from models.chat_model import ChatModel
from models.prices import price_of
from tests.chat_server import ChatServer, Reply, say, status
from tests.dialogues import model_of, parts_of, rows_of, write_dialogues
from tests.scripted_model import Prompt, ScriptedModel

SETTINGS = {"benchmark": "locomo", "chat_model": None, "systems": ["m2a", "bm25"]}


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    (tmp_path / "data").mkdir()
    return read_locomo(write_dialogues(tmp_path / "data", photos=True, names=("conv-1", "conv-2")))


async def evaluated(
    benchmark: Benchmark,
    out: Path,
    systems: Sequence[str] = ("m2a", "bm25"),
    model: ChatModel | None = None,
    settings: dict[str, Any] | None = None,
    **options: Any,
) -> RunResult:
    parts = parts_of(model, retrieval_only=model is None)
    return await run(benchmark, systems, out, parts=parts, settings=settings or SETTINGS, **options)


async def test_a_run_of_retrieval_alone(benchmark: Benchmark, tmp_path: Path) -> None:
    result = await evaluated(benchmark, tmp_path / "out")
    rows = rows_of(tmp_path / "out")
    assert len(rows) == result.questions == 20 and result.failed == 0
    assert {row.system for row in rows} == {"m2a", "bm25"} and {row.dialogue_id for row in rows} == {"conv-1", "conv-2"}
    [shown] = [row for row in rows if row.system == "m2a" and row.dialogue_id == "conv-1" and row.photos]
    assert shown.retrieved is not None and shown.retrieved[0] == "D1:3"
    assert all((tmp_path / "out" / photo).is_file() for photo in (*shown.photos, *shown.evidence_turns[0].photos))
    assert shown.evidence_turns[0].text == "Here is the canoe in its shed."
    assert shown.reply is None and shown.calls == 0 and shown.input_tokens is None

    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary == json.loads(json.dumps(result.summary))
    assert summary["m2a"]["recall@5"] == 1.0 and summary["m2a"]["n"] == 10
    assert set(summary["m2a"]["categories"]) >= {"single-hop", "multi-hop", "temporal", "visual retrieval"}
    ingestion = read_rows(tmp_path / "out" / "ingestion.jsonl", IngestionRecord)
    assert [record.messages for record in ingestion] == [6] * 4 and all(record.seconds > 0 for record in ingestion)


async def test_the_same_command_goes_on_and_repeats_nothing(benchmark: Benchmark, tmp_path: Path) -> None:
    out = tmp_path / "out"
    await evaluated(benchmark, out)
    complete = {(row.system, row.question_id): row.retrieved for row in rows_of(out)}
    questions, ingestion = (out / "questions.jsonl"), (out / "ingestion.jsonl").read_text()
    memories = (out / "work" / "memories.jsonl").read_text()
    lines = questions.read_text().splitlines(keepends=True)
    questions.write_text("".join(lines[:13]) + lines[13][:40])  # cut off in the middle of a row
    before = questions.read_text().splitlines()[:13]

    await evaluated(benchmark, out)
    assert questions.read_text().splitlines()[:13] == before
    assert {(row.system, row.question_id): row.retrieved for row in rows_of(out)} == complete
    assert (out / "ingestion.jsonl").read_text() == ingestion
    assert (out / "work" / "memories.jsonl").read_text() == memories


async def test_an_attempt_that_was_cut_off_in_mid_write_spoils_no_later_one(
    benchmark: Benchmark, tmp_path: Path
) -> None:
    (tmp_path / "data" / "photos" / "shown.png").write_bytes(b"no photo")
    await evaluated(benchmark, tmp_path / "out", ["bm25"])
    failed = tmp_path / "out" / "failed_attempts.jsonl"
    failed.write_text('{"system": "bm2')
    assert (await evaluated(benchmark, tmp_path / "out", ["bm25"])).failed == 10
    assert len(read_rows(failed, FailedAttempt)) == 12  # of the first start: two dialogues, and their questions


async def test_a_memory_that_was_not_complete_is_begun_afresh(benchmark: Benchmark, tmp_path: Path) -> None:
    out = tmp_path / "out"
    await evaluated(benchmark, out, ["m2a"])
    complete = {row.question_id: row.retrieved for row in rows_of(out)}
    (out / "work" / "memories.jsonl").write_text("")
    (out / "questions.jsonl").write_text("")
    await evaluated(benchmark, out, ["m2a"])
    assert {row.question_id: row.retrieved for row in rows_of(out)} == complete
    assert len(read_rows(out / "ingestion.jsonl", IngestionRecord)) == 4  # both starts, the last of which counts
    assert len(RunFolder(out, SETTINGS).ingestion) == 2


async def test_other_settings_are_refused_by_name(benchmark: Benchmark, tmp_path: Path) -> None:
    await evaluated(benchmark, tmp_path / "out", ["bm25"])
    with pytest.raises(RunFolderError, match='another chat_model: null there, "openai:small" now'):
        await evaluated(benchmark, tmp_path / "out", ["bm25"], settings={**SETTINGS, "chat_model": "openai:small"})
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("mine")
    with pytest.raises(RunFolderError, match="holds other files"):
        await evaluated(benchmark, tmp_path / "other", ["bm25"])


async def test_a_system_can_be_added_and_none_left_out(benchmark: Benchmark, tmp_path: Path) -> None:
    """What the folder holds already is kept; what stands in its settings by system may grow, and not change."""
    narrow = {**SETTINGS, "systems": ["bm25"], "learned_from": {}}
    wide = {**narrow, "systems": ["bm25", "m2a"], "learned_from": {"m2a": ["conv-1"]}}
    await evaluated(benchmark, tmp_path / "out", ["bm25"], settings=narrow)
    before = [row for row in rows_of(tmp_path / "out") if row.system == "bm25"]
    result = await evaluated(benchmark, tmp_path / "out", ["bm25", "m2a"], settings=wide)
    assert set(result.summary) == {"bm25", "m2a"}
    assert [row for row in rows_of(tmp_path / "out") if row.system == "bm25"] == before
    for changed in (narrow, {**wide, "learned_from": {}}, {**wide, "systems": ["m2a", "rag"]}):
        with pytest.raises(RunFolderError, match=r"another (systems|learned_from)"):
            await evaluated(benchmark, tmp_path / "out", ["bm25"], settings=changed)


async def test_two_runs_on_one_folder_are_refused(benchmark: Benchmark, tmp_path: Path) -> None:
    out = tmp_path / "out"
    await evaluated(benchmark, out, ["bm25"])
    before = (out / "questions.jsonl").read_text()
    with RunFolder(out, SETTINGS), pytest.raises(RunFolderError, match="Another `m2a evaluate` uses"):
        await evaluated(benchmark, out, ["bm25"])
    assert (out / "questions.jsonl").read_text() == before
    assert (await evaluated(benchmark, out, ["bm25"])).failed == 0
    with pytest.raises(RunFolderError, match="cannot be written to"):
        await evaluated(benchmark, out / "run.json", ["bm25"])


async def test_changed_code_is_told_and_recorded_but_no_reason_to_refuse(
    benchmark: Benchmark, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    for code in ("a", "a", "b", "c"):
        await evaluated(benchmark, out, ["bm25"], settings={**SETTINGS, "code_sha256": code})
        assert ("M2A has changed" in capsys.readouterr().err) == (code in "bc")
    run = json.loads((out / "run.json").read_text())
    assert (run["code_sha256"], run["earlier_code_sha256"]) == ("c", ["a", "b"])
    assert len((out / "questions.jsonl").read_text().splitlines()) == 10


async def test_a_data_set_and_a_damaged_run_are_told_as_such(benchmark: Benchmark, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    write_json(out / "run.json", {"format": "m2a-synthesis/1"})
    with pytest.raises(RunFolderError, match="is a data set made by data_synthesis"):
        await evaluated(benchmark, out, ["bm25"])
    (out / "run.json").write_text("{")
    with pytest.raises(RunFolderError, match=r"is damaged .* name a new folder"):
        await evaluated(benchmark, out, ["bm25"])
    write_json(out / "run.json", {**SETTINGS, "versions": {"numpy": "1", "m2a": "1"}})
    with pytest.raises(RunFolderError, match=r'another versions: \{"numpy": "1"\} there, \{"numpy": "2"\} now'):
        await evaluated(benchmark, out, ["bm25"], settings={**SETTINGS, "versions": {"numpy": "2", "m2a": "1"}})


def answers(request: dict[str, Any]) -> Reply:
    """Knows one answer, and fails on one question."""
    text = json.dumps(request)
    if "Where is the pottery course" in text:
        return status(500, "out of order")
    if "label" in text:
        return say('{"label": "right"}' if "a canoe" in text else '{"label": "wrong"}')
    return say("a canoe")


async def test_a_failed_question_is_a_row_that_counts_as_wrong(benchmark: Benchmark, tmp_path: Path) -> None:
    with ChatServer(answers) as server:
        model = model_of(server)
        selection = select(benchmark, categories=["single-hop", "temporal"])
        options: dict[str, Any] = {"judges": [Judge(model_of(server, "openai:judge"))], "concurrency": 3}
        result = await evaluated(selection, tmp_path / "out", ["bm25", "full-context"], model, **options)
        rows = rows_of(tmp_path / "out")
        failed = [row for row in rows if row.error]
        assert result.failed == len(failed) == 4 and {row.category for row in failed} == {"temporal"}
        assert all("out of order" in (row.error or "") and row.reply is None for row in failed)
        assert result.summary["bm25"]["errors"] == pytest.approx(1 / 3)
        assert result.summary["bm25"]["categories"]["temporal"]["accuracy"] == 0.0
        right = next(row for row in rows if row.system == "bm25" and row.gold == "a canoe")
        assert right.verdicts == {"openai:judge": "right"} and right.reply == "a canoe"
        assert (right.input_tokens, right.output_tokens, right.calls) == (11, 7, 1)
        assert right.context_tokens and right.seconds and right.search_seconds is not None and right.cost is None
        assert next(row for row in rows if row.system == "full-context").retrieved is None

        server.script = lambda request: say("Bristol")
        request_count = len(server.requests)
        rerun = await evaluated(selection, tmp_path / "out", ["bm25", "full-context"], model_of(server), **options)
        assert rerun.failed == 0
        assert sum("Bristol" not in r.text for r in server.requests[request_count:]) <= 4 + 4 * 3


async def test_a_judge_that_was_not_to_be_reached_is_asked_again_and_nobody_else(
    benchmark: Benchmark, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    selection = select(benchmark, limit=4)
    with (
        ChatServer(lambda request: say("a canoe")) as server,
        ChatServer(lambda request: status(401, "no key")) as court,
    ):
        judges = [Judge(model_of(court, "openai:judge"))]
        result = await evaluated(selection, out, ["bm25"], model_of(server), judges=judges)
        assert (result.failed, result.unjudged) == (0, 4) and "refuses the key" in (result.reason or "")
        answered = len(server.requests)
        court.script = lambda request: (
            say("I cannot say.") if "lake" in json.dumps(request) else say('{"label": "right"}')
        )
        rerun = await evaluated(selection, out, ["bm25"], model_of(server), judges=judges)
        assert (rerun.unjudged, rerun.reason, len(server.requests)) == (0, None, answered)
        assert rerun.summary["bm25"]["accuracy"] == 0.75 and rerun.summary["bm25"]["judge_failed"] == 0.25
        judged = len(court.requests)
        await evaluated(selection, out, ["bm25"], model_of(server), judges=judges)
        assert len(court.requests) == judged  # a verdict that could not be read is final


async def test_a_dialogue_that_cannot_be_taken_in_fails_its_questions_alone(
    benchmark: Benchmark, tmp_path: Path
) -> None:
    (tmp_path / "data" / "photos" / "shown.png").write_bytes(b"no photo")
    result = await evaluated(benchmark, tmp_path / "out", ["bm25"])
    assert result.failed == 10
    assert all("not taken in" in (row.error or "") for row in rows_of(tmp_path / "out"))


async def test_what_is_said_later_is_not_there_while_a_message_is_taken_in(
    benchmark: Benchmark, tmp_path: Path
) -> None:
    opened = []

    def read_ahead(prompt: Prompt) -> tuple[str, Mapping[str, Any]]:
        if prompt.stage == "update":
            return "update_memory", {"request": "Remember it."}
        if prompt.stage == "manage update" and not prompt.steps:
            return "fetch_raw_messages", {"ranges": [[1, 6]]}
        if prompt.stage == "manage update":
            hits = [words in prompt.material for words in ("I bought a canoe", "pottery course on Monday", "Lisbon")]
            opened.append((prompt.message_id, hits))
        return "finish", {}

    with ChatServer(ScriptedModel(read_ahead, lambda prompt: "Lisbon")) as server:
        selection = select(benchmark, categories=["temporal"], limit=1)
        await evaluated(selection, tmp_path / "out", ["m2a-paper"], model_of(server))
    assert opened == [(2, [True, False, False]), (4, [True, True, False]), (6, [True, True, True])]


def test_a_price_that_is_not_known_is_none() -> None:
    cheap = price_of("openai:gpt-4o-mini", None)(1_000_000, 0)
    assert cheap is not None and cheap > 0
    assert price_of("openai:gpt-4o-mini", "http://127.0.0.1:8000/v1")(1, 1) is None
    assert price_of("openai:nobody-s-model", None)(1, 1) is None
    assert price_of("transformers:folder", None)(1, 1) is None
    assert price_of(None, None)(1, 1) is None


def test_a_part_of_a_benchmark(benchmark: Benchmark) -> None:
    first = select(benchmark, limit=3)
    assert [len(dialogue.questions) for dialogue in first.dialogues] == [3]
    assert first.categories == ("multi-hop", "temporal", "single-hop")
    spread = select(benchmark, limit=7).dialogues
    assert [len(dialogue.questions) for dialogue in spread] == [5, 2]
    assert [q.category for q in spread[1].questions] == ["single-hop", "multi-hop"]
    alone = replace(
        benchmark,
        dialogues=tuple(replace(benchmark.dialogues[0], questions=(q,)) for q in benchmark.dialogues[0].questions),
    )
    assert [dialogue.questions[0].category for dialogue in select(alone, limit=3).dialogues] == [
        "single-hop",
        "multi-hop",
        "temporal",
    ]
    visual = select(benchmark, categories=["visual-centric"])
    assert visual.categories == ("visual retrieval",)
    short = select(benchmark, turns=5)
    assert [len(dialogue.sessions) for dialogue in short.dialogues] == [1, 1]
    assert {q.evidence[0] for dialogue in short.dialogues for q in dialogue.questions} == {"D1:1", "D1:2", "D1:3"}
    assert select(benchmark, categories=["temporal"]).categories == ("temporal",)
    with pytest.raises(SelectionError, match=r"no category 'spatial'; it has multi-hop, .*, visual-centric"):
        select(benchmark, categories=["spatial"])
    with pytest.raises(SelectionError, match="left with --turns 1; the shortest first session has 4 turns"):
        select(benchmark, turns=1)
    with pytest.raises(SelectionError, match="has no questions; name another file with --data"):
        select(replace(benchmark, dialogues=()))


def test_the_command_says_what_it_will_do_and_what_came_of_it(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    data = write_dialogues(tmp_path / "data")
    command = ["--benchmark", "locomo", "--data", str(data), "--out", str(tmp_path / "out"), "--retrieval-only"]
    result = CliRunner().invoke(evaluate_app, [*command, "--system", "bm25"])
    assert result.exit_code == 0, result.output
    assert "bm25: 6 messages, 4 questions; no language model" in result.output
    assert "recall@10" in result.output
    settings = json.loads((tmp_path / "out" / "run.json").read_text())
    assert settings["benchmark"] == "locomo" and settings["systems"] == ["bm25"] and settings["chat_model"] is None
    assert {"data_sha256", "code_sha256", "versions"} <= settings.keys()
    assert str(tmp_path) not in (tmp_path / "out" / "run.json").read_text()
    for page in ("report.html", "report.md", "summary.json"):
        assert (tmp_path / "out" / page).stat().st_size > 0

    judged = CliRunner().invoke(evaluate_app, [*command, "--system", "bm25", "--judge", "openai:gpt-4o"])
    assert judged.exit_code == 2 and "no answers to judge" in judged.output
    unknown = CliRunner().invoke(evaluate_app, [*command[:-1], "--system", "bm25", "--judge", "nosuch"])
    assert unknown.exit_code == 2 and "The judge 'nosuch' of --judge cannot be used" in unknown.output
    assert settings["data_sha256"] == hashlib.sha256(data.read_bytes()).hexdigest()
    refusal = CliRunner().invoke(
        evaluate_app, [*command[:-2], str(tmp_path / "none"), "--retrieval-only", "--system", ","]
    )
    assert refusal.exit_code == 2 and "No system is named" in refusal.output
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("options", "style", "wordings"),
    [
        ([], "in as few words", [("openai:judge", "Be generous")]),
        (["--judging", "strict"], "in as few words", [("openai:judge (strict)", "more vaguely")]),
        (
            ["--answers", "long", "--judging", "both"],
            "in one to three full sentences",
            [("openai:judge", "Be generous"), ("openai:judge (strict)", "more vaguely")],
        ),
    ],
)
def test_answers_are_asked_for_and_judged_as_the_options_say(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    style: str,
    wordings: list[tuple[str, str]],
) -> None:
    monkeypatch.setenv("M2A_CHAT_API_KEY", "key")
    (tmp_path / "data").mkdir()
    command = ["--benchmark", "locomo", "--data", str(write_dialogues(tmp_path / "data")), "--system", "bm25"]
    with ChatServer(say("a canoe")) as server, ChatServer(say('{"label": "right"}')) as court:
        command += ["--chat-model", "openai:small", "--chat-base-url", server.base_url, "--limit", "1"]
        command += ["--judge", "openai:judge", "--judge-base-url", court.base_url, "--out", str(tmp_path / "out")]
        result = CliRunner().invoke(evaluate_app, [*command, *options])
        assert result.exit_code == 0, result.output
        assert f"Answer {style}" in server.requests[-1].text
        asked = [[words for _, words in wordings if words in request.text] for request in court.requests]
        assert sorted(asked) == sorted([words] for _, words in wordings)  # two judges are asked at the same time
    [row] = rows_of(tmp_path / "out")
    assert row.verdicts == {name: "right" for name, _ in wordings}
    unknown = CliRunner().invoke(evaluate_app, [*command, "--judging", "mild"])
    assert unknown.exit_code == 2 and "--judging is 'mild'; choose one of lenient, strict, both." in unknown.output


def test_judges_of_answers_by_rules_are_in_the_estimate(benchmark: Benchmark) -> None:
    by_rules, silent = estimate(benchmark, ["m2a", "bm25"], asks_model=False, judges=2, window=1000)
    assert by_rules.calls == 2 * 10 and "20 calls" in by_rules.sentence
    assert silent.sentence == "bm25: 12 messages, 10 questions; no language model"


def test_a_chat_model_that_is_not_there_stops_the_run_before_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("M2A_CHAT_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("M2A_CHAT_API_KEY", "key")
    (tmp_path / "data").mkdir()
    data = write_dialogues(tmp_path / "data")
    command = ["--benchmark", "locomo", "--data", str(data), "--out", str(tmp_path / "out"), "--system", "bm25"]
    result = CliRunner().invoke(evaluate_app, [*command, "--chat-model", "openai:small"])
    assert result.exit_code == 2, result.output
    assert "openai:small does not answer, so the run did not start: Cannot connect" in result.output
    assert not (tmp_path / "out").exists()


def test_failed_questions_are_told_with_their_reason_and_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    data = write_dialogues(tmp_path / "data")
    command = ["--benchmark", "locomo", "--data", str(data), "--out", str(tmp_path / "out"), "--system", "bm25"]
    with ChatServer(answers) as server:
        monkeypatch.setenv("M2A_CHAT_BASE_URL", server.base_url)
        monkeypatch.setenv("M2A_CHAT_API_KEY", "key")
        result = CliRunner().invoke(evaluate_app, [*command, "--chat-model", "openai:small"])
        assert result.exit_code == 1 and "1 of 4 questions failed" in result.output, result.output
        assert "the same command asks them again" in result.output and "out of order" in result.output
        server.script = lambda request: say("Bristol")
        request_count = len(server.requests)
        rerun = CliRunner().invoke(evaluate_app, [*command, "--chat-model", "openai:small"])
        assert rerun.exit_code == 0 and "questions failed" not in rerun.output, rerun.output
        assert len(server.requests) == request_count + 2  # whether it is there, and the question that failed


def test_ctrl_c_says_that_the_run_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(*arguments: Any, **options: Any) -> Benchmark:
        raise KeyboardInterrupt

    monkeypatch.setattr("m2a.evaluation.selection.select", interrupted)
    data = write_dialogues(tmp_path)
    command = ["--benchmark", "locomo", "--data", str(data), "--out", str(tmp_path / "out"), "--system", "bm25"]
    result = CliRunner().invoke(evaluate_app, [*command, "--retrieval-only"])
    assert result.exit_code == 130 and "run the same command again to continue" in result.output
