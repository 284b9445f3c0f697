"""Templates: filling their slots, drawing them from decks, and the sentences already used.

A template has slots, `{town}`; `{Town}` is the same with a capital. A list of templates is a deck: its order is fixed, and
each group begins at a different position, so that the groups of a benchmark rarely draw the same template.
"""

import json
import random
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from data_synthesis.wording import comparable_sentences, long_sentences

T = TypeVar("T")

_FOLDER = Path(__file__).parent
_SLOT = re.compile(r"\{(\w+)\}")
_SENTENCE_START = re.compile(r"(^|(?<=[.!?])\s+|(?<=[.!?]['\"])\s+)(['\"]?)([a-z])")
_DIALOGUE_STEP, _GROUP_STEP = 0.525, 0.25  # spread two groups each of LoCoMo's conversations most evenly


@cache
def data(name: str) -> Any:
    """Returns the JSON file of that name in this package."""
    return json.loads((_FOLDER / name).read_text(encoding="utf-8"))


def fill(template: str, slots: Mapping[str, str]) -> str:
    """Returns the template with its slots filled. Raises KeyError for an unknown slot."""

    def value(match: re.Match[str]) -> str:
        key = match[1]
        if key in slots:
            return slots[key]
        text = slots[key.lower()]
        return text[0].upper() + text[1:]

    return _SLOT.sub(value, template)


def filled_in(template: str, slots: Mapping[str, str]) -> str:
    """Returns the filled template with a capital at the start of each sentence."""
    text = fill(template, slots)
    return _SENTENCE_START.sub(lambda match: match[1] + match[2] + match[3].upper(), text)


class Decks:
    """Draws from lists, every item once before any is repeated."""

    def __init__(self, dialogue_id: str, number: int, rng: random.Random):
        digits = "".join(re.findall(r"\d+", dialogue_id)) or str(sum(dialogue_id.encode()))
        self._start = (int(digits) * _DIALOGUE_STEP + number * _GROUP_STEP) % 1
        self._rng = rng
        self._left: dict[str, list[Any]] = {}

    def draw(self, name: str, items: Sequence[T], fits: Callable[[T], bool] = lambda item: True) -> T:
        """Returns the next item of a deck of templates that fits. Neighbouring groups begin at distant positions of the deck.

        If no remaining item fits, the deck starts again; if no item fits at all, any is drawn.
        """
        if not any(map(fits, self._left.get(name, []))):
            order = random.Random(name).sample(list(items), len(items))
            start = int(self._start * len(order))
            self._left[name] = order[start:] + order[:start]
        left = self._left[name]
        place = next((place for place, item in enumerate(left) if fits(item)), 0)
        item: T = left.pop(place)
        return item

    def draw_shuffled(self, name: str, items: Sequence[T]) -> T:
        """Returns the next item of a list of names or things, which this group's seed has shuffled."""
        if not self._left.get(name):
            self._left[name] = self._rng.sample(list(items), len(items))
        item: T = self._left[name].pop()
        return item


class UsedSentences:
    """The sentences of one group so far. `elsewhere` are long sentences of other groups, which are not to be repeated."""

    def __init__(self, elsewhere: Collection[str]) -> None:
        self._sentences: set[str] = set()
        self._elsewhere = frozenset(elsewhere)

    def repeats(self, *texts: str) -> bool:
        """Returns whether the texts repeat a sentence of at least SHORT_SENTENCE words, or a long one from elsewhere."""
        new = [sentence for text in texts for sentence in comparable_sentences(text)]
        if len(set(new)) < len(new) or not self._sentences.isdisjoint(new):
            return True
        return any(not self._elsewhere.isdisjoint(long_sentences(text)) for text in texts)

    def add(self, *texts: str) -> None:
        self._sentences.update(sentence for text in texts for sentence in comparable_sentences(text))
