"""From templates to words: slots, decks of templates, and sentences that no group says twice.

A template has slots, `{town}`; `{Town}` is the same with a capital. Lists of templates are decks: the order of a deck is
fixed, and each group begins at a place of its own, so that groups of one benchmark hardly ever draw the same template.
"""

import json
import random
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from data_synthesis.wording import long_sentences, sentences

T = TypeVar("T")

_FOLDER = Path(__file__).parent
_SLOT = re.compile(r"\{(\w+)\}")
_SENTENCE_START = re.compile(r"(^|(?<=[.!?])\s+|(?<=[.!?]['\"])\s+)(['\"]?)([a-z])")
_DIALOGUE_STEP, _GROUP_STEP = 0.525, 0.25  # spread two groups each of LoCoMo's conversations most evenly


@cache
def data(name: str) -> Any:
    """The JSON file of that name in this package."""
    return json.loads((_FOLDER / name).read_text(encoding="utf-8"))


def fill(template: str, slots: Mapping[str, str]) -> str:
    """The template with its slots filled. Raises KeyError for an unknown slot."""

    def value(match: re.Match[str]) -> str:
        key = match[1]
        if key in slots:
            return slots[key]
        text = slots[key.lower()]
        return text[0].upper() + text[1:]

    return _SLOT.sub(value, template)


def written_out(template: str, slots: Mapping[str, str]) -> str:
    """The same with sentences that begin in capitals."""
    text = fill(template, slots)
    return _SENTENCE_START.sub(lambda match: match[1] + match[2] + match[3].upper(), text)


class Decks:
    """Draws from lists, each item once before any comes again."""

    def __init__(self, dialogue_id: str, number: int, drawn: random.Random):
        digits = "".join(re.findall(r"\d+", dialogue_id)) or str(sum(dialogue_id.encode()))
        self._start = (int(digits) * _DIALOGUE_STEP + number * _GROUP_STEP) % 1
        self._drawn = drawn
        self._left: dict[str, list[Any]] = {}

    def draw(self, name: str, items: Sequence[T], fits: Callable[[T], bool] = lambda item: True) -> T:
        """The next that fits of a deck of templates. Groups that stand beside each other begin far from each other.

        Where none that is left fits, the deck begins anew; where none fits at all, any is drawn.
        """
        if not any(map(fits, self._left.get(name, []))):
            order = random.Random(name).sample(list(items), len(items))
            start = int(self._start * len(order))
            self._left[name] = order[start:] + order[:start]
        left = self._left[name]
        place = next((place for place, item in enumerate(left) if fits(item)), 0)
        found: T = left.pop(place)
        return found

    def chance(self, name: str, items: Sequence[T]) -> T:
        """The next of a deck that this group's seed has shuffled, for names and things."""
        if not self._left.get(name):
            self._left[name] = self._drawn.sample(list(items), len(items))
        found: T = self._left[name].pop()
        return found


class Said:
    """The sentences of one group so far. `elsewhere` are the long ones of other groups, which are not said again."""

    def __init__(self, elsewhere: Collection[str] = ()) -> None:
        self._sentences: set[str] = set()
        self._elsewhere = frozenset(elsewhere)

    def repeats(self, *texts: str) -> bool:
        """Whether a sentence of some length was said before, or stands twice in these texts."""
        new = [sentence for text in texts for sentence in sentences(text)]
        if len(set(new)) < len(new) or not self._sentences.isdisjoint(new):
            return True
        return any(not self._elsewhere.isdisjoint(long_sentences(text)) for text in texts)

    def add(self, *texts: str) -> None:
        self._sentences.update(sentence for text in texts for sentence in sentences(text))
