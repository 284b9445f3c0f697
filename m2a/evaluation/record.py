"""The rows that a run writes. Metrics and reports are computed from these rows alone."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import AliasChoices, Field, TypeAdapter, ValidationError

from m2a.benchmarks.dialogue import Measure
from m2a.types.errors import UserError

Verdict = Literal["right", "wrong", "judge_failed"]


class RowError(UserError):
    """A row that cannot be read; the message names the file and the line."""


@dataclass(frozen=True, slots=True)
class EvidenceTurn:
    """A turn that holds evidence, for readers of the report. `photos` are file names in the run's folder."""

    reference: str
    speaker: str
    said_at: str
    text: str
    photos: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionRecord:
    """One question put to one system; a row of `questions.jsonl`.

    - `retrieved` are references of turns, best first; None if the system retrieves nothing (`retrieves` is False) or the
      question failed before that.
    - `reply` is None if only retrieval is measured (`asks_answer` is False) or the question failed. A failed question has an
      `error` and counts as wrong.
    - `verdicts` holds one verdict per judge, by name. `unreachable` holds the reason for each judge that could not be reached
      and will be asked again.
    - Token counts are None if no model was called, costs are None if unknown, and those of judges are counted separately.
      Times are in seconds.
    - `sources` are references of the turns that the answer could rest on.
    - `measure`, `stratum`, `hops`, `known_error` and `keypoints` are copied from the question.
    - `summary_f1` holds the score of a summary per judge; its verdict is `right` if a score could be read.
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
    unreachable: Annotated[
        dict[str, str],
        Field(validation_alias=AliasChoices("unreachable", "unheard")),  # earlier runs wrote "unheard"
    ] = field(default_factory=dict)
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
    keypoints: tuple[str, ...] = ()
    summary_f1: dict[str, float] = field(default_factory=dict)
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IngestionRecord:
    """The ingestion of one dialogue by one system; a row of `ingestion.jsonl`. Tokens are those of the chat model."""

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
    """What a failed attempt cost; a row of `failed_attempts.jsonl`, written when the attempt is repeated.

    `question_id` is None if taking in the dialogue failed.
    """

    system: str
    dialogue_id: str
    question_id: str | None
    error: str
    calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class IngestedMemory:
    """A memory that holds its whole dialogue; a row of `work/memories.jsonl`.

    `photos` are photo ids by question id and position in the question.
    """

    system: str
    dialogue_id: str
    owner: str
    photos: dict[str, str]


Row = QuestionRecord | IngestionRecord | FailedAttempt | IngestedMemory
AnyRow = TypeVar("AnyRow", bound=Row)
_ADAPTERS: dict[type, TypeAdapter[Any]] = {kind: TypeAdapter(kind) for kind in get_args(Row)}


def failed_attempt(row: QuestionRecord | IngestionRecord) -> FailedAttempt:
    """Returns what is kept of a failed row when the attempt is repeated."""
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


def as_line(row: Row) -> str:
    """Returns a row as a line of JSON, including the line end."""
    return _ADAPTERS[type(row)].dump_json(row).decode() + "\n"


def read_rows(file: Path, kind: type[AnyRow]) -> list[AnyRow]:
    """Returns the rows of a file in order, without a last line that was cut off; no rows if there is no file.

    Raises `RowError` for any other line that is not a row.
    """
    if not file.is_file():
        return []
    rows: list[AnyRow] = []
    whole_lines = file.read_bytes().split(b"\n")[:-1]  # a line that was cut off has no line end
    for number, line in enumerate(whole_lines, start=1):
        try:
            rows.append(_ADAPTERS[kind].validate_json(line))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = "".join(f"{part}: " for part in first["loc"])
            raise RowError(
                f"{file}, line {number} is not a row of `m2a evaluate` ({where}{first['msg']}). "
                "If the file was damaged, delete the line and run the command again."
            ) from error
    return rows
