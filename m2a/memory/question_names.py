"""Finds the names in a question: capitalised words that do not begin a sentence."""

import re
from collections.abc import Collection, Iterator, Mapping

from m2a.memory.words import finished_words

# In fewer records, a name may just be a common word: "Little Women" does not ask for records that contain "little".
# evaluation/RETRIEVAL.md has the effect of two or five records.
_MIN_RECORDS = 3

_RUN = re.compile(r"[A-Z][\w'’-]*(?:\s+[A-Z][\w'’-]*)*")
# The auxiliary verb of a question, right before its subject.
_AUXILIARY = re.compile(
    r"\b(?:do|does|did|is|are|was|were|has|have|had|can|could|will|would|shall|should|may|might|must)\s+\Z", re.I
)
_HAS = re.compile(r"['’]s\Z")
_SENTENCE_END = (".", "?", "!")
_CALENDAR = frozenset(
    finished_words(
        "January February March April May June July August September October November December "
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
    )
)


def names_in(text: str) -> list[frozenset[str]]:
    """Returns the finished words of each name, in order.

    Consecutive capitalised words are one name. Months and weekdays are not names.
    """
    return [name for name, _first, _last in _named(text)]


def unknown_names(text: str, record_counts: Mapping[str, int], speakers: Collection[str]) -> list[frozenset[str]]:
    """Returns the names of the question's subjects that the memory does not contain: John in "when did John get Max?"

    A subject follows an auxiliary verb or has something ("John's"). A word of its name is in no record and not in a speaker's
    name. The arguments are those of `known_names`.
    """
    known = {word for word, records in record_counts.items() if records}.union(speakers)
    return [
        name
        for name, first, last in _named(text)
        if not name <= known and (_AUXILIARY.search(text, 0, first) or _HAS.search(text, first, last))
    ]


def known_names(text: str, record_counts: Mapping[str, int], speakers: Collection[str]) -> list[frozenset[str]]:
    """Returns the names in the question that the memory knows: several records contain each word, and it is not a speaker's.

    `record_counts` gives the number of records with a finished word; `speakers` are the finished words of speakers' names.
    """
    return [
        name
        for name in names_in(text)
        if not name.issubset(speakers) and all(record_counts.get(word, 0) >= _MIN_RECORDS for word in name)
    ]


def _named(text: str) -> Iterator[tuple[frozenset[str], int, int]]:
    """Yields the finished words of each name, and where it begins and ends."""
    for run in _RUN.finditer(text):
        before = text[: run.start()].rstrip()
        begins = not before or before.endswith(_SENTENCE_END)
        first = run.start() + len(run[0].partition(" ")[0]) + 1 if begins else run.start()
        if words := frozenset(finished_words(text[first : run.end()])) - _CALENDAR:
            yield words, first, run.end()
