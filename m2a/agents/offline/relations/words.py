"""The words of sentences, their keys, by which they are compared, and the names among them."""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from m2a.agents.offline.clauses import AUXILIARIES, DETERMINERS, PREPOSITIONS, PRONOUNS, SUBORDINATORS, may_be_verb

Words = tuple[str, ...]
Span = tuple[int, int]  # where words are in a sentence: the first, and the end

MAX_PHRASE = 8  # words of a subject or a value
MARKS = "\"'“”‘’«»().,;:!?…"
ENDS = ",;:?!)"  # a name does not go on after a word that ends with one of these
RELATIVE = frozenset("who that which where whom whose what".split())
FUNCTION_WORDS = (
    AUXILIARIES
    | DETERMINERS
    | PREPOSITIONS
    | SUBORDINATORS
    | PRONOUNS
    | RELATIVE
    | {"into", "as", "through", "not", "up", "out"}
)
_NAME_PARTICLES = frozenset("of the and de la von van di da du del".split())


def keys_of(words: Iterable[str]) -> Words:
    return tuple(map(key_of, words))


@lru_cache(maxsize=8192)
def key_of(word: str) -> str:
    """Returns the word for comparison: in lower case, without punctuation around it and without a possessive ending."""
    return word.replace("’", "'").strip(MARKS).lower().removesuffix("'s").strip(MARKS) or word


def spans_of(phrase: Words, keys: Words) -> Iterator[Span]:
    """Yields where the phrase occurs among the keys of a sentence."""
    for start in range(len(keys) - len(phrase) + 1):
        if keys[start : start + len(phrase)] == phrase:
            yield start, start + len(phrase)


def is_name(word: str) -> bool:
    """Returns whether a word begins with a capital letter or a digit."""
    return word.lstrip("\"“'‘(")[:1].isupper() or word[:1].isdigit()


def is_verbal(word: str) -> bool:
    """Returns whether a word is a verb or ends as a past participle does."""
    key = word.lower().strip(MARKS)
    return key in AUXILIARIES or may_be_verb(key) or (len(key) > 4 and key.endswith("ed"))


def name_runs(words: Words) -> list[tuple[int, int]]:
    """Returns the spans of the names; "of" and similar words join the parts of a name."""
    runs: list[tuple[int, int]] = []
    for index, word in enumerate(words):
        end = runs[-1][1] if runs and words[runs[-1][1] - 1][-1] not in ENDS else None  # of a name that may go on
        if not is_name(word) or (key_of(word) in FUNCTION_WORDS and end != index):  # "Paul I", "Alice In Chains"
            continue
        if end is not None and (end == index or (end == index - 1 and key_of(words[index - 1]) in _NAME_PARTICLES)):
            runs[-1] = (runs[-1][0], index + 1)
        else:
            runs.append((index, index + 1))
    return runs
