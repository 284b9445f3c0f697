"""The names in a question: capitalised words that do not begin a sentence."""

import re
from collections.abc import Collection, Mapping

from m2a.memory.words import finished_words

# A name in fewer records may be a common word there: "Little Women" asks for none of the records with little in them.
_HELD = 5

_RUN = re.compile(r"[A-Z][\w'’-]*(?:\s+[A-Z][\w'’-]*)*")
_SENTENCE_END = (".", "?", "!")
_CALENDAR = frozenset(
    finished_words(
        "January February March April May June July August September October November December "
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
    )
)


def names_in(text: str) -> list[frozenset[str]]:
    """The finished words of each name, in order. Capitalised words in a row are one name; months and weekdays are none."""
    found = []
    for run in _RUN.finditer(text):
        before = text[: run.start()].rstrip()
        begins = not before or before.endswith(_SENTENCE_END)
        name = run[0].partition(" ")[2] if begins else run[0]
        if words := frozenset(finished_words(name)) - _CALENDAR:
            found.append(words)
    return found


def known_names(text: str, holding: Mapping[str, int], speakers: Collection[str]) -> list[frozenset[str]]:
    """The names in the question that the memory knows: several records hold each of their words, and they are no speaker's.

    `holding` says how many records hold a finished word; `speakers` are the finished words of the speakers' names.
    """
    return [
        name
        for name in names_in(text)
        if not name.issubset(speakers) and all(holding.get(word, 0) >= _HELD for word in name)
    ]
