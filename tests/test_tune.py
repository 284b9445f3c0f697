"""`m2a tune` on three dialogues small enough to read.

It needs torch, so the tests import it: every process of the suite collects this file, and one runs it.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from m2a.benchmarks.dialogue import Benchmark, BenchmarkError, Dialogue, Question, Session, Turn
from m2a.memory.ranking.ranker import Ranker, fingerprint
from m2a.memory.ranking.token_head import TokenHead, unit
from models.text_encoder import TokenStates
from tests.encoders import HashingTokenEncoder

START = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
THINGS = ["kite", "violin", "lake", "puzzle", "garden", "robot"]


def dialogue(name: str, speakers: tuple[str, str]) -> Dialogue:
    sessions = []
    for number, thing in enumerate(THINGS, start=1):
        moment = START + timedelta(days=30 * number)
        lines = ["How are you today?", f"I bought a {thing} yesterday.", "Lovely!", "Thanks, see you."]
        turns = [
            Turn(f"D{number}:{at}", ("user", "assistant")[at % 2], speakers[at % 2], line, moment)
            for at, line in enumerate(lines)
        ]
        sessions.append(Session(f"D{number}", moment, tuple(turns)))
    questions = [
        Question(f"{name}/{number}", f"What {thing} did {speakers[1]} buy?", "single-hop", thing, (f"D{number}:1",))
        for number, thing in enumerate(THINGS, start=1)
    ]
    unanswerable = Question(f"{name}/7", "What did nobody say?", "adversarial", None, ("D1:1",))
    return Dialogue(name, tuple(sessions), (*questions, unanswerable))


def benchmark(count: int) -> Benchmark:
    people = [("Anna", "Ben"), ("Clara", "Dan"), ("Eva", "Finn")]
    return Benchmark("locomo", tuple(dialogue(f"conv-{n}", people[n]) for n in range(count)), ("single-hop",))


def test_weights_are_learned_and_their_worth_is_shown(tmp_path: Path):
    from m2a.evaluation.tune import tune

    lines: list[str] = []
    tune(
        benchmark(3),
        HashingTokenEncoder(),
        leave_one_out=True,
        out=tmp_path / "new",
        made_by="m2a tune …",
        log=lines.append,
    )
    assert lines[0] == "3 dialogues, 18 questions with evidence."
    assert sum("is learned" in line for line in lines) == 3 + 3  # heads without one dialogue, and without two
    [learned] = [line for line in lines if "fusion = best" in line]
    assert float(learned.split("|")[2]) == 1
    assert any(line.startswith("| their fusion as published") for line in lines)
    ranker = Ranker.load(tmp_path / "new" / "ranker.json")
    sessions = [session for dialogue in benchmark(3).dialogues for session in dialogue.sessions]
    assert ranker.trained_on == {fingerprint(turn.text for turn in session.turns) for session in sessions}
    assert ranker.made_by == "m2a tune …" and np.abs(ranker.weights).max() > 0
    assert TokenHead.load(tmp_path / "new" / "head.npz").projection.shape == (64, 64)


def test_two_dialogues_are_too_few():
    from m2a.evaluation.tune import tune

    with pytest.raises(BenchmarkError, match="three or more"):
        tune(benchmark(2), HashingTokenEncoder(), leave_one_out=True, out=None, made_by="", log=print)


def test_each_row_of_the_results_has_the_means_over_the_questions():
    from m2a.evaluation.tune import Row, TuningQuestion, results_table

    states = TokenStates(np.zeros(1), np.zeros((0, 1)), np.zeros((0, 2)))
    questions = [
        TuningQuestion(0, "a", "one", frozenset({1, 2}), states),
        TuningQuestion(0, "b", "two", frozenset({3}), states),
    ]
    table = list(results_table(questions, [Row("found half", [[1, 9], [4]]), Row("found all", [[2, 1], [3]])]))
    assert table[0] == "| step | R@10 | one | two |"
    assert table[2:] == ["| found half | 0.250 | 0.500 | 0.000 |", "| found all | 1.000 | 1.000 | 1.000 |"]


def test_the_ranker_learns_what_tells_answers_apart():
    from m2a.evaluation.tune_fit import fit_ranker

    random = np.random.default_rng(0)
    tables = [random.normal(size=(20, 3)) for _ in range(40)]
    relevant = [table[:, 1] == table[:, 1].max() for table in tables]
    weights = fit_ranker(tables, relevant, 0.01)
    assert weights[1] > 10 * max(abs(weights[0]), abs(weights[2]))
    assert np.abs(fit_ranker(tables, relevant, 10.0)).sum() < np.abs(weights).sum()
    # A question without an answer among its candidates teaches nothing.
    nothing = [np.zeros(20, dtype=bool)]
    assert np.allclose(fit_ranker([*tables, tables[0]], [*relevant, *nothing], 0.01), weights, rtol=0.2)


def test_the_head_learns_which_tokens_matter():
    from m2a.evaluation.tune_fit import Dialogue as Material
    from m2a.evaluation.tune_fit import fit_head

    random = np.random.default_rng(0)
    topics, noise = unit(random.normal(size=(12, 96))), unit(random.normal(size=(1, 96)))[0]
    messages = [unit(np.stack([topic, noise + 0.1 * random.normal(size=96)])) for topic in topics]
    questions = [unit(np.stack([noise, topic])) for topic in topics]
    material = Material(messages, questions, [frozenset({at}) for at in range(12)])
    head = fit_head([material] * 40)
    _, (of_noise, of_topic) = head.of_question(questions[0])
    assert of_topic > of_noise
