"""Whether a chat model without photos can answer the visual questions.

Each question is asked twice: with all turns of its group, and alone. A question that the model answers needs no photo, or
can be guessed.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from data_synthesis.group import GeneratedQuestion, SynthesisError
from data_synthesis.group_records import WovenGroup
from data_synthesis.leakage import TEXT_LIMIT, Rate, contains_one
from data_synthesis.merged_sample import UnwovenSample
from models.chat_model import ChatMessage, ChatModel, ChatModelError, MalformedReplyError, Tool

_AT_ONCE = 4
_TOOL = Tool(
    "answer",
    "Answer the question in a few words.",
    {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)
_TASK = (
    "Two friends chat; they send photos that you cannot see. Answer the question in a few words by what is written, or "
    "by your best guess from it. Say 'unknown' where neither is possible."
)


@dataclass(frozen=True, slots=True)
class BlindAnswers:
    """The rates of a model without photos, and a line for each question that it answered correctly."""

    rates: tuple[Rate, ...]
    solved: tuple[str, ...]


async def blind_answers(samples: Sequence[UnwovenSample], model: ChatModel) -> BlindAnswers:
    """Asks the model all visual questions. Raises SynthesisError if the service fails."""
    limit = asyncio.Semaphore(_AT_ONCE)
    questions = [entry for sample in samples for entry in sample.questions()]
    rates, solved = [], []
    for source, with_turns in (("the words of its sessions", True), ("the question alone", False)):
        replies = await asyncio.gather(
            *(_reply(model, limit, group if with_turns else None, question) for _, group, question in questions)
        )
        answered = 0
        # A question that comes with a photo may be answered from the turns: its photo only says whom it is about.
        without_photo = [
            (*entry, reply) for entry, reply in zip(questions, replies, strict=True) if not entry[2].photos
        ]
        for place, _, question, reply in without_photo:
            if contains_one((question.answer, *question.accepted), [reply]):
                answered += 1
                solved.append(f"{place}: answered without a photo from {source}, {reply!r}.")
        rates.append(Rate(f"answered by {model.name} from {source}", answered, len(without_photo), TEXT_LIMIT))
    return BlindAnswers(tuple(rates), tuple(solved))


async def _reply(
    model: ChatModel, limit: asyncio.Semaphore, group: WovenGroup | None, question: GeneratedQuestion
) -> str:
    prompt = f"Question: {question.text}"
    if question.photos:
        prompt += " (It comes with a photo that you cannot see.)"
    if group is not None:
        prompt = f"{_transcript(group)}\n\n{prompt}"
    async with limit:
        try:
            call = await model.choose([ChatMessage("system", (_TASK,)), ChatMessage("user", (prompt,))], [_TOOL])
        except MalformedReplyError as error:
            return error.text
        except ChatModelError as error:
            raise SynthesisError(f"The leak check could not continue: {error}") from error
    return str(call.arguments.get("text", ""))


def _transcript(group: WovenGroup) -> str:
    lines = []
    for time, session in zip(group.request.placement.times, group.group.sessions, strict=False):
        lines.append(f"[{time:%A, %d %B %Y, %H:%M}]")
        lines += [f"{turn.speaker}: {turn.text}{' [sends a photo]' * bool(turn.photos)}" for turn in session]
    return "\n".join(lines)
