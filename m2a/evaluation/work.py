"""What the steps of a run share, and how a run asks its judges."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from m2a.benchmarks.progress import Progress
from m2a.evaluation.judge import Judge
from m2a.evaluation.outage import Watch
from m2a.evaluation.record import QuestionRecord
from m2a.evaluation.rows import with_judgements
from m2a.evaluation.run_folder import RunFolder
from m2a.systems.shared import Parts
from models.prices import Price


@dataclass(slots=True)
class Work:
    """What the steps of a run share. `slots` limits how many of them run at the same time."""

    folder: RunFolder
    parts: Parts
    judges: Sequence[Judge]
    progress: Progress
    slots: asyncio.Semaphore
    price: Price
    chat_watch: Watch | None
    judge_watches: Mapping[str, Watch]

    @property
    def judge_names(self) -> list[str]:
        return [judge.name for judge in self.judges]


async def judge_unjudged(work: Work) -> None:
    """Asks judges that could not be reached earlier about the answers that they missed."""

    async def judge(row: QuestionRecord) -> None:
        async with work.slots:
            judges = [judge for judge in work.judges if judge.name in row.unreachable]
            judged = await with_verdicts(row, row.reply or "", judges)
            work.folder.add_question(judged)
            await check_services(work, judged, judges)

    async with asyncio.TaskGroup() as group:
        for row in list(work.folder.questions.values()):
            if row.unreachable:
                group.create_task(judge(row))


async def check_services(work: Work, row: QuestionRecord, judges: Sequence[Judge]) -> None:
    """Raises `ServiceGone` if the row shows that the chat model or one of the judges stopped answering."""
    if work.chat_watch is not None and row.error is not None:
        await work.chat_watch.failed((row.system, row.question_id))
    elif work.chat_watch is not None:
        work.chat_watch.succeeded()
    for judge in judges if row.reply is not None else ():
        if judge.name in row.unreachable:
            await work.judge_watches[judge.name].failed()
        else:
            work.judge_watches[judge.name].succeeded()


async def with_verdicts(row: QuestionRecord, reply: str, judges: Sequence[Judge]) -> QuestionRecord:
    """Asks the judges about a reply, side by side, and returns the row with their judgements."""
    calls = (
        judge.judge_summary(row.gold or "", row.keypoints, reply)
        if row.measure == "summary"
        else judge.judge(row.question, row.gold, reply, row.category)
        for judge in judges
    )
    judgements = await asyncio.gather(*calls)
    return with_judgements(row, dict(zip((judge.name for judge in judges), judgements, strict=True)))
