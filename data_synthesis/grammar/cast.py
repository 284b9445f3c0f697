"""The people that a group's speakers talk about, and the things that fill the slots of a passage."""

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from data_synthesis.grammar.words import Decks, data
from data_synthesis.wording import whole_words

HELPERS = 3
THING_SLOTS = ("town", "cafe", "street", "shop", "dish", "drink", "show", "hobby", "small", "num")


@dataclass(frozen=True, slots=True)
class Person:
    """`relation` is how a speaker introduces them: "my cousin"."""

    name: str
    woman: bool
    relation: str
    job: str

    @property
    def introduction(self) -> str:
        return f"{self.relation} {self.name}"

    @property
    def pronouns(self) -> tuple[str, str, str]:
        return ("she", "her", "her") if self.woman else ("he", "his", "him")

    def slots(self, key: str, *, by_owner: bool, introduced: bool) -> dict[str, str]:
        """Returns the slots of a person under a key: `kin1`, `p1`, `he1`, `his1`, `him1`.

        Once introduced, a person is called by name alone.
        """
        called = self.introduction if by_owner else self.introduction.replace("my ", "your ", 1)
        called = self.name if introduced else called
        he, his, him = self.pronouns
        start, number = key[:-1], key[-1]
        return {
            f"{start}kin{number}": called,
            f"{start}p{number}": called,
            f"{start}he{number}": he,
            f"{start}his{number}": his,
            f"{start}him{number}": him,
        }


class Cast:
    """The people of one group, all different and none with a name that is already taken."""

    def __init__(self, rng: random.Random, decks: Decks, taken: Collection[str]):
        names = data("text/cast.json")
        used = {word for text in taken for word in whole_words(text)}
        self._names = {
            woman: [name for name in names[key] if name.lower() not in used]
            for woman, key in ((True, "women"), (False, "men"))
        }
        self._rng, self._decks = rng, decks
        self.helpers = [[self.new_person(speaker) for _ in range(HELPERS)] for speaker in range(2)]
        self._turn = [0, 0]

    def helper(self, speaker: int) -> Person:
        """Returns the next of a speaker's few helpers, so that the same people come up again and again."""
        self._turn[speaker] += 1
        helpers = self.helpers[speaker]
        return helpers[self._turn[speaker] % len(helpers)]

    def new_person(self, speaker: int) -> Person:
        woman = self._rng.random() < 0.5
        relations: Sequence[str] = data("text/cast.json")["relations"]
        relation = self._decks.draw_shuffled(f"relations of {speaker}", relations)
        forms = relation.split("|")
        return Person(
            name=self._decks.draw_shuffled(f"names {woman}", self._names[woman]),
            woman=woman,
            relation=forms[-1] if woman else forms[0],
            job=self._decks.draw_shuffled("professions", data("text/cast.json")["jobs"]),
        )


def things(decks: Decks) -> dict[str, str]:
    """Returns fresh names of places and things for one passage."""
    lists = data("text/cast.json")
    return {key: decks.draw_shuffled(key, lists[key]) for key in THING_SLOTS}


def with_article(noun: str) -> str:
    return f"{'an' if noun[0].lower() in 'aeiou' else 'a'} {noun}"
