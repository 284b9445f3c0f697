"""Estimates the calls and tokens of a run before it starts. Times are estimated while it runs, from what it has done."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from m2a.benchmarks import Benchmark
from m2a.systems import registry
from models.chat_model import CHARACTERS_PER_TOKEN

_PROMPT = 300  # instructions
_REPLY = 60
_MEMORY = 60  # a memory or a turn in a prompt
_JUDGE = 400
_CALLS_PER_SUMMARY = 3  # of a judge

# Calls per exchange or message, and prompt tokens per call besides the instructions, as observed with a small model.
_AGENT_UPDATES = 0.5  # updates per message: one per exchange of two
_AGENT_CALLS_PER_UPDATE = 4
_AGENT_CALLS_PER_QUESTION = 6
_AGENT_PROMPT = 2000
_PEER_CALLS_PER_MESSAGE = {"mem0": 0.5, "a-mem": 2.0}


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimate for one system. `building…` are the parts for taking the messages in. Zero calls: it calls no model."""

    system: str
    messages: int
    questions: int
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    building_calls: int = 0
    building_tokens: int = 0

    @property
    def sentence(self) -> str:
        sentence = f"{self.system}: {self.messages:,} messages, {self.questions:,} questions; "
        if not self.calls:
            return f"{sentence}no language model"
        sentence += f"≈ {self.calls:,} calls, ≈ {self.input_tokens:,} tokens in, ≈ {self.output_tokens:,} out"
        if not self.building_calls:
            return sentence
        return (
            f"{sentence}; of these ≈ {self.building_calls:,} calls and ≈ {self.building_tokens:,} tokens for taking the "
            "messages in"
        )


class _Size(NamedTuple):
    """The size of what is asked.

    `history` counts the tokens of each dialogue once per question, up to the window. `excess` counts the tokens by which all
    messages together exceed usual messages, as chunks of a document do. `judgements` counts the calls of one judge.
    """

    messages: int
    questions: int
    history: int
    excess: int
    judgements: int


def estimate(
    benchmark: Benchmark, systems: Sequence[str], *, asks_model: bool, judges: int, window: int
) -> list[Estimate]:
    """Returns the estimate of each system, including the judges. Without a model, judges judge the answers of the rules."""
    messages = questions = history = total = judgements = 0
    for dialogue in benchmark.dialogues:
        tokens = sum(len(turn.text) + 60 for turn in dialogue.turns) // CHARACTERS_PER_TOKEN
        messages += sum(1 for _ in dialogue.turns)
        questions += len(dialogue.questions)
        history += min(window, tokens) * len(dialogue.questions)
        total += tokens
        judgements += sum(_CALLS_PER_SUMMARY if q.measure == "summary" else 1 for q in dialogue.questions)
    size = _Size(messages, questions, history, max(0, total - messages * _MEMORY), judgements)
    return [_of(system, size, judges, asks_model=asks_model) for system in systems]


def _of(system: str, size: _Size, judges: int, *, asks_model: bool) -> Estimate:
    messages, questions, history, excess, judgements = size
    judged = judges * judgements if asks_model or registry.answers_offline(system) else 0
    taking_in = answering = tokens = building = 0
    if asks_model and system.startswith("m2a"):
        taking_in = round(messages * _AGENT_UPDATES * _AGENT_CALLS_PER_UPDATE)
        answering = questions * _AGENT_CALLS_PER_QUESTION
        building, tokens = taking_in * _AGENT_PROMPT, answering * _AGENT_PROMPT
    elif asks_model:
        taking_in = round(messages * _PEER_CALLS_PER_MESSAGE.get(system, registry.calls_per_message(system)))
        answering = round(questions * registry.calls_per_question(system))
        building = taking_in * (_PROMPT + 10 * _MEMORY)
        tokens = answering * _PROMPT + (history if system == "full-context" else questions * 10 * _MEMORY)
    if taking_in:
        building += max(1, taking_in // messages) * excess
    if answering and system != "full-context":
        tokens += questions * 10 * excess // messages
    return Estimate(
        system,
        messages,
        questions,
        taking_in + answering + judged,
        building + tokens + judged * _JUDGE,
        (taking_in + answering + judged) * _REPLY,
        taking_in,
        building + taking_in * _REPLY,
    )
