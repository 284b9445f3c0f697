"""Reading texts: words, sentences, names in angle brackets, placeholders, an answer within a question."""

import re
from collections.abc import Iterable
from functools import lru_cache

NAMED_OPTIONS = re.compile(r"\(\s*(?P<first>[^()]+?)\s+or\s+(?P<second>[^()]+?)\s*\??\s*\)\s*\??\s*$")
FEWEST_LETTERS = 5  # of an answer that begins a word of its question
SHORT_SENTENCE = 4  # words: "That sounds great!" may be said twice, a sentence from this length on may not
LONG_SENTENCE = 7  # words: from this length on, the same sentence in another group is no coincidence

QUOTED = re.compile(r"(?<!\w)['‘\"“]([^'‘’\"“”]{2,40})['’\"”](?!\w)")  # a name or a saying
_BRACKETED = re.compile(r"<\s*([^<>\n]*[^\W\d_][^<>\n]*?)\s*>")
UNFILLED = re.compile(r"<\s*/?\s*sks\s*>|\bsks\b|\{[^{}\n]*\}|\[[A-Za-z][A-Za-z_ ]*\]|\b(?:TODO|TBD|XXX|lorem ipsum)\b")
_NOTE = re.compile(r"\b(?:seen|visible|shown|hidden)\b[\w ,]*? in (?:photos? )?[0-9]{1,3}\b", re.IGNORECASE)
# Phrases of a language model about its own writing, stage directions, and broken or mixed letters
_LEFTOVER = re.compile(
    r"\bas an AI\b|\blanguage model\b"
    r"|\bhere(?:'s| is) (?:\w+(?:'s)? ){0,3}(?:message|reply|turn|session|dialogue)\b[^.!?\n]{0,30}:"
    r"|(?<!\w)\*\w+ [^*\n]+\*(?!\w)|\b[\w-]+\.(?:jpe?g|png|webp)\b|Ã[\x80-\xbf]|â€|\ufffd"
    r"|\w*(?:[A-Za-z][\u0370-\u04ff]|[\u0370-\u04ff][A-Za-z])\w*",
    re.IGNORECASE,
)
# What no turn, question or answer may contain, and why
FORBIDDEN = (
    (UNFILLED, "is a placeholder that was not filled in."),
    (_NOTE, "is a note about a file, which nobody who talks or answers can know."),
    (_LEFTOVER, "is nothing that people type in a chat."),
    (re.compile("[\ud800-\udfff]"), "is half a character, which no file can hold."),  # a model's JSON may contain one
)
# What is done by writing a turn happens on the day of the turn; anything else may have happened on another day.
SAYING = re.compile(
    r"\b(?:shar(?:e|ed|ing)|sen[dt]|show(?:ed|n)?|posted|tell|told|mention(?:ed)?|sa(?:y|id)|ask(?:ed)?|talk(?:ed)?|wr[io]te|"
    r"announced?|thank(?:ed)?|complain(?:ed)?)\b",
    re.I,
)
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)]*\s+|\n+")
_NAME = re.compile(r"(?<=[a-z,;] )['\"‘“]?([A-Z][a-z]+)\b")
_CAPITALS = frozenset(
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August September "
    "October November December".split()
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_ARTICLES = frozenset(("a", "an", "the"))
_FUNCTION_WORDS = frozenset(
    "a an the of on in at by with and or to from for its it is are was were be his her their as that this both them "
    "against over up down out off".split()
)


def words_of(text: str) -> list[str]:
    """Returns the words of a text in lower case, without the 's of a genitive."""
    return [word.removesuffix("'s") for word in whole_words(text)]


@lru_cache(maxsize=16_384)
def whole_words(text: str) -> tuple[str, ...]:
    """Returns the words of a text in lower case."""
    return tuple(_WORD.findall(text.lower().replace("’", "'")))


@lru_cache(maxsize=16_384)
def content_of(text: str) -> frozenset[str]:
    """Returns the content words of a text, "sits" and "sitting" alike; all of its words where there are only function words."""
    words = {_stem(word) for word in words_of(text)}
    return frozenset(words - _FUNCTION_WORDS or words)


def _stem(word: str) -> str:
    if len(word) > 5 and word.endswith("ing") and set(word[:-3]) & set("aeiouy"):
        return word[:-4] if word[-4] == word[-5] and word[-4] not in "ls" else word[:-3]
    return word[:-1] if len(word) > 3 and word[-1] == "s" and word[-2] not in "su" else word


def bracketed_names(text: str) -> list[str]:
    """Returns the names that a text puts in angle brackets, as written. Placeholders and "<3" are not names."""
    return [name for name in _BRACKETED.findall(text) if name.lower().strip(" /") != "sks"]


def sentences_of(text: str) -> list[str]:
    """Returns the sentences of a text, as written."""
    return [sentence for sentence in _SENTENCE_END.split(text) if sentence.strip()]


def names_of(text: str) -> set[str]:
    """Returns the words with a capital letter that do not begin a sentence: most likely names."""
    return {match[1] for match in _NAME.finditer(text)} - _CAPITALS


def comparable_sentences(text: str) -> list[str]:
    """Returns the normalised sentences of at least SHORT_SENTENCE words; a group may say each only once."""
    split = map(words_of, _SENTENCE_END.split(text))
    return [" ".join(words) for words in split if len(words) >= SHORT_SENTENCE]


def long_sentences(text: str) -> list[str]:
    """Returns the normalised sentences of at least LONG_SENTENCE words; only one group may say each."""
    return [sentence for sentence in comparable_sentences(text) if len(sentence.split()) >= LONG_SENTENCE]


def contains_phrase(text: str, phrase: str) -> bool:
    """Returns whether a text contains the words of a phrase in a row. Its leading articles, case and punctuation do not count."""
    wanted = _spaced(phrase)
    while wanted.count(" ") > 2 and wanted.split(" ", 2)[1] in _ARTICLES:
        wanted = f" {wanted.split(' ', 2)[2]}"
    return bool(wanted.strip()) and wanted in _spaced(text)


@lru_cache(maxsize=16_384)
def _spaced(text: str) -> str:
    return f" {' '.join(words_of(text))} "


def options_of(question: str) -> tuple[str, str] | None:
    """Returns the two options at the end of a question, "(A or B?)", or None."""
    match = NAMED_OPTIONS.search(question)
    return (match["first"], match["second"]) if match else None


def answer_given_away(question: str, answers: Iterable[str]) -> str | None:
    """Returns the first of the answers that the question contains, apart from the two options at its end; or None.

    A word that begins with the answer also gives it away: "swirl" is no answer about Swirly.
    """
    options = options_of(question)
    text = NAMED_OPTIONS.sub("", question) if options else question
    return next((answer for answer in answers if contains_phrase(text, answer) or is_suggested(text, answer)), None)


def is_suggested(question: str, answer: str) -> bool:
    """Returns whether a word of the question begins with the answer."""
    start = " ".join(words_of(answer))
    return len(start) >= FEWEST_LETTERS and any(word.startswith(start) for word in words_of(question))
