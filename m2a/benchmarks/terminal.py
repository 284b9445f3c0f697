"""Errors of the commands for researchers, as a sentence on standard error and an exit code."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from m2a.types.errors import UserError

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130


@contextmanager
def user_errors(
    program: str, interrupted: str = "Interrupted.", outages: tuple[type[UserError], ...] = ()
) -> Iterator[None]:
    """Turns errors for the user into one sentence on standard error and exit code 2, or 1 if a service stopped answering.

    On Ctrl+C, prints `interrupted` and exits with 130.
    """
    try:
        yield
    except (KeyboardInterrupt, OSError, UserError) as error:
        if isinstance(error, KeyboardInterrupt):
            sentence, code = interrupted, INTERRUPTED
        elif isinstance(error, UserError):
            sentence, code = str(error), FAILED if isinstance(error, outages) else BAD_INPUT
        elif error.strerror:
            sentence, code = f"{error.filename or 'A file'} cannot be read or written: {error.strerror}.", BAD_INPUT
        else:
            raise
        say(program, sentence)
        raise typer.Exit(code) from error


def say(program: str, sentence: str) -> None:
    """Prints the sentence on standard error, in one line after the program's name."""
    print(f"{program}:", " ".join(sentence.split()), file=sys.stderr)
