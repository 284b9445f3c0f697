"""What sentences state about a subject: a relation, in any wording, and a value.

A sentence is read from the subject of the question, so neither names nor relations have to be known in advance. The rest of
the sentence is the relation and the value, and grammar separates them ("The author of X is Y", "X was written by Y", "Y
wrote X"). If a subject has two values of one relation, nothing is replaced: the newer value is used.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile

from m2a.agents.offline.clauses import AUXILIARIES, DETERMINERS, PREPOSITIONS, PRONOUNS
from m2a.agents.offline.relations.frames import Frame, alike
from m2a.agents.offline.relations.spans import Neighbours, Span, candidates, value_span
from m2a.agents.offline.relations.words import (
    ENDS,
    GLUE,
    MARKS,
    RELATIVE,
    Words,
    is_name,
    is_verbal,
    key_of,
    keys_of,
    name_runs,
)
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
_OWNER = re.compile(r"(?P<name>[A-Z\d].*?)(?:['’]s|(?<=s)['’]) (?P<thing>[a-z][a-z -]*)$")
_HAVING = frozenset("has have had hold holds held got".split())
_MAX_BESIDE = 300  # sentences that are searched for a frame
_MAX_ALIKE = 24  # sentences with the same frame whose values are taken
_MAX_SEARCHED = 200  # sentences that are searched for words
_MAX_ELSEWHERE = 6  # other sentences with the value
_LOOKAHEAD = 4  # words of a noun phrase before its preposition: "the head office of"


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement about a subject. `relation` is its words without subject and value; a larger `place` is later.

    `quotation` is the sentence as written; `sentence` is the part that was read, without hedges and the like.

    `belongs` is true if the relation is one of the subject: "X was written by Y", "Y wrote X" and "Y is the author of X" are
    about X, but "X is a citizen of Y" is not about Y. `among` is the number of statements in its message. `elsewhere` are
    other sentences with the value, "that" in its place and "it" for names: a language or a position occurs with other
    subjects too. `alike` holds the subject and value, as compared, of other sentences with the same frame.
    """

    subject: str
    relation: str
    value: str
    place: tuple[int, int]
    sentence: str
    quotation: str
    belongs: bool
    among: int
    elsewhere: Words = ()
    alike: tuple[tuple[Words, Words], ...] = ()


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    quotation: str
    words: Words  # as written
    keys: Words  # as compared
    place: tuple[int, int]
    among: int


class Statements:
    """The sentences of messages, and their statements by subject. `find` returns the messages that contain words of a text."""

    def __init__(self, find: FindMessages, decision: LearnedDecision | None) -> None:
        self._find = find
        self._decision = decision
        self._about: dict[Words, list[Statement]] = {}
        self._neighbours_of: dict[Words, set[tuple[Words, Words]]] = {}
        self._alike: dict[Frame, tuple[tuple[Words, Words], ...]] = {}
        self._sentences: list[_Sentence] = []
        self._postings: dict[str, list[int]] = defaultdict(list)
        self._messages: set[int] = set()
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
            if message.message_id not in self._messages:
                self._about.clear()
                self._alike.clear()
                self._neighbours_of.clear()
                self._messages.add(message.message_id)
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
            if not _is_in_a_name(sentence, *span):
                rows = self._candidates(sentence, span, _value_span_of(_reading(sentence, *span), sentence, span))
                result.append((sentence.place, sentence.keys, rows))
        return result

    def _candidates(self, sentence: _Sentence, span: Span, grammatical: Span | None) -> dict[Span, dict[str, float]]:
        beside = self._beside(sentence, span)
        return candidates(sentence.words, sentence.keys, span, grammatical, beside, self._neighbours)

    def _mentions(self, subject: Words) -> Iterator[tuple[_Sentence, Span]]:
        postings = [self._postings.get(key, []) for key in subject]
        for number in min(postings, key=len, default=[]):
            sentence = self._sentence(number)
            for start in range(len(sentence.keys) - len(subject) + 1):
                if sentence.keys[start : start + len(subject)] == subject:
                    yield sentence, (start, start + len(subject))

    def _statement(self, sentence: _Sentence, span: Span) -> Statement | None:
        start, end = span
        if _is_in_a_name(sentence, start, end):
            return None
        reading = _reading(sentence, start, end)
        if self._decision is None:
            return None if reading is None else _statement(sentence, span, *reading)
        grammatical = _value_span_of(reading, sentence, span)
        chosen = value_span(self._candidates(sentence, span, grammatical), self._decision)
        if chosen is None:
            return None
        final = reading if reading is not None and chosen == grammatical else _split(sentence.words, span, chosen)
        frame = Frame.of(sentence.keys, span, chosen)
        return replace(_statement(sentence, span, *final), alike=self._put_alike(frame) if frame else ())

    def _neighbours(self, phrase: Words) -> Neighbours:
        neighbours = self._neighbours_of.get(phrase)
        if neighbours is None:
            rarest = min((self._postings.get(key, []) for key in phrase), key=len)
            neighbours = self._neighbours_of[phrase] = set()
            for number in rarest[:_MAX_SEARCHED]:
                keys = self._sentences[number].keys
                for at in range(len(keys) - len(phrase) + 1):
                    if keys[at : at + len(phrase)] == phrase:
                        neighbours.add((keys[at - 1 : at] if at else (), keys[at + len(phrase) : at + len(phrase) + 1]))
        return neighbours

    def _put_alike(self, frame: Frame) -> tuple[tuple[Words, Words], ...]:
        pairs = self._alike.get(frame)
        if pairs is None:
            numbers = min((self._postings[key] for key in frame.words), key=len)[:_MAX_SEARCHED]
            pairs = self._alike[frame] = tuple(
                alike(frame, (self._sentences[number].keys for number in numbers), _MAX_ALIKE)
            )
        return pairs

    def _elsewhere(self, value: Words, subject: Words) -> Words:
        result: dict[str, None] = {}
        for sentence, (start, end) in self._mentions(value):
            if len(result) == _MAX_ELSEWHERE:
                break
            if not any(sentence.keys[at : at + len(subject)] == subject for at in range(len(sentence.keys))):
                result[_masked(sentence.words, start, end)] = None
        return tuple(result)

    def _beside(self, sentence: _Sentence, span: Span) -> list[Words]:
        """Returns sentences that may share a frame with this one: they contain a word that is next to its subject."""
        start, end = span
        sharing = [
            set(self._postings[key]) for key in (*sentence.keys[start - 1 : start], *sentence.keys[end : end + 1])
        ]
        if not sharing:
            return []
        common = set.intersection(*sharing)
        numbers = sorted(common)[:_MAX_BESIDE]
        numbers += sorted(set.union(*sharing) - common)[: _MAX_BESIDE - len(numbers)]
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
    """Returns the sentences of a message: as written, as read, and the latter as words and as words for comparison."""
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


def _is_in_a_name(sentence: _Sentence, start: int, end: int) -> bool:
    """Whether the words from `start` to `end` are part of a longer name."""
    words = sentence.words
    owns = _owns(sentence, end)
    before, after = words[:start], words[end:]
    if after and not owns and is_name(after[0]) and words[end - 1][-1] not in ENDS:
        return True
    if len(after) > 1 and not owns and after[0] == "of" and is_name(after[1]):  # "United Kingdom" of Great Britain
        return True
    if not before or before[-1][-1] in ENDS:
        return False
    if is_name(before[-1]) and (start > 1 or key_of(before[0]) not in GLUE):
        return True
    within = start > 2 and key_of(before[-1]) in ("of", "the", "and") and is_name(before[-2])
    return within and not before[-2].isupper()  # "the University of X", unlike "the CEO of X"


def _owns(sentence: _Sentence, end: int) -> bool:
    return bool(re.search(r"(?:['’]s|s['’])$", sentence.words[end - 1])) and not sentence.keys[end - 1].endswith("'s")


def _reading(sentence: _Sentence, start: int, end: int) -> "_Reading | None":
    """Returns relation, value and whether the relation belongs to the words from `start` to `end`, by grammar."""
    words, owns = sentence.words, _owns(sentence, end)
    before, after = words[:start], words[end:]
    after_comma = bool(before) and words[end - 1].endswith(",")  # "In X, the official language is Y"
    result = _forward(before, after, owns or after_comma) or _inverse(before, after, owns)
    if result is None or not _is_one_name(result[1]):
        by_name = _by_name(before, after, may_open=result is None)
        result = (*by_name, result is None or result[2]) if by_name else result
    if result is None:
        return None
    relation, value, belongs = result
    owner = _OWNER.match(value)
    if owner is not None:  # "X was Y's idea"
        relation, value = f"{relation} {owner['thing']}", owner["name"]
    return relation, value, belongs


def _statement(sentence: _Sentence, span: Span, relation: str, value: str, belongs: bool) -> Statement:
    subject = re.sub(r"['’]s$", "", " ".join(sentence.words[slice(*span)]).strip(MARKS))
    return Statement(
        subject, relation, value, sentence.place, sentence.text, sentence.quotation, belongs, sentence.among
    )


def _value_span_of(reading: "_Reading | None", sentence: _Sentence, subject: Span) -> Span | None:
    """Returns where the value of a reading is in its sentence."""
    value = () if reading is None else keys_of(reading[1].split())
    for start in range(len(sentence.keys) - len(value) + 1):
        end = start + len(value)
        if value and sentence.keys[start:end] == value and (end <= subject[0] or start >= subject[1]):
            return start, end
    return None


def _split(words: Words, subject: Span, value: Span) -> "_Reading":
    """Returns the reading of the sentence for a known value."""
    first, last = value
    text = " ".join(words[first:last]).strip(' ,;:()"“”–—?!')
    if last < len(words):
        text = re.sub(r"['’]s$", "", text)
    rest = [word for place, word in enumerate(words) if not (subject[0] <= place < subject[1] or first <= place < last)]
    between = words[last : subject[0]] if last <= subject[0] else ()
    return _joined(tuple(rest), ()), text, _belongs(between, words[subject[1] :])


_Reading = tuple[str, str, bool]


def _forward(before: Words, after: Words, owns: bool) -> _Reading | None:
    """Reads a value after the subject: "X was founded by Y", "X's author is Y", "the capital of X is Y"."""
    if not after or (len(before) > 1 and key_of(before[-1]) in RELATIVE and key_of(before[-2]) in AUXILIARIES):
        return None  # "Y is where X was born"
    verb = 0
    if owns:
        verb = next((i for i, word in enumerate(after) if key_of(word) in AUXILIARIES), -1)
        if verb < 1:  # "X's a goalkeeper", "X's based in Y"
            is_verb_short = key_of(after[0]) in DETERMINERS | PREPOSITIONS or is_verbal(after[0])
            return _forward(before, ("is", *after), owns=False) if is_verb_short else None
    elif not _begins_predicate(before, after):
        verb = next((i for i, word in enumerate(after[:3]) if key_of(word) in AUXILIARIES), -1)
        if verb < 1 or not before or key_of(before[-1]) not in DETERMINERS | PREPOSITIONS:  # "the X government is"
            return None
    first = _end_of_glue(after, verb)
    if first >= len(after):
        first = _last_noun(after, verb) if not before or key_of(before[-1]) in PREPOSITIONS | DETERMINERS else first
    last = len(after)
    if key_of(after[verb]) in _HAVING and is_name(after[first] if first < last else ""):  # "holds Y citizenship"
        last = next((i for i in range(last, first, -1) if is_name(after[i - 1])), last)
    value = _value(after[first:last])
    if not value:
        return None
    return (
        _joined(before, (*after[:first], *after[last:])),
        value,
        owns or bool(before) or not _names_role(keys_of(after[:first])),
    )


def _begins_predicate(before: Words, after: Words) -> bool:
    """Whether the words after a name are its predicate."""
    first = key_of(after[0])
    if is_verbal(after[0]) or (len(after) > 1 and first.endswith("ly") and is_verbal(after[1])):
        return True
    if not before:  # an unknown verb
        return after[0].islower() and len(first) > 2 and first not in GLUE
    return key_of(before[0]) in PRONOUNS and first in PREPOSITIONS  # "you find X in Y"


def _inverse(before: Words, after: Words, owns: bool) -> _Reading | None:
    """Reads a value before the subject: "Y wrote X", "Y is the author of X", "Y is where X was born", "In Y lies X"."""
    first = 1 if before and key_of(before[0]) in PREPOSITIONS else 0
    lower_case = [i for i in range(first + 1, len(before)) if before[i][0].islower()]
    verb = next((i for i in lower_case if key_of(before[i]) in AUXILIARIES | RELATIVE), None)
    verb = verb or next((i for i in lower_case if is_verbal(before[i])), None)
    if verb is None:
        verb = len(before)
        if not first or not after:
            return None
    value = _value(before[first:verb])
    if not value or key_of(value) in GLUE:
        return None
    relation = _joined(before[verb:], after)
    return (relation, value, owns or _belongs(before[verb:], after)) if relation else None


def _by_name(before: Words, after: Words, may_open: bool) -> tuple[str, str] | None:
    """Returns the relation and the only other name as the value: "Among the works of Y is X". None if there is no such name.

    The first word of the sentence always has a capital letter; it counts as a name only with `may_open`.
    """
    names = [(before, *run) for run in name_runs(before)]
    names += [(after, first, _with_its_noun(after, last)) for first, last in name_runs(after)]
    if names and names[0] == (before, 0, 1) and (len(names) > 1 or not may_open):
        del names[0]
    if len(names) != 1:
        return None
    side, first, last = names[0]
    rest = (*side[:first], *side[last:])
    relation = _joined(rest, after) if side is before else _joined(before, rest)
    return (relation, _value(side[first:last])) if relation else None


def _is_one_name(value: str) -> bool:
    """Whether the whole value is one name, unlike "The map" or "Petra Voss you could"."""
    words = tuple(value.split())
    first = 1 if words and key_of(words[0]) in DETERMINERS else 0
    runs = name_runs(words)
    return len(runs) == 1 and runs[0][0] == first and _with_its_noun(words, runs[0][1]) == len(words)


def _with_its_noun(words: Words, last: int) -> int:
    """Returns the end of a name with its lower-case noun: "Gaelic football". The noun counts only if nothing follows it."""
    for index in range(last, len(words)):
        if words[index - 1][-1] in ",;:":
            break
        if key_of(words[index]) in GLUE or is_name(words[index]) or is_verbal(words[index]):
            return last
    else:
        return len(words)
    return index


def _belongs(before: Words, after: Words) -> bool:
    """Whether the words between value and subject state a relation of the subject: "wrote X", "is the author of X"."""
    if after or not before:
        return True
    keys = keys_of(before)
    if keys[-1] not in PREPOSITIONS:
        return keys[0] not in AUXILIARIES
    return _names_role(keys)


def _names_role(keys: Words) -> bool:
    """Whether the words name a role: "is the author of", "is where", unlike "is a citizen of" and "was made by"."""
    if len(keys) < 2 or keys[0] not in AUXILIARIES:
        return False
    return keys[1] in RELATIVE or (len(keys) > 2 and keys[1] == "the")


def _joined(before: Words, after: Words) -> str:
    return " ".join(word.strip(MARKS).lower() for word in (*before, *after)).strip()


def _end_of_glue(words: Words, start: int) -> int:
    """Returns where the words of the relation end and the value begins."""
    index = start
    while index < len(words):
        word, key = words[index], key_of(words[index])
        is_role = (
            word.strip(MARKS).isupper() and index > start and key_of(words[index - 1]) in DETERMINERS
        )  # "its CEO, Y"
        if (is_name(word) and not (is_role and word.endswith(","))) or word[0] in "\"“'‘":
            break
        if index == start and key.endswith("ly"):  # "usually plays"
            index = start = index + 1
            continue
        behind_noun_words = index > start and key_of(words[index - 1]) in DETERMINERS | PREPOSITIONS
        continues = index < len(words) - 1 and (
            key_of(words[index + 1]) in GLUE or is_name(words[index + 1]) or index == start
        )
        is_verb_here = is_verbal(word) and continues and not behind_noun_words
        if index == start or key in GLUE or is_verb_here or key.endswith("ly"):
            index += 1
            continue
        ahead = _preposition_ahead(words, index)
        if ahead is None:
            break
        index = ahead + 1
    return index


def _preposition_ahead(words: Words, start: int) -> int | None:
    """Returns where the preposition of a noun is: "head office in", "citizen of". None if the noun has none."""
    for index in range(start, min(start + _LOOKAHEAD, len(words) - 1)):
        if is_name(words[index]) and index > start:
            return None
        if words[index].endswith(",") and is_name(words[index + 1]):  # "its capital, Y"
            return index
        if index > start and key_of(words[index]) in PREPOSITIONS | AUXILIARIES:
            return index
    return None


def _last_noun(words: Words, start: int) -> int:
    """Returns where the value begins if all words look like a relation: after the last function word."""
    small = [index for index in range(start, len(words) - 1) if key_of(words[index]) in GLUE]
    return small[-1] + 1 if small else len(words)


def _value(words: Words) -> str:
    text = " ".join(words)
    text = re.split(r"[;:]|,(?= (?:[a-z]|I\b))", text)[0].strip(' ,"“”()')
    first, _, rest = text.partition(" ")
    text = rest if first.lower() in ("a", "an") and rest else text
    if any(map(is_name, text.split())):
        return text
    own_words = list(takewhile(lambda word: key_of(word) == "of" or key_of(word) not in PREPOSITIONS, text.split()))
    return " ".join(own_words) or text  # "goalkeeper on the team"
