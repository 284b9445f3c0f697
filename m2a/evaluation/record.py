"""One question put to one system: what a run writes down, and all that metrics and reports are made from."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

Verdict = Literal["right", "wrong", "judge_failed"]


@dataclass(frozen=True, slots=True)
class EvidenceTurn:
    """A turn that a question rests on, for a person who reads the report. `photos` are file names in the run's folder."""

    reference: str
    speaker: str
    said_at: str
    text: str
    photos: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionRecord:
    """A row of `questions.jsonl`, JSON-ready.

    `retrieved` are references of turns, best first; None where the system retrieves nothing or was not asked to.
    `reply` is None in a run of retrieval alone, and where the question failed: then `error` says why, and the row counts
    as wrong. `verdicts` holds one per judge, by its name. Token counts are None where no model was called; `cost` is
    None where it is unknown. Times are seconds.
    """

    system: str
    dialogue_id: str
    question_id: str
    category: str
    question: str
    gold: str | None
    accepted: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    evidence_turns: tuple[EvidenceTurn, ...] = ()
    photos: tuple[str, ...] = ()
    retrieved: tuple[str, ...] | None = None
    reply: str | None = None
    error: str | None = None
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    context_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    estimated_tokens: bool = False
    calls: int = 0
    cost: float | None = None
    search_seconds: float | None = None
    seconds: float | None = None
    trace: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class IngestionRecord:
    """How one system took in one dialogue; a row of `ingestion.jsonl`. Tokens are of the chat model."""

    system: str
    dialogue_id: str
    version: str
    store_only: bool
    messages: int
    seconds: float
    input_tokens: int = 0
    output_tokens: int = 0
    estimated_tokens: bool = False
    calls: int = 0
    failures: int = 0
    cost: float | None = None
    error: str | None = None


_QUESTION, _INGESTION = TypeAdapter(QuestionRecord), TypeAdapter(IngestionRecord)


def read_questions(file: Path) -> list[QuestionRecord]:
    """The rows of a `questions.jsonl`, in their order. A last line that was cut off in mid-write is passed over."""
    return [_QUESTION.validate_json(line) for line in _whole_lines(file)]


def read_ingestion(file: Path) -> list[IngestionRecord]:
    """The rows of an `ingestion.jsonl`, likewise."""
    return [_INGESTION.validate_json(line) for line in _whole_lines(file)]


def as_line(record: QuestionRecord | IngestionRecord) -> str:
    """A row as one line of JSON, with its line end."""
    adapter: TypeAdapter[Any] = _QUESTION if isinstance(record, QuestionRecord) else _INGESTION
    return adapter.dump_json(record).decode() + "\n"


def _whole_lines(file: Path) -> list[str]:
    if not file.is_file():
        return []
    return [line for line in file.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]
