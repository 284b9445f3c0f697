"""Accepted answers that say too little, so that wrong replies contain them."""

import re
from collections.abc import Iterable

from data_synthesis.dates import NUMBERS
from data_synthesis.wording import contains_phrase, content_of, words_of

# Replies that decline to answer. If an accepted answer occurs in one of these, a reply that declines would count as right.
DECLINES = (
    "No information about that.",
    "No, I do not know, and I don't remember.",
    "I do not have that in memory; there is no record of it.",
    "None of the messages says anything about it.",
    "It was not mentioned, so the answer is unknown and not available.",
    "I cannot tell, nothing was said.",
)
_NUMBER = re.compile(rf"[\W_]*(\d[\d.,]*|zero|{'|'.join(NUMBERS)})[\W_]*", re.IGNORECASE)
_PLURALS = ("teeth", "feet")


def says_too_little(answer: str, question: str = "") -> bool:
    """Returns whether an answer is a bare number ("2" is in "2 weeks" and in "2 days"), occurs in a reply that declines to
    answer, or only counts something that the question names ("two eyes") without asking how many."""
    words = content_of(answer)
    nouns = {word for word in words if not _NUMBER.fullmatch(word)}
    counts = nouns and nouns != words and nouns <= content_of(question) and words_of(question)[:2] != ["how", "many"]
    return bool(counts or _NUMBER.fullmatch(answer)) or any(contains_phrase(decline, answer) for decline in DECLINES)


def with_noun(accepted: Iterable[str], noun: str) -> tuple[str, ...]:
    """Returns the answers, with the noun added to a bare number or a "no" ("two horns", "no collar"), or without it left out."""
    forms = []
    for answer in accepted:
        if not says_too_little(answer):
            forms.append(answer)
        elif _NUMBER.fullmatch(answer) and noun in (*_PLURALS, f"{noun.removesuffix('s')}s"):
            forms.append(f"{answer} {noun}")
        elif answer.lower() in ("no", "none"):
            forms.append(f"no {noun}")
    return tuple(dict.fromkeys(forms))
