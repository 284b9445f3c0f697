"""What sentences say of a subject: a relation, in whatever words, and a value.

A sentence is read from the subject that is asked of, so that neither names nor relations need be known beforehand: what is
left of it is the relation's words and the value, and grammar tells the one from the other ("The author of X is Y", "X was
written by Y", "Y wrote X"). Where one subject is told two values of a relation, nothing is replaced: the newer is used.
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
from m2a.agents.offline.sense import Logistic
from m2a.agents.state import FindMessages
from m2a.memory.quotations import sentence_spans
from m2a.types import Message

_ITEM = re.compile(r"^\s*(?:\d+[.)]|[-*•])\s+(?P<text>.+?)\s*$")  # of a list: a line that is one statement
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
_SHORT = re.compile(r"\b(i|you|we|they|he|she|it|that|there|who)['’](ll|re|ve|d|m|s)\b", re.IGNORECASE)
_LONG = {"ll": "will", "re": "are", "ve": "have", "d": "would", "m": "am", "s": "is"}
_OWNER = re.compile(r"(?P<name>[A-Z\d].*?)(?:['’]s|(?<=s)['’]) (?P<thing>[a-z][a-z -]*)$")
_HAVING = frozenset("has have had hold holds held got".split())
_BESIDE = 300  # sentences in which a frame is looked for
_ALIKE = 24  # sentences that are put alike, of which their values are taken
_SEARCHED = 200  # sentences in which words are looked for
_ELSEWHERE = 6  # other sentences that are looked at for a value
_LOOKAHEAD = 4  # words of a noun before its preposition: "the head office of"


@dataclass(frozen=True, slots=True)
class Told:
    """One statement of a subject. `relation` are its words without subject and value; a larger `place` is a later statement.

    `quotation` is the sentence as written, `sentence` the part of it that was read, without hedges and the like.

    `belongs` says that it is told of the subject, and not of the value: "X was written by Y" is of X, and so are "Y wrote X"
    and "Y is the author of X"; of "X is a citizen of Y" Y has another fact, of its citizens. `among` so many statements of
    its message it stands. `elsewhere` are other sentences that hold the value, with "that" in its place and "it" for names: what
    is a language or a position is told of others, too. `alike` are subject and value, as compared, of other sentences that are
    put alike.
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
    """The sentences of messages, and what they say of a subject. `find` gives the messages that hold words of a text."""

    def __init__(self, find: FindMessages, chooses: Logistic | None) -> None:
        self._find = find
        self._chooses = chooses
        self._about: dict[Words, list[Told]] = {}
        self._near: dict[Words, set[tuple[Words, Words]]] = {}
        self._alike: dict[Frame, tuple[tuple[Words, Words], ...]] = {}
        self._sentences: list[_Sentence] = []
        self._holding: dict[str, list[int]] = defaultdict(list)
        self._messages: set[int] = set()
        self._looked_for: set[str] = set()
        # Words that are written small somewhere, and words that are written with a capital within a sentence.
        self._small: set[str] = set()
        self._capital: set[str] = set()

    def look_for(self, text: str) -> None:
        """Read the messages that hold words of the text, those that were not read before."""
        if text in self._looked_for:
            return
        self._looked_for.add(text)
        for message in self._find(text):
            if message.message_id not in self._messages:
                self._about.clear()
                self._alike.clear()
                self._near.clear()
                self._messages.add(message.message_id)
                self._add(message)

    def about(self, subject: Words) -> list[Told]:
        """What is said of the subject, as far as it was looked for; `subject` are its words as compared (`keys_of`)."""
        known = self._about.get(subject)
        if known is None:
            told = (self._told(sentence, span) for sentence, span in self._mentions(subject))
            known = self._about[subject] = [
                replace(one, elsewhere=self._elsewhere(keys_of(one.value.split()), subject))
                for one in told
                if one is not None
            ]
        return known

    def candidates(self, subject: Words) -> list[tuple[tuple[int, int], Words, dict[Span, dict[str, float]]]]:
        """For each sentence that tells of the subject its place, its words as compared, and what may be the value in it."""
        found = []
        for sentence, span in self._mentions(subject):
            if not _is_in_a_name(sentence, *span):
                rows = self._candidates(sentence, span, _span_of(_read(sentence, *span), sentence, span))
                found.append((sentence.place, sentence.keys, rows))
        return found

    def _candidates(self, sentence: _Sentence, span: Span, grammatical: Span | None) -> dict[Span, dict[str, float]]:
        beside = self._beside(sentence, span)
        return candidates(sentence.words, sentence.keys, span, grammatical, beside, self._neighbours)

    def _mentions(self, subject: Words) -> Iterator[tuple[_Sentence, Span]]:
        postings = [self._holding.get(key, []) for key in subject]
        for number in min(postings, key=len, default=[]):
            sentence = self._sentence(number)
            for start in range(len(sentence.keys) - len(subject) + 1):
                if sentence.keys[start : start + len(subject)] == subject:
                    yield sentence, (start, start + len(subject))

    def _told(self, sentence: _Sentence, span: Span) -> Told | None:
        start, end = span
        if _is_in_a_name(sentence, start, end):
            return None
        read = _read(sentence, start, end)
        if self._chooses is None:
            return None if read is None else _told(sentence, span, *read)
        grammatical = _span_of(read, sentence, span)
        chosen = value_span(self._candidates(sentence, span, grammatical), self._chooses)
        if chosen is None:
            return None
        as_read = read if read is not None and chosen == grammatical else _apart(sentence.words, span, chosen)
        frame = Frame.of(sentence.keys, span, chosen)
        return replace(_told(sentence, span, *as_read), alike=self._put_alike(frame) if frame else ())

    def _neighbours(self, phrase: Words) -> Neighbours:
        known = self._near.get(phrase)
        if known is None:
            rarest = min((self._holding.get(key, []) for key in phrase), key=len)
            known = self._near[phrase] = set()
            for number in rarest[:_SEARCHED]:
                keys = self._sentences[number].keys
                for at in range(len(keys) - len(phrase) + 1):
                    if keys[at : at + len(phrase)] == phrase:
                        known.add((keys[at - 1 : at] if at else (), keys[at + len(phrase) : at + len(phrase) + 1]))
        return known

    def _put_alike(self, frame: Frame) -> tuple[tuple[Words, Words], ...]:
        known = self._alike.get(frame)
        if known is None:
            numbers = min((self._holding[key] for key in frame.words), key=len)[:_SEARCHED]
            known = self._alike[frame] = tuple(
                alike(frame, (self._sentences[number].keys for number in numbers), _ALIKE)
            )
        return known

    def _elsewhere(self, value: Words, subject: Words) -> Words:
        found: dict[str, None] = {}
        for sentence, (start, end) in self._mentions(value):
            if len(found) == _ELSEWHERE:
                break
            if not any(sentence.keys[at : at + len(subject)] == subject for at in range(len(sentence.keys))):
                found[_masked(sentence.words, start, end)] = None
        return tuple(found)

    def _beside(self, sentence: _Sentence, span: Span) -> list[Words]:
        """Sentences that may have a frame in common with this one: they share a word that stands beside the subject."""
        start, end = span
        sharing = [
            set(self._holding[key]) for key in (*sentence.keys[start - 1 : start], *sentence.keys[end : end + 1])
        ]
        if not sharing:
            return []
        both = set.intersection(*sharing)
        numbers = sorted(both)[:_BESIDE]
        numbers += sorted(set.union(*sharing) - both)[: _BESIDE - len(numbers)]
        return list(
            dict.fromkeys(
                self._sentences[number].keys for number in numbers if self._sentences[number].keys != sentence.keys
            )
        )

    def _add(self, message: Message) -> None:
        parsed = _parsed(message.text)
        for place, (quotation, text, words, keys) in enumerate(parsed):
            for key in set(keys):
                self._holding[key].append(len(self._sentences))
            self._sentences.append(_Sentence(text, quotation, words, keys, (message.message_id, place), len(parsed)))
            for word, key in zip(words[1:], keys[1:], strict=True):
                (self._capital if is_name(word) else self._small).add(key)

    def _sentence(self, number: int) -> _Sentence:
        """With its first word small, where it is capital at the beginning of sentences alone."""
        one = self._sentences[number]
        first, key = one.words[0], one.keys[0]
        is_noun = key in self._small and key not in self._capital and first[:1].isupper()
        if not is_noun or (len(one.words) > 1 and is_name(one.words[1])):
            return one
        return replace(one, words=(first.lower(), *one.words[1:]))


@lru_cache(maxsize=4096)
def _parsed(text: str) -> tuple[tuple[str, str, Words, Words], ...]:
    """The sentences of a message: as written, as read, and what is read in words and in words as compared."""
    read = [(sentence, _bare(sentence)) for sentence in _sentences_of(text)]
    return tuple(
        (sentence, bare, tuple(bare.split()), keys_of(bare.split()))
        for sentence, bare in read
        if bare and not bare.endswith("?")
    )


def _sentences_of(text: str) -> list[str]:
    found = []
    for line in text.splitlines():
        item = _ITEM.match(line)
        if item is not None:
            found.append(item["text"])
        else:
            found += [line[start:end] for start, end in sentence_spans(line)]
    return found


def _bare(sentence: str) -> str:
    text = _SHORT.sub(lambda found: f"{found[1]} {_LONG[found[2].lower()]}", sentence.strip())
    text = _CLEFT.sub("", _HEDGE.sub("", text))
    text = _TAG.sub("", text.removesuffix(".").rstrip("!"))
    return _TRAILING.sub("", text)


def _masked(words: Words, start: int, end: int) -> str:
    """The sentence with "that" for the words from `start` to `end`, and "it" for its names."""
    masked: list[str] = []
    at = 0
    for first, last in sorted([(start, end), *(run for run in name_runs(words) if run[1] <= start or run[0] >= end)]):
        masked += [*words[at:first], "that" if first == start else "it"]
        at = last
    return " ".join((*masked, *words[at:]))


def _is_in_a_name(sentence: _Sentence, start: int, end: int) -> bool:
    """Whether the words from `start` to `end` are a part of a longer name."""
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


def _read(sentence: _Sentence, start: int, end: int) -> "_Read | None":
    """What grammar tells of the words from `start` to `end`: relation, value, and whether it belongs to them."""
    words, owns = sentence.words, _owns(sentence, end)
    before, after = words[:start], words[end:]
    after_comma = bool(before) and words[end - 1].endswith(",")  # "In X, the official language is Y"
    read = _forward(before, after, owns or after_comma) or _inverse(before, after, owns)
    if read is None or not _is_one_name(read[1]):
        named = _by_name(before, after, opens=read is None)
        read = (*named, read is None or read[2]) if named else read
    if read is None:
        return None
    relation, value, belongs = read
    owner = _OWNER.match(value)
    if owner is not None:  # "X was Y's idea"
        relation, value = f"{relation} {owner['thing']}", owner["name"]
    return relation, value, belongs


def _told(sentence: _Sentence, span: Span, relation: str, value: str, belongs: bool) -> Told:
    subject = re.sub(r"['’]s$", "", " ".join(sentence.words[slice(*span)]).strip(MARKS))
    return Told(subject, relation, value, sentence.place, sentence.text, sentence.quotation, belongs, sentence.among)


def _span_of(read: "_Read | None", sentence: _Sentence, subject: Span) -> Span | None:
    """Where the value of a reading stands in its sentence."""
    value = () if read is None else keys_of(read[1].split())
    for start in range(len(sentence.keys) - len(value) + 1):
        end = start + len(value)
        if value and sentence.keys[start:end] == value and (end <= subject[0] or start >= subject[1]):
            return start, end
    return None


def _apart(words: Words, subject: Span, value: Span) -> "_Read":
    """What the sentence says of the subject, where the value is known."""
    first, last = value
    text = " ".join(words[first:last]).strip(' ,;:()"“”–—?!')
    if last < len(words):
        text = re.sub(r"['’]s$", "", text)
    rest = [word for place, word in enumerate(words) if not (subject[0] <= place < subject[1] or first <= place < last)]
    between = words[last : subject[0]] if last <= subject[0] else ()
    return _joined(tuple(rest), ()), text, _belongs(between, words[subject[1] :])


_Read = tuple[str, str, bool]


def _forward(before: Words, after: Words, owns: bool) -> _Read | None:
    """The value behind the subject: "X was founded by Y", "X's author is Y", "the capital of X is Y"."""
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
    upto = _end_of_glue(after, verb)
    if upto >= len(after):
        upto = _last_noun(after, verb) if not before or key_of(before[-1]) in PREPOSITIONS | DETERMINERS else upto
    last = len(after)
    if key_of(after[verb]) in _HAVING and is_name(after[upto] if upto < last else ""):  # "holds Y citizenship"
        last = next((i for i in range(last, upto, -1) if is_name(after[i - 1])), last)
    value = _value(after[upto:last])
    if not value:
        return None
    return (
        _joined(before, (*after[:upto], *after[last:])),
        value,
        owns or bool(before) or not _names_role(keys_of(after[:upto])),
    )


def _begins_predicate(before: Words, after: Words) -> bool:
    """Whether what follows a name tells something of it."""
    first = key_of(after[0])
    if is_verbal(after[0]) or (len(after) > 1 and first.endswith("ly") and is_verbal(after[1])):
        return True
    if not before:  # an unknown verb
        return after[0].islower() and len(first) > 2 and first not in GLUE
    return key_of(before[0]) in PRONOUNS and first in PREPOSITIONS  # "you find X in Y"


def _inverse(before: Words, after: Words, owns: bool) -> _Read | None:
    """The value before the subject: "Y wrote X", "Y is the author of X", "Y is where X was born", "In Y lies X"."""
    first = 1 if before and key_of(before[0]) in PREPOSITIONS else 0
    small = [i for i in range(first + 1, len(before)) if before[i][0].islower()]
    verb = next((i for i in small if key_of(before[i]) in AUXILIARIES | RELATIVE), None)
    verb = verb or next((i for i in small if is_verbal(before[i])), None)
    if verb is None:
        verb = len(before)
        if not first or not after:
            return None
    value = _value(before[first:verb])
    if not value or key_of(value) in GLUE:
        return None
    relation = _joined(before[verb:], after)
    return (relation, value, owns or _belongs(before[verb:], after)) if relation else None


def _by_name(before: Words, after: Words, opens: bool) -> tuple[str, str] | None:
    """The relation and, as the value, the one other name: "Among the works of Y is X". None if there is another or none.

    A word that opens the sentence is capital in any case, and a name only if `opens` says so.
    """
    names = [(before, *run) for run in name_runs(before)]
    names += [(after, first, _with_its_noun(after, last)) for first, last in name_runs(after)]
    if names and names[0] == (before, 0, 1) and (len(names) > 1 or not opens):
        del names[0]
    if len(names) != 1:
        return None
    side, first, last = names[0]
    rest = (*side[:first], *side[last:])
    relation = _joined(rest, after) if side is before else _joined(before, rest)
    return (relation, _value(side[first:last])) if relation else None


def _is_one_name(value: str) -> bool:
    """Whether it is a name from its first word to its last, and not "The map" or "Petra Voss you could"."""
    words = tuple(value.split())
    first = 1 if words and key_of(words[0]) in DETERMINERS else 0
    runs = name_runs(words)
    return len(runs) == 1 and runs[0][0] == first and _with_its_noun(words, runs[0][1]) == len(words)


def _with_its_noun(words: Words, last: int) -> int:
    """Where the name's noun ends that is written small: "Gaelic football". Only where nothing follows it is it one."""
    for index in range(last, len(words)):
        if words[index - 1][-1] in ",;:":
            break
        if key_of(words[index]) in GLUE or is_name(words[index]) or is_verbal(words[index]):
            return last
    else:
        return len(words)
    return index


def _belongs(before: Words, after: Words) -> bool:
    """Whether what stands between value and subject tells of the subject: "wrote X", "is the author of X"."""
    if after or not before:
        return True
    keys = keys_of(before)
    if keys[-1] not in PREPOSITIONS:
        return keys[0] not in AUXILIARIES
    return _names_role(keys)


def _names_role(keys: Words) -> bool:
    """Whether what is said is the other's: "is the author of", "is where", unlike "is a citizen of" and "was made by"."""
    if len(keys) < 2 or keys[0] not in AUXILIARIES:
        return False
    return keys[1] in RELATIVE or (len(keys) > 2 and keys[1] == "the")


def _joined(before: Words, after: Words) -> str:
    return " ".join(word.strip(MARKS).lower() for word in (*before, *after)).strip()


def _end_of_glue(words: Words, start: int) -> int:
    """Where the words of the relation end and the value begins."""
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
        leads_on = index < len(words) - 1 and (
            key_of(words[index + 1]) in GLUE or is_name(words[index + 1]) or index == start
        )
        is_verb_here = is_verbal(word) and leads_on and not behind_noun_words
        if index == start or key in GLUE or is_verb_here or key.endswith("ly"):
            index += 1
            continue
        ahead = _preposition_ahead(words, index)
        if ahead is None:
            break
        index = ahead + 1
    return index


def _preposition_ahead(words: Words, start: int) -> int | None:
    """Where a noun's preposition stands: "head office in", "citizen of"; None where the noun is the end of it."""
    for index in range(start, min(start + _LOOKAHEAD, len(words) - 1)):
        if is_name(words[index]) and index > start:
            return None
        if words[index].endswith(",") and is_name(words[index + 1]):  # "its capital, Y"
            return index
        if index > start and key_of(words[index]) in PREPOSITIONS | AUXILIARIES:
            return index
    return None


def _last_noun(words: Words, start: int) -> int:
    """Where all of it reads like a relation, the value is what follows the last of its small words."""
    small = [index for index in range(start, len(words) - 1) if key_of(words[index]) in GLUE]
    return small[-1] + 1 if small else len(words)


def _value(words: Words) -> str:
    text = " ".join(words)
    text = re.split(r"[;:]|,(?= (?:[a-z]|I\b))", text)[0].strip(' ,"“”()')
    first, _, rest = text.partition(" ")
    text = rest if first.lower() in ("a", "an") and rest else text
    if any(map(is_name, text.split())):
        return text
    own = list(takewhile(lambda word: key_of(word) == "of" or key_of(word) not in PREPOSITIONS, text.split()))
    return " ".join(own) or text  # "goalkeeper on the team"
