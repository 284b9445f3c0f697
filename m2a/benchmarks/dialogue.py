"""The form that every benchmark is read into: dialogues in sessions, and questions about them."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from m2a.types import Role
from m2a.types.errors import UserError

# How a benchmark scores an answer: it contains a gold answer, contains all of them, equals one, or gives its label; or it
# recommends films; or it is a summary, which a judge scores.
Measure = Literal["", "contains", "contains all", "exact", "label", "recall@5", "summary"]


class BenchmarkError(UserError, ValueError):
    """A data set that cannot be read. The message names the file, the place in it and the remedy."""


@dataclass(frozen=True, slots=True)
class DialoguePhoto:
    """A photo shared in a turn. `path` is None if the data set names a picture but does not ship it."""

    path: Path | None
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of a dialogue. `reference` is the data set's own id (`D5:3`), unique within the dialogue. `role` is `assistant`
    only if the data set has an assistant; people who talk to each other are all users."""

    reference: str
    role: Role
    speaker: str
    text: str
    said_at: datetime
    photos: tuple[DialoguePhoto, ...] = ()

    @property
    def caption(self) -> str:
        """The captions of its photos in one line."""
        return " ".join(photo.caption for photo in self.photos if photo.caption)


@dataclass(frozen=True, slots=True)
class Session:
    """A part of a dialogue held at one time. `reference` is the data set's own id (`D5`, or an id of LongMemEval)."""

    reference: str
    started_at: datetime
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one dialogue.

    - `answer` is None if the right reply is that this is not known. `accepted` are further short answers that count as right.
    - `evidence` are references of turns that exist; `dropped_evidence` are references in the data set that name no turn.
      `evidence_sessions` are references of sessions, if the data set names sessions.
    - `asked_at` is None if the data set gives no date. `instructions` say how to answer, if the benchmark does.
    - `measure` is how the benchmark scores the words of an answer; it is empty if only judges score it. `keypoints` are what a
      summary should cover.
    - `stratum` is a kind of question within the category that has figures of its own. `hops` is the number of facts that lead to
      the answer. `known_error` means that an audit found the gold answer to be wrong.
    """

    question_id: str
    text: str
    category: str
    answer: str | None
    evidence: tuple[str, ...]
    accepted: tuple[str, ...] = ()
    photos: tuple[Path, ...] = ()
    dropped_evidence: tuple[str, ...] = ()
    evidence_sessions: tuple[str, ...] = ()
    asked_at: datetime | None = None
    measure: Measure = ""
    stratum: str = ""
    hops: int = 1
    instructions: str = ""
    known_error: bool = False
    keypoints: tuple[str, ...] = ()

    @property
    def answerable(self) -> bool:
        return self.answer is not None


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A long conversation and the questions about it. Sessions are in chronological order. `filler` says how much of it was
    added only to make it long, if the data set says so."""

    dialogue_id: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]
    filler: str = ""

    @property
    def turns(self) -> Iterator[Turn]:
        return (turn for session in self.sessions for turn in session.turns)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A data set that was read. `categories` are the names of its question categories, in the order of its tables."""

    name: str
    dialogues: tuple[Dialogue, ...]
    categories: tuple[str, ...]


def check_unique(key: str, ids: Iterable[tuple[str, object]]) -> None:
    """Raises `BenchmarkError` if an id occurs twice. Each id comes with its place, which the message names."""
    first_places: dict[str, object] = {}
    for value, place in ids:
        if value in first_places:
            where = f"{place}" if first_places[value] == place else f"{place} and {first_places[value]}"
            raise BenchmarkError(
                f"{where}: {key} {value!r} occurs twice; give one of the two another id, or remove it."
            )
        first_places[value] = place


def read_rows(file: Path, benchmark: str, noun: str) -> list[Any]:
    """Returns the list in a JSON file, or the lines of a `.jsonl` file. Raises `BenchmarkError` if it is missing or empty."""
    try:
        text = file.read_text(encoding="utf-8")
        rows = (
            [json.loads(line) for line in text.split("\n") if line.strip()]
            if file.suffix == ".jsonl"
            else json.loads(text)
        )
    except (OSError, UnicodeDecodeError) as error:
        raise BenchmarkError(f"{file} cannot be read: {error}. Name {benchmark}'s JSON file.") from error
    except json.JSONDecodeError as error:
        raise BenchmarkError(f"{file} is not JSON (line {error.lineno}: {error.msg}). Download it again.") from error
    if not isinstance(rows, list) or not rows:
        raise BenchmarkError(f"{file} is not a {benchmark} file: it must be a list of {noun} that is not empty.")
    return rows
