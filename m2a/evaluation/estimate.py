"""Estimates the calls and tokens of a run before it starts. Its duration is estimated while it runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from m2a.benchmarks import Benchmark
from m2a.systems import registry
from m2a.systems.published_system import PublishedVariant
from models.chat_model import CHARACTERS_PER_TOKEN

_INSTRUCTION_TOKENS = 300
_REPLY_TOKENS = 60
_MEMORY_TOKENS = 60  # a memory or a turn in a prompt
_JUDGE_TOKENS = 400
_JUDGE_CALLS_PER_SUMMARY = 3

# As observed with a small model.
_AGENT_UPDATES_PER_MESSAGE = 0.5  # one update for an exchange of two messages
_AGENT_CALLS_PER_UPDATE = 4
_AGENT_CALLS_PER_QUESTION = 6
_AGENT_PROMPT_TOKENS = 2000
_PEER_CALLS_PER_MESSAGE = {"mem0": 0.5, "a-mem": 2.0}


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimate for one system. `ingestion_…` is the part spent on taking the messages in. Without calls, no model is used."""

    system: str
    messages: int
    questions: int
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    ingestion_calls: int = 0
    ingestion_tokens: int = 0

    @property
    def sentence(self) -> str:
        sentence = f"{self.system}: {self.messages:,} messages, {self.questions:,} questions; "
        if not self.calls:
            return f"{sentence}no language model"
        sentence += f"≈ {self.calls:,} calls, ≈ {self.input_tokens:,} tokens in, ≈ {self.output_tokens:,} out"
        if not self.ingestion_calls:
            return sentence
        return (
            f"{sentence}; of these, ≈ {self.ingestion_calls:,} calls and ≈ {self.ingestion_tokens:,} tokens are for taking the "
            "messages in"
        )


def estimate(
    benchmark: Benchmark, systems: Sequence[str], *, asks_model: bool, judges: int, window: int
) -> list[Estimate]:
    """Returns the estimate for each system, including its judges. Without a model, only answers by rules are judged."""
    messages = questions = history = total_tokens = judgements = 0
    for dialogue in benchmark.dialogues:
        tokens = sum(len(turn.text) + 60 for turn in dialogue.turns) // CHARACTERS_PER_TOKEN
        messages += sum(1 for _ in dialogue.turns)
        questions += len(dialogue.questions)
        history += min(window, tokens) * len(dialogue.questions)  # each question has the dialogue in its prompt
        total_tokens += tokens
        judgements += sum(
            _JUDGE_CALLS_PER_SUMMARY if question.measure == "summary" else 1 for question in dialogue.questions
        )
    excess = max(0, total_tokens - messages * _MEMORY_TOKENS)  # chunks of a document are longer than chat messages

    def estimate_of(system: str) -> Estimate:
        judge_calls = judges * judgements if asks_model or registry.answers_offline(system) else 0
        ingestion_calls = answer_calls = ingestion_tokens = answer_tokens = 0
        if asks_model and system.startswith("m2a"):
            ingestion_calls = round(messages * _AGENT_UPDATES_PER_MESSAGE * _AGENT_CALLS_PER_UPDATE)
            ingestion_tokens = ingestion_calls * _AGENT_PROMPT_TOKENS
            answer_calls = questions * _AGENT_CALLS_PER_QUESTION
            answer_tokens = answer_calls * _AGENT_PROMPT_TOKENS
        elif asks_model:
            variant = registry.PUBLISHED.get(system, PublishedVariant())
            ingestion_calls = round(messages * _PEER_CALLS_PER_MESSAGE.get(system, variant.calls_per_message))
            ingestion_tokens = ingestion_calls * (_INSTRUCTION_TOKENS + 10 * _MEMORY_TOKENS)
            answer_calls = round(questions * variant.calls_per_question)
            context_tokens = history if system == "full-context" else questions * 10 * _MEMORY_TOKENS
            answer_tokens = answer_calls * _INSTRUCTION_TOKENS + context_tokens
        if ingestion_calls:
            ingestion_tokens += max(1, ingestion_calls // messages) * excess
        if answer_calls and system != "full-context":
            answer_tokens += questions * 10 * excess // messages
        calls = ingestion_calls + answer_calls + judge_calls
        return Estimate(
            system,
            messages,
            questions,
            calls,
            ingestion_tokens + answer_tokens + judge_calls * _JUDGE_TOKENS,
            calls * _REPLY_TOKENS,
            ingestion_calls,
            ingestion_tokens + ingestion_calls * _REPLY_TOKENS,
        )

    return list(map(estimate_of, systems))
