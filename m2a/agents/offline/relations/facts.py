"""What sentences state about a subject: a relation, in any wording, and a value.

A sentence is read from the subject of the question, so neither names nor relations have to be known in advance. The rest of
the sentence is the relation and the value; grammar and a learned decision separate them. If a subject has two values of one
relation, nothing is replaced: the newer value is used.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from m2a.agents.offline.relations.frames import Frame, Pair, pairs_in
from m2a.agents.offline.relations.grammar import Reading, is_in_a_name, read, read_with_value, value_span_of
from m2a.agents.offline.relations.value_spans import Neighbours, candidates, value_span
from m2a.agents.offline.relations.words import MARKS, Span, Words, is_name, keys_of, name_runs, spans_of
from m2a.agents.offline.sense import LearnedDecision
from m2a.agents.state import FindMessages
from m2a.memory.quotations import sentence_spans
from m2a.types import Message

_ITEM = re.compile(r"^\s*(?:\d+[.)]|[-*•])\s+(?P<text>.+?)\s*$")  # an item of a list is one statement
_HEDGE = re.compile(
    r"^(?:(?:by the way|apparently|actually|oh|well|so|ok|okay|fun fact|note|fyi|just so you know|i (?:just )?(?:heard|read|"
    r"learned|think|know)(?: that)?|(?:did )?you know(?: that)?|it turns out(?: that)?|remember(?: that)?)\b[,:]? *)+",
    re.IGNORECASE,
)
_CLEFT = re.compile(r"^(?:it|that) (?:is|was|'s) (?=.* (?:who|that|which|where) )", re.IGNORECASE)
_TRAILING = re.compile(
    r"(?:,? (?:now|nowadays|today|currently|these days|at the moment|as well|too|instead|in fact|again|anymore|for sure|"
    r"by the way|actually|you know|first|originally))+$",
    re.IGNORECASE,
)
_TAG = re.compile(
    r",? (?:right|correct|eh|huh|no|who knew|you know|"
    r"(?:is|was|are|were|do|does|did|has|have|had|would|will|can|could)(?:n['’]t)? "
    r"(?:it|he|she|they|you|we|that)(?: \w+){0,2})\?$",
    re.IGNORECASE,
)
_CONTRACTION = re.compile(r"\b(i|you|we|they|he|she|it|that|there|who)['’](ll|re|ve|d|m|s)\b", re.IGNORECASE)
_FULL_FORMS = {"ll": "will", "re": "are", "ve": "have", "d": "would", "m": "am", "s": "is"}
_MAX_COMPARED = 300  # sentences that are searched for a frame
_MAX_FRAME_PAIRS = 24  # sentences with the same frame whose values are taken
_MAX_SEARCHED = 200  # sentences that are searched for words
_MAX_ELSEWHERE = 6  # other sentences with the value


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement about a subject. `relation` is its words without subject and value; a larger `place` is later.

    `quotation` is the sentence as written; `sentence` is the part that was read, without hedges and the like.

    `belongs` is true if the relation is one of the subject: "X was written by Y", "Y wrote X" and "Y is the author of X" are
    about X, but "X is a citizen of Y" is not about Y. `message_size` is the number of sentences in its message. `elsewhere`
    are other sentences with the value, "that" in its place and "it" for names: a language or a position occurs with other
    subjects too. `frame_pairs` are the subjects and values, as keys, of the sentences with the same frame.
    """

    subject: str
    relation: str
    value: str
    place: tuple[int, int]
    sentence: str
    quotation: str
    belongs: bool
    message_size: int
    elsewhere: Words = ()
    frame_pairs: tuple[Pair, ...] = ()


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    quotation: str
    words: Words
    keys: Words
    place: tuple[int, int]
    message_size: int


class Statements:
    """The sentences of messages, and their statements by subject. `find` returns the messages that contain words of a text."""

    def __init__(self, find: FindMessages, decision: LearnedDecision) -> None:
        self._find = find
        self._decision = decision
        self._about: dict[Words, list[Statement]] = {}
        self._neighbours_of: dict[Words, set[tuple[Words, Words]]] = {}
        self._frame_pairs: dict[Frame, tuple[Pair, ...]] = {}
        self._sentences: list[_Sentence] = []
        self._postings: dict[str, list[int]] = defaultdict(list)
        self._message_ids: set[int] = set()
        self._looked_for: set[str] = set()
        # Words in lower case anywhere, and words with a capital letter within a sentence.
        self._lower_case: set[str] = set()
        self._capitalised: set[str] = set()

    def look_for(self, text: str) -> None:
        """Reads the messages that contain words of the text and have not been read yet."""
        if text in self._looked_for:
            return
        self._looked_for.add(text)
        for message in self._find(text):
            if message.message_id not in self._message_ids:
                self._about.clear()
                self._frame_pairs.clear()
                self._neighbours_of.clear()
                self._message_ids.add(message.message_id)
                self._add(message)

    def about(self, subject: Words) -> list[Statement]:
        """Returns the statements about the subject (its words as from `keys_of`) in the messages read so far."""
        statements = self._about.get(subject)
        if statements is None:
            parsed = (self._statement(sentence, span) for sentence, span in self._mentions(subject))
            statements = self._about[subject] = [
                replace(statement, elsewhere=self._elsewhere(keys_of(statement.value.split()), subject))
                for statement in parsed
                if statement is not None
            ]
        return statements

    def candidates(self, subject: Words) -> list[tuple[tuple[int, int], Words, dict[Span, dict[str, float]]]]:
        """Returns for each sentence about the subject its place, its words as compared, and the candidates for the value."""
        result = []
        for sentence, span in self._mentions(subject):
            if not is_in_a_name(sentence.words, span):
                grammatical = value_span_of(read(sentence.words, span), sentence.keys, span)
                rows = self._candidates(sentence, span, grammatical)
                result.append((sentence.place, sentence.keys, rows))
        return result

    def _candidates(self, sentence: _Sentence, span: Span, grammatical: Span | None) -> dict[Span, dict[str, float]]:
        others = self._sharing_a_frame(sentence, span)
        return candidates(sentence.words, sentence.keys, span, grammatical, others, self._neighbours)

    def _mentions(self, subject: Words) -> Iterator[tuple[_Sentence, Span]]:
        postings = [self._postings.get(key, []) for key in subject]
        for number in min(postings, key=len, default=[]):
            sentence = self._sentence(number)
            for span in spans_of(subject, sentence.keys):
                yield sentence, span

    def _statement(self, sentence: _Sentence, span: Span) -> Statement | None:
        if is_in_a_name(sentence.words, span):
            return None
        reading = read(sentence.words, span)
        grammatical = value_span_of(reading, sentence.keys, span)
        value = value_span(self._candidates(sentence, span, grammatical), self._decision)
        if value is None:
            return None
        if reading is None or value != grammatical:
            reading = read_with_value(sentence.words, span, value)
        frame = Frame.of(sentence.keys, span, value)
        return _statement_of(sentence, span, reading, self._pairs_of(frame) if frame else ())

    def _neighbours(self, phrase: Words) -> Neighbours:
        neighbours = self._neighbours_of.get(phrase)
        if neighbours is None:
            rarest = min((self._postings.get(key, []) for key in phrase), key=len)
            neighbours = self._neighbours_of[phrase] = set()
            for number in rarest[:_MAX_SEARCHED]:
                keys = self._sentences[number].keys
                for start, end in spans_of(phrase, keys):
                    neighbours.add((keys[start - 1 : start], keys[end : end + 1]))
        return neighbours

    def _pairs_of(self, frame: Frame) -> tuple[Pair, ...]:
        pairs = self._frame_pairs.get(frame)
        if pairs is None:
            numbers = min((self._postings[key] for key in frame.words), key=len)[:_MAX_SEARCHED]
            sentences = (self._sentences[number].keys for number in numbers)
            pairs = self._frame_pairs[frame] = tuple(pairs_in(sentences, frame, _MAX_FRAME_PAIRS))
        return pairs

    def _elsewhere(self, value: Words, subject: Words) -> Words:
        result: dict[str, None] = {}
        for sentence, (start, end) in self._mentions(value):
            if len(result) == _MAX_ELSEWHERE:
                break
            if not any(spans_of(subject, sentence.keys)):
                result[_masked(sentence.words, start, end)] = None
        return tuple(result)

    def _sharing_a_frame(self, sentence: _Sentence, span: Span) -> list[Words]:
        """Returns the keys of sentences that may share a frame with this one: they have a word that is next to its subject."""
        start, end = span
        sharing = [
            set(self._postings[key]) for key in (*sentence.keys[start - 1 : start], *sentence.keys[end : end + 1])
        ]
        if not sharing:
            return []
        common = set.intersection(*sharing)
        numbers = sorted(common)[:_MAX_COMPARED]
        numbers += sorted(set.union(*sharing) - common)[: _MAX_COMPARED - len(numbers)]
        return list(
            dict.fromkeys(
                self._sentences[number].keys for number in numbers if self._sentences[number].keys != sentence.keys
            )
        )

    def _add(self, message: Message) -> None:
        parsed = _parsed(message.text)
        for place, (quotation, text, words, keys) in enumerate(parsed):
            for key in set(keys):
                self._postings[key].append(len(self._sentences))
            self._sentences.append(_Sentence(text, quotation, words, keys, (message.message_id, place), len(parsed)))
            for word, key in zip(words[1:], keys[1:], strict=True):
                (self._capitalised if is_name(word) else self._lower_case).add(key)

    def _sentence(self, number: int) -> _Sentence:
        """Returns the sentence, its first word in lower case if that has a capital only at the beginning of sentences."""
        sentence = self._sentences[number]
        first, key = sentence.words[0], sentence.keys[0]
        is_noun = key in self._lower_case and key not in self._capitalised and first[:1].isupper()
        if not is_noun or (len(sentence.words) > 1 and is_name(sentence.words[1])):
            return sentence
        return replace(sentence, words=(first.lower(), *sentence.words[1:]))


@lru_cache(maxsize=4096)
def _parsed(text: str) -> tuple[tuple[str, str, Words, Words], ...]:
    """Returns the sentences of a message: as written, as read, and the words and keys of the latter."""
    pairs = [(sentence, _bare(sentence)) for sentence in _sentences_of(text)]
    return tuple(
        (sentence, bare, tuple(bare.split()), keys_of(bare.split()))
        for sentence, bare in pairs
        if bare and not bare.endswith("?")
    )


def _sentences_of(text: str) -> list[str]:
    result = []
    for line in text.splitlines():
        item = _ITEM.match(line)
        if item is not None:
            result.append(item["text"])
        else:
            result += [line[start:end] for start, end in sentence_spans(line)]
    return result


def _bare(sentence: str) -> str:
    """Returns the sentence without hedges and the like, and with contractions in full."""
    text = _CONTRACTION.sub(lambda match: f"{match[1]} {_FULL_FORMS[match[2].lower()]}", sentence.strip())
    text = _CLEFT.sub("", _HEDGE.sub("", text))
    text = _TAG.sub("", text.removesuffix(".").rstrip("!"))
    return _TRAILING.sub("", text)


def _masked(words: Words, start: int, end: int) -> str:
    """Returns the sentence with "that" for the words from `start` to `end`, and "it" for its names."""
    masked: list[str] = []
    at = 0
    for first, last in sorted([(start, end), *(run for run in name_runs(words) if run[1] <= start or run[0] >= end)]):
        masked += [*words[at:first], "that" if first == start else "it"]
        at = last
    return " ".join((*masked, *words[at:]))


def _statement_of(sentence: _Sentence, span: Span, reading: Reading, frame_pairs: tuple[Pair, ...]) -> Statement:
    relation, value, belongs = reading
    subject = re.sub(r"['’]s$", "", " ".join(sentence.words[slice(*span)]).strip(MARKS))
    return Statement(
        subject,
        relation,
        value,
        sentence.place,
        sentence.text,
        sentence.quotation,
        belongs,
        sentence.message_size,
        frame_pairs=frame_pairs,
    )
