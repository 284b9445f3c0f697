"""Runs systems on a benchmark: a fresh memory for each dialogue, then its questions, side by side and read-only."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from m2a.benchmarks import Benchmark, Dialogue
from m2a.benchmarks import Question as Asked
from m2a.evaluation.judge import Judge
from m2a.evaluation.prices import Price, unknown
from m2a.evaluation.progress import Progress
from m2a.evaluation.record import QuestionRecord
from m2a.evaluation.rows import in_a_sentence, ingestion_row, question_row, utterance, with_answer, with_error
from m2a.evaluation.run_folder import RunFolder, TakenIn, write_json
from m2a.evaluation.summary import summarise
from m2a.systems import registry
from m2a.systems.shared import Memory, Parts
from m2a.systems.system import MemorySystem, Question, RetrievedMessage
from m2a.types import Message

RETRIEVED = 25  # as deep as recall is measured


@dataclass(frozen=True, slots=True)
class RunResult:
    """Where the run is, its figures, how many questions failed, and how many a judge was not to be reached for.

    `why` is the most frequent reason of either; None where there is none.
    """

    path: Path
    summary: Mapping[str, Any]
    questions: int
    failed: int
    unjudged: int = 0
    why: str | None = None


@dataclass(slots=True)
class _Work:
    """What every part of a run has at hand. `turn` bounds how much is done at once."""

    folder: RunFolder
    parts: Parts
    judges: Sequence[Judge]
    progress: Progress
    turn: asyncio.Semaphore
    price: Price

    @property
    def judge_names(self) -> list[str]:
        return [judge.name for judge in self.judges]


@dataclass(slots=True)
class _Opened:
    """A system that has taken a dialogue in. `references` are the data set's ids of its messages."""

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
    """Ask every system every question of the benchmark; what `out` holds already of this run is not done again.

    Questions that failed are asked again, and judges that were not to be reached.

    `parts` makes what systems share in a folder for it. `settings` are all that an answer depends on: they stand in
    run.json, and a folder with others is refused (`RunFolderError`). A question that fails is a row with its error.
    Without a chat model one thing is done after the other, so that its time can be measured.
    Writes run.json, ingestion.jsonl, questions.jsonl, summary.json, and by `report` its pages.
    """
    with RunFolder(out, settings) as folder:
        folder.drop_failures()
        shown = _progress(folder, benchmark, systems)
        work = _Work(folder, parts(folder.work), judges, shown, asyncio.Semaphore(concurrency), price)
        registry.check(
            tuple(systems), retrieval_only=work.parts.retrieval_only, has_model=work.parts.chat_model is not None
        )
        await _do_all(work, benchmark, systems, concurrency)
        return finish(folder, benchmark, systems, report)


async def _do_all(work: _Work, benchmark: Benchmark, systems: Sequence[str], concurrency: int) -> None:
    try:
        await _judge_again(work)
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
    """The figures of the rows, in the order of the benchmark."""
    order = [q.question_id for dialogue in benchmark.dialogues for q in dialogue.questions]
    rows = [folder.questions[system, question] for system in systems for question in order]
    summary = summarise(rows)
    write_json(folder.path / "summary.json", summary)
    if report is not None:
        report(folder.path)
    failed = [row.error for row in rows if row.error is not None]
    unheard = [next(iter(row.unheard.values())) for row in rows if row.unheard]
    reasons = Counter([*failed, *unheard]).most_common(1)
    return RunResult(folder.path, summary, len(rows), len(failed), len(unheard), reasons[0][0] if reasons else None)


async def _do(work: _Work, dialogue: Dialogue, name: str) -> None:
    """One system on one dialogue. Only what is missing is done."""
    missing = [q for q in dialogue.questions if (name, q.question_id) not in work.folder.questions]
    if not missing:
        return
    opened = None
    try:
        opened = await _open(work, dialogue, name)
        if isinstance(opened, str):
            for asked in missing:
                row = _begun(work, dialogue, asked, name)
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


async def _open(work: _Work, dialogue: Dialogue, name: str) -> _Opened | str:
    """The system with the dialogue in it, taken in now if it was not before; else why it could not be."""
    known = work.folder.taken_in(name, dialogue.dialogue_id)
    try:
        if known is not None:
            memory = work.parts.stores.memory(known.owner)
            system = await registry.open_system(name, memory, work.parts)
            return _opened(system, memory, await asyncio.to_thread(memory.messages), known.photos)
        async with work.turn:
            return await _take_in(work, dialogue, name)
    except Exception as error:  # one dialogue that fails stops no other
        return in_a_sentence(error)


async def _take_in(work: _Work, dialogue: Dialogue, name: str) -> _Opened:
    memory = await asyncio.to_thread(work.parts.stores.fresh_memory, f"{name}/{dialogue.dialogue_id}")
    system = await registry.open_system(name, memory, work.parts)
    try:
        return await _hear(work, dialogue, system, memory)
    except BaseException:
        await system.close()
        raise


async def _hear(work: _Work, dialogue: Dialogue, system: MemorySystem, memory: Memory) -> _Opened:
    photos = dict.fromkeys(path for question in dialogue.questions for path in question.photos)
    sessions = [[utterance(turn) for turn in session.turns] for session in dialogue.sessions if session.turns]
    written = [await asyncio.to_thread(memory.record, session) for session in sessions]
    ids = await asyncio.to_thread(memory.add_photos, list(photos))
    shown = {f"{q.question_id} {at}": ids[path] for q in dialogue.questions for at, path in enumerate(q.photos)}
    taken = TakenIn(memory.owner, shown)
    seconds, heard, encoded = 0.0, 0, work.parts.stores.encoded
    try:
        for session in written:
            began = time.perf_counter()
            await system.observe(session)
            seconds += time.perf_counter() - began
            heard += len(session)
            work.progress.step(f"{system.name} takes in {dialogue.dialogue_id}", len(session))
    except Exception as error:
        record = ingestion_row(system, dialogue, heard, seconds, work.price)
        work.folder.add_ingestion(replace(record, error=in_a_sentence(error)), None)
        raise
    everything = [message for session in written for message in session]
    if work.parts.chat_model is None:  # as if no vector had been there
        seconds += await asyncio.to_thread(memory.reused_seconds, everything, encoded)
    work.folder.add_ingestion(ingestion_row(system, dialogue, heard, seconds, work.price), taken)
    return _opened(system, memory, everything, taken.photos)


async def _ask(work: _Work, dialogue: Dialogue, asked: Asked, opened: _Opened) -> None:
    async with work.turn:
        row = _begun(work, dialogue, asked, opened.system.name)
        question = Question(
            asked.text,
            asked.asked_at or opened.last_said_at,
            tuple(opened.photos[f"{asked.question_id} {at}"] for at in range(len(asked.photos))),
        )
        try:
            began = time.perf_counter()
            retrieved = await opened.system.retrieve(question, RETRIEVED)
            row = replace(row, retrieved=_references(retrieved, opened), search_seconds=time.perf_counter() - began)
            if registry.answers(opened.system.name, work.parts):
                answer = await opened.system.answer(question)
                row = with_answer(row, answer, [opened.references[source] for source in answer.sources], work.price)
                row = await _judged(row, answer.text, work.judges)
        except Exception as error:  # a question that fails is a row
            row = with_error(row, in_a_sentence(error), work.judge_names)
        work.folder.add_question(row)
        work.progress.step(f"{opened.system.name} on {dialogue.dialogue_id}")


def _begun(work: _Work, dialogue: Dialogue, asked: Asked, name: str) -> QuestionRecord:
    return question_row(name, dialogue, asked, work.folder.keep_photo, asks_answer=registry.answers(name, work.parts))


async def _judge_again(work: _Work) -> None:
    """Answers that are there already, by the judges that were not to be reached."""

    async def judge(row: QuestionRecord) -> None:
        async with work.turn:
            again = [judge for judge in work.judges if judge.name in row.unheard]
            work.folder.add_question(await _judged(row, row.reply or "", again))

    unheard = [row for row in work.folder.questions.values() if row.unheard]
    await asyncio.gather(*map(judge, unheard))


async def _judged(row: QuestionRecord, reply: str, judges: Sequence[Judge]) -> QuestionRecord:
    judgements = await asyncio.gather(*(judge.judge(row.question, row.gold, reply) for judge in judges))
    given = dict(zip((judge.name for judge in judges), judgements, strict=True))
    told = [{"judge": name, "verdict": one.verdict, "reason": one.reason} for name, one in given.items()]
    verdicts = row.verdicts | {name: one.verdict for name, one in given.items()}
    unheard = {name: one.reason for name, one in given.items() if one.unheard}
    return replace(row, verdicts=verdicts, unheard=unheard, trace=(*row.trace, *told))


def _opened(system: MemorySystem, memory: Memory, messages: Sequence[Message], photos: Mapping[str, str]) -> _Opened:
    references = {message.message_id: message.reference or "" for message in messages}
    return _Opened(system, memory, references, photos, max(message.said_at for message in messages))


def _references(retrieved: Sequence[RetrievedMessage] | None, opened: _Opened) -> tuple[str, ...] | None:
    return None if retrieved is None else tuple(opened.references[hit.message_id] for hit in retrieved)


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
