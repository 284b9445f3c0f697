"""What every benchmark is read into: dialogues in sessions, and questions about them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from m2a.types import Role
from m2a.types.errors import UserError

# How a benchmark scores an answer: it must hold a gold one, hold all of them, be one, name its label, recommend films, or be a
# summary, which a judge scores.
Measure = Literal["", "contains", "contains all", "exact", "label", "recall@5", "summary"]


class BenchmarkError(UserError, ValueError):
    """A data set that cannot be read. Its words name the file, the place in it and the remedy."""


@dataclass(frozen=True, slots=True)
class DialoguePhoto:
    """A photo shared in a turn. `path` is None where the data set names a picture but does not ship it."""

    path: Path | None
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """`reference` is the data set's own id of the turn (`D5:3`), unique within its dialogue. `role` is `assistant` where the
    data set has one; people who talk to each other are each a `user`."""

    reference: str
    role: Role
    speaker: str
    text: str
    said_at: datetime
    photos: tuple[DialoguePhoto, ...] = ()

    @property
    def caption(self) -> str:
        """What is said of its photos, in one line; empty where nothing is."""
        return " ".join(photo.caption for photo in self.photos if photo.caption)


@dataclass(frozen=True, slots=True)
class Session:
    """One sitting. `reference` is the data set's own id (`D5`, or an id of LongMemEval)."""

    reference: str
    started_at: datetime
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one dialogue.

    `answer` is None where the right reply is that nothing was said of it. `accepted` are further short answers that
    count as right. `evidence` are references of turns that exist; `dropped_evidence` are strings of the data set that
    name none. `evidence_sessions` are references of sessions, where the data set names those. `asked_at` is None where
    the data set gives no date. `measure` is how the benchmark scores an answer's words, empty where it has a judge do so;
    `stratum` a kind of question within the category, for which figures stand apart; `hops` how many facts lead to the
    answer. `instructions` say how the answer is to be given, where the benchmark does; `known_error`
    that an audit found its gold answer to be wrong. `keypoints` are what a summary should cover.
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
    """A long conversation and what is asked about it. Sessions stand in the order of time."""

    dialogue_id: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]

    @property
    def turns(self) -> Iterator[Turn]:
        return (turn for session in self.sessions for turn in session.turns)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A data set as read. `categories` are the names of its kinds of question, in the order of its tables."""

    name: str
    dialogues: tuple[Dialogue, ...]
    categories: tuple[str, ...]


def read_rows(file: Path, benchmark: str, noun: str) -> list[Any]:
    """The list that a JSON file is, or the lines of a `.jsonl`. Raises BenchmarkError where it is none, or empty."""
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
        raise BenchmarkError(f"{file} is not a {benchmark} file: it must be a list of {noun}, and not empty.")
    return rows
