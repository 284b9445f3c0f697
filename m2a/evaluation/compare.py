"""Compares two runs question by question: what changed, and whether chance may explain it."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from m2a.evaluation.bootstrap import paired_interval
from m2a.evaluation.record import QuestionRecord, read_rows
from m2a.evaluation.report import ReportError, differences, learned_from, read_settings
from m2a.evaluation.summary import judges_of, metrics_of, values_by_question
from m2a.evaluation.table import Table, markdown
from m2a.evaluation.training_overlap import marked_name, overlap_note

_NOTE = "The difference is second minus first, in points; in brackets its 95 % interval by paired bootstrap."


def compare(first: Path, second: Path) -> str:
    """Returns, as Markdown, the paired difference of every metric for each system that is in both runs.

    Runs of one system each are compared even if the systems differ. Pairs are questions with a value in both runs; only judges
    of both runs count. If the runs differ in what they asked, a sentence above says so. Raises `ReportError` if there are no
    pairs.
    """
    settings = {folder: read_settings(folder) for folder in (first, second)}
    settings_note = differences(list(settings.values()))
    rows = {folder: _rows(folder) for folder in (first, second)}
    pairs = _systems(rows[first], rows[second])
    if not pairs:
        raise ReportError(
            f"{first} and {second} have no system in common. Compare two runs of one system, or runs that share one."
        )
    tables = []
    for before, after in pairs:
        metric_rows = _metric_rows(
            [row for row in rows[first] if row.system == before], [row for row in rows[second] if row.system == after]
        )
        if not metric_rows:
            raise ReportError(f"{first} and {second} have no question of {before} and {after} in common.")
        sides = [(before, learned_from(settings[first])), (after, learned_from(settings[second]))]
        title = " against ".join(dict.fromkeys(marked_name(system, learned) for system, learned in sides))
        overlap_notes = dict.fromkeys(overlap_note([system], learned) for system, learned in sides)
        note = " ".join(filter(None, (_NOTE, _judges_note(rows[first], rows[second]), *overlap_notes)))
        tables.append(Table(title, ("metric", "pairs", "first", "second", "difference"), tuple(metric_rows), note))
    return "\n".join([*([settings_note, ""] if settings_note else []), *map(markdown, tables)])


def _rows(folder: Path) -> list[QuestionRecord]:
    rows = read_rows(folder / "questions.jsonl", QuestionRecord)
    if not rows:
        raise ReportError(f"{folder} holds no questions.jsonl with answers. Run `m2a evaluate … --out {folder}` first.")
    return rows


def _systems(first: Sequence[QuestionRecord], second: Sequence[QuestionRecord]) -> list[tuple[str, str]]:
    before, after = (list(dict.fromkeys(row.system for row in rows)) for rows in (first, second))
    common = [(system, system) for system in before if system in after]
    return common or ([(before[0], after[0])] if len(before) == len(after) == 1 else [])


def _judges_note(first: Sequence[QuestionRecord], second: Sequence[QuestionRecord]) -> str:
    """Returns a sentence if the runs had different judges, and an empty text otherwise."""
    judges = judges_of(first), judges_of(second)
    if set(judges[0]) == set(judges[1]):
        return ""
    before, after = (", ".join(names) or "nobody" for names in judges)
    return f"The first run was judged by {before}, the second by {after}; only judges of both count."


def _metric_rows(first: Sequence[QuestionRecord], second: Sequence[QuestionRecord]) -> list[tuple[str, ...]]:
    metric_rows = []
    judges = [judge for judge in judges_of(first) if judge in judges_of(second)]
    for name, metric in metrics_of([*first, *second], judges).items():
        before, after = values_by_question(first, metric), values_by_question(second, metric)
        shared = [key for key in before if key in after]
        if not shared:
            continue
        old, new = [before[key] for key in shared], [after[key] for key in shared]
        low, high = paired_interval(old, new)
        means = float(np.mean(old)), float(np.mean(new))
        if not any(means) and name == "errors":
            continue
        metric_rows.append(
            (
                name,
                str(len(shared)),
                *(f"{100 * mean:.1f}" for mean in means),
                f"{100 * (means[1] - means[0]):+.1f} ({100 * low:+.1f} to {100 * high:+.1f})",
            )
        )
    return metric_rows
