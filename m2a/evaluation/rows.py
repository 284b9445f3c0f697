"""Makes the rows that a run writes, from questions, answers, judgements and measurements."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from m2a.benchmarks import Dialogue, Question, Turn
from m2a.evaluation.judge import Judgement
from m2a.evaluation.record import EvidenceTurn, IngestionRecord, QuestionRecord
from m2a.systems.shared import Utterance
from m2a.systems.system import Answer, MemorySystem, Usage
from models.prices import Price, unknown


def question_row(
    system: str,
    dialogue: Dialogue,
    question: Question,
    keep_photo: Callable[[Path], str],
    *,
    asks_answer: bool = True,
    retrieves: bool = True,
) -> QuestionRecord:
    """Returns the row of a question before it is asked. `keep_photo` returns the name of a photo in the run's folder."""
    evidence = set(question.evidence)
    return QuestionRecord(
        system=system,
        dialogue_id=dialogue.dialogue_id,
        question_id=question.question_id,
        category=question.category,
        question=question.text,
        gold=question.answer,
        accepted=question.accepted,
        evidence=question.evidence,
        evidence_sessions=question.evidence_sessions,
        evidence_turns=tuple(
            EvidenceTurn(
                turn.reference,
                turn.speaker,
                turn.said_at.isoformat(),
                words_of(turn),
                tuple(keep_photo(photo.path) for photo in turn.photos if photo.path is not None),
            )
            for turn in dialogue.turns
            if turn.reference in evidence
        ),
        photos=tuple(keep_photo(path) for path in question.photos),
        asks_answer=asks_answer,
        retrieves=retrieves,
        measure=question.measure,
        stratum=question.stratum,
        hops=question.hops,
        known_error=question.known_error,
        keypoints=question.keypoints,
    )


def with_answer(row: QuestionRecord, answer: Answer, sources: list[str], price: Price) -> QuestionRecord:
    """Returns the row with the answer. `sources` are references of the turns that the answer could rest on."""
    return replace(
        _with_usage(row, answer.usage, price),
        reply=answer.text,
        context_tokens=answer.context_tokens,
        search_seconds=answer.search_seconds,
        seconds=answer.seconds,
        sources=tuple(sources),
        trace=(*answer.trace, {"sources": sources}),
    )


def with_error(
    row: QuestionRecord, reason: str, judges: Iterable[str], usage: Usage | None = None, price: Price = unknown
) -> QuestionRecord:
    """Returns the row as failed: wrong for every judge. `usage` is what it cost nevertheless."""
    return replace(_with_usage(row, usage or Usage(), price), error=reason, verdicts=dict.fromkeys(judges, "wrong"))


def with_judgements(row: QuestionRecord, judgements: Mapping[str, Judgement]) -> QuestionRecord:
    """Returns the row with the judgements, by judge. Their cost is added to that of earlier judgements."""
    row = replace(
        row,
        verdicts=row.verdicts | {name: judgement.verdict for name, judgement in judgements.items()},
        summary_f1=row.summary_f1
        | {name: judgement.f1 for name, judgement in judgements.items() if judgement.f1 is not None},
        unreachable={name: judgement.reason for name, judgement in judgements.items() if judgement.unreachable},
        trace=(
            *row.trace,
            *(
                {"judge": name, "verdict": judgement.verdict, "reason": judgement.reason}
                for name, judgement in judgements.items()
            ),
        ),
    )
    for judgement in judgements.values():
        if judgement.calls:
            is_first = row.judge_calls == 0
            row = replace(
                row,
                judge_calls=row.judge_calls + judgement.calls,
                judge_input_tokens=_sum(0 if is_first else row.judge_input_tokens, judgement.usage.input_tokens),
                judge_output_tokens=_sum(0 if is_first else row.judge_output_tokens, judgement.usage.output_tokens),
                judge_cost=_sum(0.0 if is_first else row.judge_cost, judgement.cost),
            )
    return row


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
    """Returns the text of a turn with the captions that the data set gives its photos."""
    return f"{turn.text} {turn.caption}".strip()


def _with_usage(row: QuestionRecord, usage: Usage, price: Price) -> QuestionRecord:
    has_calls = usage.calls > 0
    return replace(
        row,
        input_tokens=usage.input_tokens if has_calls else None,
        output_tokens=usage.output_tokens if has_calls else None,
        estimated_tokens=usage.estimated,
        calls=usage.calls,
        cost=_cost(usage, price),
    )


_Number = TypeVar("_Number", int, float)


def _sum(first: _Number | None, second: _Number | None) -> _Number | None:
    """Returns the sum, or None if either number is unknown."""
    return None if first is None or second is None else first + second


def _cost(usage: Usage, price: Price) -> float | None:
    """Returns the cost, or None unless the server itself counted the tokens."""
    return price(usage.input_tokens, usage.output_tokens) if usage.calls and not usage.estimated else None


def error_sentence(error: Exception) -> str:
    """Returns the error in one line: the message of our own errors, which is a sentence, and type and message of others."""
    is_ours = type(error).__module__.startswith(("m2a.", "models."))
    text = " ".join(str(error).split())
    return text if is_ours and text else f"{type(error).__name__}: {text}"
