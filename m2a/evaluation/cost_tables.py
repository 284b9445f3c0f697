"""The tables of what a run costs: answering, and taking messages in."""

from collections.abc import Callable, Mapping
from typing import Any

from m2a.evaluation.table import NONE, Summary, Table, has_metric


def costs(summary: Summary, amounts: Summary) -> Table:
    """Returns what the questions of each system cost in tokens, calls, money and time."""
    columns: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "context tokens": lambda figures: _number(figures, "context_tokens"),
        "tokens per question": lambda figures: _tokens(figures, "total_tokens", "estimated_tokens"),
        "calls per question": lambda figures: _number(figures, "calls", "{:.1f}"),
        "cost of the answers": lambda figures: _cost(figures, "cost", "calls"),
        "cost of the judges": lambda figures: _cost(figures, "judge_cost", "judge_calls"),
        "search p50 / p95": lambda figures: _times(figures, "search_seconds"),
        "total p50 / p95": lambda figures: _times(figures, "seconds"),
        "failed questions": lambda figures: f"{100 * figures['errors']:.1f} %" if "errors" in figures else NONE,
    }
    rows = tuple(
        (system, *(cell({**amounts.get(system, {}), **figures}) for cell in columns.values()))
        for system, figures in summary.items()
    )
    return Table(
        "Cost per question",
        ("system", *columns),
        rows,
        " ".join(
            [
                "≈: estimated, because the server did not count all tokens. An unknown cost is shown as unknown, not as 0.",
                *_failed_attempt_notes(amounts),
            ]
        ),
    )


def _failed_attempt_notes(amounts: Summary) -> list[str]:
    return [
        f"In addition, {system} used {_number(figures, 'failed_tokens')} tokens in {figures['failed_attempts']} failed attempts "
        f"(cost {_cost(figures, 'failed_cost', 'failed_tokens')})."
        for system, figures in amounts.items()
        if figures.get("failed_attempts")
    ]


def ingestion(amounts: Summary) -> Table | None:
    """Returns what it cost each system to take in the dialogues, or None if no system took any in."""
    if not has_metric(amounts, "messages"):
        return None

    def stored(figures: Mapping[str, Any]) -> str:
        if figures.get("store_only"):
            return "as they are, without a chat model"
        return "by the chat model" if figures.get("ingestion_calls") else "by rules"

    rows = tuple(
        (
            system,
            str(figures.get("version", NONE)),
            str(figures.get("messages", NONE)),
            stored(figures),
            _number(figures, "add_per_second", "{:,.1f}"),
            _number(figures, "ingestion_seconds", "{:,.1f}"),
            _number(figures, "ingestion_calls"),
            _tokens(figures, "ingestion_tokens", "ingestion_estimated_tokens"),
            _cost(figures, "ingestion_cost", "ingestion_calls"),
            str(figures.get("ingestion_failures", NONE)),
        )
        for system, figures in amounts.items()
    )
    columns = (
        "system",
        "version",
        "messages",
        "stored",
        "messages/s",
        "seconds",
        "calls",
        "tokens",
        "cost",
        "failed model calls",
    )
    return Table("Ingestion of the dialogues", columns, rows)


def _number(figures: Mapping[str, Any], key: str, form: str = "{:,.0f}") -> str:
    return form.format(figures[key]) if key in figures else NONE


def _tokens(figures: Mapping[str, Any], key: str, estimated: str) -> str:
    return ("≈ " if figures.get(estimated) else "") + _number(figures, key) if key in figures else NONE


def _cost(figures: Mapping[str, Any], key: str, calls: str) -> str:
    if key in figures:
        return f"${figures[key]:.2f}"
    return "unknown" if figures.get(calls) else NONE


def _times(figures: Mapping[str, Any], key: str) -> str:
    if f"{key}_p50" not in figures:
        return NONE
    return " / ".join(_seconds(figures[f"{key}_{part}"]) for part in ("p50", "p95"))


def _seconds(value: float) -> str:
    return f"{1000 * value:.1f} ms" if value < 1 else f"{value:.1f} s"
