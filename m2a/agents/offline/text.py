"""Words of a text: tokens, stems, and whether one word says what another says."""

import re
import threading
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import snowballstemmer

from m2a.agents.offline import lexicon

_WORD = re.compile(r"[^\W_]+(?:[-'&/.:](?=[^\W_])[^\W_]+)*", re.UNICODE)
_STEMMER = snowballstemmer.stemmer("english")
_STEMMER_LOCK = threading.Lock()  # a stemmer keeps the word that it works on in itself

CONTRACTIONS = {
    "i'm": "I am",
    "can't": "can not",
    "won't": "will not",
    "shan't": "shall not",
    "let's": "let us",
    "y'all": "you all",
}


_ROOT = 5


class Token(NamedTuple):
    text: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        return self.text.lower()


def plain(text: str) -> str:
    """The text with typographic quotes and dashes as typed on a keyboard."""
    table = {"’": "'", "‘": "'", "“": '"', "”": '"', "—": " - ", "–": "-", "\u00a0": " ", "…": "..."}
    for mark, typed in table.items():
        text = text.replace(mark, typed)
    return re.sub(r"[ \t]+", " ", text).strip()


def tokens(text: str) -> list[Token]:
    return [Token(match.group(), match.start(), match.end()) for match in _WORD.finditer(text)]


def expand(text: str) -> str:
    """Contractions in full; a possessive 's becomes a word of its own and is dropped."""

    def full(match: re.Match[str]) -> str:
        word = match.group()
        lower = word.lower()
        if lower in CONTRACTIONS:
            return CONTRACTIONS[lower]
        for ending, long in (("n't", " not"), ("'re", " are"), ("'ve", " have"), ("'ll", " will"), ("'d", " would")):
            if lower.endswith(ending):
                return word[: -len(ending)] + long
        return re.sub(r"'(s|m)$", "", word, flags=re.IGNORECASE)

    return re.sub(r"[^\W_]+(?:'[^\W_]+)+", full, text)


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    lower = word.lower()
    base = _base_forms().get(lower, lower)
    with _STEMMER_LOCK:
        return str(_STEMMER.stemWord(base))


def stems(text: str) -> list[str]:
    """Every word's stem, in order, fixed phrases as one word."""
    return list(_stems(text))


@lru_cache(maxsize=8192)
def _stems(text: str) -> tuple[str, ...]:
    lowered = " ".join(plain(text).lower().split())
    for phrase, one in lexicon.PHRASES.items():
        if phrase in lowered:
            lowered = re.sub(rf"\b{re.escape(phrase)}\b", one, lowered)
    found: list[str] = []
    for word in re.findall(r"[^\W]+(?:[-'&.:/][^\W]+)*", expand(lowered)):
        found.append(stem(word))
        if "-" in word:
            found += [stem(part) for part in word.split("-") if part]
    return tuple(found)


def meets(wanted: str, said: Iterable[str]) -> bool:
    """Whether a stem that a question asks for is met by one of the stems of what was said."""
    said = said if isinstance(said, set | frozenset) else set(said)
    if wanted in said:
        return True
    if equivalents(wanted) & said:
        return True
    # teach and teacher, supervise and supervisor: the stemmer keeps the doer apart.
    return len(wanted) >= _ROOT and any(
        len(word) >= _ROOT
        and (word.startswith(wanted) or wanted.startswith(word))
        and abs(len(word) - len(wanted)) <= 3
        for word in said
    )


@lru_cache(maxsize=8192)
def spelling(word: str) -> str:
    """What the usual slips leave as it is: the letters without doubled ones, those inside in any order.

    "alergic" and "allergic" have the same, and so have "freind" and "friend"; a short word is itself.
    """
    if len(word) < _ROOT or not word.isalpha():
        return word
    letters = re.sub(r"(.)\1", r"\1", word)
    return letters[0] + "".join(sorted(letters[1:-1])) + letters[-1]


@lru_cache(maxsize=8192)
def equivalents(wanted: str) -> frozenset[str]:
    """The stems that may stand for this one: its groups' and, of a kind, its members (theirs too)."""
    same = set(_groups().get(wanted, ()))
    members: set[str] = set()
    members |= _kinds().get(wanted, set())
    return frozenset(same | members | {wanted})


@lru_cache(maxsize=512)
def members(kind: str) -> frozenset[str]:
    """The stems of what is of that kind, and of their kinds: a dog and a beagle are pets. None for what is no kind."""
    named = equivalents(kind) if any(one in _kinds() for one in equivalents(kind)) else frozenset()
    return frozenset(under for one in named for under in equivalents(one))


def is_kind(word: str, kind: str) -> bool:
    """`word` and `kind` are stems: is it one of that kind (a cat a pet)?"""
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


def words_for(wanted: str) -> list[str]:
    """Words in full, the wanted one first, that a memory may use for this stem; members of a kind come last."""
    spelled = _spelled()
    found = [spelled.get(wanted, wanted)]
    found += [word for words in lexicon.SYNONYMS for word in words if wanted in map(stem, words)]
    found += [word for kind, members in lexicon.KINDS.items() if stem(kind) == wanted for word in members]
    return list(dict.fromkeys(word.replace("_", " ") for word in found))


def plain_words(text: str) -> list[str]:
    """The words that are worth a search: neither short nor numbers."""
    return [token.text for token in tokens(expand(text)) if len(token.text) > 3 and token.text.isalpha()]


@lru_cache(maxsize=1)
def _spelled() -> dict[str, str]:
    return {stem(word): word for words in reversed(lexicon.SYNONYMS) for word in reversed(words)}


_LIGHT = frozenset(
    stem(word)
    for word in "be have do go get a an the my our your his her its their i we you he she it they me us him them "
    "this that these those "
    "and or but so if of in on at to for with from by as not no now then too also just really very all some "
    "any more most much "
    "many there here will can could should would about again still already than into out up down over off back "
    "only even one "
    "actually sorry mean instead longer anymore new same time day today change move switch call say tell think "
    "know want "
    "called said told what who which when where why how let make put take s t m re".split()
)


def content(text: str) -> set[str]:
    """The stems that tell one fact from another."""
    return {word for word in stems(text) if word not in _LIGHT and len(word) > 1}
