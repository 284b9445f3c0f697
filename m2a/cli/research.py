"""The commands for researchers: datasets, evaluations and the training of the ranking."""

from pathlib import Path
from typing import Annotated

import typer

from m2a.cli.terminal import fail
from m2a.settings import load_settings

# For commands that parse their own options.
OWN_OPTIONS = {"allow_extra_args": True, "ignore_unknown_options": True}


def synthesize(context: typer.Context) -> None:
    """Weave photo-grounded sessions into LoCoMo's conversations; `m2a synthesize --help` shows the options."""
    from data_synthesis.command import app as synthesis

    settings = load_settings()
    defaults = settings.model_dump(include={"chat_base_url", "chat_sees_photos", "chat_timeout"}, exclude_none=True)
    key = settings.chat_api_key.get_secret_value() if settings.chat_api_key else None
    synthesis(context.args, prog_name="m2a synthesize", default_map=defaults | {"chat_api_key": key})


def evaluate(context: typer.Context) -> None:
    """Run memory systems on a benchmark; `m2a evaluate --help` shows the options."""
    from m2a.evaluation.command import evaluate_app

    evaluate_app(context.args, prog_name="m2a evaluate")


def report(context: typer.Context) -> None:
    """Merge runs of `m2a evaluate` into one report."""
    from m2a.evaluation.command import report_app

    report_app(context.args, prog_name="m2a report")


def compare(context: typer.Context) -> None:
    """Show the differences between two runs of `m2a evaluate`, question by question."""
    from m2a.evaluation.command import compare_app

    compare_app(context.args, prog_name="m2a compare")


def tune(
    data: Annotated[Path, typer.Option(help="A LoCoMo file, or a folder with LoCoMo files.")],
    leave_one_out: Annotated[
        bool,
        typer.Option(
            "--leave-one-out", help="Measure the ranking on each conversation after training it on the others."
        ),
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the weights learned from all conversations.")] = None,
) -> None:
    """Train the ranking of `fusion = best` on conversations with questions, and measure it."""
    from models.availability import check_transformers

    check_transformers("m2a tune")
    from m2a.benchmarks.locomo import read_locomo
    from m2a.evaluation.tune import tune as learn
    from m2a.wiring import cache_dir
    from models.load import load_text_encoder
    from models.text_encoder import MINILM, TokenEncoder

    if not leave_one_out and out is None:
        fail("Choose what to do: --leave-one-out to measure, --out FOLDER to write the weights, or both.")
    encoder = load_text_encoder(MINILM, cache_dir())
    assert isinstance(encoder, TokenEncoder)
    made_by = f"m2a tune --data {data}{' --leave-one-out' * leave_one_out}{f' --out {out}' if out else ''}"
    learn(read_locomo(data), encoder, leave_one_out=leave_one_out, out=out, made_by=made_by, log=_say)


def _say(line: str) -> None:
    print(line, flush=True)
