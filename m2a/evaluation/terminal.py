"""What the commands of the evaluation print, and their exit codes."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from m2a.evaluation.outage import ServiceGone
from m2a.evaluation.seen import LearnedFrom, named, note_on
from m2a.types.errors import UserError

if TYPE_CHECKING:
    from m2a.evaluation.runner import RunResult

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130

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
    """Options that do not fit together; the message says which."""


@contextmanager
def user_errors(interrupted: str = "Interrupted.") -> Iterator[None]:
    """Turns errors for the user into one sentence on standard error and exit code 2, or 1 if a service stopped answering.

    Prints `interrupted` at Ctrl+C.
    """
    try:
        yield
    except KeyboardInterrupt as error:
        _say(interrupted)
        raise typer.Exit(INTERRUPTED) from error
    except ServiceGone as error:
        _say(str(error))
        raise typer.Exit(FAILED) from error
    except OSError as error:
        if not error.strerror:
            raise
        _say(f"{error.filename or 'A file'} cannot be read or written: {error.strerror}.")
        raise typer.Exit(BAD_INPUT) from error
    except UserError as error:
        _say(str(error))
        raise typer.Exit(BAD_INPUT) from error


def print_table(summary: Mapping[str, Any], learned: LearnedFrom) -> None:
    """Prints the main figures; the report has all. Marks the systems that `learned` names, with a note."""
    note = note_on(list(summary), learned)
    summary = named(summary, learned)
    columns = [column for column in _COLUMNS if any(column in figures for figures in summary.values())]
    width = max(len(name) for name in summary)
    print(f"{'':{width}}  {'n':>5}  " + "  ".join(f"{column:>15}" for column in columns))
    for name, figures in summary.items():
        cells = [f"{figures[column]:.3f}" if column in figures else "–" for column in columns]
        print(f"{name:{width}}  {figures['n']:>5}  " + "  ".join(f"{cell:>15}" for cell in cells))
    if note:
        print(note)


def print_failures(result: "RunResult") -> None:
    """Prints how much failed, the most frequent reason, and what to do; nothing if all went well."""
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
    if result.why is not None:
        print(f"The most frequent reason: {result.why}")


def _say(sentence: str) -> None:
    print("m2a:", " ".join(sentence.split()), file=sys.stderr)
