"""What a run writes down so that its figures can be read and made again: settings, what was spent, what was seen before."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from m2a.agents.language_policy import LanguagePolicy
from m2a.benchmarks import Benchmark, Session, Turn, read_locomo
from m2a.evaluation.command import evaluate_app
from m2a.evaluation.judge import Judge
from m2a.evaluation.provenance import hash_of_code, hash_of_prompts, versions
from m2a.evaluation.record import FailedAttempt, read_rows
from m2a.evaluation.run_folder import FIGURES, RunFolder
from m2a.evaluation.runner import RunResult, run
from m2a.evaluation.selection import select
from m2a.evaluation.training_overlap import learned_from
from m2a.memory.ranking.features import FEATURES
from m2a.memory.ranking.ranker import Ranker, fingerprint
from m2a.systems import registry
from m2a.systems.bm25 import Bm25
from m2a.systems.shared import Utterance
from m2a.systems.system import Meter, Question, Usage
from m2a.wiring import load_captioner
from models.captioner import Captioner
from models.chat_model import ChatModel
from tests.chat_server import ChatServer, Reply, mode_of, say, status
from tests.dialogues import model_of, paint, parts_of, rows_of, write_dialogues
from tests.placed_systems import choose
from tests.requirements import SHARED, needs
from tests.scripted_model import Prompt, ScriptedModel

SETTINGS: dict[str, Any] = {"benchmark": "locomo"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return write_dialogues(tmp_path / "data")


@pytest.fixture
def benchmark(data: Path) -> Benchmark:
    return read_locomo(data)


async def evaluated(
    benchmark: Benchmark, out: Path, systems: Sequence[str], model: ChatModel | None = None, **options: Any
) -> RunResult:
    parts = parts_of(model, retrieval_only=model is None)
    return await run(benchmark, systems, out, parts=parts, settings=SETTINGS, **options)


# What it was made of


def test_the_code_is_weights_prompts_and_the_evaluation_itself(tmp_path: Path) -> None:
    files = ("m2a/memory/ranking/head.npz", "m2a/evaluation/rows.py", "m2a/systems/prompts/answer.md", "models/a.onnx")
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("one")
    hashes = [hash_of_code(tmp_path)]
    for name in files:
        (tmp_path / name).write_text("other")
        hashes.append(hash_of_code(tmp_path))
    assert len(set(hashes)) == 1 + len(files)
    (tmp_path / "m2a/evaluation/__pycache__").mkdir()
    (tmp_path / "m2a/evaluation/__pycache__/rows.pyc").write_text("cache")
    assert hash_of_code(tmp_path) == hashes[-1]
    before = hash_of_prompts(tmp_path)
    (tmp_path / files[1]).write_text("third")
    assert hash_of_prompts(tmp_path) == before
    (tmp_path / files[2]).write_text("third")
    assert hash_of_prompts(tmp_path) != before
    assert {"torch", "transformers", "tokenizers", "genai-prices"} <= versions().keys()


def right(request: dict[str, Any]) -> Reply:
    return say('{"label": "right"}' if "answer_to_mark" in json.dumps(request) else "Bristol")


def test_a_run_goes_on_with_the_same_servers_and_prompts_alone(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("M2A_CHAT_API_KEY", "key")
    monkeypatch.setenv("M2A_JUDGE_API_KEY", "key")
    out = tmp_path / "out"
    command = ["--benchmark", "locomo", "--data", str(data), "--out", str(out), "--system", "bm25"]
    command += ["--chat-model", "openai:small", "--judge", "openai:judge"]

    def again(chat: ChatServer, court: ChatServer) -> str:
        monkeypatch.setenv("M2A_JUDGE_API_KEY", "key")
        monkeypatch.setenv("M2A_CHAT_BASE_URL", chat.base_url.replace("://", "://user:secret@"))
        result = CliRunner().invoke(evaluate_app, [*command, "--judge-base-url", court.base_url])
        return f"{result.exit_code} {result.output}"

    with ChatServer(right) as server, ChatServer(right) as other:
        assert again(server, server).startswith("0 ")
        settings = json.loads((out / "run.json").read_text())
        assert (settings["chat_base_url"], settings["judge_base_url"]) == (server.base_url, server.base_url)
        assert settings["decoding"].startswith("greedy") and settings["dropped_evidence"] == 0
        assert {request.json.get("temperature") for request in server.requests} == {0}
        assert "secret" not in (out / "run.json").read_text()
        assert again(server, server).startswith("0 ")
        assert "2 " in (refusal := again(other, server)) and "another chat_base_url" in refusal
        assert "2 " in (refusal := again(server, other)) and "another judge_base_url" in refusal
        (out / "run.json").write_text(json.dumps({**settings, "prompts_sha256": "0" * 64}))
        assert "2 " in (refusal := again(server, server)) and "another prompts_sha256" in refusal


def test_evidence_that_names_no_turn_is_told(data: Path, tmp_path: Path) -> None:
    samples = json.loads(data.read_text())
    samples[0]["qa"][0]["evidence"] += ["D9:9", "D"]
    data.write_text(json.dumps(samples))
    command = ["--benchmark", "locomo", "--data", str(data), "--out", str(tmp_path / "out"), "--system", "bm25"]
    result = CliRunner().invoke(evaluate_app, [*command, "--retrieval-only"])
    assert "2 evidence references name no turn of the data" in result.output
    assert json.loads((tmp_path / "out" / "run.json").read_text())["dropped_evidence"] == 2
    assert "dropped evidence: 2" in (tmp_path / "out" / "report.md").read_text()


# What it had seen before


def test_a_ranking_that_has_learned_from_the_dialogues_is_marked_everywhere(
    benchmark: Benchmark, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = benchmark.dialogues[0].sessions[1]
    trained_on = frozenset({fingerprint(turn.text for turn in session.turns)})
    ranker = Ranker(np.zeros(len(FEATURES)), "m2a tune", trained_on)
    monkeypatch.setattr("m2a.memory.ranking.ranker.shipped_ranker", lambda: ranker)
    command = ["--benchmark", "locomo", "--data", str(data), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(evaluate_app, [*command, "--system", "m2a,m2a-paper", "--retrieval-only"])
    assert result.exit_code == 0, result.output
    assert "m2a †" in result.output and "m2a-paper †" not in result.output
    assert "learned from questions about 1 of these dialogues (conv-1)" in result.output
    assert json.loads((tmp_path / "out" / "run.json").read_text())["learned_from"] == {"m2a": ["conv-1"]}
    assert "m2a †" in (tmp_path / "out" / "report.md").read_text()


@needs(SHARED)
def test_what_ships_has_learned_from_locomo_whatever_is_woven_into_it(benchmark: Benchmark) -> None:
    locomo = read_locomo(SHARED / "locomo")
    names = [dialogue.dialogue_id for dialogue in locomo.dialogues]
    assert learned_from(locomo, ["m2a", "m2a-paper", "bm25"]) == {"m2a": names}
    turn = Turn("D99:1", "user", "Anna", "This is my teapot.", datetime(2023, 5, 7, tzinfo=UTC))
    woven = Session("D99", turn.said_at, (turn,))
    merged = replace(locomo, dialogues=tuple(replace(d, sessions=(woven, *d.sessions)) for d in locomo.dialogues))
    assert learned_from(merged, ["m2a"]) == {"m2a": names}
    assert learned_from(benchmark, ["m2a"]) == {}


# What was spent


async def test_what_a_failed_question_took_is_kept_and_counted(benchmark: Benchmark, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answering = ScriptedModel(choose, lambda prompt: "Lisbon")

    def breaks(request: dict[str, Any]) -> Reply:
        is_reply = not request.get("tools") and mode_of(request) == "text" and Prompt.of(request).stage == "generate"
        return status(400, "out of order") if is_reply else answering(request)

    selection = select(benchmark, limit=1)
    with ChatServer(breaks) as server:
        options: dict[str, Any] = {"price": lambda input_tokens, output_tokens: float(input_tokens)}
        await evaluated(selection, out, ["m2a-paper"], model_of(server), **options)
        [row] = rows_of(out)
        assert "out of order" in (row.error or "") and row.calls > 1
        assert row.input_tokens == row.cost == 11 * row.calls and row.output_tokens == 7 * row.calls
        server.script = answering
        await evaluated(selection, out, ["m2a-paper"], model_of(server), **options)
    [attempt] = read_rows(out / "failed_attempts.jsonl", FailedAttempt)
    assert (attempt.question_id, attempt.calls, attempt.cost) == (row.question_id, row.calls, row.cost)
    facts = json.loads((out / "facts.json").read_text())["m2a-paper"]
    assert (facts["failed_attempts"], facts["failed_cost"]) == (1, row.cost) and facts["cost"] > 0
    assert f"used {18 * row.calls} tokens in 1 failed attempts" in await written_report(out)


async def written_report(out: Path) -> str:
    from m2a.evaluation.report import write_report

    write_report(out)
    return (out / "report.md").read_text()


async def test_judges_are_paid_for_apart(benchmark: Benchmark, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with ChatServer(right) as server:
        judges = [Judge(model_of(server, f"openai:{name}"), lambda i, o: 0.5) for name in ("one", "two")]
        await evaluated(select(benchmark, limit=2), out, ["bm25", "full-context"], model_of(server), judges=judges)
    row = rows_of(out)[0]
    assert (row.calls, row.input_tokens, row.cost) == (1, 11, None)
    assert (row.judge_calls, row.judge_input_tokens, row.judge_output_tokens, row.judge_cost) == (2, 22, 14, 1.0)
    facts = json.loads((out / "facts.json").read_text())
    assert (facts["bm25"]["judge_calls"], facts["bm25"]["judge_cost"]) == (4, 2.0) and "cost" not in facts["bm25"]
    assert "| cost of the answers | cost of the judges |" in (report := await written_report(out))
    assert "| unknown | $2.00 |" in report


async def test_a_caption_is_made_once_and_charged_to_everyone(tmp_path: Path) -> None:
    photo = paint(tmp_path / "red.png", "red")
    utterance = Utterance("D1:1", "user", "Anna", "Look!", datetime(2023, 5, 7, tzinfo=UTC), (photo,))

    async def spent(parts: Any) -> tuple[str, Usage, bool]:
        memory, meter = parts.stores.fresh_memory("one"), Meter()
        [message] = memory.record([utterance])
        texts = [await memory.caption(message.photos[0], parts, meter) for _ in range(2)]
        return texts[0], meter.usage, memory.seconds_of_reused_captions > 0

    def captioner(model: ChatModel | None) -> Captioner:
        assert model is not None
        return load_captioner(LanguagePolicy(model))

    with ChatServer(say("A red square.")) as server:
        begun = replace(parts_of(model_of(server))(tmp_path / "work"), captioner=captioner)
        first, second = [await spent(begun) for _ in range(2)]
        side_by_side = await asyncio.gather(spent(begun), spent(begun))
        begun.stores.close()
        later = replace(parts_of(model_of(server))(tmp_path / "work"), captioner=captioner)
        third = await spent(later)
        later.stores.close()
        assert len(server.requests) == 1
    assert first == ("A red square.", Usage(11, 7, calls=1), False)
    assert second == third == side_by_side[0] == side_by_side[1] == ("A red square.", Usage(11, 7, calls=1), True)


# What is there while it goes on


async def test_old_figures_are_gone_before_anything_is_asked_again(
    benchmark: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    await evaluated(benchmark, out, ["bm25"], report=lambda folder: (folder / "report.md").write_text("old") and None)
    rows = (out / "questions.jsonl").read_text().splitlines(keepends=True)
    (out / "questions.jsonl").write_text("".join(rows[1:]))  # as one does with a line that was damaged

    files: list[str] = []

    class Looking(Bm25):
        async def retrieve(self, question: Question, k: int) -> list[int] | None:
            files.extend(["asked", *(name for name in FIGURES if (out / name).exists())])
            return await super().retrieve(question, k)

    monkeypatch.setitem(registry.BASELINES, "bm25", Looking)  # type: ignore[arg-type]
    await evaluated(benchmark, out, ["bm25"])
    assert files == ["asked"] and len(rows_of(out)) == len(rows) and (out / "summary.json").exists()


async def test_figures_go_with_the_first_row_that_changes(benchmark: Benchmark, tmp_path: Path) -> None:
    out = tmp_path / "out"
    await evaluated(benchmark, out, ["bm25"], report=lambda folder: (folder / "report.md").write_text("old") and None)
    assert (out / "summary.json").exists() and (out / "facts.json").exists() and (out / "report.md").exists()
    with RunFolder(out, SETTINGS) as folder:
        assert folder.drop_failures() == 0 and (out / "summary.json").exists()
        folder.add_question(next(iter(folder.questions.values())))
        assert not [name for name in FIGURES if (out / name).exists()]


async def test_a_failure_that_is_asked_again_takes_the_figures_with_it(benchmark: Benchmark, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with ChatServer(status(400, "out of order")) as server:
        await evaluated(select(benchmark, limit=1), out, ["full-context"], model_of(server))
    figures = json.loads((out / "summary.json").read_text())["full-context"]
    assert figures["errors"] == 1.0 and not [key for key in figures if key.startswith(("recall", "hit"))]
    with RunFolder(out, SETTINGS) as folder:
        assert folder.drop_failures() == 1 and not (out / "summary.json").exists()


async def test_without_a_model_one_thing_is_done_at_a_time(
    benchmark: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, most = 0, 0

    class Watched(Bm25):
        async def retrieve(self, question: Question, k: int) -> list[int] | None:
            nonlocal running, most
            running += 1
            most = max(most, running)
            hits = await super().retrieve(question, k)
            running -= 1
            return hits

    monkeypatch.setitem(registry.BASELINES, "bm25", Watched)  # type: ignore[arg-type]
    await evaluated(benchmark, tmp_path / "out", ["bm25"], concurrency=4)
    assert most == 1
