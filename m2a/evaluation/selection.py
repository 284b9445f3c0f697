"""Selects the part of a benchmark that a run asks about."""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import TypeVar

from m2a.benchmarks import Benchmark, Dialogue, Session
from m2a.benchmarks.memoryagentbench import COMPETENCIES, competency_of
from m2a.benchmarks.visual import VISUAL_CENTRIC
from m2a.types.errors import UserError

_T = TypeVar("_T")
_LONG_ANSWER = files("m2a.evaluation").joinpath("prompts", "long_answer.md")

GROUPS: tuple[str, ...] = ("visual-centric", *COMPETENCIES)


class SelectionError(UserError):
    """No question is left, or there is no such category; the message says which there are."""


def select(
    benchmark: Benchmark, *, categories: Collection[str] = (), limit: int | None = None, turns: int | None = None
) -> Benchmark:
    """Returns the benchmark with the questions of these categories only, and without dialogues that have none left.

    `visual-centric` means five categories, and a competency means its sub-datasets. `limit` is the most questions in all: they
    are taken dialogue by dialogue, and within a dialogue from one category after the other; if every dialogue has one question,
    dialogues are taken from one category after the other. `turns` cuts each dialogue after the last session within that many
    turns, and keeps the questions whose evidence lies there. Raises `SelectionError`.
    """
    wanted = {one for category in categories for one in _in_group(category, benchmark)}
    unknown = [category for category in categories if not _in_group(category, benchmark)]
    if unknown:
        groups = [name for name in GROUPS if _in_group(name, benchmark)]
        there = ", ".join([*benchmark.categories, *groups])
        raise SelectionError(f"{benchmark.name} has no category {unknown[0]!r}; it has {there}.")
    dialogues = []
    for dialogue in benchmark.dialogues:
        chosen = dialogue if turns is None else _cut(dialogue, turns)
        questions = tuple(q for q in chosen.questions if not wanted or q.category in wanted)
        if questions:
            dialogues.append(replace(chosen, questions=questions))
    if limit is not None:
        dialogues = _first(dialogues, limit)
    if not dialogues:
        raise SelectionError(_nothing_left(benchmark, categories, turns))
    used = {question.category for dialogue in dialogues for question in dialogue.questions}
    return replace(
        benchmark, dialogues=tuple(dialogues), categories=tuple(name for name in benchmark.categories if name in used)
    )


def with_long_answers(benchmark: Benchmark) -> Benchmark:
    """Returns the benchmark with questions that ask for whole sentences, except where it says itself how to answer."""
    instructions = _LONG_ANSWER.read_text(encoding="utf-8").strip()
    return replace(
        benchmark,
        dialogues=tuple(
            replace(
                dialogue,
                questions=tuple(replace(q, instructions=q.instructions or instructions) for q in dialogue.questions),
            )
            for dialogue in benchmark.dialogues
        ),
    )


def _in_group(name: str, benchmark: Benchmark) -> list[str]:
    """Returns the benchmark's categories of that name or in the group of that name."""
    return [
        category
        for category in benchmark.categories
        if category == name
        or competency_of(category) == name
        or (name == "visual-centric" and category in VISUAL_CENTRIC)
    ]


def _first(dialogues: list[Dialogue], limit: int) -> list[Dialogue]:
    if all(len(dialogue.questions) == 1 for dialogue in dialogues):
        return _in_turn(dialogues, lambda dialogue: dialogue.questions[0].category, limit)
    kept = []
    for dialogue in dialogues:
        questions = _in_turn(dialogue.questions, lambda question: question.category, limit)
        limit -= len(questions)
        if questions:
            kept.append(replace(dialogue, questions=tuple(questions)))
    return kept


def _in_turn(items: Sequence[_T], category: Callable[[_T], str], limit: int) -> list[_T]:
    """Returns `limit` items in their order, taking the next one of each category in turn."""
    counts: dict[str, int] = defaultdict(int)
    order = []
    for position, item in enumerate(items):
        order.append((counts[category(item)], position))
        counts[category(item)] += 1
    return [items[position] for position in sorted(position for _, position in sorted(order)[:limit])]


def _nothing_left(benchmark: Benchmark, categories: Collection[str], turns: int | None) -> str:
    chosen = [f"--category {category}" for category in categories] + [f"--turns {turns}"] * (turns is not None)
    if not chosen:
        return f"The {benchmark.name} file has no questions; name another with --data."
    sentence = f"No question of {benchmark.name} is left with {' and '.join(chosen)}"
    sizes = [len(dialogue.sessions[0].turns) for dialogue in benchmark.dialogues if dialogue.sessions]
    return f"{sentence}; the shortest first session has {min(sizes)} turns." if turns and sizes else f"{sentence}."


def _cut(dialogue: Dialogue, turns: int) -> Dialogue:
    kept: list[Session] = []
    for session in dialogue.sessions:
        if _count([*kept, session]) > turns:
            break
        kept.append(session)
    known = {turn.reference for session in kept for turn in session.turns}
    sessions = {session.reference for session in kept}
    questions = tuple(
        q
        for q in dialogue.questions
        if (q.evidence or q.evidence_sessions)
        and known.issuperset(q.evidence)
        and sessions.issuperset(q.evidence_sessions)
    )
    return replace(dialogue, sessions=tuple(kept), questions=questions)


def _count(sessions: Sequence[Session]) -> int:
    return sum(len(session.turns) for session in sessions)
