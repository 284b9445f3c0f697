"""How many of the visual questions can be answered without a photo: from the text, or by a guess from the question alone.

Above the limits, TEXT_LIMIT and GUESS_LIMIT, the set no longer measures the memory of photos.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rank_bm25 import BM25Okapi

from data_synthesis.wording import content_of, options_of, words_of

TOP = 10
# Ten turns of a chat may contain a colour or a number by chance, and some answers follow from the name of a class.
TEXT_LIMIT = 0.30
# For the most frequent answer to questions that begin alike: four of the 20 questions of a group. A higher share is a
# habit of the writer that a model learns; with few questions, two standard deviations more are chance. Questions with two
# options are guessed by position instead, with a limit near one half.
GUESS_LIMIT = 0.20
FEWEST = 10  # questions; a share of fewer means nothing


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A visual question, and the words of its dialogue as (speaker, text). Questions of a dialogue share `turns`."""

    category: str
    text: str
    answers: tuple[str, ...]
    turns: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Rate:
    """A share, `count` of `total`, and the limit above which it is too high; None where there is no limit."""

    name: str
    count: int
    total: int
    limit: float | None = None

    @property
    def share(self) -> float:
        return self.count / self.total if self.total else 0.0

    @property
    def too_high(self) -> bool:
        return self.limit is not None and self.total >= FEWEST and self.share > self.limit

    def __str__(self) -> str:
        limit = "" if self.limit is None else f"; at most {self.limit:.0%}"
        return f"{self.name}: {self.share:.1%} ({self.count} of {self.total}{limit})"


def leakage(questions: Sequence[AskedQuestion]) -> list[Rate]:
    """Returns the rates over all visual questions: BM25 over the text, in all and by category, and then the guesses."""
    answered = _answered_by_text(questions)
    rates = [Rate("answered by BM25 over the text", sum(answered), len(questions), TEXT_LIMIT)]
    for category in sorted({question.category for question in questions}):
        of_category = [
            is_answered
            for is_answered, question in zip(answered, questions, strict=True)
            if question.category == category
        ]
        rates.append(Rate(f"answered by BM25 over the text, {category}", sum(of_category), len(of_category)))
    open_questions = [question for question in questions if options_of(question.text) is None]
    total = len(open_questions)
    limit = GUESS_LIMIT + 2 * math.sqrt(GUESS_LIMIT * (1 - GUESS_LIMIT) / max(total, 1))
    rates.append(Rate("answered by a guess from the question alone", _guessed(open_questions), total, limit))
    options = [(pair, question) for question in questions if (pair := options_of(question.text))]
    if total := len(options):
        first_is_right = sum(_plain(pair[0]) == _plain(question.answers[0]) for pair, question in options)
        limit = min(1.0, 0.5 + 1.5 / math.sqrt(total))  # three standard deviations of a fair coin
        best = max(first_is_right, total - first_is_right)
        rates.append(Rate("answered by always taking the same of two options", best, total, limit))
    return rates


def _answered_by_text(questions: Sequence[AskedQuestion]) -> list[bool]:
    """Returns whether the ten turns that BM25 finds for each question contain an answer; of two options, only the right one."""
    dialogues = {id(question.turns): question.turns for question in questions}
    indexes = {
        key: BM25Okapi([words_of(f"{speaker} {text}") or [""] for speaker, text in turns])
        for key, turns in dialogues.items()
    }
    answered = []
    for question in questions:
        scores = indexes[id(question.turns)].get_scores(words_of(question.text))
        best = sorted(range(len(scores)), key=lambda turn: (-scores[turn], turn))[:TOP]
        texts = [question.turns[turn][1] for turn in best]
        right = set(map(_plain, question.answers))
        wrong = [option for option in options_of(question.text) or () if _plain(option) not in right]
        answered.append(contains_one(question.answers, texts) and not contains_one(wrong, texts))
    return answered


def contains_one(phrases: Iterable[str], texts: Sequence[str]) -> bool:
    """Returns whether one of the texts contains all content words of one of the phrases, in any order."""
    contents = list(map(content_of, texts))
    return any(words <= content for words in map(content_of, phrases) if words for content in contents)


def _guessed(questions: Sequence[AskedQuestion]) -> int:
    """Returns the number of questions with the most frequent answer of the others of their category that begin alike."""
    kinds: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for question in questions:
        kinds[question.category, *words_of(question.text)[:2]][_plain(question.answers[0])] += 1
    right = 0
    for question in questions:
        others = kinds[question.category, *words_of(question.text)[:2]] - Counter([_plain(question.answers[0])])
        guess = min(others, key=lambda answer: (-others[answer], answer), default="")
        right += bool(others) and guess in map(_plain, question.answers)
    return right


def _plain(answer: str) -> str:
    return " ".join(words_of(answer))
