"""Computes the rates of a run from its rows, for `summary.json`. `facts.py` computes amounts.

Accuracy and the metrics of words cover questions with an answer; those without one count only in `abstention`. A failed
question counts as wrong. A metric without any value has no key.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from m2a.benchmarks.longmemeval import RUBRICS
from m2a.benchmarks.memoryagentbench import competency_of
from m2a.benchmarks.visual import VISUAL_CENTRIC
from m2a.evaluation import answer_metrics
from m2a.evaluation.bootstrap import rate_interval
from m2a.evaluation.judge import STRICT
from m2a.evaluation.record import QuestionRecord
from m2a.evaluation.retrieval_metrics import CUTOFFS, hit_at, recall_at, sessions_of
from m2a.evaluation.word_measures import as_published, is_strictly_right

Metric = Callable[[QuestionRecord], float | None]
Figures = dict[str, Any]

MAIN_RATES = ("accuracy", "accepted_match", "recall@10")
"""The main rates in order of preference: tables and charts show the first one that a run has."""


def summarise(questions: Sequence[QuestionRecord]) -> dict[str, Figures]:
    """Returns `{system: {metric: value, "<metric>_ci95": [low, high], "n": int, "categories": {name: {…}}}}`.

    Metrics are fractions from 0 to 1, each with its interval; `n` is the number of questions. `accuracy` and `abstention` are
    those of the lenient judges if there are any; then `strict_accuracy` is that of the strict ones. Systems and categories keep
    the order of the rows. Groups are further categories: `visual-centric`, each competency, and each stratum of a category. If
    an audit found gold answers to be wrong, `without_known_errors` holds the figures without those questions.
    """
    return {system: _with_known_errors(rows) for system, rows in by_system(questions).items()}


def _with_known_errors(rows: Sequence[QuestionRecord]) -> Figures:
    figures = _with_categories(rows)
    correct = [row for row in rows if not row.known_error]
    return figures if len(correct) == len(rows) else {**figures, "without_known_errors": _with_categories(correct)}


def _with_categories(rows: Sequence[QuestionRecord]) -> Figures:
    return {**_figures(rows), "categories": {name: _figures(members) for name, members in by_category(rows).items()}}


def by_system(questions: Iterable[QuestionRecord]) -> dict[str, list[QuestionRecord]]:
    rows_by_system: dict[str, list[QuestionRecord]] = defaultdict(list)
    for question in questions:
        rows_by_system[question.system].append(question)
    return rows_by_system


def by_category(rows: Sequence[QuestionRecord]) -> dict[str, list[QuestionRecord]]:
    """Returns the rows by category, and again by group and by stratum."""
    rows_by_category: dict[str, list[QuestionRecord]] = defaultdict(list)
    for row in rows:
        rows_by_category[row.category].append(row)
    visual = [row for row in rows if row.category in VISUAL_CENTRIC]
    if visual:
        rows_by_category["visual-centric"] = visual
    for row in rows:
        competency = competency_of(row.category)
        if competency is not None:
            rows_by_category[competency].append(row)
        if row.stratum:
            rows_by_category[f"{row.category}, {row.stratum}"].append(row)
    return rows_by_category


def metrics_of(rows: Sequence[QuestionRecord], judges: Sequence[str] | None = None) -> dict[str, Metric]:
    """Returns the metrics that the rows may have, by key. A metric returns None for a row that it does not apply to.

    `judges` are those whose verdicts count; by default, all judges of the rows.
    """
    if judges is None:
        judges = judges_of(rows)
    metrics: dict[str, Metric] = {}
    main = [judge for judge in judges if not judge.endswith(STRICT)] or judges
    if judges:
        metrics["accuracy"] = _mean_of_judges(main)
        if len(main) < len(judges):
            metrics["strict_accuracy"] = _mean_of_judges([judge for judge in judges if judge not in main])
        metrics |= {f"judge:{judge}": _of_judge(judge) for judge in judges}
        metrics["judge_failed"] = _judge_failed(judges)
    metrics |= {
        "f1": _of_reply(lambda reply, row: answer_metrics.token_f1(reply, _golds(row)[0])),
        "bleu1": _of_reply(lambda reply, row: answer_metrics.bleu1(reply, _golds(row)[0])),
        "exact_match": _of_reply(lambda reply, row: answer_metrics.exact_match(reply, _golds(row)[0])),
        "accepted_match": _of_reply(_is_accepted),
        "abstention": _abstention(main),
        "false_abstention": _of_reply(_declines_wrongly),
        "as_published": _of_reply(lambda reply, row: as_published(row.measure, reply, _golds(row)), _is_measured),
        "summary_f1": _summary_f1(main),
        "strict": _strict,
        "chain_valid": _chain_valid,
        "errors": lambda row: float(row.error is not None),
    }
    for k in CUTOFFS:
        metrics[f"recall@{k}"] = _of_evidence(recall_at, k)
        metrics[f"hit@{k}"] = _of_evidence(hit_at, k)
        metrics[f"session_recall@{k}"] = _of_sessions(k)
    return metrics


def judges_of(rows: Iterable[QuestionRecord]) -> tuple[str, ...]:
    """Returns the names of the judges, in the order of the rows."""
    return tuple(dict.fromkeys(judge for row in rows for judge in row.verdicts))


def has_evidence(row: QuestionRecord) -> bool:
    """Whether recall is computed for this row."""
    return bool(row.evidence) and row.gold is not None


def _figures(rows: Sequence[QuestionRecord]) -> Figures:
    figures: Figures = {"n": len(rows)}
    for name, metric in metrics_of(rows).items():
        values = [value for row in rows if (value := metric(row)) is not None]
        if values:
            figures[name] = float(np.mean(values))
            figures[f"{name}_ci95"] = list(rate_interval(values))
    return figures


def _of_judge(judge: str) -> Metric:
    return lambda row: None if row.gold is None else _right(row, judge)


def _mean_of_judges(judges: Sequence[str]) -> Metric:
    def metric(row: QuestionRecord) -> float | None:
        verdicts = [_right(row, judge) for judge in judges]
        known_verdicts = [verdict for verdict in verdicts if verdict is not None]
        return None if row.gold is None or len(known_verdicts) < len(verdicts) else float(np.mean(known_verdicts))

    return metric


def _judge_failed(judges: Sequence[str]) -> Metric:
    def metric(row: QuestionRecord) -> float | None:
        verdicts = [row.verdicts[judge] for judge in judges if judge in row.verdicts]
        return float("judge_failed" in verdicts) if verdicts else None

    return metric


def _right(row: QuestionRecord, judge: str) -> float | None:
    """Returns 1 or 0, or None for a summary or a judge that was not asked. A judge that failed counts as wrong."""
    return float(row.verdicts[judge] == "right") if judge in row.verdicts and row.measure != "summary" else None


def _answered(row: QuestionRecord) -> bool:
    """Whether the question has a reply, or failed although it asked for one."""
    return row.reply is not None or (row.error is not None and row.asks_answer)


def _has_words(row: QuestionRecord) -> bool:
    """Whether the words of the reply can be compared with those of the gold answer."""
    return row.gold is not None and row.category not in RUBRICS and _answered(row)


def _is_measured(row: QuestionRecord) -> bool:
    """Whether the benchmark has its own measure for the words of the reply."""
    return row.gold is not None and row.measure not in ("", "summary") and _answered(row)


def _golds(row: QuestionRecord) -> tuple[str, ...]:
    """Returns the gold answer and the other accepted answers."""
    return (row.gold or "", *row.accepted)


def _of_reply(
    score: Callable[[str, QuestionRecord], float | None], applies: Callable[[QuestionRecord], bool] = _has_words
) -> Metric:
    """Returns a metric that scores the reply, and gives 0 if there is none."""

    def metric(row: QuestionRecord) -> float | None:
        if not applies(row):
            return None
        return float((row.reply is not None and score(row.reply, row)) or 0)

    return metric


def _is_accepted(reply: str, row: QuestionRecord) -> bool:
    return not _declines_wrongly(reply, row) and answer_metrics.accepted_match(reply, _golds(row))


def _declines_wrongly(reply: str, row: QuestionRecord) -> bool:
    """Whether the reply declines although the gold answer does not. Decided by a rule, whatever else the reply says."""
    return answer_metrics.declines(reply) and not answer_metrics.declines(_golds(row)[0])


_strict = _of_reply(lambda reply, row: is_strictly_right(row.measure, reply, _golds(row)), _is_measured)


def _chain_valid(row: QuestionRecord) -> float | None:
    """Returns, for a question of several hops, 1 if the answer is strictly right and its evidence was among the sources."""
    right = _strict(row)
    if right is None or row.hops < 2 or not row.evidence:
        return None
    return right * float(set(row.evidence) <= set(row.sources))


def _summary_f1(judges: Sequence[str]) -> Metric:
    """Returns the metric of summaries, the mean score over the judges. A judge that failed gives 0."""

    def metric(row: QuestionRecord) -> float | None:
        scoring_judges = [judge for judge in judges if judge in row.verdicts]
        if row.measure != "summary" or not scoring_judges:
            return None
        return float(np.mean([row.summary_f1.get(judge, 0.0) for judge in scoring_judges]))

    return metric


def _abstention(judges: Sequence[str]) -> Metric:
    """Returns the metric of abstention, decided by the judges, or by a rule if there are none."""

    def metric(row: QuestionRecord) -> float | None:
        if row.gold is not None or not _answered(row):
            return None
        if judges:
            verdicts = [right for judge in judges if (right := _right(row, judge)) is not None]
            return float(np.mean(verdicts)) if verdicts else None
        return float(row.reply is not None and answer_metrics.declines(row.reply))

    return metric


def _of_evidence(score: Callable[[Sequence[str], Sequence[str], int], float], k: int) -> Metric:
    def metric(row: QuestionRecord) -> float | None:
        if not has_evidence(row) or not _searched(row):
            return None
        return float(score(row.retrieved or (), row.evidence, k))

    return metric


def _of_sessions(k: int) -> Metric:
    """Returns the metric of session recall: the share of the sessions with evidence that the first k turns come from."""

    def metric(row: QuestionRecord) -> float | None:
        if not row.evidence_sessions or row.gold is None or not _searched(row):
            return None
        return recall_at(sessions_of((row.retrieved or ())[:k]), row.evidence_sessions, k)

    return metric


def _searched(row: QuestionRecord) -> bool:
    """Whether the row has a ranking, or failed although its system retrieves."""
    return row.retrieves and (row.retrieved is not None or row.error is not None)


def values_by_question(rows: Iterable[QuestionRecord], metric: Metric) -> Mapping[tuple[str, str], float]:
    """Returns the metric's values by dialogue and question, for comparison in pairs."""
    return {(row.dialogue_id, row.question_id): value for row in rows if (value := metric(row)) is not None}
