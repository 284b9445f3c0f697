"""Makes the tables of a run, shaped like those of the M2A paper, as text cells for HTML and Markdown."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from m2a.benchmarks import longmemeval
from m2a.benchmarks.locomo import ADVERSARIAL, CATEGORY_NAMES
from m2a.evaluation import published
from m2a.evaluation.answer_metrics import NORMALISATION
from m2a.evaluation.published_locomo import LOCOMO_ROWS, QUESTIONS
from m2a.evaluation.retrieval_metrics import CUTOFFS
from m2a.evaluation.seen import LearnedFrom, marked, note_on

Summary = Mapping[str, Mapping[str, Any]]

NONE = "–"
_LOCOMO = tuple(CATEGORY_NAMES.values())
_CATEGORY_ORDER = (*_LOCOMO[:ADVERSARIAL], "visual-centric", *_LOCOMO[ADVERSARIAL:])


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


def tables_of(summary: Summary, facts: Summary, learned: LearnedFrom | None = None) -> list[Table]:
    """Returns the tables that the run has figures for. `facts` are from `facts_of`; systems in `learned` are marked."""
    found = [
        _accuracy(summary, facts),
        _published_locomo(summary),
        _ablations(summary),
        _known_errors(summary),
        _words(summary, facts),
        _competencies(summary),
        _abilities(summary),
        _retrieval(summary, facts),
        _by_category(summary, facts),
    ]
    of_rates = [_marked(table, learned or {}) for table in found if table is not None]
    of_work = [table for table in (_costs(summary, facts), _ingestion(facts)) if table is not None]
    return list(map(without_empty_columns, [*of_rates, *of_work]))


def without_empty_columns(table: Table) -> Table:
    """Returns the table without its empty columns."""
    kept = [n for n in range(len(table.columns)) if n == 0 or any(row[n] != NONE for row in table.rows)]
    rows = tuple(tuple(row[n] for n in kept) for row in table.rows)
    return replace(table, columns=tuple(table.columns[n] for n in kept), rows=rows)


def _marked(table: Table, learned: LearnedFrom) -> Table:
    systems = [row[0] for row in table.rows]
    rows = tuple((marked(name, learned), *cells) for name, *cells in table.rows)
    return replace(table, rows=rows, note=" ".join(filter(None, (table.note, note_on(systems, learned)))))


def _on_intervals(facts: Summary, metric: str) -> str:
    """Explains the intervals, and gives the lowest and highest dialogue, which they do not cover."""
    explanation = "In brackets: 95 % bootstrap interval over questions, or Wilson's if all of them agree."
    ranges = {system: one.get("range_over_dialogues", {}).get(metric) for system, one in facts.items()}
    shown = [f"{system} {100 * found[0]:.1f}–{100 * found[1]:.1f}" for system, found in ranges.items() if found]
    if not shown:
        return explanation
    return f"{explanation} Lowest and highest {metric} of a dialogue: {', '.join(shown)}."


def categories_of(summary: Summary) -> list[str]:
    """Returns the categories of all systems: LoCoMo's and the visual ones in the paper's order, then the others."""
    seen = dict.fromkeys(category for figures in summary.values() for category in figures["categories"])
    known = [category for category in _CATEGORY_ORDER if category in seen]
    return known + [category for category in seen if category not in known]


def percent(figures: Mapping[str, Any], metric: str) -> str:
    """Returns a cell like `12.3 (10.1–14.5)`, with the interval if there is one."""
    if metric not in figures:
        return NONE
    interval = figures.get(f"{metric}_ci95")
    around = f" ({100 * interval[0]:.1f}–{100 * interval[1]:.1f})" if interval else ""
    return f"{100 * figures[metric]:.1f}{around}"


def _has(summary: Summary, metric: str) -> bool:
    return any(metric in figures for figures in summary.values())


def rates(summary: Summary, metric: str) -> tuple[tuple[str, ...], Callable[[Mapping[str, Any]], tuple[str, ...]]]:
    """Returns the columns of a metric by category, by judge and in total, and a function for the cells of one system."""
    categories = [category for category in categories_of(summary) if not category.startswith("visual ")]
    judges = dict.fromkeys(key for figures in summary.values() for key in figures if key.startswith("judge:"))
    judges = {key: None for key in judges if not key.endswith("_ci95")}
    means = {metric: "total" if metric != "accuracy" else "mean of judges"}
    if metric == "accuracy" and _has(summary, "strict_accuracy"):
        means = {"accuracy": "mean of lenient judges", "strict_accuracy": "mean of strict judges"}
    columns = (*categories, *(key.removeprefix("judge:") for key in judges), *means.values())

    def cells(figures: Mapping[str, Any]) -> tuple[str, ...]:
        by_category = (percent(figures["categories"].get(category, {}), metric) for category in categories)
        return (*by_category, *(percent(figures, key) for key in (*judges, *means)))

    return columns, cells


def _accuracy(summary: Summary, facts: Summary) -> Table | None:
    if not _has(summary, "accuracy"):
        return None
    columns, cells = rates(summary, "accuracy")
    rows = [(system, *cells(figures)) for system, figures in summary.items()]
    note = f"Questions without an answer are left out. {_on_intervals(facts, 'accuracy')}"
    if "visual-centric" in columns:
        note += f" Published rows: {published.SOURCE}, on the authors' own set. {published.JUDGED}"
        for row in published.TABLE_1:
            named = dict(zip(published.CATEGORIES, row.accuracy, strict=True))
            named |= {"mean of judges": named["total"], "mean of lenient judges": named["total"]}
            figures = (f"{named[column]:.1f}" if column in named else NONE for column in columns)
            rows.append((f"{row.method}, {row.chat_model} (published)", *figures))
    return Table("Accuracy by category (as table 1 of the paper), %", ("system", *columns), tuple(rows), note)


def _published_locomo(summary: Summary) -> Table | None:
    """Returns rows from papers for a run on LoCoMo alone, in the right columns and with a check of their overall."""
    categories = set(categories_of(summary))
    if not _has(summary, "accuracy") or not set(QUESTIONS) <= categories or "visual-centric" in categories:
        return None
    rows = tuple(
        (
            f"{row.system}, {row.chat_model}",
            row.source,
            *(f"{row.accuracy[category]:.2f}" for category in QUESTIONS),
            f"{row.overall:.2f}",
            f"{row.weighted_mean:.2f}",
            row.note or NONE,
        )
        for row in LOCOMO_ROWS
    )
    counted = (f"{category} (n = {number})" for category, number in QUESTIONS.items())
    note = "Not measured here; chat models, judges and prompts differ. n counts the questions of all ten conversations."
    columns = ("system", "source", *counted, "overall", "weighted mean", "note")
    return Table("Published on LoCoMo, accuracy in %", columns, rows, note)


def _ablations(summary: Summary) -> Table | None:
    ours = {system: figures for system, figures in summary.items() if system in published.TABLE_2}
    if len(ours) < 2:
        return None
    rows = tuple(
        (
            f"{system} (full)" if system == published.FULL_SYSTEM else system,
            percent(figures, "accuracy"),
            percent(figures, "recall@10"),
            f"{sum(published.TABLE_2[system]) / 2:.1f}",
        )
        for system, figures in ours.items()
    )
    return Table(
        "Ablations (as table 2 of the paper), %",
        ("system", "accuracy", "recall@10", "accuracy, published (Qwen3-VL-8B)"),
        rows,
        f"Published: {published.SOURCE}. {published.JUDGED}",
    )


def _words(summary: Summary, facts: Summary) -> Table | None:
    metrics = (
        "accepted_match",
        "exact_match",
        "f1",
        "bleu1",
        "abstention",
        "false_abstention",
        "judge_failed",
        "errors",
    )
    there = [metric for metric in metrics if _has(summary, metric)]
    if not set(there) - {"errors"}:
        return None
    rows = tuple((system, *(percent(figures, metric) for metric in there)) for system, figures in summary.items())
    note = f"{NORMALISATION} {_on_intervals(facts, 'accepted_match')}"
    return Table("Answers by their words, %", ("system", *there), rows, note)


def _known_errors(summary: Summary) -> Table | None:
    """Returns the main rate with and without questions whose gold answer an audit found to be wrong."""
    audited = {system: figures for system, figures in summary.items() if "without_known_errors" in figures}
    if not audited:
        return None
    metric = next((name for name in ("accuracy", "accepted_match", "recall@10") if _has(audited, name)), "recall@10")
    categories = categories_of(audited)
    rows = []
    for system, figures in audited.items():
        for name, one in ((system, figures), (f"{system}, without known errors", figures["without_known_errors"])):
            by_category = (percent(one["categories"].get(category, {}), metric) for category in categories)
            rows.append((name, str(one["n"]), percent(one, metric), *by_category))
    return Table(
        f"{metric} with and without known errors, %",
        ("system", "n", "all", *categories),
        tuple(rows),
        "Known errors are questions whose gold answer an audit (--known-errors) found to be wrong.",
    )


def _competencies(summary: Summary) -> Table | None:
    """Returns MemoryAgentBench by sub-dataset, competency and stratum, scored as published and strictly."""
    metrics = ("as_published", "summary_f1", "strict", "chain_valid")
    if not any(_has(summary, metric) for metric in metrics):
        return None
    rows = tuple(
        (f"{system}: {category}", str(one["n"]), *(percent(one, metric) for metric in metrics))
        for category in categories_of(summary)
        for system, figures in summary.items()
        if not set(metrics).isdisjoint(one := figures["categories"].get(category, {}))
    )
    note = (
        "as_published: as MemoryAgentBench scores; a reply that lists an old and a new value counts as right. summary_f1: by the "
        "judges, from the key points covered and the sentences supported. strict: the short "
        "answer (after “Answer:”, or the first line) is a gold answer and nothing else. chain_valid: strict, and the chunks of "
        "all facts of the chain were among the sources. Categories that begin with own_ were composed here; do not compare them "
        "with published figures."
    )
    return Table("By sub-dataset (MemoryAgentBench), %", ("system", "n", *metrics), rows, note)


def _abilities(summary: Summary) -> Table | None:
    """Returns LongMemEval by ability, including abstention, with the means over questions and over abilities."""
    categories = categories_of(summary)
    metric = next((name for name in ("accuracy", "accepted_match") if _has(summary, name)), None)
    if metric is None or len(categories) < 2 or not set(categories) <= set(longmemeval.CATEGORIES):
        return None
    rows = []
    for system, figures in summary.items():
        of = {category: figures["categories"].get(category, {}) for category in categories}
        names = {category: "abstention" if category == longmemeval.ABSTENTION else metric for category in categories}
        known = [(of[name]["n"], of[name][names[name]]) for name in categories if names[name] in of[name]]
        overall = [NONE, NONE]
        if known:
            of_questions = sum(n * rate for n, rate in known) / sum(n for n, _ in known)
            overall = [f"{100 * mean:.1f}" for mean in (of_questions, sum(rate for _, rate in known) / len(known))]
        rows.append((system, *(percent(of[category], names[category]) for category in categories), *overall))
    counts = next(iter(summary.values()))["categories"]
    named = (f"{category} (n = {counts.get(category, {}).get('n', 0)})" for category in categories)
    note = (
        f"{metric}; for questions without an answer, whether the reply says so. A small subset does not rank systems."
    )
    return Table(
        "By ability (LongMemEval), %", ("system", *named, "all questions", "mean of abilities"), tuple(rows), note
    )


def _retrieval(summary: Summary, facts: Summary) -> Table | None:
    metrics = [f"{name}@{k}" for name in ("recall", "hit", "session_recall") for k in CUTOFFS]
    metrics = [metric for metric in metrics if _has(summary, metric)]
    if not metrics:
        return None
    rows = tuple(
        (
            system,
            str(facts.get(system, {}).get("n_evidence", NONE)),
            *(percent(figures, metric) for metric in metrics),
        )
        for system, figures in summary.items()
    )
    notes = [
        "Recall is the found share of a question's evidence; the mean is over questions with an answer and evidence."
    ]
    if any(metric.startswith("session") for metric in metrics):
        notes.append("session_recall: the share of the sessions with evidence that the first k turns come from.")
    return Table(
        "Evidence found, %",
        ("system", "questions", *metrics),
        rows,
        " ".join([*notes, *_short_lists(facts), _on_intervals(facts, "recall@10")]),
    )


def _short_lists(facts: Summary) -> list[str]:
    """Returns a note for each system whose lists are shorter than the largest k by design."""
    lists = {system: one["longest_list"] for system, one in facts.items() if "longest_list" in one}
    return [
        f"{system} returned at most {length} turns per question, so its figures beyond {length} are over those."
        for system, length in lists.items()
        if length < max(CUTOFFS)
    ]


def _by_category(summary: Summary, facts: Summary) -> Table | None:
    metric = next((name for name in ("recall@10", "session_recall@10") if _has(summary, name)), None)
    if metric is None:
        return None
    categories = [
        category
        for category in categories_of(summary)
        if any(metric in figures["categories"].get(category, {}) for figures in summary.values())
    ]

    def counted(category: str) -> str:
        counted_in, key = (facts, "n_evidence") if metric == "recall@10" else (summary, "n")
        counts = {one.get("categories", {}).get(category, {}).get(key, 0) for one in counted_in.values()}
        return f"{category} (n = {'/'.join(map(str, sorted(counts)))})"

    rows = tuple(
        (system, *(percent(figures["categories"].get(category, {}), metric) for category in categories))
        for system, figures in summary.items()
    )
    return Table(f"{metric} by category, %", ("system", *map(counted, categories)), rows)


def _costs(summary: Summary, facts: Summary) -> Table | None:
    columns: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "context tokens": lambda one: _number(one, "context_tokens"),
        "tokens a question": lambda one: _tokens(one, "total_tokens", "estimated_tokens"),
        "calls a question": lambda one: _number(one, "calls", "{:.1f}"),
        "cost of the answers": lambda one: _cost(one, "cost", "calls"),
        "cost of the judges": lambda one: _cost(one, "judge_cost", "judge_calls"),
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
        " ".join(
            [
                "≈: estimated, because the server did not count all tokens. An unknown cost is shown as unknown, not as 0.",
                *_failed_attempts(facts),
            ]
        ),
    )


def _failed_attempts(facts: Summary) -> list[str]:
    return [
        f"In addition, {system} used {_number(one, 'failed_tokens')} tokens in {one['failed_attempts']} failed attempts "
        f"(cost {_cost(one, 'failed_cost', 'failed_tokens')})."
        for system, one in facts.items()
        if one.get("failed_attempts")
    ]


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
            _number(figures, "ingestion_seconds", "{:,.1f}"),
            _number(figures, "ingestion_calls"),
            _tokens(figures, "ingestion_tokens", "ingestion_estimated_tokens"),
            _cost(figures, "ingestion_cost", "ingestion_calls"),
            str(figures.get("ingestion_failures", NONE)),
        )
        for system, figures in facts.items()
    )
    columns = (
        "system",
        "version",
        "messages",
        "kept",
        "messages/s",
        "seconds",
        "calls",
        "tokens",
        "cost",
        "failed model calls",
    )
    return Table("Taking the dialogues in", columns, rows)


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
