"""The ranker's features of a question and its candidates. Pure functions over arrays, without index and database.

Only candidates are compared by meaning, so a neighbour's tokens count only if it is a candidate itself. The words of neighbours
always count.
"""

import math
import re
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from sys import intern

import numpy as np

from m2a.memory.index_schema import BM25_B, BM25_K1

FEATURES = (
    "dense", "dense_content", "bm25_own", "bm25_near", "coverage", "coverage_near",
    "maxsim", "maxsim_near", "maxsim_before", "maxsim_after", "maxsim_weakest", "session_maxsim", "session_bm25",
    "matched", "asked", "not_asked", "month", "year", "date_near", "when_time", "when_no_time", "many_number",
    "length", "ends_asking", "has_time", "has_number", "first_person", "after_question", "position",
)  # fmt: skip
TRAITS = FEATURES[-7:]
# Standardised over one question's candidates: what is left is how far a candidate stands out among them.
_STANDARDISED = 13

# How many records' words a record with its neighbours has on average: five, fewer where a conversation begins or ends.
_NEAR_LENGTHS = 4.75

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
           "december")  # fmt: skip
_ANY_MONTH = "|".join(_MONTHS)
_MONTH = re.compile(rf"\b({_ANY_MONTH})\b")
# "may" and "march" are months only beside a preposition or a number.
_SURE_MONTH = re.compile(
    r"(?:\b(?:in|on|of|during|since|early|late|mid)|\d(?:st|nd|rd|th)?)[ -]*(?:may|march)\b|\b(?:may|march),? \d"
)
_DAY = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?:{_ANY_MONTH})\b|\b(?:{_ANY_MONTH}) (\d{{1,2}})(?:st|nd|rd|th)?\b"
)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_ASKS_WHEN = re.compile(r"\s*(?:when|what (?:date|day|month|year)|which (?:date|day|month|year)|how long)\b", re.I)
_ASKS_NUMBER = re.compile(r"\bhow (?:many|much|often|long)\b", re.I)
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|weeks?|weekends?|months?|years?|days?|recently|since|summer|winter"
    r"|spring|fall|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september"
    r"|october|november|december|just|\d{4})\b",
    re.I,
)
_NUMBER = re.compile(
    r"\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|first|second|third|couple|few|several|twice|once|another)\b",
    re.I,
)
_ASKS_PICTURE = re.compile(
    r"\b(?:pictures?|photos?|photographs?|photographed|images?|snapshots?|pics?|selfies?|portraits?|screenshots?)\b"
    r"|\bsh(?:ow|owed|own) (?:you|me|us)\b",
    re.I,
)
_FIRST_PERSON = re.compile(r"\b(?:I|my|we|our|me)\b")
_WEEK = 7


class _Numbers(dict[str, int]):
    """Numbers words in the order in which they are first used."""

    def __missing__(self, word: str) -> int:
        with _numbering:
            return self.setdefault(intern(word), len(self))


_numbering = threading.Lock()
_NUMBERS = _Numbers()


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """Finished words in order, with repetitions, and the number of each, since arrays of numbers are counted quickly."""

    words: Sequence[str]
    numbers: np.ndarray

    @classmethod
    def of(cls, words: Sequence[str]) -> "Words":
        return cls([*map(intern, words)], np.array([*map(_NUMBERS.__getitem__, words)], dtype=np.int32))


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """The data of a record that ranking needs, or of one passage of a long record.

    `conversation`, `number` (a message id) and `passage` are its position; neighbours are one passage apart, or one number. An
    entry has neither conversation nor speaker. `vector` is the mean of its token states, of unit length. `tokens` are their
    projections as int8, at least one. `traits` are the `traits_of` its text.
    """

    conversation: str
    number: int
    speaker: str
    said_at: datetime
    words: Words
    vector: np.ndarray
    tokens: np.ndarray
    traits: np.ndarray
    passage: int = 0


@dataclass(frozen=True, slots=True)
class EncodedQuestion:
    """A question, encoded for ranking.

    `vector` is that of all tokens, `content_vector` that of the tokens without names; `tokens` are projections with weights.
    `names` are the finished words of all speakers' names, `people` the speakers whom the question names.
    """

    text: str
    vector: np.ndarray
    content_vector: np.ndarray
    tokens: np.ndarray
    token_weights: np.ndarray
    words: Sequence[str]
    names: frozenset[str]
    people: frozenset[str]


@dataclass(frozen=True, slots=True)
class WordStatistics:
    """The corpus statistics for BM25: the number of records, the number of their words, and of records with each word.

    Each passage of a long record counts as a record.
    """

    records: int
    words: int
    record_counts: Mapping[str, int]

    def idf(self, word: str) -> float:
        count = self.record_counts.get(word, 0)
        return math.log(1 + (self.records - count + 0.5) / (count + 0.5))

    @property
    def average_length(self) -> float:
        return max(self.words, 1) / max(self.records, 1)


def traits_of(text: str, position: int, text_before: str) -> np.ndarray:
    """Returns the record's own features, TRAITS. `position` counts from 0 in its conversation, `text_before` is the preceding
    message."""
    return np.array(
        [
            math.log1p(len(text.split())),
            text.rstrip().endswith("?"),
            bool(_TIME.search(text)),
            bool(_NUMBER.search(text)),
            bool(_FIRST_PERSON.search(text)),
            "?" in text_before,
            math.log1p(position),
        ],
        dtype=np.float32,
    )


def asks_for_picture(question: str) -> bool:
    """Returns whether the question is about a picture, so that a record with a picture, or next to one, answers it."""
    return bool(_ASKS_PICTURE.search(question))


def features(
    question: EncodedQuestion,
    records: Sequence[RankedPassage],
    beside: Sequence[Words],
    neighbours: np.ndarray,
    statistics: WordStatistics,
) -> np.ndarray:
    """Returns a row for each candidate, at least one, and a column for each of FEATURES.

    `beside` are the words of the passages next to candidates. Each row of `neighbours` has the positions in `beside` of the two
    passages on each side of a candidate, or -1 if there is none. Candidates are in order of message id and passage.
    """
    before, after = _neighbours(records)
    codes: dict[str, int] = {}
    sessions = np.array([codes.setdefault(record.conversation, len(codes)) for record in records])
    vectors = np.concatenate([record.vector for record in records]).reshape(len(records), -1)
    idf = {word: statistics.idf(word) for word in set(question.words) - question.names}
    counts = _word_counts(list(idf), [record.words for record in records])
    of_none = Words.of([])  # for position -1
    near_counts = counts + _word_counts(list(idf), [*beside, of_none])[neighbours].sum(axis=1)
    bm25, coverage, matched = _lexical(idf, counts, statistics.average_length)
    bm25_near, coverage_near, _ = _lexical(idf, near_counts, statistics.average_length * _NEAR_LENGTHS)
    best = _best_matches(question.tokens, records)
    weights = question.token_weights / question.token_weights.sum()
    maxsim = weights @ best
    best_near = np.maximum(best, np.maximum(_of_neighbour(best, before), _of_neighbour(best, after)))
    lowest = float(maxsim.min())
    heavy = weights >= 0.999 * weights.mean()
    traits = np.concatenate([record.traits for record in records]).reshape(len(records), -1)
    when = float(bool(_ASKS_WHEN.match(question.text)))
    columns = [
        vectors @ question.vector,
        vectors @ question.content_vector,
        bm25,
        bm25_near,
        coverage,
        coverage_near,
        maxsim,
        weights @ best_near,
        _of_neighbour(maxsim, before, lowest),
        _of_neighbour(maxsim, after, lowest),
        best[heavy].min(axis=0),
        _session_level(maxsim, sessions),
        _session_level(bm25, sessions),
        matched,
        *_people(question, records),
        *_dates(question.text, [record.said_at for record in records]),
        when * traits[:, TRAITS.index("has_time")],
        when * (1 - traits[:, TRAITS.index("has_time")]),
        float(bool(_ASKS_NUMBER.search(question.text))) * traits[:, TRAITS.index("has_number")],
    ]
    table = np.concatenate([np.stack(columns, axis=1), traits], axis=1)
    compared = table[:, :_STANDARDISED]
    table[:, :_STANDARDISED] = (compared - compared.mean(axis=0)) / (compared.std(axis=0) + 1e-6)
    return table


def _neighbours(records: Sequence[RankedPassage]) -> tuple[np.ndarray, np.ndarray]:
    """Returns the positions of each candidate's previous and next passage or message, or -1 if that is not a candidate."""
    follows = [
        bool(record.conversation)
        and record.conversation == previous.conversation
        and record.number - previous.number <= 1  # 0 for two passages of a message
        for previous, record in pairwise(records)
    ]
    positions = np.arange(len(records))
    before = np.where([False, *follows], positions - 1, -1)
    after = np.where([*follows, False], positions + 1, -1)
    return before, after


def _word_counts(words: Sequence[str], documents: Sequence[Words]) -> np.ndarray:
    """Counts each of the words (columns) in each document (rows); the last column is the length of the document."""
    lengths = np.array([len(document.numbers) for document in documents])
    numbers = np.concatenate([document.numbers for document in documents])
    column = np.full(numbers.max(initial=0) + 1, len(words))  # the last column, for words that are not in the question
    for at, word in enumerate(words):
        if (number := _NUMBERS.get(word, len(column))) < len(column):
            column[number] = at
    width = len(words) + 1
    cells = column[numbers] + np.repeat(np.arange(len(documents)) * width, lengths)
    counts = np.bincount(cells, minlength=len(documents) * width).reshape(-1, width)
    counts[:, -1] = lengths
    return counts


def _lexical(
    idf: Mapping[str, float], counts: np.ndarray, average_length: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the documents' BM25 scores, their shares of the words' idf, and how many of the words they hold."""
    counts, lengths = counts[:, :-1], counts[:, -1]
    weights = np.array(list(idf.values()))
    norm = BM25_K1 * (1 - BM25_B + BM25_B * lengths / average_length)
    holds = counts > 0
    return (
        (counts * (BM25_K1 + 1) / (counts + norm[:, None])) @ weights,
        holds @ weights / max(weights.sum(), 1e-9),
        holds.sum(axis=1),
    )


def _best_matches(tokens: np.ndarray, records: Sequence[RankedPassage]) -> np.ndarray:
    """Returns, for each of the question's tokens (rows), the cosine to the nearest token of each record (columns)."""
    starts = np.cumsum([0] + [len(record.tokens) for record in records[:-1]])
    theirs = np.concatenate([record.tokens for record in records]).astype(np.float32)
    return np.ascontiguousarray(np.maximum.reduceat(theirs @ (tokens / 127).T, starts, axis=0).T)


def _of_neighbour(values: np.ndarray, neighbour: np.ndarray, missing: float = -1.0) -> np.ndarray:
    return np.where(neighbour >= 0, values[..., neighbour], missing)


def _session_level(scores: np.ndarray, sessions: np.ndarray) -> np.ndarray:
    """Returns, for each candidate, the sum of the three best scores in its conversation."""
    above = scores - scores.min()
    order = np.lexsort((above, sessions))
    ends = np.searchsorted(sessions[order], np.arange(sessions.max() + 1), side="right")
    starts = np.concatenate([[0], ends[:-1]])
    level = np.zeros(len(ends))
    for step in (3, 2, 1):  # the least first
        there = ends - step
        level += np.where(there >= starts, above[order[np.maximum(there, 0)]], 0.0)
    return np.asarray(level[sessions])


def _people(question: EncodedQuestion, records: Sequence[RankedPassage]) -> tuple[np.ndarray, np.ndarray]:
    """Returns whether each record is about the one person in the question, or about somebody else; neither if the question
    names none or several.

    A message counts as about its speaker, an entry as about the people whom it names.
    """
    if len(question.people) != 1:
        return np.zeros(len(records)), np.zeros(len(records))
    named = question.names.intersection(question.words)
    of_them = np.array(
        [
            record.speaker in question.people if record.conversation else not named.isdisjoint(record.words.words)
            for record in records
        ],
        dtype=float,
    )
    return of_them, 1 - of_them


def _dates(question: str, said_at: Sequence[datetime]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns three scores for each date: in the month asked about; in the year, if no month is named; shortly after the day,
    or half a point in the month if no day is named."""
    text = question.casefold()
    months = {_MONTHS.index(name) + 1 for name in _MONTH.findall(text) if name not in ("may", "march")}
    months |= {3 if "march" in phrase else 5 for phrase in _SURE_MONTH.findall(text)}
    years = {int(year) for year in _YEAR.findall(text)}
    zero = np.zeros(len(said_at))
    if not months:
        return zero, np.array([float(moment.year in years) for moment in said_at]) if years else zero, zero
    in_month = np.array([float(moment.month in months and (not years or moment.year in years)) for moment in said_at])
    day = _DAY.search(text)
    if not day:
        return in_month, zero, in_month / 2
    number = int(day.group(1) or day.group(2))
    return in_month, zero, np.array([_shortly_after(moment, years, months, number) for moment in said_at])


def _shortly_after(moment: datetime, years: Collection[int], months: Collection[int], day: int) -> float:
    """Returns 1 on the day and the next, falling by a factor e per week, and 0 before the day."""
    try:
        start = moment.replace(year=min(years, default=moment.year), month=min(months), day=day, hour=0, minute=0)
    except ValueError:  # 31 June
        return 0.0
    days = (moment - start).total_seconds() / 86_400
    return math.exp(-max(days - 1, 0) / _WEEK) if days >= -1 else 0.0
