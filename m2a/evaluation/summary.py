"""From rows to the figures of a run.

Accuracy and the metrics of words are over questions that have an answer; those without one count in `abstention` alone.
A failed question counts as wrong. What cannot be said is not there: a metric without a single value has no key, an
unknown cost is not 0.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from m2a.benchmarks.visual import VISUAL_CENTRIC
from m2a.evaluation import answer_metrics
from m2a.evaluation.bootstrap import interval
from m2a.evaluation.record import IngestionRecord, QuestionRecord
from m2a.evaluation.retrieval_metrics import CUTOFFS, hit_at, recall_at

Metric = Callable[[QuestionRecord], float | None]
Figures = dict[str, Any]


def summarise(questions: Sequence[QuestionRecord], *, seed: int = 0) -> dict[str, Figures]:
    """`{system: {metric: value, "<metric>_ci95": [low, high], "n": int, "n_evidence": int, "categories": {name: {…}}}}`.

    Rates are fractions from 0 to 1, times seconds, costs dollars. `n` counts questions; `recall@k` and `hit@k` are over
    those with evidence (`n_evidence`). Every mean has an interval; percentiles of time (`…_p50`, `…_p95`) and the whole
    cost have none. Systems and categories stand in the order of the rows; the visual categories stand together once more
    as `visual-centric`. What is no metric is in `facts_of`.
    """
    by_system: dict[str, list[QuestionRecord]] = defaultdict(list)
    for question in questions:
        by_system[question.system].append(question)
    summary = {}
    for system, rows in by_system.items():
        by_category: dict[str, list[QuestionRecord]] = defaultdict(list)
        for row in rows:
            by_category[row.category].append(row)
        visual = [row for row in rows if row.category in VISUAL_CENTRIC]
        if visual:
            by_category["visual-centric"] = visual
        summary[system] = {
            **_figures(rows, seed),
            "categories": {category: _figures(some, seed) for category, some in by_category.items()},
        }
    return summary


def facts_of(questions: Sequence[QuestionRecord], ingestion: Sequence[IngestionRecord]) -> dict[str, Figures]:
    """By system: its version, how it took the dialogues in, and whether token counts are estimates."""
    facts: dict[str, Figures] = {}
    for system in dict.fromkeys(row.system for row in questions):
        estimated = any(row.estimated_tokens for row in questions if row.system == system)
        facts[system] = {"estimated_tokens": estimated} | _ingestion([one for one in ingestion if one.system == system])
    return facts


def metrics_of(rows: Iterable[QuestionRecord]) -> dict[str, Metric]:
    """Every metric of one question that the rows can have, by its key. A metric gives None where it does not apply."""
    judges = dict.fromkeys(judge for row in rows for judge in row.verdicts)
    metrics: dict[str, Metric] = {}
    if judges:
        metrics["accuracy"] = _mean_of_judges(tuple(judges))
        metrics |= {f"judge:{judge}": _of_judge(judge) for judge in judges}
        metrics["judge_failed"] = lambda row: float("judge_failed" in row.verdicts.values())
    metrics |= {
        "f1": _of_answer(answer_metrics.token_f1),
        "bleu1": _of_answer(answer_metrics.bleu1),
        "exact_match": _of_answer(answer_metrics.exact_match),
        "accepted_match": _accepted,
        "abstention": _abstention,
        "errors": lambda row: float(row.error is not None),
    }
    for k in CUTOFFS:
        metrics[f"recall@{k}"] = _of_evidence(recall_at, k)
        metrics[f"hit@{k}"] = _of_evidence(hit_at, k)
    return metrics


def _figures(rows: Sequence[QuestionRecord], seed: int) -> Figures:
    figures: Figures = {"n": len(rows), "n_evidence": sum(_has_evidence(row) for row in rows)}
    for name, metric in (metrics_of(rows) | _AMOUNTS).items():
        values = [value for row in rows if (value := metric(row)) is not None]
        if values:
            figures[name] = float(np.mean(values))
            figures[f"{name}_ci95"] = list(interval(values, seed=seed))
    called = [row for row in rows if row.calls]
    if called and all(row.cost is not None for row in called):
        figures["cost"] = float(sum(row.cost for row in called if row.cost is not None))
    for name in ("search_seconds", "seconds"):
        times = [value for row in rows if (value := getattr(row, name)) is not None]
        if times:
            figures[f"{name}_p50"], figures[f"{name}_p95"] = (float(x) for x in np.percentile(times, [50, 95]))
    return figures


def _ingestion(records: Sequence[IngestionRecord]) -> Figures:
    done = [record for record in records if record.error is None]
    if not done:
        return {}
    seconds = sum(record.seconds for record in done)
    figures: Figures = {
        "version": done[0].version,
        "store_only": any(record.store_only for record in done),
        "messages": sum(record.messages for record in done),
        "ingestion_seconds": seconds,
        "ingestion_failures": sum(record.failures for record in done),
    }
    if seconds:
        figures["add_per_second"] = figures["messages"] / seconds
    if any(record.calls for record in done):
        figures["ingestion_calls"] = sum(record.calls for record in done)
        figures["ingestion_tokens"] = sum(record.input_tokens + record.output_tokens for record in done)
        figures["ingestion_estimated_tokens"] = any(record.estimated_tokens for record in done)
        if all(record.cost is not None for record in done if record.calls):
            figures["ingestion_cost"] = sum(record.cost for record in done if record.cost is not None)
    return figures


def _total_tokens(row: QuestionRecord) -> float | None:
    if row.input_tokens is None or row.output_tokens is None:
        return None
    return row.input_tokens + row.output_tokens


_AMOUNTS: dict[str, Metric] = {
    "context_tokens": lambda row: row.context_tokens if row.calls else None,
    "calls": lambda row: row.calls or None,
    "total_tokens": _total_tokens,
}


def _of_judge(judge: str) -> Metric:
    return lambda row: None if row.gold is None else float(_right(row, judge))


def _mean_of_judges(judges: Sequence[str]) -> Metric:
    return lambda row: None if row.gold is None else float(np.mean([_right(row, judge) for judge in judges]))


def _right(row: QuestionRecord, judge: str) -> bool:
    return row.verdicts.get(judge) == "right"


def _answered(row: QuestionRecord) -> bool:
    """Whether the row is of a run that asks for answers: it has one, or failed on the way to it."""
    return row.reply is not None or (row.error is not None and row.asks_answer)


def _of_answer(metric: Callable[[str, str], float]) -> Metric:
    def of(row: QuestionRecord) -> float | None:
        if row.gold is None or not _answered(row):
            return None
        return 0.0 if row.reply is None else float(metric(row.reply, row.gold))

    return of


def _accepted(row: QuestionRecord) -> float | None:
    if row.gold is None or not _answered(row):
        return None
    return float(row.reply is not None and answer_metrics.accepted_match(row.reply, (row.gold, *row.accepted)))


def _abstention(row: QuestionRecord) -> float | None:
    if row.gold is not None or not _answered(row):
        return None
    if row.verdicts:
        return float(np.mean([_right(row, judge) for judge in row.verdicts]))
    return float(row.reply is not None and answer_metrics.declines(row.reply))


def _has_evidence(row: QuestionRecord) -> bool:
    return bool(row.evidence) and row.gold is not None


def _of_evidence(metric: Callable[[Sequence[str], Sequence[str], int], float], k: int) -> Metric:
    def of(row: QuestionRecord) -> float | None:
        if not _has_evidence(row) or (row.retrieved is None and row.error is None):
            return None
        return float(metric(row.retrieved or (), row.evidence, k))

    return of


def values_by_question(rows: Iterable[QuestionRecord], metric: Metric) -> Mapping[tuple[str, str], float]:
    """A metric's values by dialogue and question, for paired comparison."""
    return {(row.dialogue_id, row.question_id): value for row in rows if (value := metric(row)) is not None}
