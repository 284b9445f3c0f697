"""The options of `m2a evaluate`: whether they fit together, and what they select."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from m2a.evaluation.terminal import UsageError

if TYPE_CHECKING:
    from m2a.benchmarks import Benchmark
    from m2a.systems.shared import PeerSettings


LENIENT, STRICT, BOTH = "lenient", "strict", "both"
SHORT, LONG = "short", "long"


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command line that are not settings of the app."""

    benchmark: str
    data: Path
    systems: tuple[str, ...]
    out: Path
    judges: tuple[str, ...]
    judge_base_url: str | None
    judge_key: str | None = field(repr=False)
    retrieval_only: bool
    limit: int | None
    categories: tuple[str, ...]
    turns: int | None
    window: int
    concurrency: int | None
    known_errors: Path | None = None
    judging: str = LENIENT
    answers: str = SHORT

    def judge_address(self, chat_base_url: str | None) -> str | None:
        return self.judge_base_url or chat_base_url


def split_names(listed: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in listed.split(",") if name.strip())


def selected_benchmark(options: Options, peers: "PeerSettings", *, has_model: bool) -> "Benchmark":
    """Returns the questions to ask, with their dialogues.

    Raises `UsageError` for options that do not fit together, and whatever the readers and the registry raise.
    """
    from m2a.benchmarks import READERS
    from m2a.evaluation.known_errors import mark_known_errors
    from m2a.evaluation.selection import select, with_long_answers
    from m2a.systems import registry

    if options.benchmark not in READERS:
        raise UsageError(f"There is no benchmark {options.benchmark!r}; choose one of {', '.join(READERS)}.")
    for name, value, choices in (
        ("judging", options.judging, (LENIENT, STRICT, BOTH)),
        ("answers", options.answers, (SHORT, LONG)),
    ):
        if value not in choices:
            raise UsageError(f"--{name} is {value!r}; choose one of {', '.join(choices)}.")
    if not options.systems:
        raise UsageError(f"No system is named with --system; choose some of {', '.join(registry.NAMES)}.")
    if options.retrieval_only and options.judges:
        raise UsageError("With --retrieval-only there are no answers to judge; leave out --judge.")
    registry.check(options.systems, retrieval_only=options.retrieval_only, has_model=has_model)
    registry.check_peers(options.systems, peers, has_model=has_model)
    benchmark = READERS[options.benchmark](options.data)
    if options.answers == LONG:
        benchmark = with_long_answers(benchmark)
    if options.known_errors is not None:
        benchmark = mark_known_errors(benchmark, options.known_errors)
    return select(benchmark, categories=options.categories, limit=options.limit, turns=options.turns)


def has_unanswered(options: Options, benchmark: "Benchmark") -> bool:
    """Returns whether the run's folder lacks answers to any of the questions."""
    from m2a.evaluation.run_folder import answered_questions

    answered = answered_questions(options.out)
    ids = [question.question_id for dialogue in benchmark.dialogues for question in dialogue.questions]
    return any((system, question_id) not in answered for system in options.systems for question_id in ids)
