"""The tables of a run, in the shape of the M2A paper's, as plain cells; HTML and Markdown are made from them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from m2a.evaluation import published
from m2a.evaluation.retrieval_metrics import CUTOFFS

Summary = Mapping[str, Mapping[str, Any]]

NONE = "–"
_CATEGORY_ORDER = (
    "multi-hop",
    "temporal",
    "open-domain",
    "single-hop",
    "adversarial",
    "visual-centric",
    "visual multi-hop",
    "visual temporal",
    "visual open-domain",
    "visual single-hop",
    "visual retrieval",
)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under columns; the first column names the row. `note` is a sentence below it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def markdown(table: Table) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"

    lines = [f"### {table.title}", "", line(table.columns), line(["---"] * len(table.columns)), *map(line, table.rows)]
    return "\n".join([*lines, "", *([table.note, ""] if table.note else [])])


def tables_of(summary: Summary, facts: Summary) -> list[Table]:
    """Those that the run has figures for. `facts` are `facts_of` the same run."""
    found = [_accuracy(summary), _ablations(summary), _words(summary), _retrieval(summary), _by_category(summary)]
    return [table for table in (*found, _costs(summary, facts), _ingestion(facts)) if table is not None]


def categories_of(summary: Summary) -> list[str]:
    """The categories of all systems: LoCoMo's and the visual ones in the paper's order, others as they come."""
    seen = dict.fromkeys(category for figures in summary.values() for category in figures["categories"])
    known = [category for category in _CATEGORY_ORDER if category in seen]
    return known + [category for category in seen if category not in known]


def percent(figures: Mapping[str, Any], metric: str) -> str:
    """`12.3 (10.1–14.5)`, with the interval where there is one."""
    if metric not in figures:
        return NONE
    interval = figures.get(f"{metric}_ci95")
    around = f" ({100 * interval[0]:.1f}–{100 * interval[1]:.1f})" if interval else ""
    return f"{100 * figures[metric]:.1f}{around}"


def _has(summary: Summary, metric: str) -> bool:
    return any(metric in figures for figures in summary.values())


def _accuracy(summary: Summary) -> Table | None:
    if not _has(summary, "accuracy"):
        return None
    categories = [category for category in categories_of(summary) if not category.startswith("visual ")]
    judges = dict.fromkeys(key for figures in summary.values() for key in figures if key.startswith("judge:"))
    judges = {key: None for key in judges if not key.endswith("_ci95")}
    rows = [
        (
            system,
            *(percent(figures["categories"].get(category, {}), "accuracy") for category in categories),
            *(percent(figures, judge) for judge in judges),
            percent(figures, "accuracy"),
        )
        for system, figures in summary.items()
    ]
    published_rows = [
        (
            f"{row.method}, {row.chat_model} (published)",
            *(_published(row, category) for category in categories),
            *[NONE for _ in judges],
            f"{row.accuracy[-1]:.1f}",
        )
        for row in published.TABLE_1
        if "visual-centric" in categories
    ]
    return Table(
        "Accuracy by category (as table 1 of the paper), %",
        ("system", *categories, *(key.removeprefix("judge:") for key in judges), "mean of judges"),
        (*rows, *published_rows),
        "Questions without an answer are not in it. In brackets: 95 % bootstrap interval."
        + (f" Published rows: {published.SOURCE}, on the authors' own set." if published_rows else ""),
    )


def _published(row: published.PublishedRow, category: str) -> str:
    if category not in published.CATEGORIES:
        return NONE
    return f"{row.accuracy[published.CATEGORIES.index(category)]:.1f}"


def _ablations(summary: Summary) -> Table | None:
    ours = {system: figures for system, figures in summary.items() if system in published.TABLE_2}
    if len(ours) < 2:
        return None
    rows = tuple(
        (system, percent(figures, "accuracy"), percent(figures, "recall@10"), f"{published.TABLE_2[system][2]:.1f}")
        for system, figures in ours.items()
    )
    return Table(
        "Ablations (as table 2 of the paper), %",
        ("system", "accuracy", "recall@10", "accuracy, published (Qwen3-VL-8B)"),
        rows,
    )


def _words(summary: Summary) -> Table | None:
    metrics = ("accepted_match", "exact_match", "f1", "bleu1", "abstention", "judge_failed", "errors")
    there = [metric for metric in metrics if _has(summary, metric)]
    if not set(there) - {"errors"}:
        return None
    rows = tuple((system, *(percent(figures, metric) for metric in there)) for system, figures in summary.items())
    return Table("Answers by their words, %", ("system", *there), rows)


def _retrieval(summary: Summary) -> Table | None:
    if not _has(summary, "recall@10"):
        return None
    metrics = [f"{name}@{k}" for name in ("recall", "hit") for k in CUTOFFS]
    rows = tuple(
        (system, str(figures["n_evidence"]), *(percent(figures, metric) for metric in metrics))
        for system, figures in summary.items()
    )
    return Table(
        "Evidence found, %",
        ("system", "questions", *metrics),
        rows,
        "Recall is found/gold per question, then the mean, over questions that have an answer and evidence.",
    )


def _by_category(summary: Summary) -> Table | None:
    if not _has(summary, "recall@10"):
        return None
    categories = [
        category
        for category in categories_of(summary)
        if any("recall@10" in figures["categories"].get(category, {}) for figures in summary.values())
    ]

    def counted(category: str) -> str:
        counts = {figures["categories"].get(category, {}).get("n_evidence", 0) for figures in summary.values()}
        return f"{category} (n = {'/'.join(map(str, sorted(counts)))})"

    rows = tuple(
        (system, *(percent(figures["categories"].get(category, {}), "recall@10") for category in categories))
        for system, figures in summary.items()
    )
    return Table("recall@10 by category, %", ("system", *map(counted, categories)), rows)


def _costs(summary: Summary, facts: Summary) -> Table | None:
    columns: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "context tokens": lambda one: _number(one, "context_tokens"),
        "tokens a question": lambda one: _tokens(one, "total_tokens", "estimated_tokens"),
        "calls a question": lambda one: _number(one, "calls", "{:.1f}"),
        "cost of the answers": lambda one: f"${one['cost']:.2f}" if "cost" in one else _unknown(one, "calls"),
        "search p50 / p95": lambda one: _times(one, "search_seconds"),
        "whole p50 / p95": lambda one: _times(one, "seconds"),
        "failed questions": lambda one: (
            percent({"errors": one["errors"]}, "errors") + " %" if "errors" in one else NONE
        ),
    }
    rows = tuple(
        (system, *(cell({**facts.get(system, {}), **figures}) for cell in columns.values()))
        for system, figures in summary.items()
    )
    return Table(
        "What a question takes",
        ("system", *columns),
        rows,
        "≈: estimated, for the server did not count all of them. Cost unknown is said, never 0.",
    )


def _ingestion(facts: Summary) -> Table | None:
    if not _has(facts, "messages"):
        return None

    def kept(figures: Mapping[str, Any]) -> str:
        if figures.get("store_only"):
            return "as they are, without a chat model"
        return "by the chat model" if figures.get("ingestion_calls") else "by rules"

    rows = tuple(
        (
            system,
            str(figures.get("version", NONE)),
            str(figures.get("messages", NONE)),
            kept(figures),
            _number(figures, "add_per_second", "{:,.1f}"),
            _tokens(figures, "ingestion_tokens", "ingestion_estimated_tokens"),
            f"${figures['ingestion_cost']:.2f}"
            if "ingestion_cost" in figures
            else _unknown(figures, "ingestion_calls"),
            str(figures.get("ingestion_failures", NONE)),
        )
        for system, figures in facts.items()
    )
    columns = ("system", "version", "messages", "kept", "messages/s", "tokens", "cost", "failed model calls")
    return Table("Taking the dialogues in", columns, rows)


def _number(figures: Mapping[str, Any], key: str, form: str = "{:,.0f}") -> str:
    return form.format(figures[key]) if key in figures else NONE


def _tokens(figures: Mapping[str, Any], key: str, estimated: str) -> str:
    return ("≈ " if figures.get(estimated) else "") + _number(figures, key) if key in figures else NONE


def _unknown(figures: Mapping[str, Any], calls: str) -> str:
    return "unknown" if figures.get(calls) else NONE


def _times(figures: Mapping[str, Any], key: str) -> str:
    if f"{key}_p50" not in figures:
        return NONE
    return " / ".join(_seconds(figures[f"{key}_{part}"]) for part in ("p50", "p95"))


def _seconds(value: float) -> str:
    return f"{1000 * value:.1f} ms" if value < 1 else f"{value:.1f} s"
