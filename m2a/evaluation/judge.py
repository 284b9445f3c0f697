"""A language model that judges answers: right, wrong, or no verdict if none can be read from its reply.

LongMemEval counts by rules of its own for each of its types of question (`prompts/judge_rules`), which follow in meaning
those that its authors give to GPT-4o, in our own words; all other questions are judged by one set of rules. These are stricter
than those of the M2A paper (appendix D.3), by which an answer is right "as long as it touches on the same topic": a judge
named PAPER + its model judges all questions by the paper's own words.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

from m2a.benchmarks.longmemeval import RUBRICS
from m2a.evaluation.record import Verdict
from m2a.sentences import naming
from models.chat_model import ChatMessage, ChatModel, ChatModelError, TokenUsage
from models.prices import Price, unknown
from models.thoughts import without_thoughts

KEY = "M2A_JUDGE_API_KEY"
REPEATS = 2
STRICT = " (strict)"
"""Ends the name of a strict judge."""
NOTHING_SAID = "Nothing was said of it: the right answer is that this is not known."

_PROMPTS = files("m2a.evaluation").joinpath("prompts")
_PROMPT = _PROMPTS.joinpath("judge.md").read_text(encoding="utf-8")
_RULES = {
    file.name.removesuffix(".md"): file.read_text(encoding="utf-8").strip()
    for file in sorted(_PROMPTS.joinpath("judge_rules").iterdir(), key=lambda file: file.name)
    if file.name.endswith(".md")
}
_PAPER_PROMPT = _PROMPTS.joinpath("judge_paper.md").read_text(encoding="utf-8")
VERSION = hashlib.sha256(
    json.dumps([_PROMPT, _RULES, _PAPER_PROMPT, NOTHING_SAID, sorted(RUBRICS)]).encode()
).hexdigest()[:12]
"""A hash of the prompts and all rules."""

Wording = Literal["lenient", "strict", "paper"]
PAPER = "paper:"
"""Begins the name of a judge that uses the paper's wording."""
_LABELS: dict[str, Verdict] = {"right": "right", "correct": "right", "wrong": "wrong"}


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, its reason, and what it took.

    `usage` sums the server's counts, or is None if it did not count. `calls` are those that were answered. `cost` is in
    dollars, or None if unknown. If the judge is `unreachable`, nothing was judged, and asking again may help.
    """

    verdict: Verdict
    reason: str
    usage: TokenUsage
    calls: int
    cost: float | None = None
    unreachable: bool = False


class Judge:
    """Judges one answer at a time; calls may run side by side. `name` appears in tables and rows.

    `lenient` is generous about form, as published judges are. `strict` accepts nothing vague or partial, except where the gold
    answer is a rubric. `paper` uses the wording of the paper's appendix D.3.
    """

    def __init__(self, chat_model: ChatModel, price: Price = unknown, *, wording: Wording = "lenient") -> None:
        self.name = {
            "lenient": chat_model.name,
            "strict": f"{chat_model.name}{STRICT}",
            "paper": f"{PAPER}{chat_model.name}",
        }[wording]
        self._wording = wording
        self._price = price
        self.chat_model = chat_model

    async def judge(self, question: str, gold: str | None, reply: str, category: str = "") -> Judgement:
        """Returns `judge_failed` if no verdict could be read after two repeats, or the service failed; raises nothing.

        `gold` is None for a question without an answer; then a reply that says so is right. Some categories have rules of
        their own.
        """
        is_strict = self._wording == "strict" and category not in RUBRICS  # no reply can give a whole rubric
        rules = _RULES["strict"] if is_strict else _RULES.get(category, _RULES["default"])
        words = {"question": question, "gold": NOTHING_SAID if gold is None else gold, "reply": reply}
        prompt = _PAPER_PROMPT.format(**words) if self._wording == "paper" else _PROMPT.format(rules=rules, **words)
        spent: list[TokenUsage] = []
        reason = ""
        for _ in range(1 + REPEATS):
            try:
                text, usage = await self._ask(prompt)
            except ChatModelError as error:
                return self._judgement("judge_failed", in_judge_terms(error), spent, unreachable=True)
            spent.append(usage)
            label = label_of(text)
            if label is not None:
                return self._judgement(label, without_thoughts(text), spent)
            reason = f"No single verdict in: {text!r:.300}"
        return self._judgement("judge_failed", reason, spent)

    def _judgement(
        self, verdict: Verdict, reason: str, spent: list[TokenUsage], *, unreachable: bool = False
    ) -> Judgement:
        usage, cost = _total(spent), None
        if usage.input_tokens is not None and usage.output_tokens is not None:
            cost = self._price(usage.input_tokens, usage.output_tokens)
        return Judgement(verdict, reason, usage, len(spent), cost, unreachable)

    async def _ask(self, prompt: str) -> tuple[str, TokenUsage]:
        text, usage = "", TokenUsage()
        async for piece in self.chat_model.stream([ChatMessage("user", (prompt,))]):
            if isinstance(piece, TokenUsage):
                usage = piece
            elif isinstance(piece, str):
                text += piece
        return text, usage


def in_judge_terms(error: ChatModelError) -> str:
    """Returns the error's sentence with the judge's key and address in place of the chat model's."""
    return naming(str(error), {"M2A_CHAT_API_KEY": KEY, "M2A_CHAT_BASE_URL": "--judge-base-url"})


def label_of(text: str) -> Verdict | None:
    """Returns the one label in the JSON objects of a judge's reply, or None if there is none or they differ."""
    labels = {_LABELS.get(label.strip().lower()) if isinstance(label, str) else None for label in _labels(text)}
    return labels.pop() if len(labels) == 1 else None


def _labels(text: str) -> Iterator[object]:
    """Yields the label of each JSON object in a text, without objects inside objects."""
    text, decoder, place = without_thoughts(text), json.JSONDecoder(), 0
    while (place := text.find("{", place)) >= 0:
        try:
            found, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):  # no JSON, or endlessly nested lists
            place += 1
        else:
            yield found.get("label")


def _total(usages: list[TokenUsage]) -> TokenUsage:
    def add(counts: list[int | None]) -> int | None:
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) and known else None

    return TokenUsage(add([usage.input_tokens for usage in usages]), add([usage.output_tokens for usage in usages]))
