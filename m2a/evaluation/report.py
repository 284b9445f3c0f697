"""Writes the report of a run as HTML and Markdown, from its folder alone, and reports of several runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from m2a.benchmarks.folders import read_object, write_whole
from m2a.evaluation import published
from m2a.evaluation.charts import bars, charts_of, line
from m2a.evaluation.failures import Failure, telling_failures
from m2a.evaluation.record import QuestionRecord, read_rows
from m2a.evaluation.table import NONE, Table, markdown, without_empty_columns
from m2a.evaluation.tables import categories_of, rates, tables_of
from m2a.evaluation.training_overlap import LearnedFrom, by_marked_name, marked_name, overlap_note
from m2a.types.errors import UserError

SELECTION = ("limit", "categories", "turns")  # which questions of the benchmark

_REWRITE = "run its `m2a evaluate` command again to rewrite it"

_TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader("m2a.evaluation"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


class ReportError(UserError):
    """The folders hold no runs to report on or compare, or the report cannot be written; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run's settings (`run.json`), rates (`summary.json`) and amounts (`facts.json`)."""

    folder: Path
    settings: Mapping[str, Any]
    summary: Mapping[str, Mapping[str, Any]]
    amounts: Mapping[str, Mapping[str, Any]]

    @property
    def chat_model(self) -> str:
        return str(self.settings.get("chat_model") or "no chat model")

    @property
    def learned_from(self) -> LearnedFrom:
        return learned_from(self.settings)

    @property
    def selection(self) -> str:
        """The benchmark, and which part of it was asked."""
        parts = [f"{key} {_as_text(self.settings[key])}" for key in SELECTION if self.settings.get(key)]
        return ", ".join([str(self.settings.get("benchmark", "?")), *parts])


def read_run(folder: Path) -> Run:
    """Reads a finished run. Raises `ReportError` if the folder has none."""
    settings = read_settings(folder)
    if not all((folder / name).is_file() for name in ("summary.json", "facts.json")):
        raise ReportError(f"The run in {folder} is not finished; run the same `m2a evaluate` command to continue it.")
    return Run(folder, settings, _read_figures(folder / "summary.json"), _read_figures(folder / "facts.json"))


def _read_figures(file: Path) -> dict[str, Any]:
    figures = read_object(file, ReportError, _REWRITE)
    if not all(isinstance(system, dict) and isinstance(system.get("categories"), dict) for system in figures.values()):
        raise ReportError(f"{file} is damaged (a system has no figures): {_REWRITE}.")
    return figures


def learned_from(settings: Mapping[str, Any]) -> LearnedFrom:
    """Returns, by system, the dialogues of the run that its ranking was learned from."""
    overlap = settings.get("learned_from")
    return overlap if isinstance(overlap, dict) else {}


def read_settings(folder: Path) -> Mapping[str, Any]:
    """Reads the settings of a run, finished or not. Raises `ReportError` if there is none."""
    if not (folder / "run.json").is_file():
        raise ReportError(f"{folder} holds no finished run. Run `m2a evaluate … --out {folder}` first.")
    settings = read_object(folder / "run.json", ReportError, "repeat the run in another folder")
    if "format" in settings:
        raise ReportError(f"{folder} is a data set made by data_synthesis, not a run of `m2a evaluate`.")
    return settings


def differences(settings: Sequence[Mapping[str, Any]]) -> str:
    """Returns a sentence about how the runs' questions differ, or an empty text if they do not."""
    differing = []
    for key in ("benchmark", "data_sha256", *SELECTION):
        values = list(dict.fromkeys(_as_text(run.get(key) or "all") for run in settings))
        if len(values) > 1:
            differing.append("data" if key == "data_sha256" else f"{key} ({' and '.join(values)})")
    return f"These runs differ in {', '.join(differing)}; they did not ask the same questions." if differing else ""


def write_report(folder: Path) -> None:
    """Writes `report.html` and `report.md` into the run's folder."""
    run = read_run(folder)
    benchmark = run.settings.get("benchmark", "a benchmark")
    questions = read_rows(folder / "questions.jsonl", QuestionRecord)
    if not questions and run.summary:
        raise ReportError(f"{folder} holds no questions.jsonl with answers: {_REWRITE}.")
    failures = telling_failures(questions)
    tables = tables_of(run.summary, run.amounts, run.learned_from)
    charts = charts_of(by_marked_name(run.summary, run.learned_from), by_marked_name(run.amounts, run.learned_from))
    facts = [(key.replace("_", " "), _as_text(value)) for key, value in run.settings.items() if _fits_on_a_line(value)]
    write_whole(
        folder / "report.html",
        _page(f"Memory systems on {benchmark}", facts, tables, charts, failures),
    )
    write_whole(folder / "report.md", _markdown(f"Memory systems on {benchmark}", facts, tables, failures))


def merge(folders: Sequence[Path], out: Path) -> Path:
    """Writes a report of several runs: accuracy by chat model and method (table 1), visual subtypes (figure 4), context
    (figure 5).

    Writes `report.html` and `report.md` into `out`, which is created if it is missing, and returns the page's path. Raises
    `ReportError` if `out` holds anything but an earlier report, or if a run is named twice.
    """
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise ReportError("A run is named twice; name each one once.")
    runs = [read_run(folder) for folder in folders]
    _prepare_folder(out)
    is_judged = any("accuracy" in figures for run in runs for figures in run.summary.values())
    metric = "accuracy" if is_judged else "recall@10"
    tables = [_table_1(runs, metric), *_published_tables(metric)]
    facts = [("runs", ", ".join(run.folder.resolve().name for run in runs))]
    write_whole(out / "report.html", _page("Runs side by side", facts, tables, _figures(runs, metric), []))
    write_whole(out / "report.md", _markdown("Runs side by side", facts, tables, []))
    return out / "report.html"


def _prepare_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        other_files = {file.name for file in out.iterdir()} - {"report.html", "report.md"}
    except OSError as error:
        raise ReportError(f"{out} cannot be written to ({error.strerror}); name another folder with --out.") from error
    if other_files:
        raise ReportError(f"{out} holds other files; name a new folder with --out.")


def _table_1(runs: Sequence[Run], metric: str) -> Table:
    all_figures = [figures for run in runs for figures in run.summary.values()]
    columns, cells = rates({str(number): figures for number, figures in enumerate(all_figures)}, metric)
    rows = tuple(
        (
            run.chat_model,
            marked_name(system, run.learned_from),
            run.selection,
            str(figures.get("n", NONE)),
            *cells(figures),
        )
        for run in runs
        for system, figures in run.summary.items()
    )
    overlap_notes = (overlap_note(list(run.summary), run.learned_from) for run in runs)
    note = " ".join(filter(None, (differences([run.settings for run in runs]), *dict.fromkeys(overlap_notes))))
    title = f"{metric} by chat model and method (as table 1 of the paper), %"
    return without_empty_columns(Table(title, ("chat model", "method", "benchmark", "n", *columns), rows, note))


def _published_tables(metric: str) -> list[Table]:
    if metric != "accuracy":
        return []
    rows = tuple((row.chat_model, row.method, *(f"{value:.1f}" for value in row.accuracy)) for row in published.TABLE_1)
    note = f"Not measured here. Source: {published.SOURCE}, on the authors' own merged set. {published.JUDGING_NOTE}"
    return [Table("Published: table 1 of the paper, %", ("chat model", "method", *published.CATEGORIES), rows, note)]


def _figures(runs: Sequence[Run], metric: str) -> list[tuple[str, str]]:
    charts = []
    for run in runs:
        visual = [category for category in categories_of(run.summary) if category.startswith("visual ")]
        if visual:
            charts.append(
                (
                    f"{metric} on visual-centric questions, {run.chat_model} (figure 4)",
                    bars(by_marked_name(run.summary, run.learned_from), metric, visual),
                )
            )
    series = {run.chat_model: points for run in runs if len(points := _context_points(run, metric)) > 1}
    if series:
        charts.append((f"{metric} by turns of context (figure 5)", line(series, "turns of context", metric)))
    return charts


def _context_points(run: Run, metric: str) -> list[tuple[float, float]]:
    prefix = "m2a-context-"
    return sorted(
        (float(system.removeprefix(prefix)), figures[metric])
        for system, figures in run.summary.items()
        if system.startswith(prefix) and metric in figures
    )


def _page(
    title: str,
    facts: Sequence[tuple[str, str]],
    tables: Sequence[Table],
    charts: Sequence[tuple[str, str]],
    failures: Sequence[Failure],
) -> str:
    safe_charts = [(name, Markup(svg)) for name, svg in charts]  # matplotlib escapes the words in it
    return _TEMPLATES.get_template("report.html").render(
        title=title, facts=facts, tables=tables, charts=safe_charts, failures=failures, none=NONE
    )


def _markdown(
    title: str, facts: Sequence[tuple[str, str]], tables: Sequence[Table], failures: Sequence[Failure]
) -> str:
    parts = [f"# {title}\n", *(f"- {name}: {value}" for name, value in facts), "", *map(markdown, tables)]
    if failures:
        parts.append("### The most telling failures\n")
    for failure in failures:
        question = failure.question
        parts.append(f"**{question.question}** ({question.category}, {question.question_id})\n")
        parts.append(f"- gold: {question.gold or 'none; the right reply is that this is not known'}")
        parts += [f"- {row.system}: {'right' if right else 'wrong'}. {_outcome(row)}" for row, right in failure.rows]
        parts += [
            f"- evidence {turn.reference}, {turn.speaker}, {turn.said_at}: {turn.text}"
            for turn in question.evidence_turns
        ]
        parts.append("")
    return "\n".join(parts)


def _outcome(row: Any) -> str:
    """Returns a system's reply, its error, or the evidence that it found, in one line."""
    if row.error is not None:
        return f"Failed: {row.error}"
    if row.reply is not None:
        return str(row.reply)
    first_ten = (row.retrieved or ())[:10]
    hits = [reference for reference in row.evidence if reference in first_ten]
    return f"{len(hits)} of {len(row.evidence)} found in the first 10{': ' * bool(hits)}{', '.join(hits)}"


_TEMPLATES.filters["outcome"] = _outcome


def _fits_on_a_line(value: object) -> bool:
    """Returns whether the value is a single value, or a list of texts that can be joined by commas."""
    return isinstance(value, str | int | float | bool) or (
        isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)
    )


def _as_text(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)
