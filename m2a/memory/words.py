"""Finished words: the stemmed words, without stop words, that BM25 and full-text search see instead of a text.

A finished word contains only letters, digits and the combining marks of scripts that need them, so every tokenizer that splits
at white space leaves it unchanged.
"""

import re
import threading
import unicodedata
from functools import lru_cache

import snowballstemmer

VERSION = 1  # increase it whenever the words change, so that an index of the old words refuses to open

# English function words and question words, which are everywhere and distinguish no records.
STOP_WORDS = frozenset(
    """
    a about after again all also am an and any are as at be because been before being but by can could did do does
    doing done down during each either else ever every few for from further get gets getting go goes going gonna got
    had has have having he her here hers herself hey hi him himself his how however i if im in into is it its itself
    just let lets like lot many me might mine more most much must my myself no nor not now of off oh ok okay on
    once one only or other our ours ourselves out over own please quite rather really s same she should so some still
    such t tell than that the their theirs them themselves then there these they thing things this those though through
    to too u under until up us very was we well were what when where whether which while who whom whose why will with
    wo would yeah yes yet you your yours yourself yourselves
    """.split()
)

_LETTERS_WITHOUT_DECOMPOSITION = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "ı": "i", "’": "'", "ʼ": "'"}
)
_ACCENTS = re.compile("[\u0300-\u036f]")
_CONTRACTION = re.compile(r"(?<=[a-z])(?:(?<!ca)n't|'(?:t|s|re|ve|ll|d|m))\b")
_ASCII_WORD = re.compile("[a-z0-9]+")
# Scripts without spaces between words, in which each character counts as a word.
_CJK = re.compile(
    "([\u3005\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff])"
)


def finished_words(text: str) -> list[str]:
    """Returns the words of a text in order, with repetitions: stemmed, without stop words, with case and accents folded."""
    return [_stem(word) for word in _split(text) if word not in STOP_WORDS]


def _split(text: str) -> list[str]:
    folded = text.casefold()
    if not folded.isascii():
        folded = _ACCENTS.sub("", unicodedata.normalize("NFKD", folded).translate(_LETTERS_WITHOUT_DECOMPOSITION))
        folded = unicodedata.normalize("NFC", folded.casefold())
    folded = _CONTRACTION.sub("", folded)
    if folded.isascii():
        return _ASCII_WORD.findall(folded)
    letters = "".join(c if unicodedata.category(c)[0] in "LNM" else " " for c in folded)
    return _CJK.sub(r" \1 ", letters).split()


_stemmer = snowballstemmer.stemmer("english")
_stemmer_lock = threading.Lock()  # a stemmer stores its current word in itself, so it is not thread-safe


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    with _stemmer_lock:
        return str(_stemmer.stemWord(word))


def message_words(speaker: str, text: str) -> list[str]:
    """Returns the finished words by which BM25 and full-text search find a message: its text and its speaker's name."""
    return finished_words(f"{speaker} {text}")
