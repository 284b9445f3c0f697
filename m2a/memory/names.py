"""Finds the names in a question: capitalised words that do not begin a sentence."""

import re
from collections.abc import Collection, Mapping

from m2a.memory.words import finished_words

# In fewer records, a name may just be a common word: "Little Women" does not ask for records that contain "little". What two or
# five records would find and let through stands in evaluation/RETRIEVAL.md.
_HELD = 3

_RUN = re.compile(r"[A-Z][\w'’-]*(?:\s+[A-Z][\w'’-]*)*")
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
    names = []
    for run in _RUN.finditer(text):
        before = text[: run.start()].rstrip()
        begins = not before or before.endswith(_SENTENCE_END)
        name = run[0].partition(" ")[2] if begins else run[0]
        if words := frozenset(finished_words(name)) - _CALENDAR:
            names.append(words)
    return names


def known_names(text: str, holding: Mapping[str, int], speakers: Collection[str]) -> list[frozenset[str]]:
    """Returns the names in the question that the memory knows: several records contain each word, and it is not a speaker's.

    `holding` gives the number of records that contain a finished word; `speakers` are the finished words of speakers' names.
    """
    return [
        name
        for name in names_in(text)
        if not name.issubset(speakers) and all(holding.get(word, 0) >= _HELD for word in name)
    ]
