"""Metrics of answers and of retrieval, their intervals, and the summary of a run."""

import random

import pytest
import torch
from torchmetrics.functional.retrieval import retrieval_hit_rate, retrieval_recall
from torchmetrics.functional.text import bleu_score, squad

from m2a.evaluation.answer_metrics import accepted_match, bleu1, declines, exact_match, normalise, token_f1
from m2a.evaluation.bootstrap import interval, paired_interval
from m2a.evaluation.record import IngestionRecord, QuestionRecord
from m2a.evaluation.retrieval_metrics import hit_at, recall_at
from m2a.evaluation.summary import facts_of, summarise

WORDS = "cat dog red ball park vet shelf river lamp seven kettle lamp red".split()


def pairs(count: int = 200) -> list[tuple[str, str]]:
    """Random texts of plain words, on which every library's normalisation is the same."""
    draw = random.Random(3)
    return [
        (" ".join(draw.choices(WORDS, k=draw.randint(1, 12))), " ".join(draw.choices(WORDS, k=draw.randint(1, 12))))
        for _ in range(count)
    ]


# Answers


def test_f1_agrees_with_torchmetrics() -> None:
    for reply, gold in pairs():
        theirs = squad(
            [{"prediction_text": " ".join(normalise(reply)), "id": "q"}],
            [{"answers": {"answer_start": [0], "text": [" ".join(normalise(gold))]}, "id": "q"}],
        )["f1"]
        assert token_f1(reply, gold) == pytest.approx(float(theirs) / 100, abs=1e-6)


def test_bleu_agrees_with_torchmetrics() -> None:
    for reply, gold in pairs():
        theirs = bleu_score([" ".join(normalise(reply))], [[" ".join(normalise(gold))]], n_gram=1)
        assert bleu1(reply, gold) == pytest.approx(float(theirs), abs=1e-6)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The cat’s bowl!", ["cats", "bowl"]),
        ("on 7 May 2023", ["on", "20230507"]),
        ("May 7th, 2023.", ["20230507"]),
        ("the 7th of May, 2023", ["20230507"]),
        ("Sept 2022", ["202209"]),
        ("31 February 2023", ["31", "202302"]),
        ("1,200 km and 3.0 m", ["1200", "km", "and", "3", "m"]),
        ("two dogs, an owl", ["2", "dogs", "owl"]),
        ("ﬁne ２", ["fine", "2"]),  # NFKC
        ("may I march 12 people", ["may", "i", "march", "12", "people"]),
    ],
)
def test_normalisation(text: str, words: list[str]) -> None:
    assert normalise(text) == words


def test_exact_and_accepted_matches() -> None:
    assert exact_match("The red ball.", "red ball")
    assert not exact_match("a red ball of wool", "red ball")
    assert accepted_match("You said on May 7, 2023 that it was crimson red.", ["scarlet", "crimson red"])
    assert accepted_match("It was on 7 May 2023.", ["May 7th, 2023"])
    assert not accepted_match("a reddish ball", ["red"])
    assert not accepted_match("ball red", ["red ball"])
    assert not accepted_match("anything", ["", "the"])


@pytest.mark.parametrize(
    ("reply", "declined"),
    [
        ("I don't have that in memory.", True),
        ("That was not mentioned in the conversation.", True),
        ("No information available", True),
        ("I don’t know.", True),
        ("She does not eat fish.", False),
        ("Her brother's unknown soldier novel", True),  # the rule reads words, not meaning
        ("Melanie went to the museum on 5 July 2023.", False),
    ],
)
def test_a_reply_that_declines(reply: str, declined: bool) -> None:
    assert declines(reply) is declined


# Retrieval


def test_recall_and_hit_agree_with_torchmetrics() -> None:
    draw = random.Random(5)
    for _ in range(200):
        ranking = [f"D1:{number}" for number in range(30)]
        draw.shuffle(ranking)
        evidence = set(draw.sample(ranking, draw.randint(1, 6)))
        scores = torch.tensor([float(len(ranking) - rank) for rank in range(len(ranking))])
        target = torch.tensor([reference in evidence for reference in ranking])
        for k in (5, 10, 25):
            theirs = retrieval_recall(scores, target, top_k=k)
            assert recall_at(ranking, evidence, k) == pytest.approx(float(theirs), abs=1e-6)
            assert hit_at(ranking, evidence, k) == bool(retrieval_hit_rate(scores, target, top_k=k))


# Intervals


def test_an_interval_holds_the_mean_and_narrows_with_more_values() -> None:
    few, many = [0.0, 1.0] * 10, [0.0, 1.0] * 1000
    low, high = interval(few)
    assert low < 0.5 < high
    assert interval(few) == (low, high)
    narrow_low, narrow_high = interval(many)
    # 1.96 standard errors of a fair coin over 2,000 throws are 0.022
    assert narrow_high - narrow_low == pytest.approx(2 * 0.022, rel=0.1)
    assert interval([0.25, 0.25]) == (0.25, 0.25)
    with pytest.raises(ValueError, match="at least one value"):
        interval([])


def test_a_paired_interval_sees_what_two_intervals_do_not() -> None:
    before = [float(number % 10) for number in range(100)]
    after = [value + 0.5 + 0.01 * (number % 3) for number, value in enumerate(before)]
    low, high = paired_interval(before, after)
    assert 0.5 < low <= high < 0.52


# Summary


def row(number: int, **rest: object) -> QuestionRecord:
    filled = {"category": "single-hop", "gold": "red", "evidence": ("D1:1", "D1:2")} | rest
    return QuestionRecord("m2a", "one", f"one/{number}", question="Which?", **filled)  # type: ignore[arg-type]


def test_a_summary_counts_failures_as_wrong_and_leaves_out_what_is_unknown() -> None:
    rows = [
        row(
            1,
            reply="It is red.",
            verdicts={"a": "right", "b": "wrong"},
            retrieved=("D1:1", "D9:9", "D1:2"),
            calls=2,
            input_tokens=100,
            output_tokens=10,
            context_tokens=60,
            cost=0.5,
            seconds=2.0,
            search_seconds=0.5,
        ),
        row(2, error="the service failed", verdicts={}, calls=1),
        row(
            3,
            gold=None,
            category="adversarial",
            evidence=("D1:1",),
            reply="I don't know.",
            calls=1,
            verdicts={"a": "right", "b": "judge_failed"},
            retrieved=(),
            input_tokens=50,
            output_tokens=10,
        ),
    ]
    ingestion = [IngestionRecord("m2a", "one", "1", False, 40, 2.0)]
    summary = summarise(rows)
    assert list(summary) == ["m2a"]
    figures = summary["m2a"]
    assert figures["n"] == 3
    assert figures["n_evidence"] == 2
    assert figures["judge:a"] == 0.5
    assert figures["accuracy"] == 0.25  # the failed question is wrong; the one without an answer is another metric
    assert figures["judge_failed"] == pytest.approx(1 / 3)
    assert figures["errors"] == pytest.approx(1 / 3)
    assert figures["accepted_match"] == 0.5
    assert figures["abstention"] == 0.5  # by the judges, of whom one gave no verdict
    assert figures["recall@5"] == 0.5  # the failed question found nothing
    assert figures["hit@10"] == 0.5
    assert figures["total_tokens"] == 85
    assert "cost" not in figures  # two calls of unknown price: unknown, not 0.5 and not 0
    assert figures["seconds_p50"] == 2.0
    facts = facts_of(rows, ingestion)["m2a"]
    assert (facts["version"], facts["add_per_second"], facts["estimated_tokens"]) == ("1", 20, False)
    assert set(figures["categories"]) == {"single-hop", "adversarial"}
    assert figures["categories"]["adversarial"]["n"] == 1
    assert "accuracy" not in figures["categories"]["adversarial"]
    assert "recall@5" not in figures["categories"]["adversarial"]
    low, high = figures["accuracy_ci95"]
    assert 0 <= low <= figures["accuracy"] <= high <= 1


def numbers_alone(figures: dict[str, object], parts: tuple[str, ...] = ("categories",)) -> None:
    means = {
        key for key in figures if not key.endswith(("_ci95", "_p50", "_p95")) and key not in ("n", "n_evidence", *parts)
    }
    assert {f"{key}_ci95" for key in means} == {key for key in figures if key.endswith("_ci95")}
    assert all(type(figures[key]) is float for key in means)


def test_a_summary_holds_metrics_with_their_intervals_and_nothing_else() -> None:
    answered = row(1, reply="red", calls=2, input_tokens=90, output_tokens=9, context_tokens=60, seconds=2.0)
    figures = summarise([answered, row(2, reply="blue", calls=1, input_tokens=50, output_tokens=5)])["m2a"]
    assert figures["calls"] == 1.5 and figures["calls_ci95"] == [1.0, 2.0] and "total_tokens_ci95" in figures
    numbers_alone(figures)
    for category in figures["categories"].values():
        numbers_alone(category, ())


def test_a_memory_that_failed_in_a_run_of_retrieval_alone_is_no_wrong_answer() -> None:
    figures = summarise([row(1, error="no photo", asks_answer=False)])["m2a"]
    assert (figures["recall@5"], figures["errors"]) == (0.0, 1.0)
    assert not {"f1", "accepted_match"} & set(figures)


def test_the_visual_categories_stand_together_once_more() -> None:
    rows = [row(1, category="visual temporal", retrieved=("D1:1", "D1:2")), row(2, retrieved=("D1:1",))]
    categories = summarise(rows)["m2a"]["categories"]
    assert categories["visual-centric"]["recall@5"] == categories["visual temporal"]["recall@5"] == 1.0


def test_without_a_judge_a_rule_reads_abstention() -> None:
    rows = [row(1, gold=None, reply="I don't have that in memory."), row(2, gold=None, reply="It was red.")]
    assert summarise(rows)["m2a"]["abstention"] == 0.5


def test_a_run_of_retrieval_alone_has_no_answer_metrics() -> None:
    figures = summarise([row(1, retrieved=("D1:1", "D1:2"))])["m2a"]
    assert figures["recall@5"] == 1.0
    assert not {"f1", "accuracy", "judge_failed", "accepted_match", "cost", "total_tokens"} & set(figures)
