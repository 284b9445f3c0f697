"""Words of a text: tokens, stems, and whether two words have the same meaning."""

import re
import threading
import unicodedata
from collections import defaultdict
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

import snowballstemmer

from m2a.agents.offline import lexicon

FIRST_PERSON = re.compile(r"\b(?:i|me|my|mine|we|us|our)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:[-'&/.:](?=[^\W_])[^\W_]+)*")
_STEMMER = snowballstemmer.stemmer("english")
_STEMMER_LOCK = threading.Lock()  # a stemmer holds its current word in its state

_CONTRACTIONS = {
    "i'm": "I am",
    "can't": "can not",
    "won't": "will not",
    "shan't": "shall not",
    "let's": "let us",
    "y'all": "you all",
}
_KEYBOARD = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "—": " - ", "–": "-", "\u00a0": " ", "…": "..."})
_MIN_ROOT = 5  # letters of a word that is compared by its beginning, or by its spelling key


class Token(NamedTuple):
    text: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        return self.text.lower()


@lru_cache(maxsize=2048)
def plain(text: str) -> str:
    """Returns the text with keyboard characters for typographic quotes and dashes."""
    return re.sub(r"[ \t]+", " ", text.translate(_KEYBOARD)).strip()


@lru_cache(maxsize=2048)
def tokens(text: str) -> tuple[Token, ...]:
    return tuple(Token(match.group(), match.start(), match.end()) for match in _WORD.finditer(text))


def expand(text: str) -> str:
    """Returns the text with contractions in full and without possessive 's."""

    def expanded(match: re.Match[str]) -> str:
        word = match.group()
        lower = word.lower()
        if lower in _CONTRACTIONS:
            return _CONTRACTIONS[lower]
        for ending, spelled in (("n't", " not"), ("'re", " are"), ("'ve", " have"), ("'ll", " will"), ("'d", " would")):
            if lower.endswith(ending):
                return word[: -len(ending)] + spelled
        return re.sub(r"'[sm]$", "", word, flags=re.IGNORECASE)

    return re.sub(r"[^\W_]+(?:'[^\W_]+)+", expanded, text)


_ACCENTS = re.compile(r"(?<=[a-z])[\u0300-\u036f]+", re.IGNORECASE)


def unaccented(text: str) -> str:
    """Returns the text without accents on Latin letters, which many leave out: "Flora" for "Flóra"."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)))


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    lower = unaccented(word.lower())
    base = _base_forms().get(lower, lower)
    with _STEMMER_LOCK:
        return str(_STEMMER.stemWord(base))


@lru_cache(maxsize=8192)
def stems(text: str) -> tuple[str, ...]:
    """Returns the stem of every word, in order, with fixed phrases as one word."""
    lowered = joined_phrases(" ".join(plain(text).lower().split()))
    result: list[str] = []
    for word in re.findall(r"\w+(?:[-'&.:/]\w+)*", expand(lowered)):
        result.append(stem(word))
        if "-" in word:
            result += [stem(part) for part in word.split("-")]
    return tuple(result)


def joined_phrases(lowered: str) -> str:
    """Returns the text, which is in lower case, with fixed phrases as one word: "can't stand" as "hate"."""
    for phrase, joined in lexicon.PHRASES.items():
        if phrase in lowered:
            lowered = re.sub(rf"\b{re.escape(phrase)}\b", joined, lowered)
    return lowered


def has_equivalent(target: str, candidates: Collection[str]) -> bool:
    """Returns whether one of the candidate stems has the meaning of the target stem."""
    if not equivalents(target).isdisjoint(candidates):
        return True
    # The stemmer keeps "teach" and "teacher", "supervise" and "supervisor" apart.
    return len(target) >= _MIN_ROOT and any(
        len(word) >= _MIN_ROOT
        and (word.startswith(target) or target.startswith(word))
        and abs(len(word) - len(target)) <= 3
        for word in candidates
    )


@lru_cache(maxsize=8192)
def spelling(word: str) -> str:
    """Returns a key that common misspellings do not change: the letters without doubles, the inner ones sorted.

    "alergic" and "allergic" have the same key, and so do "freind" and "friend"; a short word is its own key.
    """
    if len(word) < _MIN_ROOT or not word.isalpha():
        return word
    letters = re.sub(r"(.)\1", r"\1", word)
    return letters[0] + "".join(sorted(letters[1:-1])) + letters[-1]


@lru_cache(maxsize=8192)
def equivalents(word: str) -> frozenset[str]:
    """Returns the stems that may replace this one: itself, its synonyms and, for a kind or a topic, its words."""
    return frozenset({word, *_groups().get(word, ()), *_kinds().get(word, ()), *_topics().get(word, ())})


@lru_cache(maxsize=512)
def members(kind: str) -> frozenset[str]:
    """Returns the stems of the members of a kind, and of their members: a dog and a beagle are pets. Empty if it is no kind."""
    names = equivalents(kind)
    return frozenset() if names.isdisjoint(_kinds()) else frozenset().union(*map(equivalents, names))


def is_member(word: str, kind: str) -> bool:
    """Returns whether the stem `word` is a member of the stem `kind`: a cat is a pet."""
    return word in _kinds().get(kind, set())


@lru_cache(maxsize=1)
def _base_forms() -> dict[str, str]:
    return {form: forms[0] for forms in lexicon.IRREGULAR for form in forms}


@lru_cache(maxsize=1)
def _groups() -> dict[str, set[str]]:
    groups: dict[str, set[str]] = defaultdict(set)
    for words in lexicon.SYNONYMS:
        group = {stem(word) for word in words}
        for word in group:
            groups[word] |= group
    return groups


@lru_cache(maxsize=1)
def _kinds() -> dict[str, set[str]]:
    return {stem(kind): {stem(word) for word in members} for kind, members in lexicon.KINDS.items()}


@lru_cache(maxsize=1)
def _topics() -> dict[str, set[str]]:
    return {stem(topic): {stem(word) for word in words} for topic, words in lexicon.TOPICS.items()}


def words_for(target: str) -> list[str]:
    """Returns full words that a memory may use for this stem: the word itself, synonyms, and those of a kind or topic."""
    result = [_word_of_stem().get(target, target)]
    result += [word for words in lexicon.SYNONYMS for word in words if target in map(stem, words)]
    for table in (lexicon.KINDS, lexicon.TOPICS):
        result += [word for name, members in table.items() if stem(name) == target for word in members]
    return list(dict.fromkeys(word.replace("_", " ") for word in result))


@lru_cache(maxsize=1)
def _word_of_stem() -> dict[str, str]:
    return {stem(word): word for words in reversed(lexicon.SYNONYMS) for word in reversed(words)}


_STOP_WORDS = frozenset(
    stem(word)
    for word in "be have do go get a an the my our your his her its their i we you he she it they me us him them "
    "this that these those and or but so if of in on at to for with from by as not no now then too also just really very "
    "all some any more most much many there here will can could should would about again still already than into out up "
    "down over off back only even one actually sorry mean instead longer anymore new same time day today change move "
    "switch call say tell think know want called said told what who which when where why how let make put take s t m re".split()
)


def content(text: str) -> set[str]:
    """Returns the stems that distinguish one fact from another."""
    return {word for word in stems(text) if word not in _STOP_WORDS and len(word) > 1}
