"""A language model that judges answers: right, wrong, or no verdict if none can be read from its reply.

Each question type of LongMemEval has rules of its own (`prompts/judge_rules`). They have the meaning of those that its authors
give to GPT-4o, in our own words. All other questions are judged by one set of rules. These are stricter than those of the M2A
paper (appendix D.3), by which an answer is right "as long as it touches on the same topic". A judge named PAPER + its model
judges all questions by the paper's own words.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from typing import Any, Literal

from m2a.benchmarks.longmemeval import RUBRICS
from m2a.evaluation.record import Verdict
from m2a.sentences import with_names
from models.chat_model import ChatMessage, ChatModel, ChatModelError, TokenUsage
from models.prices import Price, unknown
from models.thoughts import without_thoughts

KEY = "M2A_JUDGE_API_KEY"
REPEATS = 2
STRICT_SUFFIX = " (strict)"
"""Ends the name of a strict judge."""
NOTHING_SAID = "Nothing was said of it: the right answer is that this is not known."
"""The gold answer of a question without an answer."""

_PROMPTS = files("m2a.evaluation").joinpath("prompts")
_PROMPT = _PROMPTS.joinpath("judge.md").read_text(encoding="utf-8")
_RULES = {
    file.name.removesuffix(".md"): file.read_text(encoding="utf-8").strip()
    for file in sorted(_PROMPTS.joinpath("judge_rules").iterdir(), key=lambda file: file.name)
    if file.name.endswith(".md")
}
_PAPER_PROMPT = _PROMPTS.joinpath("judge_paper.md").read_text(encoding="utf-8")
_SUMMARY_PROMPTS = {
    name: _PROMPTS.joinpath("summary", f"{name}.md").read_text(encoding="utf-8")
    for name in ("fluency", "recall", "precision")
}
VERSION = hashlib.sha256(
    json.dumps([_PROMPT, _RULES, _PAPER_PROMPT, _SUMMARY_PROMPTS, NOTHING_SAID, sorted(RUBRICS)]).encode()
).hexdigest()[:12]
"""A hash of the prompts and all rules."""

Wording = Literal["lenient", "strict", "paper"]
PAPER = "paper:"
"""Begins the name of a judge that uses the paper's wording."""
_LABELS: dict[str, Verdict] = {"right": "right", "correct": "right", "wrong": "wrong"}


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, its reason, and what it cost.

    `usage` sums the server's counts, which are None if it did not count. `calls` is the number of answered calls. `cost` is in
    dollars, or None if unknown. If the judge is `unreachable`, nothing was judged, and asking again may help. `f1` is the score
    of a summary.
    """

    verdict: Verdict
    reason: str
    usage: TokenUsage
    calls: int
    cost: float | None = None
    unreachable: bool = False
    f1: float | None = None


class Judge:
    """Judges answers; calls may run side by side. `name` appears in tables and rows.

    `lenient` is generous about form, as published judges are. `strict` accepts nothing vague or partial, except where the gold
    answer is a rubric. `paper` uses the wording of the paper's appendix D.3.
    """

    def __init__(self, chat_model: ChatModel, price: Price = unknown, *, wording: Wording = "lenient") -> None:
        self.name = {
            "lenient": chat_model.name,
            "strict": f"{chat_model.name}{STRICT_SUFFIX}",
            "paper": f"{PAPER}{chat_model.name}",
        }[wording]
        self._wording = wording
        self._price = price
        self.chat_model = chat_model

    async def judge(self, question: str, gold: str | None, reply: str, category: str = "") -> Judgement:
        """Returns `judge_failed` if no verdict could be read after two repeats, or if the service failed. Raises nothing.

        `gold` is None for a question without an answer; then a reply that says so is right. Some categories have rules of
        their own.
        """
        is_strict = self._wording == "strict" and category not in RUBRICS  # no reply can give a whole rubric
        rules = _RULES["strict"] if is_strict else _RULES.get(category, _RULES["default"])
        values = {"question": question, "gold": NOTHING_SAID if gold is None else gold, "reply": reply}
        prompt = _PAPER_PROMPT.format(**values) if self._wording == "paper" else _PROMPT.format(rules=rules, **values)
        usages: list[TokenUsage] = []
        try:
            text = await self._reply(prompt, label_of, usages)
        except ChatModelError as error:
            return self._judgement("judge_failed", in_judge_terms(error), usages, unreachable=True)
        label = label_of(text)
        if label is None:
            return self._judgement("judge_failed", f"No single verdict in: {text!r:.300}", usages)
        return self._judgement(label, without_thoughts(text), usages)

    async def judge_summary(self, gold: str, keypoints: Sequence[str], reply: str) -> Judgement:
        """Scores a summary by F1, as MemoryAgentBench does: recall of the key points, precision of the sentences that the gold
        summary supports, and 0 if it is not fluent.

        Returns `judge_failed` and no score if a count could not be read after two repeats, or the service failed.
        """
        numbered = "\n".join(f"{number}. {keypoint}" for number, keypoint in enumerate(keypoints, start=1))
        values = {"gold": gold, "keypoints": numbered, "count": len(keypoints), "reply": reply}
        limits: Mapping[str, Mapping[str, int | None]] = {
            "fluency": {"fluent": 1},
            "recall": {"covered": len(keypoints)},
            "precision": {"sentences": None, "supported": None},
        }
        usages: list[TokenUsage] = []
        counts: dict[str, int] = {}
        for name, keys in limits.items():
            prompt = _SUMMARY_PROMPTS[name].format(**values)
            try:
                text = await self._reply(prompt, partial(counts_in, limits=keys), usages)
            except ChatModelError as error:
                return self._judgement("judge_failed", in_judge_terms(error), usages, unreachable=True)
            new_counts = counts_in(text, keys)
            if new_counts is None:
                return self._judgement("judge_failed", f"No count for {name} in: {text!r:.300}", usages)
            counts |= new_counts
        recall = counts["covered"] / len(keypoints)
        precision = min(counts["supported"], counts["sentences"]) / max(1, counts["sentences"])
        f1 = counts["fluent"] * 2 * recall * precision / (recall + precision) if recall + precision else 0.0
        reason = f"Fluency {counts['fluent']}, recall {recall:.3f}, precision {precision:.3f}."
        return replace(self._judgement("right", reason, usages), f1=f1)

    async def _reply(self, prompt: str, read: Callable[[str], object], usages: list[TokenUsage]) -> str:
        """Returns the first reply that `read` can read, or the last one if it can read none. Adds each usage to `usages`."""
        text = ""
        for _ in range(1 + REPEATS):
            text, usage = await self._ask(prompt)
            usages.append(usage)
            if read(text) is not None:
                break
        return text

    def _judgement(
        self, verdict: Verdict, reason: str, usages: list[TokenUsage], *, unreachable: bool = False
    ) -> Judgement:
        usage, cost = _total(usages), None
        if usage.input_tokens is not None and usage.output_tokens is not None:
            cost = self._price(usage.input_tokens, usage.output_tokens)
        return Judgement(verdict, reason, usage, len(usages), cost, unreachable)

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
    return with_names(str(error), {"M2A_CHAT_API_KEY": KEY, "M2A_CHAT_BASE_URL": "--judge-base-url"})


def label_of(text: str) -> Verdict | None:
    """Returns the label in the JSON objects of a judge's reply, or None if there is none or several differ."""
    values = [value.get("label") for value in _objects(text)]
    labels = {_LABELS.get(value.strip().lower()) if isinstance(value, str) else None for value in values}
    return labels.pop() if len(labels) == 1 else None


def counts_in(text: str, limits: Mapping[str, int | None]) -> dict[str, int] | None:
    """Returns the counts of the last JSON object in a judge's reply, or None unless all are there and within their limits."""
    candidates = [candidate for candidate in _objects(text) if set(limits) <= set(candidate)]
    if not candidates:
        return None
    counts = {key: candidates[-1][key] for key in limits}
    is_count = all(type(count) is int and count >= 0 for count in counts.values())
    return counts if is_count and all(limit is None or counts[key] <= limit for key, limit in limits.items()) else None


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """Yields each JSON object in a text, without objects inside objects."""
    text, decoder, place = without_thoughts(text), json.JSONDecoder(), 0
    while (place := text.find("{", place)) >= 0:
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):  # not JSON, or nested too deeply
            place += 1
        else:
            yield value


def _total(usages: list[TokenUsage]) -> TokenUsage:
    def add(counts: list[int | None]) -> int | None:
        known_counts = [count for count in counts if count is not None]
        return sum(known_counts) if len(known_counts) == len(counts) and known_counts else None

    return TokenUsage(add([usage.input_tokens for usage in usages]), add([usage.output_tokens for usage in usages]))
