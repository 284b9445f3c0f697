"""Runs systems on a benchmark: each dialogue goes into a fresh memory, then its questions are asked without changing it."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from m2a.benchmarks import Benchmark, Dialogue
from m2a.benchmarks import Question as BenchmarkQuestion
from m2a.benchmarks.folders import write_json
from m2a.benchmarks.progress import Progress
from m2a.evaluation.amounts import amounts_of
from m2a.evaluation.judge import Judge, in_judge_terms
from m2a.evaluation.outage import ServiceGone, Watch, first_outage
from m2a.evaluation.record import FailedAttempt, IngestedMemory, QuestionRecord, read_rows
from m2a.evaluation.rows import error_sentence, ingestion_row, question_row, utterance, with_answer, with_error
from m2a.evaluation.run_folder import RunFolder
from m2a.evaluation.summary import summarise
from m2a.evaluation.training_overlap import LearnedFrom
from m2a.evaluation.work import Work, check_services, judge_unjudged, with_verdicts
from m2a.systems import registry
from m2a.systems.shared import Memory, Parts
from m2a.systems.system import MemorySystem, Meter, Question
from m2a.types import Message
from models.prices import Price, unknown

RETRIEVED = 25  # as deep as recall is measured


@dataclass(frozen=True, slots=True)
class RunResult:
    """The figures of a run, and how many of its questions failed or could not be judged.

    `reason` is the most frequent reason for either, if there is one. `learned_from` holds, by system, the dialogues that its
    ranking was learned from.
    """

    summary: Mapping[str, Any]
    questions: int
    failed: int
    unjudged: int = 0
    reason: str | None = None
    learned_from: LearnedFrom = field(default_factory=dict)


@dataclass(slots=True)
class _OpenSystem:
    """A system with a dialogue in its memory. `references` are the data set's ids of its messages."""

    system: MemorySystem
    memory: Memory
    references: Mapping[int, str]
    photos: Mapping[str, str]
    last_said_at: datetime


async def run(
    benchmark: Benchmark,
    systems: Sequence[str],
    out: Path,
    *,
    parts: Callable[[Path], Parts],
    settings: Mapping[str, Any],
    judges: Sequence[Judge] = (),
    concurrency: int = 1,
    price: Price = unknown,
    report: Callable[[Path], None] | None = None,
) -> RunResult:
    """Asks every system every question of the benchmark, and returns the result. Answers that `out` already holds are kept.
    Questions that failed are asked again, and answers are judged that a judge could not be reached for.

    `parts` makes what the systems share, in the given folder. `settings` are everything that an answer depends on. They are
    written to run.json, and a folder with other settings raises `RunFolderError`. A question that fails becomes a row with its
    error. Without a chat model everything runs one after the other, so that times can be measured. Raises `ServiceGone` if the
    chat model or a judge stops answering; rows that failed only for that reason are not kept.

    Writes run.json, ingestion.jsonl, questions.jsonl, summary.json, facts.json, and the pages of `report`. If anything is left
    to do, the figures of an earlier start are deleted first.
    """
    with RunFolder(out, settings) as folder:
        folder.drop_failures()
        run_parts = parts(folder.work)
        model = run_parts.chat_model
        registry.check(tuple(systems), retrieval_only=run_parts.retrieval_only, has_model=model is not None)
        chat_watch = None if model is None else Watch(f"The chat model {model.name}", model)
        judge_watches = {
            judge.name: Watch(f"The judge {judge.name}", judge.chat_model, in_judge_terms) for judge in judges
        }
        slots = 1 if model is None else concurrency
        work = Work(
            folder,
            run_parts,
            judges,
            _progress(folder, benchmark, systems),
            asyncio.Semaphore(slots),
            price,
            chat_watch,
            judge_watches,
        )
        try:
            await _run_all(work, benchmark, systems, concurrency)
        except* ServiceGone as group:
            outage = first_outage(group)
        else:
            result = finish(folder, benchmark, systems, report)
            return replace(result, learned_from=settings.get("learned_from", {}))
        raise _outage_error(folder, benchmark, systems, outage)


def _outage_error(folder: RunFolder, benchmark: Benchmark, systems: Sequence[str], outage: ServiceGone) -> ServiceGone:
    """Removes the rows that failed only because of the outage, and returns the error to report."""
    folder.drop_questions(outage.questions)
    answered = sum(row.error is None for row in folder.questions.values())
    total = len(systems) * sum(len(dialogue.questions) for dialogue in benchmark.dialogues)
    progress = f"{answered} of {total} questions are answered; run the same command later to continue."
    return ServiceGone(f"The run stopped: {str(outage)[0].lower()}{str(outage)[1:]} {progress}", outage.questions)


async def _run_all(work: Work, benchmark: Benchmark, systems: Sequence[str], concurrency: int) -> None:
    try:
        await judge_unjudged(work)
        pairs = [(dialogue, system) for dialogue in benchmark.dialogues for system in systems]
        if work.parts.chat_model is None:
            for dialogue, system in pairs:  # one after the other, because their times are measured
                await _run_dialogue(work, dialogue, system)
        else:
            open_at_once = asyncio.Semaphore(concurrency)  # a peer's memory is a process

            async def run_dialogue(dialogue: Dialogue, system: str) -> None:
                async with open_at_once:
                    await _run_dialogue(work, dialogue, system)

            async with asyncio.TaskGroup() as group:
                for dialogue, system in pairs:
                    group.create_task(run_dialogue(dialogue, system))
    finally:
        work.progress.close()
        work.parts.stores.close()


def finish(
    folder: RunFolder, benchmark: Benchmark, systems: Sequence[str], report: Callable[[Path], None] | None
) -> RunResult:
    """Writes the figures and the report, with rows in the order of the benchmark, and returns the result."""
    ids = [question.question_id for dialogue in benchmark.dialogues for question in dialogue.questions]
    rows = [folder.questions[system, question_id] for system in systems for question_id in ids]
    summary = summarise(rows)
    failures = read_rows(folder.path / "failed_attempts.jsonl", FailedAttempt)
    write_json(folder.path / "facts.json", amounts_of(rows, list(folder.ingestion.values()), failures))
    write_json(folder.path / "summary.json", summary)
    if report is not None:
        report(folder.path)
    failed = [row.error for row in rows if row.error is not None]
    unreachable = [next(iter(row.unreachable.values())) for row in rows if row.unreachable]
    reasons = Counter([*failed, *unreachable]).most_common(1)
    return RunResult(summary, len(rows), len(failed), len(unreachable), reasons[0][0] if reasons else None)


async def _run_dialogue(work: Work, dialogue: Dialogue, name: str) -> None:
    """Asks one system the questions about one dialogue that it has not answered yet."""
    unanswered = [item for item in dialogue.questions if (name, item.question_id) not in work.folder.questions]
    if not unanswered:
        return
    work.folder.drop_figures()
    opened = await _open(work, dialogue, name)
    if isinstance(opened, str):
        if work.chat_watch is not None:
            await work.chat_watch.check_now()
        for item in unanswered:
            row = _new_row(work, dialogue, item, name)
            work.folder.add_question(with_error(row, f"The dialogue was not taken in: {opened}", work.judge_names))
            work.progress.step(name)
        return
    try:
        async with asyncio.TaskGroup() as group:
            for item in unanswered:
                group.create_task(_ask(work, dialogue, item, opened))
        await asyncio.to_thread(opened.memory.remove_from_index)
    finally:
        await opened.system.close()


async def _open(work: Work, dialogue: Dialogue, name: str) -> _OpenSystem | str:
    """Returns the system with the dialogue in its memory, or the reason why the dialogue could not be taken in."""
    ingested = work.folder.ingested_memory(name, dialogue.dialogue_id)
    try:
        if ingested is not None:
            memory = work.parts.stores.memory(ingested.owner)
            system = await registry.open_system(name, memory, work.parts)
            return _opened(system, memory, await asyncio.to_thread(memory.messages), ingested.photos)
        async with work.slots:
            return await _take_in(work, dialogue, name)
    except Exception as error:  # a system may raise anything, and must not stop the others
        return error_sentence(error)


async def _take_in(work: Work, dialogue: Dialogue, name: str) -> _OpenSystem:
    memory = await asyncio.to_thread(work.parts.stores.fresh_memory, f"{name}/{dialogue.dialogue_id}")
    system = await registry.open_system(name, memory, work.parts)
    try:
        return await _observe(work, dialogue, system, memory)
    except BaseException:
        await system.close()
        raise


async def _observe(work: Work, dialogue: Dialogue, system: MemorySystem, memory: Memory) -> _OpenSystem:
    photos = dict.fromkeys(path for question in dialogue.questions for path in question.photos)
    ids = await asyncio.to_thread(memory.add_photos, list(photos))
    photo_ids = {
        f"{item.question_id} {position}": ids[path]
        for item in dialogue.questions
        for position, path in enumerate(item.photos)
    }
    messages: list[Message] = []
    seconds, count, encoded = 0.0, 0, work.parts.stores.encoded
    try:
        for session in dialogue.sessions:
            if not session.turns:
                continue
            # Messages are recorded one session at a time, so that a system cannot find what is said later.
            session_messages = await asyncio.to_thread(memory.record, [utterance(turn) for turn in session.turns])
            messages += session_messages
            began = time.perf_counter()
            await system.observe(session_messages)
            seconds += time.perf_counter() - began
            count += len(session_messages)
            work.progress.step(f"{system.name} takes in {dialogue.dialogue_id}", len(session_messages))
    except Exception as error:
        record = ingestion_row(system, dialogue, count, seconds, work.price)
        work.folder.add_ingestion(replace(record, error=error_sentence(error)), None)
        raise
    # The time counts as if no other system had captioned these photos and encoded these messages before.
    seconds += memory.seconds_of_reused_captions
    if work.parts.chat_model is None:
        seconds += await asyncio.to_thread(memory.seconds_of_reused_vectors, messages, encoded)
    record = ingestion_row(system, dialogue, count, seconds, work.price)
    work.folder.add_ingestion(record, IngestedMemory(system.name, dialogue.dialogue_id, memory.owner, photo_ids))
    return _opened(system, memory, messages, photo_ids)


async def _ask(work: Work, dialogue: Dialogue, item: BenchmarkQuestion, opened: _OpenSystem) -> None:
    async with work.slots:
        row = _new_row(work, dialogue, item, opened.system.name)
        question = Question(
            item.text,
            item.asked_at or opened.last_said_at,
            tuple(opened.photos[f"{item.question_id} {position}"] for position in range(len(item.photos))),
            item.instructions,
        )
        meter = Meter()
        try:
            began = time.perf_counter()
            retrieved = await opened.system.retrieve(question, RETRIEVED)
            row = replace(row, retrieved=_references(retrieved, opened), search_seconds=time.perf_counter() - began)
            if registry.answers(opened.system.name, work.parts):
                answer = await opened.system.answer(question, meter)
                row = with_answer(row, answer, [opened.references[source] for source in answer.sources], work.price)
                row = await with_verdicts(row, answer.text, work.judges)
        except Exception as error:  # a system may raise anything; a question that fails becomes a row
            row = with_error(row, error_sentence(error), work.judge_names, meter.usage, work.price)
        work.folder.add_question(row)
        work.progress.step(f"{opened.system.name} on {dialogue.dialogue_id}")
        await check_services(work, row, work.judges)


def _new_row(work: Work, dialogue: Dialogue, item: BenchmarkQuestion, name: str) -> QuestionRecord:
    return question_row(
        name,
        dialogue,
        item,
        work.folder.keep_photo,
        asks_answer=registry.answers(name, work.parts),
        retrieves=registry.retrieves(name),
    )


def _opened(
    system: MemorySystem, memory: Memory, messages: Sequence[Message], photos: Mapping[str, str]
) -> _OpenSystem:
    references = {message.message_id: message.reference or "" for message in messages}
    return _OpenSystem(system, memory, references, photos, max(message.said_at for message in messages))


def _references(retrieved: Sequence[int] | None, opened: _OpenSystem) -> tuple[str, ...] | None:
    return None if retrieved is None else tuple(opened.references[message_id] for message_id in retrieved)


def _progress(folder: RunFolder, benchmark: Benchmark, systems: Sequence[str]) -> Progress:
    total = done = 0
    for dialogue in benchmark.dialogues:
        messages = sum(1 for _ in dialogue.turns)
        for system in systems:
            answered = sum((system, question.question_id) in folder.questions for question in dialogue.questions)
            is_taken_in = folder.ingested_memory(system, dialogue.dialogue_id) is not None
            total += messages + len(dialogue.questions)
            done += answered + (messages if is_taken_in or answered == len(dialogue.questions) else 0)
    return Progress(total, done)
