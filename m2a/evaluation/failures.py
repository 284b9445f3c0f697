"""Picks the most telling failures of a run: questions that one system got wrong and others got right."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from m2a.evaluation.record import QuestionRecord
from m2a.evaluation.summary import MAIN_RATES, metrics_of

SHOWN = 12


@dataclass(frozen=True, slots=True)
class Failure:
    """One question, with each system's row and whether it was right."""

    rows: tuple[tuple[QuestionRecord, bool], ...]

    @property
    def question(self) -> QuestionRecord:
        return self.rows[0][0]


def telling_failures(rows: Sequence[QuestionRecord]) -> list[Failure]:
    """Returns at most `SHOWN` questions that a system got wrong. Categories take turns, each with the most disputed first."""
    metrics = metrics_of(rows)
    rates = [metrics[name] for name in MAIN_RATES if name in metrics]
    rate = next((metric for metric in rates if any(metric(row) is not None for row in rows)), None)
    if rate is None:
        return []
    by_question: dict[tuple[str, str], list[tuple[QuestionRecord, bool]]] = defaultdict(list)
    for row in rows:
        value = rate(row)
        if value is not None:
            by_question[row.dialogue_id, row.question_id].append((row, value >= 0.5))
    failed = [Failure(tuple(answers)) for answers in by_question.values() if not all(right for _, right in answers)]
    failed.sort(key=lambda failure: -sum(right for _, right in failure.rows))  # stable: ties stay in the run's order
    by_category: dict[str, list[Failure]] = defaultdict(list)
    for failure in failed:
        by_category[failure.question.category].append(failure)
    longest = max(map(len, by_category.values()), default=0)
    mixed = [ranked[rank] for rank in range(longest) for ranked in by_category.values() if rank < len(ranked)]
    return mixed[:SHOWN]
