"""Reads LongMemEval (Wu et al., 2025) in its official schema: each question has its own history of chat sessions."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from m2a.benchmarks.dialogue import (
    Benchmark,
    BenchmarkError,
    Dialogue,
    Question,
    Session,
    Turn,
    check_unique,
    read_rows,
)

ABSTENTION = "abstention"
CATEGORIES = (
    "single-session-user",
    "single-session-assistant",
    "single-session-preference",
    "multi-session",
    "temporal-reasoning",
    "knowledge-update",
    ABSTENTION,
)
RUBRICS = frozenset({"single-session-preference"})
"""The categories whose answer describes what a good reply takes into account, and is not a reply itself."""

_LISTS = ("haystack_session_ids", "haystack_dates", "haystack_sessions")


def read_longmemeval(path: Path) -> Benchmark:
    """Returns a dialogue for each question of a file, or of the only such file in a folder. Sessions are put in time order.

    Questions whose id ends in `_abs` have no answer. Evidence is the turns marked `has_answer`; if a file marks none, only
    the answer sessions are known. Raises `BenchmarkError` with the place of the first fault.
    """
    if path.is_dir():
        path = _file_in(path)
    items = read_rows(path, "LongMemEval", "questions")
    places = [f"{path}: question {number}" for number, _ in enumerate(items, start=1)]
    dialogues = tuple(map(_dialogue, items, places))
    check_unique(
        "question_id", ((dialogue.dialogue_id, place) for dialogue, place in zip(dialogues, places, strict=True))
    )
    used_categories = {question.category for dialogue in dialogues for question in dialogue.questions}
    return Benchmark("longmemeval", dialogues, tuple(name for name in CATEGORIES if name in used_categories))


def parse_date(text: str) -> datetime:
    """Returns a time like "2023/05/30 (Tue) 23:40" as UTC. Raises `ValueError`."""
    day, _, clock = text.strip().split(" ")
    return datetime.strptime(f"{day} {clock}", "%Y/%m/%d %H:%M").replace(tzinfo=UTC)


def _file_in(folder: Path) -> Path:
    """Returns the only LongMemEval file in a folder. More than one is an error, since the published files overlap."""
    files = sorted(file for file in folder.glob("*.json") if b'"haystack_sessions"' in file.read_bytes())
    if len(files) == 1:
        return files[0]
    if not files:
        raise BenchmarkError(f"{folder} holds no LongMemEval file. Name the JSON file, or a folder with it.")
    raise BenchmarkError(
        f"{folder} holds {len(files)} LongMemEval files, {', '.join(file.name for file in files)}: name one of them."
    )


def _dialogue(item: Mapping[str, Any], place: str) -> Dialogue:
    if not isinstance(item, dict):
        raise BenchmarkError(f"{place} is not an object.")
    missing = [key for key in ("question_id", "question", "question_type", "answer", *_LISTS) if key not in item]
    if missing:
        raise BenchmarkError(f"{place} lacks {', '.join(map(repr, missing))}.")
    for key in ("question_id", "question", "question_type"):
        if not isinstance(item[key], str):
            raise BenchmarkError(f"{place}: {key!r} is not a text: {item[key]!r:.80}.")
    ids, dates, haystack = (item[key] for key in _LISTS)
    if not all(isinstance(value, list) for value in (ids, dates, haystack, *(haystack or ()))):
        raise BenchmarkError(f"{place}: {', '.join(_LISTS)} must be lists, and each session a list of turns.")
    if not len(ids) == len(dates) == len(haystack):
        raise BenchmarkError(f"{place}: {', '.join(_LISTS)} must be lists of the same length.")
    sessions = sorted(
        (_session(*session, place) for session in zip(ids, dates, haystack, strict=True)),
        key=lambda session: session.started_at,
    )
    return Dialogue(item["question_id"], tuple(sessions), (_question(item, sessions, place),))


def _session(session_id: str, date: str, turns: list[Mapping[str, Any]], place: str) -> Session:
    try:
        started_at = parse_date(date)
    except (ValueError, AttributeError) as error:
        raise BenchmarkError(
            f"{place}: the date {date!r} of session {session_id!r} is not like '2023/05/30 (Tue) 23:40'."
        ) from error
    session_turns = []
    for number, turn in enumerate(turns):
        if not isinstance(turn, dict):
            raise BenchmarkError(f"{place}: turn {number} of session {session_id!r} is {turn!r:.80}, not an object.")
        if turn.get("role") not in ("user", "assistant") or not isinstance(turn.get("content"), str):
            raise BenchmarkError(f"{place}: turn {number} of session {session_id!r} lacks 'role' or 'content'.")
        session_turns.append(
            Turn(
                reference=f"{session_id}:{number}",
                role=turn["role"],
                speaker=turn["role"],
                text=turn["content"],
                said_at=started_at + timedelta(seconds=number),
            )
        )
    return Session(session_id, started_at, tuple(session_turns))


def _question(item: Mapping[str, Any], sessions: list[Session], place: str) -> Question:
    is_abstention = item["question_id"].endswith("_abs")
    category = ABSTENTION if is_abstention else item["question_type"]
    if category not in CATEGORIES:
        raise BenchmarkError(f"{place}: question_type {category!r} is not one of {', '.join(CATEGORIES)}.")
    marked = {
        f"{session_id}:{number}"
        for session_id, turns in zip(item["haystack_session_ids"], item["haystack_sessions"], strict=True)
        for number, turn in enumerate(turns)
        if turn.get("has_answer")
    }
    answer_sessions = item.get("answer_session_ids") or ()
    date = item.get("question_date") or None
    try:
        asked_at = parse_date(date) if date is not None else None
    except (ValueError, AttributeError) as error:
        raise BenchmarkError(f"{place}: question_date {date!r} is not like '2023/05/30 (Tue) 23:40'.") from error
    return Question(
        question_id=item["question_id"],
        text=item["question"],
        category=category,
        answer=None if is_abstention else str(item["answer"]),
        evidence=tuple(turn.reference for session in sessions for turn in session.turns if turn.reference in marked),
        evidence_sessions=tuple(session.reference for session in sessions if session.reference in answer_sessions),
        asked_at=asked_at,
    )
