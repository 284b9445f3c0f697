"""Finds sentences in other messages that repeat a statement, by the words that they share. Pure functions."""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from m2a.memory.quotations import Span, matching_sentences, sentence_spans, stating_sentences
from m2a.memory.words import finished_words
from m2a.types import Role

# The assistant repeats statements in its own words, so this share of a statement's weight is enough.
_SHARE = 0.5
_YEAR = re.compile(r"(?:19|20)\d\d")
_BULLET = re.compile(r"(?:[-*•]|\d+[.)])\s+")
_IN_BRACKETS = re.compile(r"(?:[ \t]*[(\[][^()\[\]\n]*[)\]])+")
_ASKS = re.compile(
    r"\W*(?:and\s+|but\s+|so\s+)?(?:who|whom|whose|what|where|when|which|why|how)\b.*\?\W*", re.IGNORECASE | re.DOTALL
)
_CLAUSE = re.compile(r"(?<=[,;:—–])\s+|\s+(?=(?:and|but|or|und|aber|oder|et|mais|ou|y|pero|e|ma)\s)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement as its finished words, each with a weight that is higher for rarer words.

    `kept` are the words of a part of it that stays; a sentence with only these words does not repeat the statement.
    """

    weights: Mapping[str, float]
    kept: frozenset[str] = frozenset()

    @property
    def words(self) -> Collection[str]:
        return self.weights.keys()

    def is_repeated_by(self, role: Role, words: Collection[str]) -> bool:
        """Returns whether a sentence with these words repeats the statement.

        One of its numbers or codes is enough. Otherwise, the assistant's sentence must contain most of it, and the user's all
        of it and little else, because what else the user says in a sentence is not forgotten.
        """
        shared = self.weights.keys() & words
        revealing = shared - self.kept
        if not revealing:
            return False
        if any(is_code(word) for word in revealing):
            return True
        if role == "user":
            other_words = len(set(words) - self.weights.keys())
            return shared == self.weights.keys() and other_words <= len(shared) // 2
        share = sum(self.weights[word] for word in shared) / (sum(self.weights.values()) or 1.0)
        return share >= _SHARE and len(shared) >= min(2, len(self.weights))


def statements(
    texts: Iterable[str], frequency: Mapping[str, int], messages: int, kept: Mapping[str, frozenset[str]]
) -> list[Statement]:
    """Returns the texts as statements, without those that have no significant words.

    `frequency` is the number of messages with each word, out of `messages`. `kept` gives, by text, the words of the part that
    stays.
    """
    kept_by_words = {frozenset(finished_words(text)): kept.get(text, frozenset()) for text in texts}
    return [
        Statement({word: math.log(2 + messages / (1 + frequency.get(word, 0))) for word in sorted(words)}, staying)
        for words, staying in kept_by_words.items()
        if words
    ]


def is_code(word: str) -> bool:
    """Returns whether a word is revealing by itself, such as a PIN, a number plate or a password with digits, but no year."""
    return len(word) >= 4 and any(c.isdigit() for c in word) and not _YEAR.fullmatch(word)


def reveals(words: Collection[str]) -> bool:
    """Returns whether a text with these words of erased content reveals it, wherever it is."""
    return len(words) >= 2 or any(map(is_code, words))


def repeating_spans(repeated: Sequence[Statement], role: Role, text: str) -> list[Span]:
    """Returns the spans of the sentences in a message that repeat any of the statements.

    A question of the user repeats one only if it leaves nothing of it to ask for: "Who is allergic to peanuts?" does not reveal
    that Ines is, though "She is allergic to peanuts." is a statement, too.
    """
    words = [frozenset(statement.words) for statement in repeated]
    fullest = [
        statement
        for statement, its_words in zip(repeated, words, strict=True)
        if not any(its_words < others for others in words)
    ]
    repeating = []
    for first, last in sentence_spans(text):
        sentence = text[first:last]
        judged_by = fullest if role == "user" and _ASKS.fullmatch(sentence) else repeated
        if any(statement.is_repeated_by(role, set(finished_words(sentence))) for statement in judged_by):
            repeating.append((first, last) if role == "user" else _list_item(text, (first, last)))
    return repeating


def sentences_containing(words: Collection[str], text: str) -> list[Span]:
    """Returns the spans of the sentences in a reply that contain any of the words."""
    spans = [span for span in sentence_spans(text) if not set(words).isdisjoint(finished_words(text[slice(*span)]))]
    return [_list_item(text, span) for span in spans]


def _list_item(text: str, span: Span) -> Span:
    """For an item of a list, returns its span without the bullet and with the day in brackets behind it; else the span."""
    bullet = _BULLET.match(text, *span)
    if bullet is None or text[: span[0]].rpartition("\n")[2].strip():
        return span
    behind = _IN_BRACKETS.match(text, span[1])
    return bullet.end(), behind.end() if behind else span[1]


def spans_of_statement(statement: str, message: str, others: Sequence[str]) -> list[Span]:
    """Returns the spans of a message that state the statement and must be withheld with it.

    `others` are statements that stay and that the message also makes. Of a sentence that makes one of these too, only the
    clauses with words of the statement alone are withheld; otherwise whole sentences.
    """
    other_spans = [(other, span) for other in others for span in matching_sentences(other, message)]
    withheld: list[Span] = []
    for span in stating_sentences(statement, message):
        sharing = [other for other, other_span in other_spans if other_span == span]
        if not sharing:
            withheld.append(span)
            continue
        own = set(finished_words(statement)) - {word for other in sharing for word in finished_words(other)}
        withheld += [clause for clause in _clauses(message, span) if own & set(finished_words(message[slice(*clause)]))]
    return withheld


def _clauses(text: str, span: Span) -> list[Span]:
    starts = [span[0], *(match.end() for match in _CLAUSE.finditer(text, *span))]
    return [
        (first, last if last == span[1] else first + len(text[first:last].rstrip()))
        for first, last in zip(starts, [*starts[1:], span[1]], strict=True)
    ]
