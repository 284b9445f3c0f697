"""What sentences say of a subject: a relation, in whatever words, and a value.

A sentence is read from the subject that is asked of, so that neither names nor relations need be known beforehand: what is
left of it is the relation's words and the value, and grammar tells the one from the other ("The author of X is Y", "X was
written by Y", "Y wrote X"). Where one subject is told two values of a relation, nothing is replaced: the newer is used.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from m2a.agents.offline.clauses import AUXILIARIES, DETERMINERS, PREPOSITIONS, PRONOUNS, SUBORDINATORS, is_verb
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
    r",? (?:right|correct|eh|huh|no|you know|(?:is|was|does|did|has)n't (?:it|he|she|they))\?$", re.IGNORECASE
)
_SHORT = re.compile(r"\b(i|you|we|they|he|she|it|that|there|who)['’](ll|re|ve|d|m|s)\b", re.IGNORECASE)
_LONG = {"ll": "will", "re": "are", "ve": "have", "d": "would", "m": "am", "s": "is"}
_RELATIVE = frozenset("who that which where whom whose what".split())
_GLUE = (
    AUXILIARIES
    | DETERMINERS
    | PREPOSITIONS
    | SUBORDINATORS
    | PRONOUNS
    | _RELATIVE
    | {"into", "as", "through", "not", "up", "out"}
)
_OWNER = re.compile(r"(?P<name>[A-Z\d].*?)(?:['’]s|(?<=s)['’]) (?P<thing>[a-z][a-z -]*)$")
_JOINING = frozenset("of the and de la von van di da du del".split())
_HAVING = frozenset("has have had hold holds held got".split())
_LOOKAHEAD = 4  # words of a noun before its preposition: "the head office of"
_MARKS = "\"'“”‘’«»().,;:!?…"

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """One statement of a subject. `relation` are its words without subject and value; a larger `place` is a later statement.

    `quotation` is the sentence as written, `sentence` the part of it that was read, without hedges and the like.

    `belongs` says that it is told of the subject, and not of the value: "X was written by Y" is of X, and so are "Y wrote X"
    and "Y is the author of X"; of "X is a citizen of Y" Y has another fact, of its citizens. `among` so many statements of
    its message it stands.
    """

    subject: str
    relation: str
    value: str
    place: tuple[int, int]
    sentence: str
    quotation: str
    belongs: bool
    among: int


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

    def __init__(self, find: FindMessages) -> None:
        self._find = find
        self._sentences: list[_Sentence] = []
        self._holding: dict[str, list[int]] = defaultdict(list)
        self._messages: set[int] = set()
        self._looked_for: set[str] = set()

    def look_for(self, text: str) -> None:
        """Read the messages that hold words of the text, those that were not read before."""
        if text in self._looked_for:
            return
        self._looked_for.add(text)
        for message in self._find(text):
            if message.message_id not in self._messages:
                self._messages.add(message.message_id)
                self._add(message)

    def about(self, subject: Words) -> list[Told]:
        """What is said of the subject, as far as it was looked for; `subject` are its words as compared (`keys_of`)."""
        postings = [self._holding.get(key, []) for key in subject]
        told = []
        for number in min(postings, key=len, default=[]):
            sentence = self._sentences[number]
            for start in range(len(sentence.keys) - len(subject) + 1):
                if sentence.keys[start : start + len(subject)] == subject:
                    one = _told(sentence, start, start + len(subject))
                    if one is not None:
                        told.append(one)
        return told

    def _add(self, message: Message) -> None:
        parsed = _parsed(message.text)
        for place, (quotation, text, words, keys) in enumerate(parsed):
            for key in set(keys):
                self._holding[key].append(len(self._sentences))
            self._sentences.append(_Sentence(text, quotation, words, keys, (message.message_id, place), len(parsed)))


@lru_cache(maxsize=4096)
def _parsed(text: str) -> tuple[tuple[str, str, Words, Words], ...]:
    """The sentences of a message: as written, as read, and what is read in words and in words as compared."""
    read = [(sentence, _bare(sentence)) for sentence in _sentences_of(text)]
    return tuple(
        (sentence, bare, tuple(bare.split()), keys_of(bare.split()))
        for sentence, bare in read
        if bare and not bare.endswith("?")
    )


def keys_of(words: Iterable[str]) -> Words:
    """Words as they are compared: small, without marks around them and without a possessive ending."""
    return tuple(_key(word) for word in words)


def _key(word: str) -> str:
    bare = word.replace("’", "'").strip(_MARKS).lower()
    for ending in ("'s", "s'"):
        if bare.endswith(ending) and len(bare) > 2:
            return bare[: -len(ending)].strip(_MARKS) + ("s" if ending == "s'" else "")
    return bare.strip(_MARKS) or word


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


def _told(sentence: _Sentence, start: int, end: int) -> Told | None:
    """What the sentence says of the words from `start` to `end`; None where they are a part of a longer name."""
    words, keys = sentence.words, sentence.keys
    owns = bool(re.search(r"(?:['’]s|s['’])$", words[end - 1])) and not keys[end - 1].endswith("'s")
    before, after = words[:start], words[end:]
    if after and not owns and is_name(after[0]) and words[end - 1][-1] not in ",;:":
        return None
    if len(after) > 1 and not owns and after[0] == "of" and is_name(after[1]):  # "United Kingdom" of Great Britain
        return None
    if before and is_name(before[-1]) and (start > 1 or _key(before[0]) not in _GLUE):
        return None
    within = start > 2 and _key(before[-1]) in ("of", "the", "and") and is_name(before[-2])
    if within and not before[-2].isupper():  # "the University of X", unlike "the CEO of X"
        return None
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
    subject = " ".join(words[start:end]).strip(_MARKS)
    subject = re.sub(r"['’]s$", "", subject)
    return Told(subject, relation, value, sentence.place, sentence.text, sentence.quotation, belongs, sentence.among)


_Read = tuple[str, str, bool]


def _forward(before: Words, after: Words, owns: bool) -> _Read | None:
    """The value behind the subject: "X was founded by Y", "X's author is Y", "the capital of X is Y"."""
    if not after or (len(before) > 1 and _key(before[-1]) in _RELATIVE and _key(before[-2]) in AUXILIARIES):
        return None  # "Y is where X was born"
    verb = 0
    if owns:
        verb = next((i for i, word in enumerate(after) if _key(word) in AUXILIARIES), -1)
        if verb < 1:  # "X's a goalkeeper", "X's based in Y"
            is_verb_short = _key(after[0]) in DETERMINERS | PREPOSITIONS or _is_verbal(after[0])
            return _forward(before, ("is", *after), owns=False) if is_verb_short else None
    elif not _begins_predicate(before, after):
        verb = next((i for i, word in enumerate(after[:3]) if _key(word) in AUXILIARIES), -1)
        if verb < 1 or not before or _key(before[-1]) not in DETERMINERS | PREPOSITIONS:  # "the X government is"
            return None
    upto = _end_of_glue(after, verb)
    if upto >= len(after):
        upto = _last_noun(after, verb) if not before or _key(before[-1]) in PREPOSITIONS | DETERMINERS else upto
    last = len(after)
    if _key(after[verb]) in _HAVING and is_name(after[upto] if upto < last else ""):  # "holds Y citizenship"
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
    first = _key(after[0])
    if _is_verbal(after[0]) or (len(after) > 1 and first.endswith("ly") and _is_verbal(after[1])):
        return True
    if not before:  # an unknown verb
        return after[0].islower() and len(first) > 2 and first not in _GLUE
    return _key(before[0]) in PRONOUNS and first in PREPOSITIONS  # "you find X in Y"


def _inverse(before: Words, after: Words, owns: bool) -> _Read | None:
    """The value before the subject: "Y wrote X", "Y is the author of X", "Y is where X was born", "In Y lies X"."""
    first = 1 if before and _key(before[0]) in PREPOSITIONS else 0
    small = [i for i in range(first + 1, len(before)) if before[i][0].islower()]
    verb = next((i for i in small if _key(before[i]) in AUXILIARIES | _RELATIVE), None)
    verb = verb or next((i for i in small if _is_verbal(before[i])), None)
    if verb is None:
        verb = len(before)
        if not first or not after:
            return None
    value = _value(before[first:verb])
    if not value or _key(value) in _GLUE:
        return None
    relation = _joined(before[verb:], after)
    return (relation, value, owns or _belongs(before[verb:], after)) if relation else None


def _by_name(before: Words, after: Words, opens: bool) -> tuple[str, str] | None:
    """The relation and, as the value, the one other name: "Among the works of Y is X". None if there is another or none.

    A word that opens the sentence is capital in any case, and a name only if `opens` says so.
    """
    names = [(before, *run) for run in _name_runs(before)] + [(after, *run) for run in _name_runs(after)]
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
    first = 1 if words and _key(words[0]) in DETERMINERS else 0
    return _name_runs(words) == [(first, len(words))]


def _name_runs(words: Words) -> list[tuple[int, int]]:
    """From where to where there are names; "of" and the like join their parts."""
    runs: list[tuple[int, int]] = []
    for index, word in enumerate(words):
        follows = bool(runs) and runs[-1][1] == index and words[index - 1][-1] not in ",;:"
        if not is_name(word) or (_key(word) in _GLUE and not follows):  # "Paul I", "Alice In Chains"
            continue
        joined = runs and (runs[-1][1] == index or (runs[-1][1] == index - 1 and _key(words[index - 1]) in _JOINING))
        if joined and words[runs[-1][1] - 1][-1] not in ",;:":
            runs[-1] = (runs[-1][0], index + 1)
        else:
            runs.append((index, index + 1))
    return [(first, last if last == 1 else _with_its_noun(words, last)) for first, last in runs]


def _with_its_noun(words: Words, last: int) -> int:
    """Where the name's noun ends that is written small: "Gaelic football". Only where nothing follows it is it one."""
    for index in range(last, len(words)):
        if words[index - 1][-1] in ",;:":
            break
        if _key(words[index]) in _GLUE or is_name(words[index]) or _is_verbal(words[index]):
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
    return keys[1] in _RELATIVE or (len(keys) > 2 and keys[-1] in ("of", "for") and keys[1] == "the")


def _joined(before: Words, after: Words) -> str:
    return " ".join(word.strip(_MARKS).lower() for word in (*before, *after)).strip()


def _end_of_glue(words: Words, start: int) -> int:
    """Where the words of the relation end and the value begins."""
    index = start
    while index < len(words):
        word, key = words[index], _key(words[index])
        is_role = (
            word.strip(_MARKS).isupper() and index > start and _key(words[index - 1]) in DETERMINERS
        )  # "its CEO, Y"
        if (is_name(word) and not (is_role and word.endswith(","))) or word[0] in "\"“'‘":
            break
        if index == start and key.endswith("ly"):  # "usually plays"
            index = start = index + 1
            continue
        behind_noun_words = index > start and _key(words[index - 1]) in DETERMINERS | PREPOSITIONS
        leads_on = index < len(words) - 1 and (
            _key(words[index + 1]) in _GLUE or is_name(words[index + 1]) or index == start
        )
        is_verb_here = _is_verbal(word) and leads_on and not behind_noun_words
        if index == start or key in _GLUE or is_verb_here or key.endswith("ly"):
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
        if index > start and _key(words[index]) in PREPOSITIONS | AUXILIARIES:
            return index
    return None


def _last_noun(words: Words, start: int) -> int:
    """Where all of it reads like a relation, the value is what follows the last of its small words."""
    small = [index for index in range(start, len(words) - 1) if _key(words[index]) in _GLUE]
    return small[-1] + 1 if small else len(words)


def _value(words: Words) -> str:
    text = " ".join(words)
    text = re.split(r"[;:]|,(?= (?:[a-z]|I\b))", text)[0].strip(' ,"“”')
    first, _, rest = text.partition(" ")
    text = rest if first.lower() in ("a", "an") and rest else text
    if any(map(is_name, text.split())):
        return text
    own = list(takewhile(lambda word: _key(word) == "of" or _key(word) not in PREPOSITIONS, text.split()))
    return " ".join(own) or text  # "goalkeeper on the team"


def is_name(word: str) -> bool:
    """Whether a word is written as a name or a number is."""
    return word.lstrip("\"“'‘(")[:1].isupper() or word[:1].isdigit()


def _is_verbal(word: str) -> bool:
    key = word.lower().strip(_MARKS)
    return key in AUXILIARIES or is_verb(key) or (len(key) > 4 and key.endswith("ed"))
