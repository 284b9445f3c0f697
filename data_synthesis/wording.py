"""What the checks read in a text: names in angle brackets, placeholders, sentences, an answer within a question."""

import re
from collections.abc import Iterable

NAMED_OPTIONS = re.compile(r"\(\s*(?P<first>[^()]+?)\s+or\s+(?P<second>[^()]+?)\s*\??\s*\)\s*\??\s*$")
SHORT_SENTENCE = 4  # "That sounds great!" may be said twice; a sentence of this many words may not
LONG_SENTENCE = 7  # a shorter one may be said again in another group; this many words are no coincidence

_BRACKETED = re.compile(r"<\s*([^<>\n]*[^\W\d_][^<>\n]*?)\s*>")
_PLACEHOLDER = re.compile(
    r"<\s*/?\s*sks\s*>|\bsks\b|\{[^{}\n]*\}|\[[A-Za-z][A-Za-z_ ]*\]|\b(?:TODO|TBD|XXX|lorem ipsum)\b"
)
_NOTE = re.compile(r"\b(?:seen|visible|shown|hidden)\b[\w ,]*? in (?:photos? )?[0-9]{1,3}\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)]*\s+|\n+")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_ARTICLES = frozenset(("a", "an", "the"))


def words_of(text: str) -> list[str]:
    """In lower case, without the 's of a genitive."""
    return [word.removesuffix("'s") for word in whole_words(text)]


def whole_words(text: str) -> list[str]:
    """The same with it."""
    return _WORD.findall(text.lower().replace("’", "'"))


def bracketed_names(text: str) -> list[str]:
    """The names that a text puts in angle brackets, as written, placeholders apart. "<3" is none."""
    return [name for name in _BRACKETED.findall(text) if name.lower().strip(" /") != "sks"]


def placeholders(text: str) -> list[str]:
    """What was to be filled in and was not: <sks>, {name}, [NAME], TODO."""
    return [match[0] for match in _PLACEHOLDER.finditer(text)]


def notes(text: str) -> list[str]:
    """Remarks for the writer about files of photos, as "visible in 03": nobody who talks or answers knows their names."""
    return [match[0] for match in _NOTE.finditer(text)]


def without_notes(text: str) -> str:
    """The text without the clauses, and the brackets, that hold such a remark."""
    if not notes(text):
        return text
    text = re.sub(r"\s*\(([^()]*)\)", lambda match: "" if notes(match[1]) else match[0], text)
    clauses = re.split(r"(?<=[,;.])\s+", text)
    return " ".join(clause for clause in clauses if not notes(clause)).strip(" ,;.")


def sentences(text: str) -> list[str]:
    """The sentences that should occur once, as their words: those of at least SHORT_SENTENCE words."""
    found = (words_of(sentence) for sentence in _SENTENCE_END.split(text))
    return [" ".join(words) for words in found if len(words) >= SHORT_SENTENCE]


def long_sentences(text: str) -> list[str]:
    """The sentences that should occur once in all groups, as their words: those of at least LONG_SENTENCE words."""
    return [sentence for sentence in sentences(text) if len(sentence.split()) >= LONG_SENTENCE]


def holds(text: str, phrase: str) -> bool:
    """Whether the words of a phrase stand in a text one after the other. Articles at its start, case and marks do not count."""
    wanted, words = words_of(phrase), words_of(text)
    while len(wanted) > 1 and wanted[0] in _ARTICLES:
        wanted = wanted[1:]
    return bool(wanted) and any(words[at : at + len(wanted)] == wanted for at in range(len(words) - len(wanted) + 1))


def options_of(question: str) -> tuple[str, str] | None:
    """The two options that a question ends with, "(A or B?)"."""
    match = NAMED_OPTIONS.search(question)
    return (match["first"], match["second"]) if match else None


def answer_given_away(question: str, answers: Iterable[str]) -> str | None:
    """The first answer that stands in its question. In a question of two options each option may, being one of two."""
    options = options_of(question)
    asked = NAMED_OPTIONS.sub("", question) if options else question
    return next((answer for answer in answers if holds(asked, answer)), None)
