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
    """No question is left, or there is no such category; the message lists the categories."""


def select(
    benchmark: Benchmark, *, categories: Collection[str] = (), limit: int | None = None, turns: int | None = None
) -> Benchmark:
    """Returns the benchmark with the questions of these categories only, and without dialogues that have none left.

    `visual-centric` means five categories, and a competency means its sub-datasets. `limit` is the largest number of questions in
    all. They are taken dialogue by dialogue, and the categories within a dialogue take turns; if every dialogue has one question,
    the categories of the dialogues take turns. `turns` cuts each dialogue after the last session within that many turns, and
    keeps the questions whose evidence is in what is left. Raises `SelectionError`.
    """
    wanted = {name for category in categories for name in _categories_in(category, benchmark)}
    unknown = [category for category in categories if not _categories_in(category, benchmark)]
    if unknown:
        groups = [name for name in GROUPS if _categories_in(name, benchmark)]
        choices = ", ".join([*benchmark.categories, *groups])
        raise SelectionError(f"{benchmark.name} has no category {unknown[0]!r}; it has {choices}.")
    dialogues = []
    for dialogue in benchmark.dialogues:
        selected = dialogue if turns is None else _shortened(dialogue, turns)
        questions = tuple(question for question in selected.questions if not wanted or question.category in wanted)
        if questions:
            dialogues.append(replace(selected, questions=questions))
    if limit is not None:
        dialogues = _limited(dialogues, limit)
    if not dialogues:
        raise SelectionError(_nothing_left(benchmark, categories, turns))
    used = {question.category for dialogue in dialogues for question in dialogue.questions}
    return replace(
        benchmark, dialogues=tuple(dialogues), categories=tuple(name for name in benchmark.categories if name in used)
    )


def with_long_answers(benchmark: Benchmark) -> Benchmark:
    """Returns the benchmark with questions that ask for whole sentences, except those with instructions of their own."""
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


def _categories_in(name: str, benchmark: Benchmark) -> list[str]:
    """Returns the benchmark's categories of that name or in the group of that name."""
    return [
        category
        for category in benchmark.categories
        if category == name
        or competency_of(category) == name
        or (name == "visual-centric" and category in VISUAL_CENTRIC)
    ]


def _limited(dialogues: list[Dialogue], limit: int) -> list[Dialogue]:
    if all(len(dialogue.questions) == 1 for dialogue in dialogues):
        return _balanced(dialogues, lambda dialogue: dialogue.questions[0].category, limit)
    limited = []
    for dialogue in dialogues:
        questions = _balanced(dialogue.questions, lambda question: question.category, limit)
        limit -= len(questions)
        if questions:
            limited.append(replace(dialogue, questions=tuple(questions)))
    return limited


def _balanced(items: Sequence[_T], category: Callable[[_T], str], limit: int) -> list[_T]:
    """Returns `limit` items in their order, chosen by taking the next one of each category in turn."""
    counts: dict[str, int] = defaultdict(int)
    order = []
    for position, item in enumerate(items):
        order.append((counts[category(item)], position))
        counts[category(item)] += 1
    return [items[position] for position in sorted(position for _, position in sorted(order)[:limit])]


def _nothing_left(benchmark: Benchmark, categories: Collection[str], turns: int | None) -> str:
    options = [f"--category {category}" for category in categories] + [f"--turns {turns}"] * (turns is not None)
    if not options:
        return f"The {benchmark.name} file has no questions; name another file with --data."
    sentence = f"No question of {benchmark.name} is left with {' and '.join(options)}"
    sizes = [len(dialogue.sessions[0].turns) for dialogue in benchmark.dialogues if dialogue.sessions]
    return f"{sentence}; the shortest first session has {min(sizes)} turns." if turns and sizes else f"{sentence}."


def _shortened(dialogue: Dialogue, turns: int) -> Dialogue:
    kept: list[Session] = []
    for session in dialogue.sessions:
        turns -= len(session.turns)
        if turns < 0:
            break
        kept.append(session)
    turn_references = {turn.reference for session in kept for turn in session.turns}
    session_references = {session.reference for session in kept}
    questions = tuple(
        question
        for question in dialogue.questions
        if (question.evidence or question.evidence_sessions)
        and turn_references.issuperset(question.evidence)
        and session_references.issuperset(question.evidence_sessions)
    )
    return replace(dialogue, sessions=tuple(kept), questions=questions)
