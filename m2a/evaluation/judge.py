"""A language model that marks answers: right or wrong, or no verdict at all. It never guesses one."""

import hashlib
import json
import re
from dataclasses import dataclass
from importlib.resources import files

from m2a.evaluation.record import Verdict
from models.chat_model import ChatMessage, ChatModel, ChatModelError, TokenUsage
from models.thoughts import without_thoughts

REPEATS = 2
NOTHING_SAID = "Nothing was said of it: the right answer is that this is not known."

_PROMPT = files("m2a.evaluation").joinpath("prompts/judge.md").read_text(encoding="utf-8")
VERSION = hashlib.sha256(_PROMPT.encode()).hexdigest()[:12]

_OBJECT = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, why, and what it took. `usage` sums what the server counted; None where it did not count.

    `unheard` is for a service that failed: then nothing was judged, and asking again may help.
    """

    verdict: Verdict
    reason: str
    usage: TokenUsage
    calls: int
    unheard: bool = False


class Judge:
    """Marks one answer at a time; calls may run side by side. `name` stands in tables and rows."""

    def __init__(self, chat_model: ChatModel) -> None:
        self.name = chat_model.name
        self._chat_model = chat_model

    async def judge(self, question: str, gold: str | None, reply: str) -> Judgement:
        """`judge_failed` where no verdict could be read after two repeats, or the service failed; never an exception.

        `gold` is None where nothing was said of it; then a reply that says so is right.
        """
        prompt = _PROMPT.format(question=question, gold=NOTHING_SAID if gold is None else gold, reply=reply)
        spent: list[TokenUsage] = []
        reason = ""
        for _ in range(1 + REPEATS):
            try:
                text, usage = await self._ask(prompt)
            except ChatModelError as error:
                return Judgement("judge_failed", str(error), _total(spent), len(spent) + 1, unheard=True)
            spent.append(usage)
            label = label_of(text)
            if label is not None:
                return Judgement(label, without_thoughts(text), _total(spent), len(spent))
            reason = f"No single verdict in: {text!r:.300}"
        return Judgement("judge_failed", reason, _total(spent), len(spent))

    async def _ask(self, prompt: str) -> tuple[str, TokenUsage]:
        text, usage = "", TokenUsage()
        async for piece in self._chat_model.stream([ChatMessage("user", (prompt,))]):
            if isinstance(piece, TokenUsage):
                usage = piece
            else:
                text += piece
        return text, usage


def label_of(text: str) -> Verdict | None:
    """The one label that a judge's answer holds as a JSON object; None where there is none, or more than one."""
    labels = set()
    for found in _OBJECT.findall(without_thoughts(text)):
        try:
            label = json.loads(found).get("label")
        except ValueError:
            continue
        labels.add(label.strip().lower() if isinstance(label, str) else label)
    if labels == {"right"}:
        return "right"
    return "wrong" if labels == {"wrong"} else None


def _total(usages: list[TokenUsage]) -> TokenUsage:
    def add(counts: list[int | None]) -> int | None:
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) and known else None

    return TokenUsage(add([usage.input_tokens for usage in usages]), add([usage.output_tokens for usage in usages]))
