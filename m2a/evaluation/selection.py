"""What part of a benchmark a run asks, and of what."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from m2a.benchmarks import Benchmark, Dialogue, Session


class SelectionError(ValueError):
    """Nothing is left to ask, or there is no such category; the message says which there are."""


def select(
    benchmark: Benchmark, *, categories: Collection[str] = (), limit: int | None = None, turns: int | None = None
) -> Benchmark:
    """Questions of the categories, the first `limit` of them in all; dialogues without a question are left out.

    `turns` cuts each dialogue after the last session within so many turns, and leaves questions whose evidence lies
    there. Raises `SelectionError`.
    """
    unknown = [category for category in categories if category not in benchmark.categories]
    if unknown:
        raise SelectionError(
            f"{benchmark.name} has no category {unknown[0]!r}; it has {', '.join(benchmark.categories)}."
        )
    left = limit
    dialogues = []
    for dialogue in benchmark.dialogues:
        chosen = dialogue if turns is None else _cut(dialogue, turns)
        questions = [q for q in chosen.questions if not categories or q.category in categories][:left]
        if questions:
            dialogues.append(replace(chosen, questions=tuple(questions)))
        left = None if left is None else left - len(questions)
    if not dialogues:
        raise SelectionError(f"No question of {benchmark.name} is left with this choice.")
    used = {question.category for dialogue in dialogues for question in dialogue.questions}
    return replace(
        benchmark, dialogues=tuple(dialogues), categories=tuple(name for name in benchmark.categories if name in used)
    )


def _cut(dialogue: Dialogue, turns: int) -> Dialogue:
    kept: list[Session] = []
    for session in dialogue.sessions:
        if _count([*kept, session]) > turns:
            break
        kept.append(session)
    known = {turn.reference for session in kept for turn in session.turns}
    questions = tuple(q for q in dialogue.questions if q.evidence and known.issuperset(q.evidence))
    return replace(dialogue, sessions=tuple(kept), questions=questions)


def _count(sessions: Sequence[Session]) -> int:
    return sum(len(session.turns) for session in sessions)
