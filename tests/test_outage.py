"""A chat model or a judge that is gone stops a run; questions that fail by themselves do not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from m2a.benchmarks import Benchmark, read_locomo
from m2a.evaluation.command import evaluate_app
from m2a.evaluation.judge import Judge
from m2a.evaluation.outage import FAILURES_IN_A_ROW, SILENCE_LIMIT, ServiceGone, Watch
from m2a.evaluation.record import FailedAttempt, read_rows
from m2a.evaluation.runner import RunResult, run
from tests.chat_server import ChatServer, Reply, mode_of, say, status
from tests.dialogues import model_of, parts_of, rows_of, write_dialogues
from tests.placed_systems import choose
from tests.scripted_model import Prompt, ScriptedModel

Script = Callable[[dict[str, Any]], Reply]
REFUSED = status(401, "no key")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return write_dialogues(tmp_path / "data", names=("conv-1", "conv-2", "conv-3"))


@pytest.fixture
def benchmark(data: Path) -> Benchmark:
    return read_locomo(data)


async def evaluated(
    benchmark: Benchmark, out: Path, server: ChatServer, system: str = "bm25", **options: Any
) -> RunResult:
    settings = {"benchmark": "locomo", "systems": [system]}
    return await run(benchmark, [system], out, parts=parts_of(model_of(server)), settings=settings, **options)


def dying_after(answers: int) -> Script:
    left = iter(range(answers))
    return lambda request: REFUSED if next(left, None) is None else say("a canoe")


@pytest.mark.parametrize("concurrency", [1, 4])
async def test_a_chat_model_that_dies_stops_the_run_and_its_failures_are_not_kept(
    benchmark: Benchmark, tmp_path: Path, concurrency: int
) -> None:
    out = tmp_path / "out"
    with ChatServer(dying_after(3)) as server:
        with pytest.raises(ServiceGone, match=r"chat model openai:small .* refuses the key .* 3 of 12 questions are"):
            await evaluated(benchmark, out, server, concurrency=concurrency)
        assert len(server.requests) <= 3 + FAILURES_IN_A_ROW + 1 + concurrency
        failed = [row for row in rows_of(out) if row.error is not None]
        assert len(rows_of(out)) - len(failed) == 3
        assert len(failed) < concurrency  # beside an answer that came later, as from a service that is there
        server.script = lambda request: say("Bristol")
        request_count = len(server.requests)
        rerun = await evaluated(benchmark, out, server, concurrency=concurrency)
        assert (rerun.failed, len(rows_of(out)), len(server.requests) - request_count) == (0, 12, 9)


async def test_what_questions_took_is_kept_though_their_model_died(benchmark: Benchmark, tmp_path: Path) -> None:
    answering = ScriptedModel(choose, lambda prompt: "a canoe")

    def dying(request: dict[str, Any]) -> Reply:
        if "Say: ready" in json.dumps(request):
            return REFUSED
        is_reply = not request.get("tools") and mode_of(request) == "text" and Prompt.of(request).stage == "generate"
        return REFUSED if is_reply else answering(request)

    with ChatServer(dying) as server, pytest.raises(ServiceGone):
        await evaluated(benchmark, tmp_path / "out", server, "m2a-paper")
    assert rows_of(tmp_path / "out") == []
    lost = read_rows(tmp_path / "out" / "failed_attempts.jsonl", FailedAttempt)
    assert len(lost) == FAILURES_IN_A_ROW and all(row.calls > 1 and row.input_tokens == 11 * row.calls for row in lost)


async def test_questions_that_fail_by_themselves_stop_nothing(benchmark: Benchmark, tmp_path: Path) -> None:
    def too_long(request: dict[str, Any]) -> Reply:
        return say("ready") if "Say: ready" in json.dumps(request) else status(400, "the prompt is too long")

    with ChatServer(too_long) as server:
        result = await evaluated(benchmark, tmp_path / "out", server, concurrency=2)
    assert result.failed == 12 > FAILURES_IN_A_ROW
    assert all("too long" in (row.error or "") for row in rows_of(tmp_path / "out"))


async def test_a_chat_model_that_is_gone_while_a_dialogue_is_taken_in(benchmark: Benchmark, tmp_path: Path) -> None:
    with ChatServer(REFUSED) as server, pytest.raises(ServiceGone, match="0 of 12 questions are answered"):
        await evaluated(benchmark, tmp_path / "out", server, "m2a")
    assert rows_of(tmp_path / "out") == []


async def test_two_failures_that_took_minutes_are_enough() -> None:
    seconds = iter((0.0, 1.0, SILENCE_LIMIT, SILENCE_LIMIT + 2, SILENCE_LIMIT + 3))
    with ChatServer(REFUSED) as server:
        watch = Watch("The chat model", model_of(server), clock=lambda: next(seconds))
        watch.succeeded()
        await watch.failed(("bm25", "1"))
        assert server.requests == []
        await watch.failed(("bm25", "2"))  # 119 seconds
        with pytest.raises(ServiceGone, match="The chat model stopped answering") as error:
            await watch.failed(("bm25", "3"))
        assert error.value.questions == (("bm25", "1"), ("bm25", "2"), ("bm25", "3"))


async def test_a_judge_that_dies_stops_the_run_and_the_answers_are_kept(benchmark: Benchmark, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with ChatServer(lambda request: say("a canoe")) as server, ChatServer(REFUSED) as court:
        judges = [Judge(model_of(court, "openai:judge"))]
        with pytest.raises(ServiceGone, match=r"The run stopped: the judge openai:judge .*; set M2A_JUDGE_API_KEY"):
            await evaluated(benchmark, out, server, judges=judges)
        answered = rows_of(out)
        assert len(answered) == len(server.requests) == FAILURES_IN_A_ROW
        assert all(row.reply == "a canoe" and row.error is None for row in answered)
        court.script = lambda request: say('{"label": "right"}')
        rerun = await evaluated(benchmark, out, server, judges=judges)
        assert (rerun.unjudged, rerun.summary["bm25"]["accuracy"], len(server.requests)) == (0, 1.0, 12)


def test_the_command_says_so_in_a_sentence_and_asks_nobody_where_nothing_is_left(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("M2A_CHAT_API_KEY", "key")
    monkeypatch.delenv("M2A_CHAT_BASE_URL", raising=False)
    out = tmp_path / "out"
    with ChatServer(dying_after(4)) as server:
        command = ["--benchmark", "locomo", "--data", str(data), "--out", str(out), "--system", "bm25"]
        command += ["--chat-model", "openai:small", "--chat-base-url", server.base_url]
        result = CliRunner().invoke(evaluate_app, command)
        assert result.exit_code == 1, result.output
        [message] = [line for line in result.output.splitlines() if line.startswith("m2a:")]
        assert (
            "3 of 12 questions are answered; run the same command later to continue." in message
        )  # one was the call first
        server.script = lambda request: say("a canoe")
        assert CliRunner().invoke(evaluate_app, command).exit_code == 0
        (out / "report.html").unlink()
        request_count = len(server.requests)
        rebuilt = CliRunner().invoke(evaluate_app, command)
        assert rebuilt.exit_code == 0 and (out / "report.html").is_file(), rebuilt.output
        assert len(server.requests) == request_count


def test_a_judge_gets_a_key_of_its_own_and_no_other_server_the_chat_model_s(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("M2A_CHAT_API_KEY", "key-of-the-chat-model")
    with ChatServer(say("a canoe")) as server, ChatServer(say('{"label": "right"}')) as court:
        command = ["--benchmark", "locomo", "--data", str(data), "--system", "bm25", "--limit", "2"]
        command += ["--chat-model", "openai:small", "--chat-base-url", server.base_url]
        command += ["--judge", "openai:judge"]
        elsewhere = ["--judge-base-url", court.base_url]
        for out, options, key in (("a", elsewhere, "key-of-the-judge"), ("b", elsewhere, None), ("c", [], None)):
            if key is not None:
                monkeypatch.setenv("M2A_JUDGE_API_KEY", key)
            result = CliRunner().invoke(evaluate_app, [*command, *options, "--out", str(tmp_path / out)])
            assert result.exit_code == 0, result.output
            assert "key-of" not in result.output + (tmp_path / out / "run.json").read_text()
        keys = [request.headers["authorization"] for request in court.requests]
        assert keys[:2] == ["Bearer key-of-the-judge"] * 2 and len(keys) == 4
        assert not any("key-of" in key for key in keys[2:])
        assert {request.headers["authorization"] for request in server.requests} == {"Bearer key-of-the-chat-model"}
