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
from m2a.benchmarks import Question as Asked
from m2a.benchmarks.progress import Progress
from m2a.evaluation.facts import facts_of
from m2a.evaluation.judge import Judge, in_judge_terms
from m2a.evaluation.outage import ServiceGone, Watch, first_of
from m2a.evaluation.record import QuestionRecord, read_failed_attempts
from m2a.evaluation.rows import error_sentence, ingestion_row, question_row, utterance, with_answer, with_error
from m2a.evaluation.run_folder import RunFolder, TakenIn, write_json
from m2a.evaluation.seen import LearnedFrom
from m2a.evaluation.summary import summarise
from m2a.evaluation.work import Work, check_services, judge_unjudged, with_verdicts
from m2a.systems import registry
from m2a.systems.shared import Memory, Parts
from m2a.systems.system import MemorySystem, Meter, Question
from m2a.types import Message
from models.prices import Price, unknown

RETRIEVED = 25  # as deep as recall is measured


@dataclass(frozen=True, slots=True)
class RunResult:
    """The folder of a run, its figures, and how many of its questions failed or could not be judged.

    `why` is the most frequent reason for either, if there is one. `learned_from` are the dialogues that a system's ranking was
    learned from, by system.
    """

    path: Path
    summary: Mapping[str, Any]
    questions: int
    failed: int
    unjudged: int = 0
    why: str | None = None
    learned_from: LearnedFrom = field(default_factory=dict)


@dataclass(slots=True)
class _Opened:
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
    """Asks every system every question of the benchmark. What `out` already holds of this run is not repeated, except what
    failed and what judges could not be reached for.

    `parts` makes what the systems share, in the given folder. `settings` are all that an answer depends on. They are written
    to run.json, and a folder with other settings raises `RunFolderError`. A question that fails becomes a row with its error.
    Without a chat model everything runs one after the other, so that times can be measured. Raises `ServiceGone` if the chat
    model or a judge stops answering; rows that failed only for that reason are not kept.

    Writes run.json, ingestion.jsonl, questions.jsonl, summary.json, facts.json, and the pages of `report`. If anything is left
    to do, the figures of an earlier start are deleted first.
    """
    with RunFolder(out, settings) as folder:
        folder.drop_failures()
        made = parts(folder.work)
        registry.check(tuple(systems), retrieval_only=made.retrieval_only, has_model=made.chat_model is not None)
        chat_watch = (
            None if made.chat_model is None else Watch(f"The chat model {made.chat_model.name}", made.chat_model)
        )
        judge_watches = {
            judge.name: Watch(f"The judge {judge.name}", judge.chat_model, in_judge_terms) for judge in judges
        }
        at_once = 1 if made.chat_model is None else concurrency  # times are measured
        work = Work(
            folder,
            made,
            judges,
            _progress(folder, benchmark, systems),
            asyncio.Semaphore(at_once),
            price,
            chat_watch,
            judge_watches,
        )
        try:
            await _do_all(work, benchmark, systems, concurrency)
        except* ServiceGone as group:
            gone = first_of(group)
        else:
            result = finish(folder, benchmark, systems, report)
            return replace(result, learned_from=settings.get("learned_from", {}))
        raise _stopped(folder, benchmark, systems, gone)


def _stopped(folder: RunFolder, benchmark: Benchmark, systems: Sequence[str], gone: ServiceGone) -> ServiceGone:
    """Removes the rows that failed only for the outage, and returns the error to report."""
    folder.forget(gone.questions)
    done = sum(row.error is None for row in folder.questions.values())
    asked = len(systems) * sum(len(dialogue.questions) for dialogue in benchmark.dialogues)
    so_far = f"{done} of {asked} questions are answered; run the same command later to continue."
    return ServiceGone(f"The run stopped: {str(gone)[0].lower()}{str(gone)[1:]} {so_far}", gone.questions)


async def _do_all(work: Work, benchmark: Benchmark, systems: Sequence[str], concurrency: int) -> None:
    try:
        await judge_unjudged(work)
        pairs = [(dialogue, system) for dialogue in benchmark.dialogues for system in systems]
        if work.parts.chat_model is None:
            for dialogue, system in pairs:  # one after the other: their times are measured
                await _do(work, dialogue, system)
        else:
            open_at_once = asyncio.Semaphore(concurrency)  # a peer's memory is a process

            async def do(dialogue: Dialogue, system: str) -> None:
                async with open_at_once:
                    await _do(work, dialogue, system)

            async with asyncio.TaskGroup() as group:
                for dialogue, system in pairs:
                    group.create_task(do(dialogue, system))
    finally:
        work.progress.close()
        work.parts.stores.close()


def finish(
    folder: RunFolder, benchmark: Benchmark, systems: Sequence[str], report: Callable[[Path], None] | None
) -> RunResult:
    """Writes the figures and the report of the rows, which are put in the order of the benchmark."""
    order = [q.question_id for dialogue in benchmark.dialogues for q in dialogue.questions]
    rows = [folder.questions[system, question] for system in systems for question in order]
    summary = summarise(rows)
    failures = read_failed_attempts(folder.path / "failed_attempts.jsonl")
    write_json(folder.path / "facts.json", facts_of(rows, list(folder.ingestion.values()), failures))
    write_json(folder.path / "summary.json", summary)
    if report is not None:
        report(folder.path)
    failed = [row.error for row in rows if row.error is not None]
    unreachable = [next(iter(row.unreachable.values())) for row in rows if row.unreachable]
    reasons = Counter([*failed, *unreachable]).most_common(1)
    return RunResult(folder.path, summary, len(rows), len(failed), len(unreachable), reasons[0][0] if reasons else None)


async def _do(work: Work, dialogue: Dialogue, name: str) -> None:
    """Asks one system the questions about one dialogue that are not answered yet."""
    missing = [q for q in dialogue.questions if (name, q.question_id) not in work.folder.questions]
    if not missing:
        return
    work.folder.drop_figures()
    opened = None
    try:
        opened = await _open(work, dialogue, name)
        if isinstance(opened, str):
            if work.chat_watch is not None:
                await work.chat_watch.check_now()
            for asked in missing:
                row = _new_row(work, dialogue, asked, name)
                work.folder.add_question(with_error(row, f"The dialogue was not taken in: {opened}", work.judge_names))
                work.progress.step(name)
            opened = None
            return
        async with asyncio.TaskGroup() as group:
            for asked in missing:
                group.create_task(_ask(work, dialogue, asked, opened))
        await asyncio.to_thread(opened.memory.leave_index)
    finally:
        if opened is not None and not isinstance(opened, str):
            await opened.system.close()


async def _open(work: Work, dialogue: Dialogue, name: str) -> _Opened | str:
    """Returns the system with the dialogue in its memory, or the reason why it could not take it in."""
    known = work.folder.taken_in(name, dialogue.dialogue_id)
    try:
        if known is not None:
            memory = work.parts.stores.memory(known.owner)
            system = await registry.open_system(name, memory, work.parts)
            return _opened(system, memory, await asyncio.to_thread(memory.messages), known.photos)
        async with work.slots:
            return await _take_in(work, dialogue, name)
    except Exception as error:  # systems, and packages of others, may raise anything; one that fails stops no other
        return error_sentence(error)


async def _take_in(work: Work, dialogue: Dialogue, name: str) -> _Opened:
    memory = await asyncio.to_thread(work.parts.stores.fresh_memory, f"{name}/{dialogue.dialogue_id}")
    system = await registry.open_system(name, memory, work.parts)
    try:
        return await _observe(work, dialogue, system, memory)
    except BaseException:
        await system.close()
        raise


async def _observe(work: Work, dialogue: Dialogue, system: MemorySystem, memory: Memory) -> _Opened:
    photos = dict.fromkeys(path for question in dialogue.questions for path in question.photos)
    ids = await asyncio.to_thread(memory.add_photos, list(photos))
    shown = {f"{q.question_id} {at}": ids[path] for q in dialogue.questions for at, path in enumerate(q.photos)}
    messages: list[Message] = []
    seconds, count, encoded = 0.0, 0, work.parts.stores.encoded
    try:
        for session in dialogue.sessions:
            if not session.turns:
                continue
            # Recorded one session at a time, so that a system cannot find what is said later.
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
    seconds += memory.seconds_of_reused_captions  # as if no other system had captioned its photos
    if work.parts.chat_model is None:  # as if no other system had encoded its messages
        seconds += await asyncio.to_thread(memory.seconds_of_reused_vectors, messages, encoded)
    record = ingestion_row(system, dialogue, count, seconds, work.price)
    work.folder.add_ingestion(record, TakenIn(memory.owner, shown))
    return _opened(system, memory, messages, shown)


async def _ask(work: Work, dialogue: Dialogue, asked: Asked, opened: _Opened) -> None:
    async with work.slots:
        row = _new_row(work, dialogue, asked, opened.system.name)
        question = Question(
            asked.text,
            asked.asked_at or opened.last_said_at,
            tuple(opened.photos[f"{asked.question_id} {at}"] for at in range(len(asked.photos))),
            asked.instructions,
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
        except Exception as error:  # systems may raise anything; a question that fails is a row
            row = with_error(row, error_sentence(error), work.judge_names, meter.usage, work.price)
        work.folder.add_question(row)
        work.progress.step(f"{opened.system.name} on {dialogue.dialogue_id}")
        await check_services(work, row, work.judges)


def _new_row(work: Work, dialogue: Dialogue, asked: Asked, name: str) -> QuestionRecord:
    return question_row(
        name,
        dialogue,
        asked,
        work.folder.keep_photo,
        asks_answer=registry.answers(name, work.parts),
        retrieves=registry.retrieves(name),
    )


def _opened(system: MemorySystem, memory: Memory, messages: Sequence[Message], photos: Mapping[str, str]) -> _Opened:
    references = {message.message_id: message.reference or "" for message in messages}
    return _Opened(system, memory, references, photos, max(message.said_at for message in messages))


def _references(retrieved: Sequence[int] | None, opened: _Opened) -> tuple[str, ...] | None:
    return None if retrieved is None else tuple(opened.references[message_id] for message_id in retrieved)


def _progress(folder: RunFolder, benchmark: Benchmark, systems: Sequence[str]) -> Progress:
    total = done = 0
    for dialogue in benchmark.dialogues:
        messages = sum(1 for _ in dialogue.turns)
        for system in systems:
            answered = sum((system, q.question_id) in folder.questions for q in dialogue.questions)
            is_in = folder.taken_in(system, dialogue.dialogue_id) is not None or answered == len(dialogue.questions)
            total += messages + len(dialogue.questions)
            done += answered + (messages if is_in else 0)
    return Progress(total, done)
