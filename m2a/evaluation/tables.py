"""Makes the tables of a run, shaped like those of the M2A paper, as text cells for HTML and Markdown."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from m2a.benchmarks import longmemeval
from m2a.benchmarks.locomo import CATEGORY_NAMES, VISUAL_CATEGORIES
from m2a.evaluation import published, published_memoryagentbench
from m2a.evaluation.answer_metrics import NORMALISATION
from m2a.evaluation.cost_tables import costs, ingestion
from m2a.evaluation.published_locomo import LOCOMO_ROWS, QUESTIONS
from m2a.evaluation.retrieval_metrics import CUTOFFS
from m2a.evaluation.summary import MAIN_RATES
from m2a.evaluation.table import NONE, Summary, Table, has_metric, percent, without_empty_columns
from m2a.evaluation.training_overlap import LearnedFrom, marked_name, overlap_note

_LOCOMO = tuple(CATEGORY_NAMES.values())
_VISUAL = tuple(CATEGORY_NAMES[number] for number in VISUAL_CATEGORIES)
_CATEGORY_ORDER = (*(name for name in _LOCOMO if name not in _VISUAL), "visual-centric", *_VISUAL)


def tables_of(summary: Summary, amounts: Summary, learned: LearnedFrom | None = None) -> list[Table]:
    """Returns the tables that the run has figures for. `amounts` are from `amounts_of`; systems in `learned` are marked."""
    tables = [
        _accuracy(summary, amounts),
        _published_locomo(summary),
        _ablations(summary),
        _known_errors(summary),
        _word_metrics(summary, amounts),
        _competencies(summary),
        _published_memoryagentbench(summary),
        _abilities(summary),
        _retrieval(summary, amounts),
        _recall_by_category(summary, amounts),
    ]
    rate_tables = [_with_marks(table, learned or {}) for table in tables if table is not None]
    cost_tables = [table for table in (costs(summary, amounts), ingestion(amounts)) if table is not None]
    return list(map(without_empty_columns, [*rate_tables, *cost_tables]))


def _with_marks(table: Table, learned: LearnedFrom) -> Table:
    systems = [row[0] for row in table.rows]
    rows = tuple((marked_name(name, learned), *cells) for name, *cells in table.rows)
    return replace(table, rows=rows, note=" ".join(filter(None, (table.note, overlap_note(systems, learned)))))


def _interval_note(amounts: Summary, metric: str) -> str:
    """Returns an explanation of the intervals, and the range over dialogues, which they do not cover."""
    explanation = "In brackets: 95 % bootstrap interval over questions, or Wilson's interval if all of them agree."
    ranges = {system: figures.get("range_over_dialogues", {}).get(metric) for system, figures in amounts.items()}
    shown = [f"{system} {100 * ends[0]:.1f}–{100 * ends[1]:.1f}" for system, ends in ranges.items() if ends]
    if not shown:
        return explanation
    return f"{explanation} Lowest and highest {metric} of a dialogue: {', '.join(shown)}."


def categories_of(summary: Summary) -> list[str]:
    """Returns the categories of all systems: LoCoMo's and the visual ones in the paper's order, then the others."""
    present = dict.fromkeys(category for figures in summary.values() for category in figures["categories"])
    ordered = [category for category in _CATEGORY_ORDER if category in present]
    return ordered + [category for category in present if category not in ordered]


def main_rate(summary: Summary) -> str | None:
    """Returns the first of `MAIN_RATES` that the run has."""
    return next((name for name in MAIN_RATES if has_metric(summary, name)), None)


def rates(summary: Summary, metric: str) -> tuple[tuple[str, ...], Callable[[Mapping[str, Any]], tuple[str, ...]]]:
    """Returns the columns of a metric by category, by judge and in total, and a function for the cells of one system."""
    categories = [category for category in categories_of(summary) if not category.startswith("visual ")]
    keys = dict.fromkeys(key for figures in summary.values() for key in figures)
    judges = [key for key in keys if key.startswith("judge:") and not key.endswith("_ci95")]
    means = {metric: "total" if metric != "accuracy" else "mean of judges"}
    if metric == "accuracy" and has_metric(summary, "strict_accuracy"):
        means = {"accuracy": "mean of lenient judges", "strict_accuracy": "mean of strict judges"}
    columns = (*categories, *(key.removeprefix("judge:") for key in judges), *means.values())

    def cells(figures: Mapping[str, Any]) -> tuple[str, ...]:
        by_category = (percent(figures["categories"].get(category, {}), metric) for category in categories)
        return (*by_category, *(percent(figures, key) for key in (*judges, *means)))

    return columns, cells


def _accuracy(summary: Summary, amounts: Summary) -> Table | None:
    if not has_metric(summary, "accuracy"):
        return None
    columns, cells = rates(summary, "accuracy")
    rows = [(system, *cells(figures)) for system, figures in summary.items()]
    note = f"Questions without an answer are left out. {_interval_note(amounts, 'accuracy')}"
    if "visual-centric" in columns:
        note += f" Published rows: {published.SOURCE}, on the authors' own set. {published.JUDGING_NOTE}"
        for row in published.TABLE_1:
            published_rates = dict(zip(published.CATEGORIES, row.accuracy, strict=True))
            published_rates |= {
                "mean of judges": published_rates["total"],
                "mean of lenient judges": published_rates["total"],
            }
            figures = (f"{published_rates[column]:.1f}" if column in published_rates else NONE for column in columns)
            rows.append((f"{row.method}, {row.chat_model} (published)", *figures))
    return Table("Accuracy by category (as table 1 of the paper), %", ("system", *columns), tuple(rows), note)


def _published_locomo(summary: Summary) -> Table | None:
    """Returns the rows of papers for a run on LoCoMo alone, in the right columns and with a check of their overall accuracy."""
    categories = set(categories_of(summary))
    if not has_metric(summary, "accuracy") or not set(QUESTIONS) <= categories or "visual-centric" in categories:
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
    category_columns = (f"{category} (n = {number})" for category, number in QUESTIONS.items())
    note = "Not measured here; chat models, judges and prompts differ. n counts the questions of all ten conversations."
    columns = ("system", "source", *category_columns, "overall", "weighted mean", "note")
    return Table("Published on LoCoMo, accuracy in %", columns, rows, note)


def _ablations(summary: Summary) -> Table | None:
    compared = {system: figures for system, figures in summary.items() if system in published.TABLE_2}
    if len(compared) < 2:
        return None
    rows = tuple(
        (
            f"{system} (full)" if system == published.FULL_SYSTEM else system,
            percent(figures, "accuracy"),
            percent(figures, "recall@10"),
            f"{sum(published.TABLE_2[system]) / 2:.1f}",
        )
        for system, figures in compared.items()
    )
    return Table(
        "Ablations (as table 2 of the paper), %",
        ("system", "accuracy", "recall@10", "accuracy, published (Qwen3-VL-8B)"),
        rows,
        f"Published: {published.SOURCE}. {published.JUDGING_NOTE}",
    )


def _word_metrics(summary: Summary, amounts: Summary) -> Table | None:
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
    present = [metric for metric in metrics if has_metric(summary, metric)]
    if not set(present) - {"errors"}:
        return None
    rows = tuple((system, *(percent(figures, metric) for metric in present)) for system, figures in summary.items())
    note = f"{NORMALISATION} {_interval_note(amounts, 'accepted_match')}"
    return Table("Answers compared by words, %", ("system", *present), rows, note)


def _known_errors(summary: Summary) -> Table | None:
    """Returns the main rate with and without questions whose gold answer an audit found to be wrong."""
    audited = {system: figures for system, figures in summary.items() if "without_known_errors" in figures}
    if not audited:
        return None
    metric = main_rate(audited) or MAIN_RATES[-1]
    categories = categories_of(audited)
    rows = []
    for system, figures in audited.items():
        for name, part in ((system, figures), (f"{system}, without known errors", figures["without_known_errors"])):
            by_category = (percent(part["categories"].get(category, {}), metric) for category in categories)
            rows.append((name, str(part["n"]), percent(part, metric), *by_category))
    return Table(
        f"{metric} with and without known errors, %",
        ("system", "n", "all", *categories),
        tuple(rows),
        "Known errors are questions whose gold answer an audit (--known-errors) found to be wrong.",
    )


def _competencies(summary: Summary) -> Table | None:
    """Returns the rates on MemoryAgentBench by sub-dataset, competency and stratum, scored as published and strictly."""
    metrics = ("as_published", "summary_f1", "strict", "chain_valid")
    if not any(has_metric(summary, metric) for metric in metrics):
        return None
    rows = tuple(
        (f"{system}: {category}", str(part["n"]), *(percent(part, metric) for metric in metrics))
        for category in categories_of(summary)
        for system, figures in summary.items()
        if not set(metrics).isdisjoint(part := figures["categories"].get(category, {}))
    )
    note = (
        "as_published: as MemoryAgentBench scores; a reply that lists an old and a new value counts as right. summary_f1: by the "
        "judges, from the key points covered and the sentences supported. strict: the short answer (after “Answer:”, or the "
        "first line) is a gold answer and nothing else. chain_valid: strict, and the chunks of all facts of the chain were among "
        "the sources. Categories that begin with own_ were composed here; do not compare them with published figures."
    )
    return Table("By sub-dataset (MemoryAgentBench), %", ("system", "n", *metrics), rows, note)


def _published_memoryagentbench(summary: Summary) -> Table | None:
    """Returns the rows of the paper for the published sub-datasets of a run that has answers."""
    counts = published_memoryagentbench.QUESTIONS
    columns = [category for category in categories_of(summary) if category in counts]
    if not columns or not (has_metric(summary, "as_published") or has_metric(summary, "accuracy")):
        return None
    rows = tuple(
        (row.system, *(f"{row.rates[column]:.1f}" for column in columns), row.note or NONE)
        for row in published_memoryagentbench.ROWS
    )
    return Table(
        "Published on MemoryAgentBench, as_published in %",
        ("system", *(f"{column} (n = {counts[column]})" for column in columns), "note"),
        rows,
        f"{published_memoryagentbench.SOURCE}; not measured here. Agents use GPT-4o-mini if no model is named; some take in "
        "chunks of 4,096 tokens throughout.",
    )


def _abilities(summary: Summary) -> Table | None:
    """Returns the rates on LongMemEval by ability, including abstention, with the means over questions and abilities."""
    categories = categories_of(summary)
    metric = next((name for name in ("accuracy", "accepted_match") if has_metric(summary, name)), None)
    if metric is None or len(categories) < 2 or not set(categories) <= set(longmemeval.CATEGORIES):
        return None
    rows = []
    for system, figures in summary.items():
        cells = []
        counted_rates = []
        for category in categories:
            ability, key = figures["categories"].get(category, {}), metric
            if category == longmemeval.ABSTENTION:
                key = "abstention"
            cells.append(percent(ability, key))
            if key in ability:
                counted_rates.append((ability["n"], ability[key]))
        means = [NONE, NONE]
        if counted_rates:
            over_questions = sum(n * rate for n, rate in counted_rates) / sum(n for n, _ in counted_rates)
            over_abilities = sum(rate for _, rate in counted_rates) / len(counted_rates)
            means = [f"{100 * mean:.1f}" for mean in (over_questions, over_abilities)]
        rows.append((system, *cells, *means))
    counts = next(iter(summary.values()))["categories"]
    category_columns = (f"{category} (n = {counts.get(category, {}).get('n', 0)})" for category in categories)
    note = f"{metric}; for questions without an answer, whether the reply says so. A small subset cannot rank systems."
    return Table(
        "By ability (LongMemEval), %",
        ("system", *category_columns, "all questions", "mean of abilities"),
        tuple(rows),
        note,
    )


def _retrieval(summary: Summary, amounts: Summary) -> Table | None:
    metrics = [f"{name}@{k}" for name in ("recall", "hit", "session_recall") for k in CUTOFFS]
    metrics = [metric for metric in metrics if has_metric(summary, metric)]
    if not metrics:
        return None
    rows = tuple(
        (
            system,
            str(amounts.get(system, {}).get("n_evidence", NONE)),
            *(percent(figures, metric) for metric in metrics),
        )
        for system, figures in summary.items()
    )
    notes = [
        "Recall is the share of a question's evidence that was found; the mean is over questions with an answer and evidence."
    ]
    if any(metric.startswith("session") for metric in metrics):
        notes.append("session_recall: the share of the sessions with evidence that the first k turns come from.")
    return Table(
        "Evidence found, %",
        ("system", "questions", *metrics),
        rows,
        " ".join([*notes, *_short_list_notes(amounts), _interval_note(amounts, "recall@10")]),
    )


def _short_list_notes(amounts: Summary) -> list[str]:
    """Returns a note for each system whose lists are shorter than the largest k by design."""
    lists = {system: figures["longest_list"] for system, figures in amounts.items() if "longest_list" in figures}
    return [
        f"{system} returned at most {length} turns per question, so its figures beyond {length} are over {length}."
        for system, length in lists.items()
        if length < max(CUTOFFS)
    ]


def _recall_by_category(summary: Summary, amounts: Summary) -> Table | None:
    metric = next((name for name in ("recall@10", "session_recall@10") if has_metric(summary, name)), None)
    if metric is None:
        return None
    categories = [
        category
        for category in categories_of(summary)
        if any(metric in figures["categories"].get(category, {}) for figures in summary.values())
    ]

    def column(category: str) -> str:
        source, key = (amounts, "n_evidence") if metric == "recall@10" else (summary, "n")
        counts = {figures.get("categories", {}).get(category, {}).get(key, 0) for figures in source.values()}
        return f"{category} (n = {'/'.join(map(str, sorted(counts)))})"

    rows = tuple(
        (system, *(percent(figures["categories"].get(category, {}), metric) for category in categories))
        for system, figures in summary.items()
    )
    return Table(f"{metric} by category, %", ("system", *map(column, categories)), rows)
