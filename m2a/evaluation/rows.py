"""What a run writes down, made of what was asked, answered and measured."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from m2a.benchmarks import Dialogue, Question, Turn
from m2a.evaluation.prices import Price
from m2a.evaluation.record import EvidenceTurn, IngestionRecord, QuestionRecord
from m2a.systems.shared import Utterance
from m2a.systems.system import Answer, MemorySystem, Usage


def question_row(
    system: str, dialogue: Dialogue, asked: Question, keep_photo: Callable[[Path], str], *, asks_answer: bool = True
) -> QuestionRecord:
    """The row before anything came of it. `keep_photo` gives a photo's name in the run's folder."""
    rests_on = set(asked.evidence)
    return QuestionRecord(
        system=system,
        dialogue_id=dialogue.dialogue_id,
        question_id=asked.question_id,
        category=asked.category,
        question=asked.text,
        gold=asked.answer,
        accepted=asked.accepted,
        evidence=asked.evidence,
        evidence_turns=tuple(
            EvidenceTurn(
                turn.reference,
                turn.speaker,
                turn.said_at.isoformat(),
                words_of(turn),
                tuple(keep_photo(photo.path) for photo in turn.photos if photo.path is not None),
            )
            for turn in dialogue.turns
            if turn.reference in rests_on
        ),
        photos=tuple(keep_photo(path) for path in asked.photos),
        asks_answer=asks_answer,
    )


def with_answer(row: QuestionRecord, answer: Answer, sources: list[str], price: Price) -> QuestionRecord:
    """`sources` are the references of the messages that were put before the model. Where none was called, no tokens."""
    usage = answer.usage
    called = usage.calls > 0
    return replace(
        row,
        reply=answer.text,
        context_tokens=answer.context_tokens,
        input_tokens=usage.input_tokens if called else None,
        output_tokens=usage.output_tokens if called else None,
        estimated_tokens=usage.estimated,
        calls=usage.calls,
        cost=_cost(usage, price),
        search_seconds=answer.search_seconds,
        seconds=answer.seconds,
        trace=(*answer.trace, {"sources": sources}),
    )


def with_error(row: QuestionRecord, reason: str, judges: Iterable[str]) -> QuestionRecord:
    """It counts as wrong, whoever judges."""
    return replace(row, error=reason, verdicts=dict.fromkeys(judges, "wrong"))


def ingestion_row(
    system: MemorySystem, dialogue: Dialogue, messages: int, seconds: float, price: Price
) -> IngestionRecord:
    usage = system.ingestion
    return IngestionRecord(
        system=system.name,
        dialogue_id=dialogue.dialogue_id,
        version=system.version,
        store_only=system.store_only,
        messages=messages,
        seconds=seconds,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        estimated_tokens=usage.estimated,
        calls=usage.calls,
        failures=usage.failures,
        cost=_cost(usage, price),
    )


def utterance(turn: Turn) -> Utterance:
    return Utterance(
        reference=turn.reference,
        role=turn.role,
        speaker=turn.speaker,
        text=words_of(turn),
        said_at=turn.said_at,
        photos=tuple(photo.path for photo in turn.photos if photo.path is not None),
    )


def words_of(turn: Turn) -> str:
    """What is remembered of a turn: its words with the captions that the data set gives its photos."""
    return f"{turn.text} {turn.caption}".strip()


def _cost(usage: Usage, price: Price) -> float | None:
    """By the server's own count of tokens alone."""
    return price(usage.input_tokens, usage.output_tokens) if usage.calls and not usage.estimated else None


def in_a_sentence(error: Exception) -> str:
    """Errors of ours are sentences already."""
    is_ours = type(error).__module__.startswith(("m2a.", "models."))
    text = " ".join(str(error).split())
    return text if is_ours and text else f"{type(error).__name__}: {text}"
