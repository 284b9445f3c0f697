"""Compares two runs question by question: what changed, and whether it may be chance."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from m2a.evaluation.bootstrap import paired_interval
from m2a.evaluation.record import QuestionRecord, read_questions
from m2a.evaluation.report import ReportError, differences, learned_from, read_settings
from m2a.evaluation.seen import marked, note_on
from m2a.evaluation.summary import judges_of, metrics_of, values_by_question
from m2a.evaluation.tables import Table, markdown

_NOTE = "The difference is second minus first, in points; in brackets its 95 % interval by paired bootstrap."


def compare(first: Path, second: Path) -> str:
    """Returns, as Markdown, the paired difference of every metric for each system in both runs, or the one system of each.

    Pairs are questions with a value in both runs; only judges of both runs count. If the runs differ in what they asked, a
    sentence above says so. Raises `ReportError` if there are no pairs.
    """
    settings = {folder: read_settings(folder) for folder in (first, second)}
    unlike = differences(list(settings.values()))
    rows = {folder: _rows(folder) for folder in (first, second)}
    pairs = _systems(rows[first], rows[second])
    if not pairs:
        raise ReportError(
            f"{first} and {second} have no system in common. Compare two runs of one system, or runs that share one."
        )
    tables = []
    for before, after in pairs:
        compared = _compared(
            [row for row in rows[first] if row.system == before], [row for row in rows[second] if row.system == after]
        )
        if not compared:
            raise ReportError(f"{first} and {second} have no question of {before} and {after} in common.")
        sides = [(before, learned_from(settings[first])), (after, learned_from(settings[second]))]
        title = " against ".join(dict.fromkeys(marked(system, learned) for system, learned in sides))
        on_seen = dict.fromkeys(note_on([system], learned) for system, learned in sides)
        note = " ".join(filter(None, (_NOTE, _on_judges(rows[first], rows[second]), *on_seen)))
        tables.append(Table(title, ("metric", "pairs", "first", "second", "difference"), tuple(compared), note))
    return "\n".join([*([unlike, ""] if unlike else []), *map(markdown, tables)])


def _rows(folder: Path) -> list[QuestionRecord]:
    rows = read_questions(folder / "questions.jsonl")
    if not rows:
        raise ReportError(f"{folder} holds no questions.jsonl with answers. Run `m2a evaluate … --out {folder}` first.")
    return rows


def _systems(first: Sequence[QuestionRecord], second: Sequence[QuestionRecord]) -> list[tuple[str, str]]:
    before, after = (list(dict.fromkeys(row.system for row in rows)) for rows in (first, second))
    common = [(system, system) for system in before if system in after]
    return common or ([(before[0], after[0])] if len(before) == len(after) == 1 else [])


def _on_judges(first: Sequence[QuestionRecord], second: Sequence[QuestionRecord]) -> str:
    """Returns a sentence if the runs had different judges."""
    one, other = judges_of(first), judges_of(second)
    if set(one) == set(other):
        return ""
    names = [", ".join(judges) or "nobody" for judges in (one, other)]
    return f"The first was judged by {names[0]}, the second by {names[1]}; only judges of both count."


def _compared(first: Sequence[QuestionRecord], second: Sequence[QuestionRecord]) -> list[tuple[str, ...]]:
    lines = []
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
        lines.append(
            (
                name,
                str(len(shared)),
                *(f"{100 * mean:.1f}" for mean in means),
                f"{100 * (means[1] - means[0]):+.1f} ({100 * low:+.1f} to {100 * high:+.1f})",
            )
        )
    return lines
