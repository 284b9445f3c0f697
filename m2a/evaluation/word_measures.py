"""Scores the words of an answer as MemoryAgentBench does, and strictly.

Its normalisation is SQuAD's: lower case, without punctuation and articles. Its measure `contains` accepts an answer that lists
both an old and a new value; the strict measure accepts only a short answer that is a gold answer and nothing else.
"""

import re
import string
from collections.abc import Callable, Mapping, Sequence

from m2a.benchmarks.dialogue import Measure

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_ANSWER = re.compile(r"\banswer:\s*(.*)", re.IGNORECASE)
_LISTED = re.compile(r"^\s*\d+[.)]\s*(.+?)\s*$", re.MULTILINE)
_YEAR = re.compile(r"\s*\(\d{4}\)")
_LABEL = re.compile(r"\blabel:\s*(.*)", re.IGNORECASE)


def as_published(measure: Measure, reply: str, golds: Sequence[str]) -> float | None:
    """Returns the better score of the whole reply and its short answer by this measure, or None if the measure is not of words.

    The score is 1 or 0; for recommended films it is the share of the gold films among the first five of the reply. The authors
    map each title to the nearest film that they know; here the title must match, apart from its year and its case.
    """
    score = _PUBLISHED.get(measure)
    return None if score is None else float(score(reply, golds))


def is_strictly_right(measure: Measure, reply: str, golds: Sequence[str]) -> bool:
    """Returns whether the short answer or label is a gold one and nothing else, or with several golds, whether all are given."""
    if measure == "contains all":
        return _contains_all(reply, golds)
    if measure == "recall@5":
        return _recall_at_5(reply, golds) == 1.0
    answer = _label(reply) if measure == "label" else short_answer(reply)
    return any(normalised(answer) == normalised(gold) for gold in golds)


def short_answer(reply: str) -> str:
    """Returns what follows "Answer:", or else the first line."""
    match = _ANSWER.search(reply)
    return match[1] if match else reply.strip().partition("\n")[0]


def normalised(text: str) -> str:
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def _contains(reply: str, golds: Sequence[str]) -> bool:
    return any(normalised(gold) in normalised(text) for text in (reply, short_answer(reply)) for gold in golds)


def _contains_all(reply: str, golds: Sequence[str]) -> bool:
    return all(gold.lower() in reply.lower() for gold in golds)


def _recall_at_5(reply: str, golds: Sequence[str]) -> float:
    titles = {normalised(_YEAR.sub("", title)) for title in _LISTED.findall(reply)[:5]}
    gold_titles = {normalised(_YEAR.sub("", gold)) for gold in golds}
    return len(titles & gold_titles) / len(gold_titles)


def _is_exact(reply: str, golds: Sequence[str]) -> bool:
    return any(normalised(gold) == normalised(text) for text in (reply, short_answer(reply)) for gold in golds)


def _label(reply: str) -> str:
    match = _LABEL.search(reply)
    return match[1] if match else short_answer(reply)


def _is_label(reply: str, golds: Sequence[str]) -> bool:
    return any(normalised(_label(reply)) == normalised(gold) for gold in golds)


_PUBLISHED: Mapping[Measure, Callable[[str, Sequence[str]], float]] = {
    "contains": _contains,
    "contains all": _contains_all,
    "exact": _is_exact,
    "label": _is_label,
    "recall@5": _recall_at_5,
}
