"""Scores the words of an answer as MemoryAgentBench does, and strictly.

Its normalisation is SQuAD's: lower case, without punctuation and articles. Its measure `contains` accepts an answer that lists
an old and a new value; the strict measure accepts only a short answer that is a gold answer and nothing else.
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
    """Returns the score by the benchmark's measure, or None without one: the better of the whole reply and its short answer.

    The score is 1 or 0; for recommended films it is the share of the gold films among the first five of the reply. The authors
    map each title to the nearest film that they know; here the title must match, apart from its year and its spelling of case.
    """
    score = _PUBLISHED.get(measure)
    return None if score is None else float(score(reply, golds))


def is_strictly_right(measure: Measure, reply: str, golds: Sequence[str]) -> bool:
    """Whether the short answer or label is a gold one and nothing else, or the reply has all golds if all are wanted."""
    if measure == "contains all":
        return _contains_all(reply, golds)
    if measure == "recall@5":
        return _recall_at_5(reply, golds) == 1.0
    short = _label(reply) if measure == "label" else short_answer(reply)
    return any(normalised(short) == normalised(gold) for gold in golds)


def short_answer(reply: str) -> str:
    """Returns what follows "Answer:", or else the first line."""
    found = _ANSWER.search(reply)
    return found[1] if found else reply.strip().partition("\n")[0]


def normalised(text: str) -> str:
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def _contains(reply: str, golds: Sequence[str]) -> bool:
    return any(normalised(gold) in normalised(text) for text in (reply, short_answer(reply)) for gold in golds)


def _contains_all(reply: str, golds: Sequence[str]) -> bool:
    return all(gold.lower() in reply.lower() for gold in golds)


def _recall_at_5(reply: str, golds: Sequence[str]) -> float:
    listed = {normalised(_YEAR.sub("", title)) for title in _LISTED.findall(reply)[:5]}
    wanted = {normalised(_YEAR.sub("", gold)) for gold in golds}
    return len(listed & wanted) / len(wanted)


def _is_one(reply: str, golds: Sequence[str]) -> bool:
    return any(normalised(gold) == normalised(text) for text in (reply, short_answer(reply)) for gold in golds)


def _label(reply: str) -> str:
    found = _LABEL.search(reply)
    return found[1] if found else short_answer(reply)


def _is_label(reply: str, golds: Sequence[str]) -> bool:
    return any(normalised(_label(reply)) == normalised(gold) for gold in golds)


_PUBLISHED: Mapping[Measure, Callable[[str, Sequence[str]], float]] = {
    "contains": _contains,
    "contains all": _contains_all,
    "exact": _is_one,
    "label": _is_label,
    "recall@5": _recall_at_5,
}
