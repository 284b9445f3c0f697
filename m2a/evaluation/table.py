"""A table of a report: its title, columns, rows and note, and the figures of a run as they are shown there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

Summary = Mapping[str, Mapping[str, Any]]

NONE = "–"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under columns. The first column names the row; `note` appears below the table."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def markdown(table: Table) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"

    lines = [f"### {table.title}", "", line(table.columns), line(["---"] * len(table.columns)), *map(line, table.rows)]
    return "\n".join([*lines, "", *([table.note, ""] if table.note else [])])


def without_empty_columns(table: Table) -> Table:
    """Returns the table without its empty columns."""
    kept = [n for n in range(len(table.columns)) if n == 0 or any(row[n] != NONE for row in table.rows)]
    rows = tuple(tuple(row[n] for n in kept) for row in table.rows)
    return replace(table, columns=tuple(table.columns[n] for n in kept), rows=rows)


def has_metric(summary: Summary, metric: str) -> bool:
    return any(metric in figures for figures in summary.values())


def percent(figures: Mapping[str, Any], metric: str) -> str:
    """Returns a cell like `12.3 (10.1–14.5)`, with the interval if there is one."""
    if metric not in figures:
        return NONE
    interval = figures.get(f"{metric}_ci95")
    suffix = f" ({100 * interval[0]:.1f}–{100 * interval[1]:.1f})" if interval else ""
    return f"{100 * figures[metric]:.1f}{suffix}"
