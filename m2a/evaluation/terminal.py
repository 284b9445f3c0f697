"""What the commands of the evaluation say in the terminal, and the exit codes they end with."""

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
    "strict",
    "chain_valid",
    "recall@5",
    "recall@10",
    "recall@25",
    "hit@10",
)


class UsageError(UserError):
    """Options that do not go together; the message says which."""


@contextmanager
def told(interrupted: str = "Interrupted.") -> Iterator[None]:
    """What the user must mend is one sentence on standard error and exit code 2; `interrupted` is said at Ctrl+C.

    A service that is gone is another one, and exit code 1: the same command goes on later.
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
    """The figures in the terminal; the report has them all. Systems that `learned` names are marked, and that is said."""
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
    """How much failed, the most frequent reason, and what to do. Nothing where all went well."""
    if result.failed:
        print(
            f"{result.failed} of {result.questions} questions failed and count as wrong; questions.jsonl says why, "
            "and the same command asks them again."
        )
    if result.unjudged:
        print(
            f"For {result.unjudged} of {result.questions} answers a judge could not be reached; they count as wrong "
            "until the same command asks it again."
        )
    if result.why is not None:
        print(f"Most often: {result.why}")


def _say(sentence: str) -> None:
    print("m2a:", " ".join(sentence.split()), file=sys.stderr)
