"""What every part of a run has at hand, and how its judges are asked."""

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
    """What every part of a run has at hand. `turn` bounds how much is done at once."""

    folder: RunFolder
    parts: Parts
    judges: Sequence[Judge]
    progress: Progress
    turn: asyncio.Semaphore
    price: Price
    chat: Watch | None
    courts: Mapping[str, Watch]

    @property
    def judge_names(self) -> list[str]:
        return [judge.name for judge in self.judges]


async def judge_again(work: Work) -> None:
    """Answers that are there already, by the judges that were not to be reached."""

    async def judge(row: QuestionRecord) -> None:
        async with work.turn:
            again = [judge for judge in work.judges if judge.name in row.unheard]
            now = await judged(row, row.reply or "", again)
            work.folder.add_question(now)
            await watch(work, now, again)

    async with asyncio.TaskGroup() as group:
        for row in [row for row in work.folder.questions.values() if row.unheard]:
            group.create_task(judge(row))


async def watch(work: Work, row: QuestionRecord, judges: Sequence[Judge]) -> None:
    """Whether the chat model and the judges that were asked are still there. Raises `ServiceGone`."""
    if work.chat is not None and row.error is not None:
        await work.chat.failed((row.system, row.question_id))
    elif work.chat is not None:
        work.chat.succeeded()
    for judge in judges if row.reply is not None else ():
        if judge.name in row.unheard:
            await work.courts[judge.name].failed()
        else:
            work.courts[judge.name].succeeded()


async def judged(row: QuestionRecord, reply: str, judges: Sequence[Judge]) -> QuestionRecord:
    asked = (judge.judge(row.question, row.gold, reply, row.category) for judge in judges)
    judgements = await asyncio.gather(*asked)
    return with_judgements(row, dict(zip((judge.name for judge in judges), judgements, strict=True)))
