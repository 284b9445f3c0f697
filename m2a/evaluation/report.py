"""A run as one HTML page and as Markdown, made from its folder alone; and several runs side by side."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from m2a.evaluation import published
from m2a.evaluation.charts import bars, charts_of, line
from m2a.evaluation.failures import Failure, telling_failures
from m2a.evaluation.record import read_questions
from m2a.evaluation.tables import NONE, Table, categories_of, markdown, percent, tables_of

Summaries = Sequence[tuple[str, Mapping[str, Mapping[str, Any]]]]

_TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader("m2a.evaluation"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


class ReportError(ValueError):
    """A folder that holds no run to report on."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a run left behind: its settings (`run.json`) and figures (`summary.json`)."""

    folder: Path
    settings: Mapping[str, Any]
    summary: Mapping[str, Mapping[str, Any]]

    @property
    def chat_model(self) -> str:
        return str(self.settings.get("chat_model") or "no chat model")


def read_run(folder: Path) -> Run:
    """Raises ReportError where the folder holds no finished run."""
    try:
        settings = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReportError(
            f"{folder} holds no finished run ({error}). Run `m2a evaluate … --out {folder}` first."
        ) from error
    return Run(folder, settings, summary)


def write_report(folder: Path) -> None:
    """Write `report.html` and `report.md` beside the run's own files."""
    run = read_run(folder)
    benchmark = run.settings.get("benchmark", "a benchmark")
    failures = telling_failures(read_questions(folder / "questions.jsonl"))
    tables = tables_of(run.summary)
    facts = [(key.replace("_", " "), _shown(value)) for key, value in run.settings.items() if _plain(value)]
    _write(
        folder / "report.html",
        _page(f"Memory systems on {benchmark}", facts, tables, charts_of(run.summary), failures),
    )
    _write(folder / "report.md", _markdown(f"Memory systems on {benchmark}", facts, tables, failures))


def merge(folders: Sequence[Path], out: Path) -> Path:
    """Runs side by side: accuracy by chat model and method (table 1), visual subtypes (figure 4), context (figure 5).

    Writes `report.html` and `report.md` into `out`, which is made where it is missing; gives the page's path.
    """
    runs = [read_run(folder) for folder in folders]
    metric = "accuracy" if any("accuracy" in one for run in runs for one in run.summary.values()) else "recall@10"
    tables = [_table_1(runs, metric), *_published_tables(metric)]
    facts = [("runs", ", ".join(str(run.folder) for run in runs))]
    out.mkdir(parents=True, exist_ok=True)
    _write(out / "report.html", _page("Runs side by side", facts, tables, _figures(runs, metric), []))
    _write(out / "report.md", _markdown("Runs side by side", facts, tables, []))
    return out / "report.html"


def _table_1(runs: Sequence[Run], metric: str) -> Table:
    merged = {f"{number} {system}": one for number, run in enumerate(runs) for system, one in run.summary.items()}
    categories = [category for category in categories_of(merged) if not category.startswith("visual ")]
    judges = list(
        dict.fromkeys(
            key for one in merged.values() for key in one if key.startswith("judge:") and not key.endswith("_ci95")
        )
    )
    rows = tuple(
        (
            run.chat_model,
            system,
            *(percent(one["categories"].get(category, {}), metric) for category in categories),
            *(percent(one, judge) for judge in judges),
            percent(one, metric),
        )
        for run in runs
        for system, one in run.summary.items()
    )
    total = "mean of judges" if metric == "accuracy" else "total"
    columns = ("chat model", "method", *categories, *(judge.removeprefix("judge:") for judge in judges), total)
    return Table(f"{metric} by chat model and method (as table 1 of the paper), %", columns, rows)


def _published_tables(metric: str) -> list[Table]:
    if metric != "accuracy":
        return []
    rows = tuple((row.chat_model, row.method, *(f"{value:.1f}" for value in row.accuracy)) for row in published.TABLE_1)
    note = f"Not measured here. Source: {published.SOURCE}, on the authors' own merged set."
    return [Table("Published: table 1 of the paper, %", ("chat model", "method", *published.CATEGORIES), rows, note)]


def _figures(runs: Sequence[Run], metric: str) -> list[tuple[str, str]]:
    drawn = []
    for run in runs:
        visual = [category for category in categories_of(run.summary) if category.startswith("visual ")]
        if visual:
            drawn.append(
                (
                    f"{metric} on visual-centric questions, {run.chat_model} (figure 4)",
                    bars(run.summary, metric, visual),
                )
            )
    series = {run.chat_model: points for run in runs if len(points := _context_points(run, metric)) > 1}
    if series:
        drawn.append((f"{metric} by turns of context (figure 5)", line(series, "turns of context", metric)))
    return drawn


def _context_points(run: Run, metric: str) -> list[tuple[float, float]]:
    prefix = "m2a-context-"
    return sorted(
        (float(system.removeprefix(prefix)), one[metric])
        for system, one in run.summary.items()
        if system.startswith(prefix) and metric in one
    )


def _page(
    title: str,
    facts: Sequence[tuple[str, str]],
    tables: Sequence[Table],
    charts: Sequence[tuple[str, str]],
    failures: Sequence[Failure],
) -> str:
    drawn = [(name, Markup(svg)) for name, svg in charts]  # matplotlib escapes the words in it
    return _TEMPLATES.get_template("report.html").render(
        title=title, facts=facts, tables=tables, charts=drawn, failures=failures, none=NONE
    )


def _markdown(
    title: str, facts: Sequence[tuple[str, str]], tables: Sequence[Table], failures: Sequence[Failure]
) -> str:
    parts = [f"# {title}\n", *(f"- {name}: {value}" for name, value in facts), "", *map(markdown, tables)]
    if failures:
        parts.append("### The most telling failures\n")
    for failure in failures:
        asked = failure.question
        parts.append(f"**{asked.question}** ({asked.category}, {asked.question_id})\n")
        parts.append(f"- gold: {asked.gold or 'nothing was said of it'}")
        parts += [f"- {row.system}: {'right' if right else 'wrong'}. {_said(row)}" for row, right in failure.rows]
        parts += [
            f"- evidence {turn.reference}, {turn.speaker}, {turn.said_at}: {turn.text}" for turn in asked.evidence_turns
        ]
        parts.append("")
    return "\n".join(parts)


def _said(row: Any) -> str:
    """What a system did, in a line: its reply, its error, or what it found."""
    if row.error is not None:
        return f"Failed: {row.error}"
    if row.reply is not None:
        return str(row.reply)
    return f"Found {', '.join((row.retrieved or ())[:10]) or 'nothing'}"


_TEMPLATES.filters["said"] = _said


def _plain(value: object) -> bool:
    return isinstance(value, str | int | float | bool) or (
        isinstance(value, list) and all(isinstance(one, str) for one in value)
    )


def _shown(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def _write(file: Path, text: str) -> None:
    unfinished = file.with_name(file.name + ".part")
    unfinished.write_text(text, encoding="utf-8")
    os.replace(unfinished, file)
