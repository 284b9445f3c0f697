"""Whether a chat model that sees no photo answers the visual questions: from the words of their sessions, or from nothing.

It is asked twice for each: with all words of the group, and with the question alone. What it solves then needs no photo,
or could be guessed.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from data_synthesis.group import GeneratedQuestion, SynthesisError
from data_synthesis.interpolation import MadeGroup
from data_synthesis.leakage import TEXT_LIMIT, Rate, says_one
from data_synthesis.merged_sample import TakenApart
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
    """The rates of a model without photos, and each question that it solved: its place and the answer that was right."""

    rates: tuple[Rate, ...]
    solved: tuple[str, ...]


async def blind_answers(parts: Sequence[TakenApart], model: ChatModel) -> BlindAnswers:
    """Ask for every visual question. Raises SynthesisError where the service fails."""
    gate = asyncio.Semaphore(_AT_ONCE)
    asked = [found for apart in parts for found in apart.questions()]
    rates, solved = [], []
    for kind, talks in (("the words of its sessions", True), ("the question alone", False)):
        replies = await asyncio.gather(*(_reply(model, gate, one if talks else None, own) for _, one, own in asked))
        right = [says_one((own.answer, *own.accepted), [said]) for (*_, own), said in zip(asked, replies, strict=True)]
        # With all words of its sessions a model reads off what a photo of the question's own points to, and may.
        counted = [ok for (*_, own), ok in zip(asked, right, strict=True) if not own.photos]
        rates.append(Rate(f"answered by {model.name} from {kind}", sum(counted), len(counted), TEXT_LIMIT))
        solved += [
            f"{place}: answered without a photo from {kind}, {said!r}."
            for (place, _, own), said, ok in zip(asked, replies, right, strict=True)
            if ok and not own.photos
        ]
    return BlindAnswers(tuple(rates), tuple(solved))


async def _reply(model: ChatModel, gate: asyncio.Semaphore, one: MadeGroup | None, question: GeneratedQuestion) -> str:
    words = f"Question: {question.text}"
    if question.photos:
        words += " (It comes with a photo that you cannot see.)"
    if one is not None:
        words = f"{_talk(one)}\n\n{words}"
    async with gate:
        try:
            call = await model.choose([ChatMessage("system", (_TASK,)), ChatMessage("user", (words,))], [_TOOL])
        except MalformedReplyError as error:
            return error.text
        except ChatModelError as error:
            raise SynthesisError(f"The leak check could not go on: {error}") from error
    return str(call.arguments.get("text", ""))


def _talk(one: MadeGroup) -> str:
    lines = []
    for moment, session in zip(one.request.placement.times, one.group.sessions, strict=False):
        lines.append(f"[{moment:%A, %d %B %Y, %H:%M}]")
        lines += [f"{turn.speaker}: {turn.text}{' [sends a photo]' * bool(turn.photos)}" for turn in session]
    return "\n".join(lines)
