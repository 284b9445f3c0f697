"""Words of sentences in the form in which they are compared, and the names among them."""

from collections.abc import Iterable
from functools import lru_cache

from m2a.agents.offline.clauses import AUXILIARIES, DETERMINERS, PREPOSITIONS, PRONOUNS, SUBORDINATORS, is_verb

Words = tuple[str, ...]

MARKS = "\"'“”‘’«»().,;:!?…"
ENDS = ",;:?!)"  # a name does not continue after a word with one of these
RELATIVE = frozenset("who that which where whom whose what".split())
GLUE = (
    AUXILIARIES
    | DETERMINERS
    | PREPOSITIONS
    | SUBORDINATORS
    | PRONOUNS
    | RELATIVE
    | {"into", "as", "through", "not", "up", "out"}
)
_JOINING = frozenset("of the and de la von van di da du del".split())


def keys_of(words: Iterable[str]) -> Words:
    """Returns the words for comparison: in lower case, without marks around them and without a possessive ending."""
    return tuple(map(key_of, words))


@lru_cache(maxsize=8192)
def key_of(word: str) -> str:
    bare = word.replace("’", "'").strip(MARKS).lower()
    for ending in ("'s", "s'"):
        if bare.endswith(ending) and len(bare) > 2:
            return bare[: -len(ending)].strip(MARKS) + ("s" if ending == "s'" else "")
    return bare.strip(MARKS) or word


def is_name(word: str) -> bool:
    """Whether a word begins with a capital letter or a digit."""
    return word.lstrip("\"“'‘(")[:1].isupper() or word[:1].isdigit()


def is_verbal(word: str) -> bool:
    key = word.lower().strip(MARKS)
    return key in AUXILIARIES or is_verb(key) or (len(key) > 4 and key.endswith("ed"))


def name_runs(words: Words) -> list[tuple[int, int]]:
    """Returns the spans of names; "of" and similar words join the parts of a name."""
    runs: list[tuple[int, int]] = []
    for index, word in enumerate(words):
        follows = bool(runs) and runs[-1][1] == index and words[index - 1][-1] not in ENDS
        if not is_name(word) or (key_of(word) in GLUE and not follows):  # "Paul I", "Alice In Chains"
            continue
        joined = runs and (runs[-1][1] == index or (runs[-1][1] == index - 1 and key_of(words[index - 1]) in _JOINING))
        if joined and words[runs[-1][1] - 1][-1] not in ENDS:
            runs[-1] = (runs[-1][0], index + 1)
        else:
            runs.append((index, index + 1))
    return runs
