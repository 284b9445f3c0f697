"""The word lists of the offline rules obey their own headers."""

from itertools import combinations
from pathlib import Path

import pytest

from m2a.agents.offline import lexicon
from m2a.agents.offline.text import equivalents, stem

# Two words for one thing, though both stand among the members of a kind.
ONE_THING = [
    set(words.split())
    for words in (
        "mum mom mother",
        "dad father",
        "gran granny grandma grandmother nan",
        "grandpa grandfather grandad",
        "fiance fiancee",
        "tablet pill",
        "allergic intolerant",
        "flight plane",
        "bike bicycle",
        "dinner supper",
        "run jog",
        "grey gray",
        "dog puppy",
        "cat kitten",
        "tortoise turtle",
        "chicken hen",
        "sofa couch",
        "jumper sweater",
        "nursery kindergarten",
        "maths math",
        "biscuit cookie",
        "ache hurt",
        "lorry truck",
        "flight fly",
        "kilo kg",
        "km kilometre",
        "metre meter",
        "prawn shrimp",
        "courgette zucchini",
    )
]


def test_no_synonyms_are_two_things_of_one_kind() -> None:
    wrong = [
        (kind, pair)
        for kind, members in lexicon.KINDS.items()
        for group in lexicon.SYNONYMS
        for pair in combinations(sorted(set(group) & set(members)), 2)
        if not any(set(pair) <= group for group in ONE_THING)
    ]
    assert not wrong


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("brother", "sister"),
        ("like", "hate"),
        ("love", "dislike"),
        ("bride", "groom"),
        ("give", "get"),
        ("lend", "borrow"),
        ("vegan", "vegetarian"),
        ("buy", "sell"),
        ("open", "close"),
        ("start", "end"),
        ("find", "lose"),
        ("big", "small"),
        ("wife", "husband"),
        ("master", "phd"),
        ("km", "mile"),
        ("flu", "cold"),
    ],
)
def test_what_is_not_the_same_never_stands_for_the_other(word: str, other: str) -> None:
    assert stem(other) not in equivalents(stem(word)) and stem(word) not in equivalents(stem(other))


def test_every_group_of_synonyms_says_something_that_no_other_says() -> None:
    groups = [frozenset(map(stem, group)) for group in lexicon.SYNONYMS]
    assert not [group for group in groups if len(group) < 2]
    assert not [(group, other) for group, other in combinations(groups, 2) if group <= other or other <= group]


def test_a_kind_is_none_of_its_own_members() -> None:
    assert not [kind for kind, members in lexicon.KINDS.items() if stem(kind) in map(stem, members)]
    kinds = Path(lexicon.__file__).parent / "words" / "kinds.txt"
    lines = [line for line in kinds.read_text(encoding="utf-8").splitlines() if line and line[0] not in "# "]
    assert len(lexicon.KINDS) == len(lines), "a kind has one line: of two the first would be lost"
