"""What the commands share: how they print and fail, and the options that several of them have."""

import sys
from typing import Annotated, NoReturn

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def fail(reason: str) -> NoReturn:
    """Prints the reason and ends the command with exit code 1."""
    print_error(reason)
    raise typer.Exit(1)


def print_error(reason: str) -> None:
    """Prints the reason on one line, even if a driver's message has several."""
    print("m2a:", " ".join(reason.split()), file=sys.stderr)
