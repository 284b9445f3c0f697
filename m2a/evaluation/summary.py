"""Computes the rates of a run from its rows, for `summary.json`. `amounts.py` computes amounts.

Accuracy and the metrics of words cover questions with an answer; those without one count only in `abstention`. A failed
question counts as wrong. A metric without any value has no key.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from m2a.benchmarks.dialogue import Measure
from m2a.benchmarks.longmemeval import RUBRICS
from m2a.benchmarks.memoryagentbench import competency_of
from m2a.benchmarks.visual import VISUAL_CENTRIC
from m2a.evaluation import answer_metrics
from m2a.evaluation.bootstrap import rate_interval
from m2a.evaluation.judge import STRICT_SUFFIX
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
    main = [judge for judge in judges if not judge.endswith(STRICT_SUFFIX)] or judges
    if judges:
        metrics["accuracy"] = partial(_accuracy, main)
        if len(main) < len(judges):
            metrics["strict_accuracy"] = partial(_accuracy, [judge for judge in judges if judge not in main])
        metrics |= {f"judge:{judge}": partial(_accuracy, [judge]) for judge in judges}
        metrics["judge_failed"] = partial(_judge_failed, judges)
    metrics |= {
        "f1": partial(_of_words, lambda reply, row: answer_metrics.token_f1(reply, _golds(row)[0])),
        "bleu1": partial(_of_words, lambda reply, row: answer_metrics.bleu1(reply, _golds(row)[0])),
        "exact_match": partial(_of_words, lambda reply, row: answer_metrics.exact_match(reply, _golds(row)[0])),
        "accepted_match": partial(_of_words, _is_accepted),
        "abstention": partial(_abstention, main),
        "false_abstention": partial(_of_words, _declines_wrongly),
        "as_published": partial(_of_measure, as_published),
        "summary_f1": partial(_summary_f1, main),
        "strict": partial(_of_measure, is_strictly_right),
        "chain_valid": _chain_valid,
        "errors": lambda row: float(row.error is not None),
    }
    for k in CUTOFFS:
        metrics[f"recall@{k}"] = partial(_of_evidence, recall_at, k)
        metrics[f"hit@{k}"] = partial(_of_evidence, hit_at, k)
        metrics[f"session_recall@{k}"] = partial(_session_recall, k)
    return metrics


def judges_of(rows: Iterable[QuestionRecord]) -> tuple[str, ...]:
    """Returns the names of the judges, in the order of the rows."""
    return tuple(dict.fromkeys(judge for row in rows for judge in row.verdicts))


def has_evidence(row: QuestionRecord) -> bool:
    """Returns whether recall is computed for this row."""
    return bool(row.evidence) and row.gold is not None


def _figures(rows: Sequence[QuestionRecord]) -> Figures:
    figures: Figures = {"n": len(rows)}
    for name, metric in metrics_of(rows).items():
        values = [value for row in rows if (value := metric(row)) is not None]
        if values:
            figures[name] = float(np.mean(values))
            figures[f"{name}_ci95"] = list(rate_interval(values))
    return figures


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _accuracy(judges: Sequence[str], row: QuestionRecord) -> float | None:
    verdicts = [verdict for judge in judges if (verdict := _right(row, judge)) is not None]
    return None if row.gold is None or len(verdicts) < len(judges) else _mean(verdicts)


def _judge_failed(judges: Sequence[str], row: QuestionRecord) -> float | None:
    verdicts = [row.verdicts[judge] for judge in judges if judge in row.verdicts]
    return float("judge_failed" in verdicts) if verdicts else None


def _right(row: QuestionRecord, judge: str) -> float | None:
    """Returns 1 or 0, or None for a summary or a judge that was not asked. A judge that failed counts as wrong."""
    return float(row.verdicts[judge] == "right") if judge in row.verdicts and row.measure != "summary" else None


def _answered(row: QuestionRecord) -> bool:
    """Returns whether the question has a reply, or failed although it asked for one."""
    return row.reply is not None or (row.error is not None and row.asks_answer)


def _has_words(row: QuestionRecord) -> bool:
    """Returns whether the words of the reply can be compared with those of the gold answer."""
    return row.gold is not None and row.category not in RUBRICS and _answered(row)


def _is_measured(row: QuestionRecord) -> bool:
    """Returns whether the benchmark has its own measure for the words of the reply."""
    return row.gold is not None and row.measure not in ("", "summary") and _answered(row)


def _golds(row: QuestionRecord) -> tuple[str, ...]:
    """Returns the gold answer and the other accepted answers."""
    return (row.gold or "", *row.accepted)


def _of_words(score: Callable[[str, QuestionRecord], float | None], row: QuestionRecord) -> float | None:
    """Returns the score of the reply, or 0 if there is none."""
    if not _has_words(row):
        return None
    return float((row.reply is not None and score(row.reply, row)) or 0)


def _of_measure(score: Callable[[Measure, str, Sequence[str]], float | None], row: QuestionRecord) -> float | None:
    """Returns the score of the reply by the benchmark's own measure, or 0 if there is no reply."""
    if not _is_measured(row):
        return None
    return float((row.reply is not None and score(row.measure, row.reply, _golds(row))) or 0)


def _is_accepted(reply: str, row: QuestionRecord) -> bool:
    return not _declines_wrongly(reply, row) and answer_metrics.accepted_match(reply, _golds(row))


def _declines_wrongly(reply: str, row: QuestionRecord) -> bool:
    """Returns whether the reply declines although the gold answer does not. Decided by a rule, whatever else the reply says."""
    return answer_metrics.declines(reply) and not answer_metrics.declines(_golds(row)[0])


def _chain_valid(row: QuestionRecord) -> float | None:
    """Returns, for a question of several hops, 1 if the answer is strictly right and its evidence was among the sources."""
    right = _of_measure(is_strictly_right, row)
    if right is None or row.hops < 2 or not row.evidence:
        return None
    return right * float(set(row.evidence) <= set(row.sources))


def _summary_f1(judges: Sequence[str], row: QuestionRecord) -> float | None:
    """Returns, for a summary, the mean score over the judges. A judge that failed gives 0."""
    if row.measure != "summary":
        return None
    return _mean([row.summary_f1.get(judge, 0.0) for judge in judges if judge in row.verdicts])


def _abstention(judges: Sequence[str], row: QuestionRecord) -> float | None:
    """Returns whether the reply says that this is not known, decided by the judges, or by a rule if there are none."""
    if row.gold is not None or not _answered(row):
        return None
    if judges:
        return _mean([right for judge in judges if (right := _right(row, judge)) is not None])
    return float(row.reply is not None and answer_metrics.declines(row.reply))


def _of_evidence(
    score: Callable[[Sequence[str], Sequence[str], int], float], k: int, row: QuestionRecord
) -> float | None:
    if not has_evidence(row) or not _searched(row):
        return None
    return float(score(row.retrieved or (), row.evidence, k))


def _session_recall(k: int, row: QuestionRecord) -> float | None:
    """Returns the share of the sessions with evidence that the first k turns come from."""
    if not row.evidence_sessions or row.gold is None or not _searched(row):
        return None
    return recall_at(sessions_of((row.retrieved or ())[:k]), row.evidence_sessions, k)


def _searched(row: QuestionRecord) -> bool:
    """Returns whether the row has a ranking, or failed although its system retrieves."""
    return row.retrieves and (row.retrieved is not None or row.error is not None)


def values_by_question(rows: Iterable[QuestionRecord], metric: Metric) -> Mapping[tuple[str, str], float]:
    """Returns the metric's values by dialogue and question, for comparison in pairs."""
    return {(row.dialogue_id, row.question_id): value for row in rows if (value := metric(row)) is not None}
