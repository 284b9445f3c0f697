"""The command `python -m data_synthesis`, also called by `m2a synthesize`."""

import asyncio
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from data_synthesis.answer_store import AnswerStore
from data_synthesis.costs import Costs
from data_synthesis.group import VISUAL_RETRIEVAL, Generator, SynthesisError
from data_synthesis.model_generator import ModelGenerator, ServiceError
from data_synthesis.pipeline import Outcome, finished_run, run_settings
from data_synthesis.pipeline import synthesize as run
from data_synthesis.plan import OFFLINE, Plan, plan_run
from data_synthesis.run_folder import RUN_FILE, RunFolder
from m2a.benchmarks.progress import Progress
from m2a.benchmarks.terminal import FAILED, say, user_errors
from models.chat_model import ChatModel, ChatModelError
from models.load import load_chat_model
from models.prices import Price, per_million, price_of

_PROGRAM = "synthesize"
_say = partial(say, _PROGRAM)
_INTERRUPTED = "Interrupted. All answers so far are kept; the same command continues from here."

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

_Folder = Path | None


@app.command()
def synthesize(
    locomo: Annotated[_Folder, typer.Option(help="LoCoMo's JSON file, or the folder that holds it.")] = None,
    concepts: Annotated[
        _Folder,
        typer.Option(help="Concepts with photos: a folder for each, Yo'LLaVA's layout, or MC-LLaVA's."),
    ] = None,
    out: Annotated[
        _Folder, typer.Option(help="The folder for the set. A run that was interrupted there continues.")
    ] = None,
    groups: Annotated[int, typer.Option(min=1, max=100, help="Groups of 3 to 4 concepts per conversation.")] = 1,
    seed: Annotated[int, typer.Option(help="Determines all choices.")] = 1,
    chat_model: Annotated[
        str,
        typer.Option(help="offline (a grammar writes), provider:name, or transformers:NAME_OR_FOLDER."),
    ] = OFFLINE,
    budget: Annotated[
        float | None,
        typer.Option(min=0, help="Dollars at which the run ends; give more to continue it."),
    ] = None,
    price: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Dollars per million tokens of input and of output, if the price is not known."),
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=64, help="Groups written at the same time.")] = 4,
    chat_base_url: Annotated[
        str | None,
        typer.Option(envvar="M2A_CHAT_BASE_URL", help="Address of an OpenAI-compatible server."),
    ] = None,
    chat_api_key: Annotated[str | None, typer.Option(envvar="M2A_CHAT_API_KEY", hidden=True)] = None,
    chat_sees_photos: Annotated[
        bool,
        typer.Option(envvar="M2A_CHAT_SEES_PHOTOS", help="Whether photos are sent to the chat model."),
    ] = True,
    chat_timeout: Annotated[
        float,
        typer.Option(envvar="M2A_CHAT_TIMEOUT", min=1, help="Seconds without a byte before a call is given up."),
    ] = 120,
    validate: Annotated[
        _Folder,
        typer.Option(help="Only check an existing folder; with --locomo and --concepts, also against its sources."),
    ] = None,
    leak_check: Annotated[
        str | None,
        typer.Option(help="With --validate: a chat model, as for --chat-model, that answers without the photos."),
    ] = None,
) -> None:
    """Weave photo-grounded sessions and questions about them into LoCoMo's conversations.

    Exit code 0: everything was made, or no faults were found. 1: groups were set aside, the run ended early, or faults
    were found. 2: something in the input must be corrected first.
    """
    chat = _Chat(chat_model, chat_base_url, chat_api_key, chat_sees_photos, chat_timeout, price, budget)
    with user_errors(_PROGRAM, _INTERRUPTED, outages=(ServiceError,)):
        if validate is not None:
            blind = replace(chat, name=leak_check, sees_photos=False) if leak_check else None
            _validate(validate, locomo, concepts, blind)
        elif locomo is None or concepts is None or out is None:
            needed = {"--locomo": locomo, "--concepts": concepts, "--out": out}
            missing = ", ".join(name for name, value in needed.items() if value is None)
            raise SynthesisError(f"Missing: {missing}. See --help.")
        else:
            _create(plan_run(locomo, concepts, groups=groups, seed=seed), out, chat, concurrency)


def main() -> None:
    """Runs the command from the command line."""
    app(prog_name="python -m data_synthesis")


@dataclass(frozen=True, slots=True)
class _Chat:
    """The chat model and what it may cost. `price` is in dollars per million tokens, or None to look it up."""

    name: str
    base_url: str | None
    api_key: str | None = field(repr=False)
    sees_photos: bool
    timeout: float
    price: tuple[float, float] | None
    budget: float | None


def _create(plan: Plan, out: Path, chat: _Chat, concurrency: int) -> None:
    """Creates the set, or continues it. Raises `typer.Exit` if it is not complete at the end."""
    from data_synthesis.grammar import GrammarGenerator

    folder = RunFolder(out)
    model = costs = None
    settings = run_settings(plan, GrammarGenerator)
    if chat.name != OFFLINE:
        model = _chat_model(chat)
        costs = Costs(_price(chat.name, chat.price, chat.base_url), chat.budget)
        settings = run_settings(plan, ModelGenerator, chat_model=chat.name, photos_sent=chat.sees_photos)
        if not (out / RUN_FILE).exists():
            _load(model)  # before anything is written
    with folder.opened(settings):
        answers = None if costs is None else AnswerStore(folder.answers, costs)
        finished = finished_run(folder)
        if finished is not None:
            print(f"The set in {out} is complete and stays as it is. To make another, name a new folder with --out.")
            raise typer.Exit(FAILED if finished["set_aside"] else 0)
        generator: Generator = GrammarGenerator()
        if model is not None and answers is not None:
            _load(model)
            generator = ModelGenerator(model, answers=answers)
        outcome = _run(plan, folder, generator, answers, concurrency)
        _report(plan, outcome, out, answers)
    if outcome.set_aside or outcome.stopped:
        raise typer.Exit(FAILED)


def _run(plan: Plan, folder: RunFolder, generator: Generator, answers: AnswerStore | None, concurrency: int) -> Outcome:
    cost = (lambda: str(answers.costs)) if answers else str
    with closing(Progress(len(plan.groups), cost=cost)) as progress:
        return asyncio.run(run(plan, folder, generator, progress=progress, concurrency=concurrency, answers=answers))


def _chat_model(chat: _Chat) -> ChatModel:
    return load_chat_model(
        chat.name,
        base_url=chat.base_url,
        api_key=chat.api_key,
        sees_photos=chat.sees_photos,
        timeout=chat.timeout,
    )


def _load(model: ChatModel) -> None:
    """Loads a model that runs in this process, so that a missing one is reported as bad input, not as an outage."""
    if not model.name.startswith("transformers:"):
        return
    from models.transformers_chat_model import TransformersChatModel

    assert isinstance(model, TransformersChatModel)
    try:
        model.load()
    except ChatModelError as error:
        raise SynthesisError(str(error).replace("M2A_CHAT_MODEL", "--chat-model")) from error


def _price(chat_model: str, price: tuple[float, float] | None, base_url: str | None) -> Price | None:
    """Returns the price given, otherwise the public one. The price of a server at `base_url` is not known."""
    if price is not None:
        return per_million(*price)
    public = price_of(chat_model, base_url)
    if public(1, 1) is None:
        _say(f"The price of {chat_model} is not known: costs are shown in tokens. Set --price to see them in dollars.")
        return None
    return public


def _report(plan: Plan, outcome: Outcome, out: Path, answers: AnswerStore | None) -> None:
    for reason in outcome.set_aside.values():
        _say(f"Set aside: {reason}")
    groups = outcome.made.values()
    if count := sum(group.retrieval_only for group in groups):
        _say(
            f"{count} group{'s have' if count != 1 else ' has'} only questions of visual retrieval, none of categories 6 to 9, "
            "because too little is known of what the photos show. "
            "Describe them in a concepts.json, or name a model with --chat-model."
        )
    if dropped := sum(len(group.dropped) for group in groups):
        asked_for = dropped + sum(
            question.category != VISUAL_RETRIEVAL for group in groups for question in group.questions
        )
        _say(
            f"{dropped} of {asked_for} questions of categories 6 to 9 were left out because they broke a rule; see run.json."
        )
    if outcome.stopped:
        _say(outcome.stopped)
    cost = f" Cost: {answers.costs}; {answers.repeated} calls repeated." if answers else ""
    print(f"{len(outcome.made)} of {len(plan.groups)} groups in {len(plan.samples)} conversations are in {out}.{cost}")


def _validate(folder: Path, locomo: Path | None, concepts: Path | None, blind: _Chat | None) -> None:
    from data_synthesis.leak_check import blind_answers
    from data_synthesis.merged_folder import FILES
    from data_synthesis.validation import validate

    if folder.is_dir() and not any((folder / name).exists() for name in FILES):
        raise SynthesisError(f"{folder} holds no data set made by data_synthesis; name another folder.")
    report = validate(folder, locomo, concepts)
    print(report)
    too_high = False
    if blind is not None:
        answers = asyncio.run(blind_answers(report.samples, _chat_model(blind)))
        too_high = any(rate.too_high for rate in answers.rates)
        print(*answers.solved, *answers.rates, sep="\n")
    if report.faults or too_high:
        raise typer.Exit(FAILED)
