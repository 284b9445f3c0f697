"""Which words of a message say what a memory says: what is quoted as said, and what is withheld when it is forgotten.

A memory may resolve a pronoun, a date or a language; a quotation is the raw message's own words, so it is found by the words
that the two share. Whole sentences are taken: half a sentence can say the contrary.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from m2a.memory.words import finished_words
from m2a.types import MemoryEntry, Message

Span = tuple[int, int]

_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s|$)|[。！？]+|\n+")
ABBREVIATION = re.compile(
    r"\b(?:Mr|Mrs|Ms|Dr|St|Mt|Ft|Prof|Rev|Capt|Sgt|Lt|Gen|Gov|Sen|Jr|Sr|No|vs|e\.g|i\.e|approx|ca|a\.m|p\.m|[A-Z])\.$"
)
_NAME = re.compile(r"\b[^\W\d_a-z][^\W\d_A-Z][\w'’-]*")
# A sentence belongs to the quotation when it holds this share of the words that no other sentence accounts for.
_SHARE = 1 / 3


@dataclass(frozen=True, slots=True)
class Quotation:
    """Words of one message, as they stand in it."""

    message: Message
    text: str


def sentence_spans(text: str) -> list[Span]:
    """Where the sentences and lines of a text stand, each with its end mark; runs without a letter or digit join none."""
    spans: list[Span] = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if ABBREVIATION.search(text[start : match.end()]) and match.end() < len(text):
            continue
        spans.append((start, match.end()))
        start = match.end()
    spans.append((start, len(text)))
    trimmed = (_trimmed(text, span) for span in spans)
    return [span for span in trimmed if re.search(r"\w", text[span[0] : span[1]])]


def spans_saying(statement: str, message: str) -> list[Span]:
    """The sentences of a message that say what the statement says, in order; none where they share no telling word.

    The sentence that shares most comes first, then each that holds what is still missing.
    """
    spans = sentence_spans(message)
    wanted = set(finished_words(statement))
    held = [set(finished_words(message[first:last])) for first, last in spans]
    if not wanted:  # "Who are you with?" has no telling word: it is said where it stands word for word
        return [span for span in spans if statement.strip(" .!").casefold() in message[slice(*span)].casefold()]
    chosen: list[int] = []
    missing = set(wanted)
    while missing:
        best = max(
            (index for index in range(len(spans)) if index not in chosen),
            key=lambda index: (len(missing & held[index]), -len(held[index] - wanted)),
            default=None,
        )
        if best is None or len(missing & held[best]) < max(1.0, _SHARE * len(wanted)):
            break
        chosen.append(best)
        missing -= held[best]
    return [spans[index] for index in sorted(chosen)]


def spans_telling(statement: str, message: str) -> list[Span]:
    """`spans_saying` without each sentence that tells something else, and of the statement only whom or where it means."""
    spans = spans_saying(statement, message)
    wanted, names = set(finished_words(statement)), set(finished_words(" ".join(_NAME.findall(statement))))
    telling = []
    for span in spans:
        held = set(finished_words(message[slice(*span)]))
        if not held & wanted <= names or 2 * len(held & wanted) >= len(held):
            telling.append(span)
    return telling or spans


def quotations(entry: MemoryEntry, messages: Sequence[Message]) -> list[Quotation]:
    """What the user said of what an entry says, word for word, in order of the messages.

    `messages` are those of its evidence; what others said is not quoted, and neither is a message that shares no word.
    """
    found = []
    for message in messages:
        if message.role != "user" or not entry.rests_on_message(message.message_id):
            continue
        spans = spans_saying(entry.text, message.text)
        if spans:  # from the first to the last: what stands between explains both
            found.append(Quotation(message, message.text[spans[0][0] : spans[-1][1]]))
    return found


def _trimmed(text: str, span: Span) -> Span:
    first, last = span
    while first < last and text[first].isspace():
        first += 1
    while last > first and text[last - 1].isspace():
        last -= 1
    return first, last
