"""The output of the evaluation's commands."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from m2a.benchmarks import terminal
from m2a.evaluation.outage import ServiceGone
from m2a.evaluation.training_overlap import LearnedFrom, by_marked_name, overlap_note
from m2a.types.errors import UserError

if TYPE_CHECKING:
    from m2a.evaluation.runner import RunResult

user_errors = partial(terminal.user_errors, "m2a", outages=(ServiceGone,))

_COLUMNS = (
    "accuracy",
    "strict_accuracy",
    "judge_failed",
    "f1",
    "accepted_match",
    "as_published",
    "summary_f1",
    "strict",
    "chain_valid",
    "recall@5",
    "recall@10",
    "recall@25",
    "hit@10",
)


class UsageError(UserError):
    """Options or input files that cannot be used; the message says why and what to do."""


def print_table(summary: Mapping[str, Any], learned: LearnedFrom) -> None:
    """Prints the main figures; the report has all of them. Systems in `learned` are marked, with a note."""
    note = overlap_note(list(summary), learned)
    summary = by_marked_name(summary, learned)
    columns = [column for column in _COLUMNS if any(column in figures for figures in summary.values())]
    width = max(len(name) for name in summary)
    print(f"{'':{width}}  {'n':>5}  " + "  ".join(f"{column:>15}" for column in columns))
    for name, figures in summary.items():
        cells = [f"{figures[column]:.3f}" if column in figures else "–" for column in columns]
        print(f"{name:{width}}  {figures['n']:>5}  " + "  ".join(f"{cell:>15}" for cell in cells))
    if note:
        print(note)


def print_failures(result: "RunResult") -> None:
    """Prints the number of failures, the most frequent reason, and what to do. Prints nothing if there are none."""
    if result.failed:
        print(
            f"{result.failed} of {result.questions} questions failed and count as wrong. questions.jsonl says why; "
            "the same command asks them again."
        )
    if result.unjudged:
        print(
            f"A judge could not be reached for {result.unjudged} of {result.questions} answers. They count as wrong "
            "until the same command judges them."
        )
    if result.reason is not None:
        print(f"The most frequent reason: {result.reason}")
