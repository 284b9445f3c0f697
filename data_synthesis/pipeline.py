"""The run: generates, checks and weaves in every group, and writes the folder.

Nothing is lost when a run stops. A group without valid sessions is set aside and the run continues; an exhausted budget
ends the run with the groups made so far; after a failure of the service, the same command continues the run.
"""

import asyncio
import json
import re
from dataclasses import dataclass, field, replace
from typing import Any

from data_synthesis.answer_store import AnswerStore
from data_synthesis.check_group import delivered
from data_synthesis.costs import BudgetReachedError
from data_synthesis.dataset_card import CARD_FILE, CONVERSATIONS_FILE, QUESTIONS_FILE, dataset_card, tables_of
from data_synthesis.group import VISUAL_RETRIEVAL, GeneratedGroup, GenerationError, Generator, GroupRequest
from data_synthesis.group_records import WovenGroup
from data_synthesis.interpolation import weave
from data_synthesis.merged_folder import FILES
from data_synthesis.plan import OFFLINE, Plan
from data_synthesis.preview import PREVIEW_FILE, write_preview
from data_synthesis.retrieval_questions import retrieval_questions
from data_synthesis.run_folder import FORMAT, ID_MAP_FILE, RUN_FILE, RunFolder
from data_synthesis.statistics import statistics_of
from m2a.benchmarks.progress import Progress
from m2a.benchmarks.visual import FILE_NAME
from models.prices import Price

_FAULTS_SHOWN = 3
_FILES = (*FILES, QUESTIONS_FILE, CONVERSATIONS_FILE, CARD_FILE, PREVIEW_FILE)
_PHOTO = re.compile(rb"photos/[0-9a-f]{64}\.\w+")


@dataclass(slots=True)
class Outcome:
    """The groups that were made and those set aside with the reason. `stopped` is why a run ended early, or None."""

    made: dict[tuple[str, int], GeneratedGroup] = field(default_factory=dict)
    set_aside: dict[tuple[str, int], str] = field(default_factory=dict)
    stopped: str | None = None


def run_settings(
    plan: Plan, generator: Generator | type[Generator], *, chat_model: str = OFFLINE, **further: Any
) -> dict[str, Any]:
    """Returns the settings that determine the contents of a set. A run can only be resumed with the same settings."""
    named = {"generator": generator.name, "generator version": generator.version, "chat model": chat_model}
    return plan.settings | named | further


async def synthesize(
    plan: Plan,
    folder: RunFolder,
    generator: Generator,
    *,
    progress: Progress,
    concurrency: int = 1,
    answers: AnswerStore | None = None,
) -> Outcome:
    """Generates all groups and writes the folder, which the caller has opened with the settings of the run.

    Without `answers` the generator has no model and is asked for one group at a time, in the plan's order. Faulty questions
    are left out; a group that is faulty itself, or then has too few questions, is set aside. A failure of the service ends
    the run after the current calls.
    """
    outcome = Outcome()
    waiting = iter(plan.groups)
    failed: list[BaseException] = []

    async def work() -> None:
        for request in waiting:
            if failed or outcome.stopped:
                return
            try:
                await _make(request, generator, outcome)
            except BudgetReachedError as reached:
                outcome.stopped = str(reached)
            except Exception as error:  # of any kind: the current calls are paid for, so they are finished first
                failed.append(error)
            else:
                state = "set aside" if _key(request) in outcome.set_aside else "made"
                progress.step(f"{request.dialogue_id}, group {request.group.number}: {state}")

    async with asyncio.TaskGroup() as tasks:
        for _ in range(1 if answers is None else concurrency):
            tasks.create_task(work())
    if failed:
        raise failed[0]
    _write(plan, folder, generator, outcome, answers)
    return outcome


async def _make(request: GroupRequest, generator: Generator, outcome: Outcome) -> None:
    try:
        group = await generator.generate(request)
    except GenerationError as error:
        outcome.set_aside[_key(request)] = str(error)
        return
    if not any(question.category == VISUAL_RETRIEVAL for question in group.questions):
        group = replace(group, questions=(*group.questions, *retrieval_questions(request, group.sessions)))
    group, faults = delivered(group, request)
    if not faults:
        outcome.made[_key(request)] = group
        return
    reasons, rest = " ".join(map(str, faults[:_FAULTS_SHOWN])), len(faults) - _FAULTS_SHOWN
    reasons += f" And {rest} more." if rest > 0 else ""
    outcome.set_aside[_key(request)] = f"{request.dialogue_id}, group {request.group.number}: {reasons}"


def _write(plan: Plan, folder: RunFolder, generator: Generator, outcome: Outcome, answers: AnswerStore | None) -> None:
    """Writes all files, `run.json` last, so that a folder whose run is marked as finished is complete."""
    samples, id_map = [], {}
    for sample, requests in zip(plan.samples, plan.requests, strict=True):
        made = [
            WovenGroup(request, outcome.made[_key(request)], generator.name, f"{plan.source.name}-vqa")
            for request in requests
            if _key(request) in outcome.made
        ]
        merged, id_map[sample["sample_id"]] = weave(sample, made, folder.photo_name)
        samples.append(merged)
    run = _run(plan, folder, outcome, answers)
    folder.write_json(FILE_NAME, samples)
    folder.write_json(ID_MAP_FILE, id_map)
    for name, text in tables_of(samples).items():
        folder.write(name, text)
    folder.write(CARD_FILE, dataset_card(run, statistics_of(samples)))
    write_preview(folder.path)
    folder.write_json(RUN_FILE, run)


def finished_run(folder: RunFolder) -> dict[str, Any] | None:
    """Returns the `run.json` of a complete set; None if a group or a file is missing."""
    run: dict[str, Any] = json.loads((folder.path / RUN_FILE).read_text(encoding="utf-8"))
    if not run.get("finished") or not all((folder.path / name).is_file() for name in _FILES):
        return None
    shown = set(_PHOTO.findall((folder.path / FILE_NAME).read_bytes()))
    return run if all((folder.path / name.decode()).is_file() for name in shown) else None


def _run(plan: Plan, folder: RunFolder, outcome: Outcome, answers: AnswerStore | None) -> dict[str, Any]:
    groups = []
    for request in plan.groups:
        group = outcome.made.get(_key(request))
        state = "made" if group else "set aside" if _key(request) in outcome.set_aside else "not begun"
        made = {"dropped_questions": [*group.dropped], "retrieval_only": group.retrieval_only} if group else {}
        groups.append(plan.choices(request) | {"state": state, **made, "notes": group.notes if group else {}})
    return {
        "format": FORMAT,
        "finished": outcome.stopped is None,
        "stopped": outcome.stopped,
        "settings": folder.settings,
        "costs": _costs(answers),
        "set_aside": [
            {"sample_id": sample_id, "group": number, "reason": outcome.set_aside[sample_id, number]}
            for sample_id, number in map(_key, plan.groups)
            if (sample_id, number) in outcome.set_aside
        ],
        "groups": groups,
        "concept_files": dict(plan.source.files),
    }


def _costs(answers: AnswerStore | None) -> dict[str, Any]:
    """Returns the costs of all answers of the run, including earlier processes. `dollars` is null if they are not known."""
    if answers is None:
        return {"answers": 0, "repeated_calls": 0, "dollars": 0}
    costs = answers.costs
    return {
        "answers": costs.answers,
        "repeated_calls": answers.repeated,
        "input_tokens": costs.input_tokens,
        "output_tokens": costs.output_tokens,
        "answers_without_a_count": costs.uncounted,
        "price_per_million_tokens": _per_million(costs.price),
        "dollars": None if costs.spent is None or costs.uncounted else round(costs.spent, 6),
    }


def _per_million(price: Price | None) -> dict[str, float | None] | None:
    million = 1_000_000
    return None if price is None else {"input": price(million, 0), "output": price(0, million)}


def _key(request: GroupRequest) -> tuple[str, int]:
    return request.dialogue_id, request.group.number
