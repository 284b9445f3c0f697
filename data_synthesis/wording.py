"""What the checks read in a text: names in angle brackets, placeholders, sentences, an answer within a question."""

import re
from collections.abc import Iterable
from functools import lru_cache

NAMED_OPTIONS = re.compile(r"\(\s*(?P<first>[^()]+?)\s+or\s+(?P<second>[^()]+?)\s*\??\s*\)\s*\??\s*$")
SHORT_SENTENCE = 4  # "That sounds great!" may be said twice; a sentence of this many words may not
LONG_SENTENCE = 7  # a shorter one may be said again in another group; this many words are no coincidence

QUOTED = re.compile(r"(?<!\w)['‘\"“]([^'‘’\"“”]{2,40})['’\"”](?!\w)")  # a name or a saying
_BRACKETED = re.compile(r"<\s*([^<>\n]*[^\W\d_][^<>\n]*?)\s*>")
_PLACEHOLDER = re.compile(
    r"<\s*/?\s*sks\s*>|\bsks\b|\{[^{}\n]*\}|\[[A-Za-z][A-Za-z_ ]*\]|\b(?:TODO|TBD|XXX|lorem ipsum)\b"
)
_NOTE = re.compile(r"\b(?:seen|visible|shown|hidden)\b[\w ,]*? in (?:photos? )?[0-9]{1,3}\b", re.IGNORECASE)
# What a language model leaves in a text that people would have written, and what a wrong encoding makes of one.
_LEFTOVER = re.compile(
    r"\bas an AI\b|\blanguage model\b"
    r"|\bhere(?:'s| is) (?:\w+(?:'s)? ){0,3}(?:message|reply|turn|session|dialogue)\b[^.!?\n]{0,30}:"
    r"|(?<!\w)\*\w+ [^*\n]+\*(?!\w)|\b[\w-]+\.(?:jpe?g|png|webp)\b|Ã[\x80-\xbf]|â€|\ufffd"
    r"|\w*(?:[A-Za-z][\u0370-\u04ff]|[\u0370-\u04ff][A-Za-z])\w*",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)]*\s+|\n+")
_NAME = re.compile(r"(?<=[a-z,;] )['\"‘“]?([A-Z][a-z]+)\b")
_CAPITALS = frozenset(
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August September "
    "October November December".split()
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_ARTICLES = frozenset(("a", "an", "the"))
_LITTLE = frozenset(
    "a an the of on in at by with and or to from for its it is are was were be his her their as that this both them "
    "against over up down out off".split()
)


def words_of(text: str) -> list[str]:
    """In lower case, without the 's of a genitive."""
    return [word.removesuffix("'s") for word in _whole_words(text)]


def whole_words(text: str) -> list[str]:
    """The same with it."""
    return list(_whole_words(text))


@lru_cache(maxsize=16_384)
def _whole_words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.lower().replace("’", "'")))


@lru_cache(maxsize=16_384)
def content_of(text: str) -> frozenset[str]:
    """Its words that say something, "sits" and "sitting" alike; all of its words where there are none but little ones."""
    words = {_singular(word) for word in words_of(text)}
    return frozenset(words - _LITTLE or words)


def _singular(word: str) -> str:
    if len(word) > 5 and word.endswith("ing") and set(word[:-3]) & set("aeiouy"):
        return word[:-4] if word[-4] == word[-5] and word[-4] not in "ls" else word[:-3]
    return word[:-1] if len(word) > 3 and word[-1] == "s" and word[-2] not in "su" else word


def bracketed_names(text: str) -> list[str]:
    """The names that a text puts in angle brackets, as written, placeholders apart. "<3" is none."""
    return [name for name in _BRACKETED.findall(text) if name.lower().strip(" /") != "sks"]


def placeholders(text: str) -> list[str]:
    """What was to be filled in and was not: <sks>, {name}, [NAME], TODO."""
    return [match[0] for match in _PLACEHOLDER.finditer(text)]


def notes(text: str) -> list[str]:
    """Remarks for the writer about files of photos, as "visible in 03": nobody who talks or answers knows their names."""
    return [match[0] for match in _NOTE.finditer(text)]


def leftovers(text: str) -> list[str]:
    """What nobody typed who talks: words of a language model about itself, stage directions, broken or mixed letters."""
    return [match[0] for match in _LEFTOVER.finditer(text)]


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, as they are."""
    return [sentence for sentence in _SENTENCE_END.split(text) if sentence.strip()]


def names_of(text: str) -> set[str]:
    """The words that are written like names: with a capital, though no sentence begins with them."""
    return {match[1] for match in _NAME.finditer(text)} - _CAPITALS


def sentences(text: str) -> list[str]:
    """The sentences that should occur once, as their words: those of at least SHORT_SENTENCE words."""
    found = (words_of(sentence) for sentence in _SENTENCE_END.split(text))
    return [" ".join(words) for words in found if len(words) >= SHORT_SENTENCE]


def long_sentences(text: str) -> list[str]:
    """The sentences that should occur once in all groups, as their words: those of at least LONG_SENTENCE words."""
    return [sentence for sentence in sentences(text) if len(sentence.split()) >= LONG_SENTENCE]


def holds(text: str, phrase: str) -> bool:
    """Whether the words of a phrase stand in a text one after the other. Articles at its start, case and marks do not count."""
    wanted = _spaced(phrase)
    while wanted.count(" ") > 2 and wanted.split(" ", 2)[1] in _ARTICLES:
        wanted = f" {wanted.split(' ', 2)[2]}"
    return bool(wanted.strip()) and wanted in _spaced(text)


@lru_cache(maxsize=16_384)
def _spaced(text: str) -> str:
    return f" {' '.join(words_of(text))} "


def options_of(question: str) -> tuple[str, str] | None:
    """The two options that a question ends with, "(A or B?)"."""
    match = NAMED_OPTIONS.search(question)
    return (match["first"], match["second"]) if match else None


def answer_given_away(question: str, answers: Iterable[str]) -> str | None:
    """The first answer that stands in its question. In a question of two options each option may, being one of two."""
    options = options_of(question)
    asked = NAMED_OPTIONS.sub("", question) if options else question
    return next((answer for answer in answers if holds(asked, answer)), None)
