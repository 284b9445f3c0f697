"""One question put to one system: what a run writes down, and all that metrics and reports are made from."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from m2a.benchmarks.dialogue import Measure
from m2a.types.errors import UserError

Verdict = Literal["right", "wrong", "judge_failed"]


class RowError(UserError):
    """A row that cannot be read; the message names file and line."""


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

    `retrieved` are references of turns, best first; None where the system retrieves nothing (`retrieves` is False then)
    or the question failed before. `reply` is None in a run of retrieval alone (`asks_answer` is False then), and where
    the question failed: then `error` says why, and the row counts as wrong. `verdicts` holds one per judge, by its name;
    `unheard` says why of those that could not be reached, which are asked again. Token counts are None where no model
    was called; a cost is None where it is unknown. What the judges took stands apart. Times are seconds. `sources` are
    references of the turns that were put before whoever answered; `measure`, `stratum`, `hops` and `known_error` are the
    question's.
    """

    system: str
    dialogue_id: str
    question_id: str
    category: str
    question: str
    gold: str | None
    accepted: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    evidence_sessions: tuple[str, ...] = ()
    evidence_turns: tuple[EvidenceTurn, ...] = ()
    photos: tuple[str, ...] = ()
    retrieved: tuple[str, ...] | None = None
    reply: str | None = None
    error: str | None = None
    asks_answer: bool = True
    retrieves: bool = True
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    unheard: dict[str, str] = field(default_factory=dict)
    context_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    estimated_tokens: bool = False
    calls: int = 0
    cost: float | None = None
    judge_calls: int = 0
    judge_input_tokens: int | None = None
    judge_output_tokens: int | None = None
    judge_cost: float | None = None
    search_seconds: float | None = None
    seconds: float | None = None
    trace: tuple[object, ...] = ()
    measure: Measure = ""
    stratum: str = ""
    hops: int = 1
    known_error: bool = False
    sources: tuple[str, ...] = ()


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


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """What an attempt took that failed; a row of `failed_attempts.jsonl`, once it is made again.

    `question_id` is None where a dialogue was not taken in.
    """

    system: str
    dialogue_id: str
    question_id: str | None
    error: str
    calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None


_ADAPTERS: dict[type, TypeAdapter[Any]] = {
    kind: TypeAdapter(kind) for kind in (QuestionRecord, IngestionRecord, FailedAttempt)
}


def read_questions(file: Path) -> list[QuestionRecord]:
    """The rows of a `questions.jsonl`, in their order. A last line that was cut off in mid-write is passed over.

    Raises `RowError` for any other line that is no row.
    """
    return _read(file, QuestionRecord)


def read_ingestion(file: Path) -> list[IngestionRecord]:
    """The rows of an `ingestion.jsonl`, likewise."""
    return _read(file, IngestionRecord)


def read_failed_attempts(file: Path) -> list[FailedAttempt]:
    """The rows of a `failed_attempts.jsonl`, likewise."""
    return _read(file, FailedAttempt)


def failed_attempt(row: QuestionRecord | IngestionRecord) -> FailedAttempt:
    """What is kept of a row that failed, before it is made again."""
    return FailedAttempt(
        row.system,
        row.dialogue_id,
        row.question_id if isinstance(row, QuestionRecord) else None,
        row.error or "",
        row.calls,
        row.input_tokens,
        row.output_tokens,
        row.cost,
    )


def as_line(row: QuestionRecord | IngestionRecord | FailedAttempt) -> str:
    """A row as one line of JSON, with its line end."""
    return _ADAPTERS[type(row)].dump_json(row).decode() + "\n"


def _read(file: Path, kind: type) -> list[Any]:
    if not file.is_file():
        return []
    rows = []
    for number, line in enumerate(file.read_bytes().split(b"\n")[:-1], start=1):  # what was cut off has no line end
        try:
            rows.append(_ADAPTERS[kind].validate_json(line))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = "".join(f"{part}: " for part in first["loc"])
            raise RowError(
                f"{file}, line {number} is not a row of `m2a evaluate` ({where}{first['msg']}). "
                "If it is one that was damaged, take the line out: the command of the run makes it again."
            ) from error
    return rows
