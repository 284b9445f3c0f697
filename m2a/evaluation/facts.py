"""Amounts of a run, such as tokens, times and counts, for `facts.json`. Rates are in `summary.json`."""

from collections.abc import Iterable, Sequence

import numpy as np

from m2a.evaluation.bootstrap import interval
from m2a.evaluation.record import FailedAttempt, IngestionRecord, QuestionRecord, failed_attempt
from m2a.evaluation.summary import Figures, Metric, by_category, by_system, has_evidence, metrics_of, values_by_question

_ENOUGH = 5  # a dialogue with fewer questions is left out of the range over dialogues
RANGED = ("accuracy", "accepted_match", "recall@10")


def facts_of(
    questions: Sequence[QuestionRecord],
    ingestion: Sequence[IngestionRecord],
    failed: Sequence[FailedAttempt] = (),
) -> dict[str, Figures]:
    """Returns the amounts by system, and in `categories` by category.

    - `n_evidence` is the number of questions that recall is computed over.
    - Means per question (`context_tokens`, `total_tokens`, `calls`) have a `…_ci95`.
    - `search_seconds` and `seconds` have `…_p50` and `…_p95`.
    - `cost` and `judge_cost` are in dollars for all questions, and missing if one price is unknown.

    Only for a whole system: the longest list that it retrieved, the lowest and highest mean of its dialogues
    (`range_over_dialogues`), how it took the dialogues in, and what its failed attempts cost.
    """
    attempts = [*failed, *(failed_attempt(one) for one in ingestion if one.error is not None)]
    facts = {}
    for system, rows in by_system(questions).items():
        facts[system] = {
            **_amounts(rows),
            **_whole(rows),
            **_ingestion([one for one in ingestion if one.system == system]),
            **_attempts([one for one in attempts if one.system == system]),
            "categories": {category: _amounts(some) for category, some in by_category(rows).items()},
        }
    return facts


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
            figures[f"{name}_p50"], figures[f"{name}_p95"] = (float(x) for x in np.percentile(times, [50, 95]))
    return figures


def _whole(rows: Sequence[QuestionRecord]) -> Figures:
    figures: Figures = {"estimated_tokens": any(row.estimated_tokens for row in rows)}
    lists = [len(row.retrieved) for row in rows if row.retrieved is not None]
    if lists:
        figures["longest_list"] = max(lists)
    dialogues = dict.fromkeys(row.dialogue_id for row in rows)
    metrics = metrics_of(rows)
    ranges = {}
    for name in RANGED:
        by_dialogue: dict[str, list[float]] = {dialogue: [] for dialogue in dialogues}
        for (dialogue, _), value in values_by_question(rows, metrics[name]).items() if name in metrics else ():
            by_dialogue[dialogue].append(value)
        means = [float(np.mean(values)) for values in by_dialogue.values() if len(values) >= _ENOUGH]
        if len(means) > 1:
            ranges[name] = [min(means), max(means)]
    return figures | {"dialogues": len(dialogues), "range_over_dialogues": ranges}


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
        figures |= _total("ingestion_cost", (record.cost for record in done if record.calls))
    return figures


def _attempts(attempts: Sequence[FailedAttempt]) -> Figures:
    if not attempts:
        return {}
    tokens = sum((one.input_tokens or 0) + (one.output_tokens or 0) for one in attempts)
    figures: Figures = {"failed_attempts": len(attempts), "failed_tokens": tokens}
    return figures | _total("failed_cost", (one.cost for one in attempts if one.calls))


def _total(name: str, costs: Iterable[float | None]) -> Figures:
    """Returns the sum of the costs, or nothing if there was no call or one of the costs is unknown."""
    found = list(costs)
    known = [cost for cost in found if cost is not None]
    return {name: float(sum(known))} if found and len(known) == len(found) else {}


def _total_tokens(row: QuestionRecord) -> float | None:
    if row.input_tokens is None or row.output_tokens is None:
        return None
    return row.input_tokens + row.output_tokens


_AMOUNTS: dict[str, Metric] = {
    "context_tokens": lambda row: row.context_tokens if row.calls else None,
    "calls": lambda row: row.calls or None,
    "total_tokens": _total_tokens,
}
