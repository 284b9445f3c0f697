"""Where a statement is said again: by its words, as they stand in sentences of other messages. Pure functions over words."""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from m2a.memory.quotations import Span, sentence_spans, spans_saying, spans_telling
from m2a.memory.words import finished_words
from m2a.types import Role

# The assistant repeats a statement in its own words: so much of what is telling in it has to be there.
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
    """A statement by its finished words, each with its weight: the rarer, the more telling.

    `kept` are the words of the part of it that still holds: they alone do not say it again.
    """

    weights: Mapping[str, float]
    kept: frozenset[str] = frozenset()

    @property
    def words(self) -> Collection[str]:
        return self.weights.keys()

    def is_repeated_by(self, role: Role, words: Collection[str]) -> bool:
        """Whether a sentence of these words says the statement again.

        A number or code of it is enough. Else the assistant has to say most of it, and the user all of it and little more:
        what the user says beside it is not forgotten.
        """
        shared = self.weights.keys() & words
        own = shared - self.kept
        if not own:
            return False
        if any(is_code(word) for word in own):
            return True
        if role == "user":
            further = len(set(words) - self.weights.keys())
            return shared == self.weights.keys() and further <= len(shared) // 2
        share = sum(self.weights[word] for word in shared) / (sum(self.weights.values()) or 1.0)
        return share >= _SHARE and len(shared) >= min(2, len(self.weights))


def statements(
    texts: Iterable[str], frequency: Mapping[str, int], messages: int, kept: Mapping[str, frozenset[str]]
) -> list[Statement]:
    """The texts as statements, where so many of the owner's messages hold each word. Texts without telling words are none.

    `kept` are by text the words of the part that still holds.
    """
    found = {frozenset(finished_words(text)): kept.get(text, frozenset()) for text in texts}
    return [
        Statement({word: math.log(2 + messages / (1 + frequency.get(word, 0))) for word in sorted(words)}, staying)
        for words, staying in found.items()
        if words
    ]


def is_code(word: str) -> bool:
    """A PIN, a number plate, a password with digits: it tells by itself. A year does not."""
    return len(word) >= 4 and any(c.isdigit() for c in word) and not _YEAR.fullmatch(word)


def repeating_spans(repeated: Sequence[Statement], role: Role, text: str) -> list[Span]:
    """The sentences of a message that say any of the statements again.

    A question of the user says one again where it leaves nothing of it to ask for: "Who is allergic to peanuts?" does not tell
    that Ines is, though "She is allergic to peanuts." is a statement, too.
    """
    words = [frozenset(statement.words) for statement in repeated]
    fullest = [one for one, its in zip(repeated, words, strict=True) if not any(its < others for others in words)]
    found = []
    for first, last in sentence_spans(text):
        sentence = text[first:last]
        judged_by = fullest if role == "user" and _ASKS.fullmatch(sentence) else repeated
        if any(statement.is_repeated_by(role, set(finished_words(sentence))) for statement in judged_by):
            found.append((first, last) if role == "user" else _of_list(text, (first, last)))
    return found


def spans_holding(words: Collection[str], text: str) -> list[Span]:
    """The sentences of a reply that hold any of the words."""
    found = [span for span in sentence_spans(text) if not set(words).isdisjoint(finished_words(text[slice(*span)]))]
    return [_of_list(text, span) for span in found]


def _of_list(text: str, span: Span) -> Span:
    """Of the point of a list without its bullet and with what stands in brackets behind it, its day; else the span."""
    bullet = _BULLET.match(text, *span)
    if bullet is None or text[: span[0]].rpartition("\n")[2].strip():
        return span
    behind = _IN_BRACKETS.match(text, span[1])
    return bullet.end(), behind.end() if behind else span[1]


def spans_of_statement(statement: str, message: str, others: Sequence[str]) -> list[Span]:
    """What of a message says the statement and is to be withheld, where `others` are remembered and said there too.

    Whole sentences; of a sentence that says one of the others as well, the clauses that tell what those do not.
    """
    said_by_others = [(other, span) for other in others for span in spans_saying(other, message)]
    found: list[Span] = []
    for span in spans_telling(statement, message):
        sharing = [other for other, said in said_by_others if said == span]
        if not sharing:
            found.append(span)
            continue
        own = set(finished_words(statement)) - {word for other in sharing for word in finished_words(other)}
        found += [clause for clause in _clauses(message, span) if own & set(finished_words(message[slice(*clause)]))]
    return found


def _clauses(text: str, span: Span) -> list[Span]:
    starts = [span[0], *(match.end() for match in _CLAUSE.finditer(text, *span))]
    return [
        (first, last if last == span[1] else first + len(text[first:last].rstrip()))
        for first, last in zip(starts, [*starts[1:], span[1]], strict=True)
    ]
