"""Amounts of a run, such as tokens, times and counts, for `facts.json`. Rates are in `summary.json`."""

from collections.abc import Iterable, Sequence

import numpy as np

from m2a.evaluation.bootstrap import interval
from m2a.evaluation.record import FailedAttempt, IngestionRecord, QuestionRecord, failed_attempt
from m2a.evaluation.summary import (
    MAIN_RATES,
    Figures,
    Metric,
    by_category,
    by_system,
    has_evidence,
    metrics_of,
    values_by_question,
)

_MIN_QUESTIONS = 5  # a dialogue with fewer questions is left out of the range over dialogues


def amounts_of(
    questions: Sequence[QuestionRecord],
    ingestion: Sequence[IngestionRecord],
    failed: Sequence[FailedAttempt] = (),
) -> dict[str, Figures]:
    """Returns the amounts of each system and, under `categories`, of each category.

    - `n_evidence` is the number of questions that recall is computed over.
    - Means per question (`context_tokens`, `total_tokens`, `calls`) have a `…_ci95`.
    - `search_seconds` and `seconds` have `…_p50` and `…_p95`.
    - `cost` and `judge_cost` are in dollars for all questions, and missing if one price is unknown.

    Only systems, not categories, have the length of the longest list retrieved, the lowest and highest mean of a dialogue
    (`range_over_dialogues`), the ingestion of the dialogues, and the cost of failed attempts.
    """
    attempts = [*failed, *(failed_attempt(record) for record in ingestion if record.error is not None)]
    amounts = {}
    for system, rows in by_system(questions).items():
        amounts[system] = {
            **_amounts(rows),
            **_system_amounts(rows),
            **_ingestion([record for record in ingestion if record.system == system]),
            **_attempts([attempt for attempt in attempts if attempt.system == system]),
            "categories": {category: _amounts(members) for category, members in by_category(rows).items()},
        }
    return amounts


def _amounts(rows: Sequence[QuestionRecord]) -> Figures:
    figures: Figures = {"n_evidence": sum(has_evidence(row) for row in rows)}
    for name, amount in _AMOUNTS.items():
        values = [value for row in rows if (value := amount(row)) is not None]
        if values:
            figures[name] = float(np.mean(values))
            figures[f"{name}_ci95"] = list(interval(values))
    figures |= _total("cost", (row.cost for row in rows if row.calls))
    figures |= _total("judge_cost", (row.judge_cost for row in rows if row.judge_calls))
    if any(row.judge_calls for row in rows):
        figures["judge_calls"] = sum(row.judge_calls for row in rows)
    for name in ("search_seconds", "seconds"):
        times = [value for row in rows if (value := getattr(row, name)) is not None]
        if times:
            figures[f"{name}_p50"], figures[f"{name}_p95"] = (float(value) for value in np.percentile(times, [50, 95]))
    return figures


def _system_amounts(rows: Sequence[QuestionRecord]) -> Figures:
    figures: Figures = {"estimated_tokens": any(row.estimated_tokens for row in rows)}
    lists = [len(row.retrieved) for row in rows if row.retrieved is not None]
    if lists:
        figures["longest_list"] = max(lists)
    dialogues = dict.fromkeys(row.dialogue_id for row in rows)
    metrics = metrics_of(rows)
    ranges = {}
    for name in MAIN_RATES:
        by_dialogue: dict[str, list[float]] = {dialogue: [] for dialogue in dialogues}
        for (dialogue, _), value in values_by_question(rows, metrics[name]).items() if name in metrics else ():
            by_dialogue[dialogue].append(value)
        means = [float(np.mean(values)) for values in by_dialogue.values() if len(values) >= _MIN_QUESTIONS]
        if len(means) > 1:
            ranges[name] = [min(means), max(means)]
    return figures | {"dialogues": len(dialogues), "range_over_dialogues": ranges}


def _ingestion(records: Sequence[IngestionRecord]) -> Figures:
    completed = [record for record in records if record.error is None]
    if not completed:
        return {}
    seconds = sum(record.seconds for record in completed)
    figures: Figures = {
        "version": completed[0].version,
        "store_only": any(record.store_only for record in completed),
        "messages": sum(record.messages for record in completed),
        "ingestion_seconds": seconds,
        "ingestion_failures": sum(record.failures for record in completed),
    }
    if seconds:
        figures["add_per_second"] = figures["messages"] / seconds
    if any(record.calls for record in completed):
        figures["ingestion_calls"] = sum(record.calls for record in completed)
        figures["ingestion_tokens"] = sum(record.input_tokens + record.output_tokens for record in completed)
        figures["ingestion_estimated_tokens"] = any(record.estimated_tokens for record in completed)
        figures |= _total("ingestion_cost", (record.cost for record in completed if record.calls))
    return figures


def _attempts(attempts: Sequence[FailedAttempt]) -> Figures:
    if not attempts:
        return {}
    tokens = sum((attempt.input_tokens or 0) + (attempt.output_tokens or 0) for attempt in attempts)
    figures: Figures = {"failed_attempts": len(attempts), "failed_tokens": tokens}
    return figures | _total("failed_cost", (attempt.cost for attempt in attempts if attempt.calls))


def _total(name: str, costs: Iterable[float | None]) -> Figures:
    """Returns the sum of the costs under `name`, or nothing if there was no call or one of the costs is unknown."""
    amounts = list(costs)
    known_costs = [cost for cost in amounts if cost is not None]
    return {name: float(sum(known_costs))} if amounts and len(known_costs) == len(amounts) else {}


def _total_tokens(row: QuestionRecord) -> float | None:
    if row.input_tokens is None or row.output_tokens is None:
        return None
    return row.input_tokens + row.output_tokens


_AMOUNTS: dict[str, Metric] = {
    "context_tokens": lambda row: row.context_tokens if row.calls else None,
    "calls": lambda row: row.calls or None,
    "total_tokens": _total_tokens,
}
