"""The command `m2a`."""

import logging
import os
import sys
from typing import Annotated

import typer

from m2a.cli import erasing, research, talking
from m2a.cli.memory import memory_app
from m2a.cli.terminal import print_error
from m2a.command_access import run_command
from m2a.log import WordlessFormatter
from m2a.plurals import plural
from m2a.sentences import known_sentence
from m2a.settings import Settings, SettingsError, load_settings

app = typer.Typer(
    help="M2A: a personal assistant that sees your photos and remembers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command()
def run(port: Annotated[int | None, typer.Option(help="Port of the web app.")] = None) -> None:
    """Serve the web app on this machine."""
    from app import serve

    serve(load_settings(port=port))


app.command()(talking.ask)
app.command()(talking.chat)
app.add_typer(memory_app, name="memory")


@app.command()
def verify() -> None:
    """Check that the database, the photos and the index are consistent. Changes nothing; the exit code is 1 if they are not."""
    _report("verify")


@app.command()
def repair() -> None:
    """Repair what `verify` finds, as far as possible."""
    _report("repair")


def _report(name: str) -> None:
    """Prints the faults that the command finds or repairs, and ends with exit code 1 if there are any."""
    faults = 0
    for piece in run_command(name):
        faults += "fault" in piece
        print(f"fault: {piece['fault']}" if "fault" in piece else f"repaired: {piece['repaired']}")
    if faults:
        print(f"{plural(faults, 'fault')}." + (" `m2a repair` repairs what it can." if name == "verify" else ""))
        raise typer.Exit(1)
    print("The database, the photos and the index are consistent.")


@app.command()
def reindex() -> None:
    """Rebuild the index from the database, with the encoders in the settings."""
    for piece in run_command("reindex"):
        print(f"The index is rebuilt: {plural(piece['records'], 'record')}.")


app.command()(erasing.erase)
app.command()(erasing.purge)


@app.command()
def doctor() -> None:
    """Show all settings and their origins, which models work, and how to install what is missing."""
    from m2a.doctor import examine

    try:
        settings = load_settings()
    except SettingsError:  # its message sends users here for the names of the settings
        print("The settings are " + ", ".join(f"M2A_{name.upper()}" for name in Settings.model_fields) + ".")
        raise
    is_healthy = True
    for line, is_in_order in examine(settings):
        print(line)
        is_healthy &= is_in_order
    if not is_healthy:
        raise typer.Exit(1)


for command in (research.synthesize, research.evaluate, research.report, research.compare):
    app.command(add_help_option=False, context_settings=research.OWN_OPTIONS)(command)
app.command()(research.tune)


def main() -> None:
    """Runs the command. Prints a failure as one sentence on standard error and exits with a non-zero code."""
    handler = _UnexpectedHandler()
    handler.setFormatter(WordlessFormatter())
    logging.basicConfig(handlers=[handler])
    try:
        _check_arguments(sys.argv[1:])
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # as in `m2a memory list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:  # raised again if there is no sentence about what to do
        reason = command_sentence(error)
        if reason is None:
            raise
        print_error(reason)
        sys.exit(1)


def _check_arguments(arguments: list[str]) -> None:
    """Exits if an argument is not valid UTF-8, since the shell passes on any bytes."""
    for argument in arguments:
        if not argument.isprintable() and any("\ud800" <= character <= "\udfff" for character in argument):
            print_error(f"The argument {argument!r} is not valid UTF-8; type it in UTF-8, or rename the file.")
            sys.exit(2)


class _UnexpectedHandler(logging.Handler):
    """Prints log records, except those of errors that the command itself reports in a sentence."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        is_reported = isinstance(error, Exception) and command_sentence(error) is not None
        if not is_reported and record.name != "root":  # Milvus Lite logs to root the errors that it also raises
            print(self.format(record), file=sys.stderr)


def command_sentence(error: Exception) -> str | None:
    """Returns the sentence that tells the user about an error, or None for an unexpected one, which needs its traceback."""
    if (sentence := known_sentence(error)) is not None:
        return sentence
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return None
