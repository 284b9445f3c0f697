"""A request to forget in a language that the rules do not read: known by its verb, and by the words that it shares with what
was said before.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import dropwhile
from typing import NamedTuple

from m2a.agents.offline import lexicon
from m2a.agents.offline.clauses import sentences
from m2a.agents.offline.languages import is_english
from m2a.agents.offline.text import plain
from m2a.memory.words import finished_words
from m2a.types import Message

_SHORT = 3  # characters of a word that may be another word's ending
_ENDING = 2  # characters in which two forms of a word may differ
_BEGINS = re.compile(r"[,;:.!?¿¡()]\s*|\s[-–]\s|^")
# What may stand before the verb of a request: "bitte", "y", "quindi".
_BEFORE = frozenset(
    "bitte und also dann och en dus graag alstublieft et donc alors stp svp y e pues entonces por favor porfa quindi per "
    "favore allora vær så snill venligst proszę prosím пожалуйста lütfen ole hyvä kérlek tafadhali tolong कृपया".split()
)


class Told(NamedTuple):
    """A sentence of an earlier message."""

    message_id: int
    text: str


def asks_to_forget(text: str) -> bool:
    """Whether a text in another language than English bids to forget something."""
    clauses = [clause.split() for clause in _BEGINS.split(plain(text).casefold())]
    if any(f" {form} " in f" {' '.join(words)} " for words in clauses for form in lexicon.FORGET_ELSEWHERE):
        return True
    return not is_english(text) and any(
        " ".join(dropwhile(_BEFORE.__contains__, words)).startswith(f"{form} ")
        for words in clauses
        for form in lexicon.FORGET_AT_FIRST
    )


def told_before(messages: Sequence[Message]) -> list[Told]:
    """The sentences of the messages that may tell something: no question, and no request to forget."""
    return [
        Told(message.message_id, sentence)
        for message in messages
        if not asks_to_forget(message.text)
        for sentence in sentences(plain(message.text))
        if sentence in message.text and not sentence.endswith(("?", "？", "؟"))
    ]


def meant_by(request: str, told: Sequence[Told]) -> list[Told]:
    """The sentence that the request surely means: it shares the most words that few others hold.

    A name alone is not enough where the request says more: of the same person something else may be meant.
    """
    wanted = _words(request)
    held = [_words(one.text) for one in told]
    shared = [[word for word in wanted if any(_is_a_form(word, other) for other in words)] for words in held]
    holders = Counter(word for words in shared for word in words)
    weights = [sum(1 / holders[word] for word in words) for words in shared]
    if not weights or max(weights) < 1:
        return []
    best = max(range(len(told)), key=weights.__getitem__)
    rivals = [weight for index, weight in enumerate(weights) if index != best]
    by_more_than_names = any(not wanted[word] for word in shared[best]) or len(shared[best]) == len(wanted)
    return [told[best]] if by_more_than_names and weights[best] >= 2 * max(rivals, default=0) else []


def _words(text: str) -> dict[str, bool]:
    """The finished words of a text without common ones, each with whether it is written as a name is."""
    verbs = {word for form in lexicon.FORGET_ELSEWHERE | lexicon.FORGET_AT_FIRST for word in form.split()}
    found: dict[str, bool] = {}
    for typed in re.findall(r"[^\s,;:.!?¿¡()\"'’]+", text):
        if typed.casefold() not in lexicon.FOREIGN | verbs | _BEFORE:
            for word in finished_words(typed):
                if len(word) >= _SHORT:
                    found[word] = typed[0].isupper() and found.get(word, True)
    return found


def _is_a_form(one: str, other: str) -> bool:
    """Whether two words begin alike and differ in no more than their endings."""
    longer = max(len(one), len(other))
    alike = next((at for at in range(min(len(one), len(other))) if one[at] != other[at]), min(len(one), len(other)))
    return one == other or (alike > _SHORT and longer - alike <= _ENDING)
