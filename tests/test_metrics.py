"""Metrics of answers and of retrieval, their intervals, and the summary of a run.

torchmetrics takes seconds to import, so its three tests do: every process of the suite collects this file, and one runs it.
"""

import random
from dataclasses import replace

import pytest

from m2a.evaluation.amounts import amounts_of
from m2a.evaluation.answer_metrics import accepted_match, bleu1, declines, exact_match, normalise, token_f1
from m2a.evaluation.bootstrap import interval, paired_interval, rate_interval
from m2a.evaluation.record import FailedAttempt, IngestionRecord, QuestionRecord
from m2a.evaluation.retrieval_metrics import hit_at, recall_at
from m2a.evaluation.summary import summarise
from m2a.evaluation.tables import tables_of

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
    from torchmetrics.functional.text import squad

    for reply, gold in pairs():
        reference = squad(
            [{"prediction_text": " ".join(normalise(reply)), "id": "q"}],
            [{"answers": {"answer_start": [0], "text": [" ".join(normalise(gold))]}, "id": "q"}],
        )["f1"]
        assert token_f1(reply, gold) == pytest.approx(float(reference) / 100, abs=1e-6)


def test_bleu_agrees_with_torchmetrics() -> None:
    from torchmetrics.functional.text import bleu_score

    for reply, gold in pairs():
        reference = bleu_score([" ".join(normalise(reply))], [[" ".join(normalise(gold))]], n_gram=1)
        assert bleu1(reply, gold) == pytest.approx(float(reference), abs=1e-6)


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
        ("1.5 hours, at 10:30.", ["1.5", "hours", "at", "10:30"]),
        ("-3 degrees; 1–3 of covid-19", ["-3", "degrees", "1-3", "of", "covid19"]),
        ("−3 or -$3, and .5 or -.5 ...7", ["-3", "or", "-3", "and", "0.5", "or", "-0.5", "7"]),
        ("2023-05-07, version 3.0.1", ["20230507", "version", "3.0.1"]),
        ("may I march 12 people", ["may", "i", "march", "12", "people"]),
    ],
)
def test_normalisation(text: str, words: list[str]) -> None:
    assert normalise(text) == words


def test_exact_and_accepted_matches() -> None:
    assert exact_match("The red ball.", "red ball")
    assert not exact_match("a red ball of wool", "red ball")
    assert not exact_match("1.5 hours", "15 hours") and not exact_match("-3", "3") and not exact_match("10:30", "1030")
    assert not exact_match(".5 hours", "5 hours") and exact_match("0.5 hours", ".5 hours")
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
        ('On 8 May you told me: "I don\'t know how to swim."', False),  # somebody else's words
        ("She wrote: “I can't find my keys.”", False),
        ('I don\'t have that in memory. The nearest: "I know her."', True),
    ],
)
def test_a_reply_that_declines(reply: str, declined: bool) -> None:
    assert declines(reply) is declined


# Retrieval


def test_recall_and_hit_agree_with_torchmetrics() -> None:
    import torch
    from torchmetrics.functional.retrieval import retrieval_hit_rate, retrieval_recall

    draw = random.Random(5)
    for _ in range(200):
        ranking = [f"D1:{number}" for number in range(30)]
        draw.shuffle(ranking)
        evidence = set(draw.sample(ranking, draw.randint(1, 6)))
        scores = torch.tensor([float(len(ranking) - rank) for rank in range(len(ranking))])
        target = torch.tensor([reference in evidence for reference in ranking])
        for k in (5, 10, 25):
            reference = retrieval_recall(scores, target, top_k=k)
            assert recall_at(ranking, evidence, k) == pytest.approx(float(reference), abs=1e-6)
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


def test_a_rate_of_which_all_agree_is_not_certain() -> None:
    # Wilson's interval for n successes of n: n / (n + 1.96²) to 1
    assert rate_interval([1.0]) == pytest.approx((1 / (1 + 1.96**2), 1.0))
    assert rate_interval([0.0] * 10) == pytest.approx((0.0, 1.96**2 / (10 + 1.96**2)))
    assert rate_interval([0.0, 1.0] * 10) == interval([0.0, 1.0] * 10)
    assert paired_interval([1.0, 1.0], [1.0, 1.0]) == (0.0, 0.0)


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
        row(
            2,
            error="the service failed",
            verdicts={"a": "wrong", "b": "wrong"},
            calls=1,
            input_tokens=9,
            output_tokens=1,
        ),
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
            judge_calls=2,
            judge_input_tokens=80,
            judge_output_tokens=8,
            judge_cost=0.25,
        ),
    ]
    ingestion = [IngestionRecord("m2a", "one", "1", False, 40, 2.0)]
    summary = summarise(rows)
    assert list(summary) == ["m2a"]
    figures = summary["m2a"]
    assert figures["n"] == 3
    assert figures["judge:a"] == 0.5
    assert figures["accuracy"] == 0.25  # the failed question is wrong; the one without an answer is another metric
    assert figures["judge_failed"] == pytest.approx(1 / 3)
    assert figures["errors"] == pytest.approx(1 / 3)
    assert figures["accepted_match"] == 0.5
    assert figures["abstention"] == 0.5  # by the judges, of whom one gave no verdict
    assert figures["recall@5"] == 0.5  # the failed question found nothing
    assert figures["hit@10"] == 0.5
    facts = amounts_of(rows, ingestion)["m2a"]
    assert facts["n_evidence"] == 2
    assert facts["total_tokens"] == (110 + 10 + 60) / 3  # the failed question's tokens among them
    assert "cost" not in facts  # two calls of unknown price: unknown, not 0.5 and not 0
    assert (facts["judge_calls"], facts["judge_cost"]) == (2, 0.25)
    assert facts["seconds_p50"] == 2.0
    assert (facts["version"], facts["add_per_second"], facts["estimated_tokens"]) == ("1", 20, False)
    assert set(figures["categories"]) == {"single-hop", "adversarial"}
    assert figures["categories"]["adversarial"]["n"] == 1
    assert "accuracy" not in figures["categories"]["adversarial"]
    assert "recall@5" not in figures["categories"]["adversarial"]
    low, high = figures["accuracy_ci95"]
    assert 0 <= low <= figures["accuracy"] <= high <= 1


def rates_alone(figures: dict[str, object], parts: tuple[str, ...] = ("n", "categories")) -> None:
    rates = {key for key in figures if not key.endswith("_ci95") and key not in parts}
    assert {f"{key}_ci95" for key in rates} == {key for key in figures if key.endswith("_ci95")}
    for key in rates:
        rate, (low, high) = figures[key], figures[f"{key}_ci95"]  # type: ignore[misc]
        assert type(rate) is float and 0 <= low <= rate <= high <= 1


def test_a_summary_holds_rates_with_their_intervals_and_nothing_else() -> None:
    answered = row(1, reply="red", calls=2, input_tokens=90, output_tokens=9, context_tokens=60, seconds=2.0)
    rows = [answered, row(2, reply="blue", calls=1, input_tokens=50, output_tokens=5, retrieved=("D1:1",))]
    figures = summarise(rows)["m2a"]
    rates_alone(figures)
    for category in figures["categories"].values():
        rates_alone(category, ("n",))
    facts = amounts_of(rows, [])["m2a"]
    assert facts["calls"] == 1.5 and facts["calls_ci95"] == [1.0, 2.0] and "total_tokens_ci95" in facts
    assert facts["categories"]["single-hop"]["n_evidence"] == 2 and facts["longest_list"] == 1


def test_who_judged_nothing_says_nothing() -> None:
    by_one = [row(1, reply="red", verdicts={"a": "right"}), row(2, reply="red", verdicts={"a": "right"})]
    by_other = [row(3, reply="red", verdicts={"b": "right"}), row(4, reply="red", verdicts={"b": "judge_failed"})]
    figures = summarise([*by_one, *by_other])["m2a"]
    assert (figures["judge:a"], figures["judge:b"]) == (1.0, 0.5)  # each over its own two; a judge that failed is wrong
    assert "accuracy" not in figures and figures["judge_failed"] == 0.25


def test_a_system_that_retrieves_nothing_has_no_recall_whatever_fails() -> None:
    rows = [row(1, reply="red", retrieves=False), row(2, error="the service failed", retrieves=False)]
    figures = summarise(rows)["m2a"]
    assert figures["errors"] == 0.5 and not [key for key in figures if key.startswith(("recall", "hit"))]


def test_a_rubric_is_no_answer_to_compare_words_with() -> None:
    rows = [row(1, category="single-session-preference", reply="Try a lens for your Sony.", verdicts={"a": "right"})]
    figures = summarise(rows)["m2a"]
    assert figures["accuracy"] == 1.0 and not {"f1", "bleu1", "exact_match", "accepted_match"} & set(figures)


def test_sessions_are_scored_where_the_data_names_those_alone() -> None:
    record = row(1, evidence=(), evidence_sessions=("one", "two"), retrieved=(*["one:3"] * 5, "three:1", "two:9"))
    figures = summarise([record])["m2a"]
    assert (figures["session_recall@5"], figures["session_recall@10"]) == (0.5, 1.0)
    assert not [key for key in figures if key.startswith(("recall", "hit"))]


def test_what_failed_and_was_made_again_is_paid_for_all_the_same() -> None:
    lost = FailedAttempt("m2a", "one", None, "no answer", calls=3, input_tokens=300, output_tokens=30, cost=0.75)
    retry = FailedAttempt("m2a", "one", "one/1", "no answer", calls=1, input_tokens=90, output_tokens=9, cost=0.25)
    broken = IngestionRecord("m2a", "two", "1", False, 4, 1.0, 10, 1, calls=1, cost=0.5, error="no answer")
    facts = amounts_of([row(1, reply="red")], [broken], [lost, retry])["m2a"]
    assert (facts["failed_attempts"], facts["failed_tokens"], facts["failed_cost"]) == (3, 440, 1.5)


def test_the_lowest_and_the_highest_dialogue_are_told() -> None:
    rows = [
        replace(
            row(number, reply="red" if number % 10 < 8 - number // 10 else "no"), dialogue_id=f"conv-{number // 10}"
        )
        for number in range(20)
    ]
    facts = amounts_of(rows, [])["m2a"]
    assert facts["dialogues"] == 2 and facts["range_over_dialogues"] == {"accepted_match": [0.7, 0.8]}


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


def test_a_decline_is_no_accepted_answer_and_counts_as_a_false_abstention() -> None:
    rows = [
        row(1, gold="red", reply='I don\'t have that in memory. The nearest: "It is red."'),
        row(2, gold="red", reply="It is red."),
        row(3, gold="not mentioned", reply="That was not mentioned."),
        row(4, gold=None, reply="I don't have that in memory."),
    ]
    figures = summarise(rows)["m2a"]
    assert figures["accepted_match"] == pytest.approx(2 / 3)
    assert figures["false_abstention"] == pytest.approx(1 / 3)
    assert figures["abstention"] == 1.0


def test_a_run_of_retrieval_alone_has_no_answer_metrics() -> None:
    figures = summarise([row(1, retrieved=("D1:1", "D1:2"))])["m2a"]
    assert figures["recall@5"] == 1.0
    assert not {"f1", "accuracy", "judge_failed", "accepted_match", "cost", "total_tokens"} & set(figures)


def test_strict_judges_stand_beside_the_accuracy_and_not_in_it() -> None:
    row = QuestionRecord("m2a", "d", "d/1", "temporal", "?", "May", reply="spring")
    both = replace(row, verdicts={"judge": "right", "judge (strict)": "wrong"})
    figures = summarise([both])["m2a"]
    assert (figures["accuracy"], figures["strict_accuracy"], figures["judge:judge (strict)"]) == (1, 0, 0)
    alone = summarise([replace(row, verdicts={"judge (strict)": "wrong"})])["m2a"]
    assert alone["accuracy"] == 0 and "strict_accuracy" not in alone
    unknown = summarise([replace(both, gold=None)])["m2a"]
    assert unknown["abstention"] == 1
    [table] = [table for table in tables_of(summarise([both]), {}) if table.title.startswith("Accuracy")]
    assert table.columns[-2:] == ("mean of lenient judges", "mean of strict judges")
    assert [cell.split()[0] for cell in table.rows[0][-2:]] == ["100.0", "0.0"]
