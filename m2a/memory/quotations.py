"""Finds the words of a message that state a memory: to quote them, and to withhold them when the memory is forgotten.

A memory may resolve a pronoun or a date, or be in another language, while a quotation keeps the message's own words. So it is
found by the words that the two share. Whole sentences are taken, because half a sentence can say the opposite.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from m2a.memory.words import finished_words
from m2a.types import Concept, MemoryEntry, Message

Span = tuple[int, int]

_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s|$)|[。！？]+|\n+")
# A full stop after these does not end a sentence: abbreviations, and in many languages ordinals ("am 19. Mai", "den 3. maj").
ABBREVIATION = re.compile(
    r"\b(?:Mr|Mrs|Ms|Dr|St|Mt|Ft|Prof|Rev|Capt|Sgt|Lt|Gen|Gov|Sen|Jr|Sr|No|vs|e\.g|i\.e|approx|ca|a\.m|p\.m|[A-Z]"
    r"|(?:(?<![Ii] )am|vom|zum|bis|der|die|das|dem|den|des|ab|seit) \d{1,2})\.$"
)
_NAME = re.compile(r"\b[^\W\d_a-z][^\W\d_A-Z][\w'’-]*")
_PRONOUN = re.compile(r"\b(?:he|she|it|they|him|her|them|his|hers|its|their)\b", re.IGNORECASE)
_ADDED_DATE = re.compile(r"\s*\([^()]*\d[^()]*\)")
# A sentence belongs to the quotation if it adds at least this share of the memory's words, or if it has no others.
_SHARE = 1 / 3


@dataclass(frozen=True, slots=True)
class Quotation:
    """Words of one message, verbatim."""

    message: Message
    text: str


def sentence_spans(text: str) -> list[Span]:
    """Returns the spans of the sentences and lines of a text, with their end marks, except those without letters or digits."""
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


def matching_sentences(statement: str, message: str) -> list[Span]:
    """Returns the sentences of a message that say what the statement says, in order; none if they share no significant word.

    Chooses the sentence that shares most words first, then others that contain missing words: many of them, or nothing else.
    """
    spans = sentence_spans(message)
    statement_words = set(finished_words(statement))
    sentence_words = [set(finished_words(message[first:last])) for first, last in spans]
    if not statement_words:  # "Who are you with?" has only stop words, so it must occur verbatim
        return [span for span in spans if statement.strip(" .!").casefold() in message[slice(*span)].casefold()]
    chosen: list[int] = []
    missing = set(statement_words)
    while missing:
        best = max(
            (index for index in range(len(spans)) if index not in chosen),
            key=lambda index: (len(missing & sentence_words[index]), -len(sentence_words[index] - statement_words)),
            default=None,
        )
        if best is None or len(missing & sentence_words[best]) < max(1.0, _SHARE * len(statement_words)):
            break
        chosen.append(best)
        missing -= sentence_words[best]
    for index, words in enumerate(sentence_words):
        if chosen and index not in chosen and words <= statement_words and words & missing:
            chosen.append(index)
            missing -= words
    return [spans[index] for index in sorted(chosen)]


def stating_sentences(statement: str, message: str) -> list[Span]:
    """Returns `matching_sentences` without the sentences that say something else and share only names with the statement."""
    spans = matching_sentences(statement, message)
    wanted, names = set(finished_words(statement)), set(finished_words(" ".join(_NAME.findall(statement))))
    stating = []
    for span in spans:
        words = set(finished_words(message[slice(*span)]))
        if not words & wanted <= names or 2 * len(words & wanted) >= len(words):
            stating.append(span)
    return stating or spans


def quotations(entry: MemoryEntry, messages: Sequence[Message]) -> list[Quotation]:
    """Returns the user's own words that state an entry, in order of the messages.

    `messages` are the entry's evidence. Messages by others, and messages that share no word with the entry, are not quoted.
    """
    quoted = []
    for message in messages:
        if message.role != "user" or not entry.rests_on_message(message.message_id):
            continue
        spans = matching_sentences(entry.text, message.text)
        if spans:  # from the first to the last, since the sentences between them explain both
            quoted.append(Quotation(message, message.text[spans[0][0] : spans[-1][1]]))
    return quoted


def sentence_is_stated(sentence: str, messages: Sequence[Message], concepts: Sequence[Concept]) -> bool:
    """Returns whether a sentence of the messages says this sentence.

    Ignores a date in brackets, and a name in place of "he" or "she", both of which the rules add.
    """
    words = set(finished_words(_ADDED_DATE.sub("", sentence)))
    names = {word for concept in concepts for word in finished_words(concept.name)}
    for message in messages:
        for span in sentence_spans(message.text):
            missing = words - set(finished_words(message.text[slice(*span)]))
            if not missing or (missing <= names and _PRONOUN.search(message.text[slice(*span)])):
                return True
    return False


def entry_is_stated(entry: MemoryEntry, messages: Sequence[Message], concepts: Sequence[Concept]) -> bool:
    """Returns whether the user says in the messages everything that the entry says."""
    from_user = [message for message in messages if message.role == "user"]
    entry_concepts = [concept for concept in concepts if concept.concept_id in entry.concept_ids]
    sentences = [entry.text[slice(*span)] for span in sentence_spans(entry.text)]
    return bool(from_user and sentences) and all(
        sentence_is_stated(sentence, from_user, entry_concepts) for sentence in sentences
    )


def _trimmed(text: str, span: Span) -> Span:
    first, last = span
    while first < last and text[first].isspace():
        first += 1
    while last > first and text[last - 1].isspace():
        last -= 1
    return first, last
