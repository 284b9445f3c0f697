"""Whether the visual questions can be answered without looking: by words alone, or by the question alone.

Both rates are what a system without photos gets for nothing. The limits are where the set no longer measures memory
of photos: see TEXT_LIMIT and GUESS_LIMIT.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rank_bm25 import BM25Okapi

from data_synthesis.wording import content_of, options_of, words_of

TOP = 10
# Ten turns of friends' talk may hold a colour or a number by chance, and what a class is known for follows from its
# name. Above this share a reader of the words gets through without a photo.
TEXT_LIMIT = 0.30
# The commonest answer to questions that begin alike: with 20 questions to a group, four of them. More is a habit of
# the writer that a model learns; of few questions two standard deviations more are chance. Questions of two options are
# guessed by position instead, against one half.
GUESS_LIMIT = 0.20
FEWEST = 10  # questions; a share of fewer says nothing


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A visual question, and the words of its dialogue as (speaker, text). Questions of a dialogue share `turns`."""

    category: str
    text: str
    answers: tuple[str, ...]
    turns: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Rate:
    """How many of what was looked at were found to be so, as questions solved, and above which share that is too many; None
    where any is fine."""

    name: str
    solved: int
    asked: int
    limit: float | None = None

    @property
    def share(self) -> float:
        return self.solved / self.asked if self.asked else 0.0

    @property
    def too_high(self) -> bool:
        return self.limit is not None and self.asked >= FEWEST and self.share > self.limit

    def __str__(self) -> str:
        limit = "" if self.limit is None else f"; at most {self.limit:.0%}"
        return f"{self.name}: {self.share:.1%} ({self.solved} of {self.asked}{limit})"


def leakage(questions: Sequence[AskedQuestion]) -> list[Rate]:
    """The rates over all visual questions: BM25 over the words, in all and by category, and then the guesses."""
    solved = _answered_by_words(questions)
    rates = [Rate("answered by BM25 over the text", sum(solved), len(questions), TEXT_LIMIT)]
    for category in sorted({question.category for question in questions}):
        own = [right for right, question in zip(solved, questions, strict=True) if question.category == category]
        rates.append(Rate(f"answered by BM25 over the text, {category}", sum(own), len(own)))
    free = [question for question in questions if options_of(question.text) is None]
    limit = GUESS_LIMIT + 2 * math.sqrt(GUESS_LIMIT * (1 - GUESS_LIMIT) / max(len(free), 1))
    rates.append(Rate("answered by a guess from the question alone", _guessed(free), len(free), limit))
    first = [_is_first(question) for question in questions if options_of(question.text) is not None]
    if first:
        limit = min(1.0, 0.5 + 1.5 / math.sqrt(len(first)))  # three standard deviations of a fair coin
        best = max(sum(first), len(first) - sum(first))
        rates.append(Rate("answered by always taking the same of two options", best, len(first), limit))
    return rates


def _answered_by_words(questions: Sequence[AskedQuestion]) -> list[bool]:
    """Whether an answer stands in the ten turns that BM25 finds by the question; of two options only the right one."""
    indexes: dict[int, BM25Okapi | None] = {}
    solved = []
    for question in questions:
        key = id(question.turns)
        if key not in indexes:
            words = [words_of(f"{speaker} {text}") for speaker, text in question.turns]
            indexes[key] = BM25Okapi(words) if any(words) else None
        index = indexes[key]
        scores = [] if index is None else list(index.get_scores(words_of(question.text)))
        best = sorted(range(len(scores)), key=lambda turn: (-scores[turn], turn))[:TOP]
        found = [question.turns[turn][1] for turn in best]
        options = options_of(question.text) or ()
        wrong = [option for option in options if words_of(option) not in map(words_of, question.answers)]
        solved.append(says_one(question.answers, found) and not says_one(wrong, found))
    return solved


def says_one(phrases: Iterable[str], texts: Sequence[str]) -> bool:
    """Whether all content words of one of the phrases stand in one of the texts, in whatever order."""
    said = list(map(content_of, texts))
    return any(words <= text for words in map(content_of, phrases) if words for text in said)


def _guessed(questions: Sequence[AskedQuestion]) -> int:
    """How many have the commonest answer of all other questions that are of their category and begin alike."""
    kinds: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for question in questions:
        kinds[_kind(question)][_plain(question.answers[0])] += 1
    right = 0
    for question in questions:
        others = kinds[_kind(question)].copy()
        others[_plain(question.answers[0])] -= 1
        guess, count = min(others.items(), key=lambda entry: (-entry[1], entry[0]))
        right += count > 0 and guess in map(_plain, question.answers)
    return right


def _kind(question: AskedQuestion) -> tuple[str, ...]:
    return (question.category, *words_of(question.text)[:2])


def _plain(answer: str) -> str:
    return " ".join(words_of(answer))


def _is_first(question: AskedQuestion) -> bool:
    options = options_of(question.text)
    return options is not None and _plain(options[0]) == _plain(question.answers[0])
