"""A language model that marks answers: right or wrong, or no verdict at all. It never guesses one.

LongMemEval counts by rules of its own for each of its types of question (`prompts/judge_rules`), which follow in meaning
those that its authors give to GPT-4o, in words of ours; other questions are marked by one set of rules.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from importlib.resources import files

from m2a.evaluation.prices import Price, unknown
from m2a.evaluation.record import Verdict
from models.chat_model import ChatMessage, ChatModel, ChatModelError, TokenUsage
from models.thoughts import without_thoughts

KEY = "M2A_JUDGE_API_KEY"
REPEATS = 2
STRICT = " (strict)"
"""Behind the name of a strict judge."""
NOTHING_SAID = "Nothing was said of it: the right answer is that this is not known."

_PROMPTS = files("m2a.evaluation").joinpath("prompts")
_PROMPT = _PROMPTS.joinpath("judge.md").read_text(encoding="utf-8")
_RULES = {
    file.name.removesuffix(".md"): file.read_text(encoding="utf-8").strip()
    for file in sorted(_PROMPTS.joinpath("judge_rules").iterdir(), key=lambda file: file.name)
    if file.name.endswith(".md")
}
VERSION = hashlib.sha256(json.dumps([_PROMPT, _RULES]).encode()).hexdigest()[:12]
"""Of the prompt and all its rules."""

_OBJECT = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, why, and what it took. `usage` sums what the server counted; None where it did not count. `calls` are
    those that were answered, `cost` is in dollars, None where it is unknown.

    `unheard` is for a service that failed: then nothing was judged, and asking again may help.
    """

    verdict: Verdict
    reason: str
    usage: TokenUsage
    calls: int
    cost: float | None = None
    unheard: bool = False


class Judge:
    """Marks one answer at a time; calls may run side by side. `name` stands in tables and rows.

    By default it is generous about form, as published judges are; a `strict` one lets nothing vague or partial pass, whatever
    the category.
    """

    def __init__(self, chat_model: ChatModel, price: Price = unknown, *, strict: bool = False) -> None:
        self.name = f"{chat_model.name}{STRICT}" if strict else chat_model.name
        self._strict = strict
        self._price = price
        self.chat_model = chat_model

    async def judge(self, question: str, gold: str | None, reply: str, category: str = "") -> Judgement:
        """`judge_failed` where no verdict could be read after two repeats, or the service failed; never an exception.

        `gold` is None where nothing was said of it; then a reply that says so is right. `category` is that of the
        question: some have rules of their own.
        """
        rules = _RULES["strict"] if self._strict else _RULES.get(category, _RULES["default"])
        prompt = _PROMPT.format(
            rules=rules, question=question, gold=NOTHING_SAID if gold is None else gold, reply=reply
        )
        spent: list[TokenUsage] = []
        reason = ""
        for _ in range(1 + REPEATS):
            try:
                text, usage = await self._ask(prompt)
            except ChatModelError as error:
                return self._judgement("judge_failed", told(error), spent, unheard=True)
            spent.append(usage)
            label = label_of(text)
            if label is not None:
                return self._judgement(label, without_thoughts(text), spent)
            reason = f"No single verdict in: {text!r:.300}"
        return self._judgement("judge_failed", reason, spent)

    def _judgement(self, verdict: Verdict, reason: str, spent: list[TokenUsage], *, unheard: bool = False) -> Judgement:
        usage, cost = _total(spent), None
        if usage.input_tokens is not None and usage.output_tokens is not None:
            cost = self._price(usage.input_tokens, usage.output_tokens)
        return Judgement(verdict, reason, usage, len(spent), cost, unheard)

    async def _ask(self, prompt: str) -> tuple[str, TokenUsage]:
        text, usage = "", TokenUsage()
        async for piece in self.chat_model.stream([ChatMessage("user", (prompt,))]):
            if isinstance(piece, TokenUsage):
                usage = piece
            elif isinstance(piece, str):
                text += piece
        return text, usage


def told(error: ChatModelError) -> str:
    """In words that name a judge's own key and address where the chat model's would be named."""
    return str(error).replace("M2A_CHAT_API_KEY", KEY).replace("M2A_CHAT_BASE_URL", "--judge-base-url")


def label_of(text: str) -> Verdict | None:
    """The one label that a judge's answer holds as a JSON object; None where there is none, or more than one."""
    labels = set[str | None]()
    for found in _OBJECT.findall(without_thoughts(text)):
        try:
            label = json.loads(found).get("label")
        except (ValueError, RecursionError):  # no JSON, or lists in lists without an end
            continue
        labels.add(label.strip().lower() if isinstance(label, str) else None)
    if labels == {"right"}:
        return "right"
    return "wrong" if labels == {"wrong"} else None


def _total(usages: list[TokenUsage]) -> TokenUsage:
    def add(counts: list[int | None]) -> int | None:
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) and known else None

    return TokenUsage(add([usage.input_tokens for usage in usages]), add([usage.output_tokens for usage in usages]))
