"""What a sentence states about a subject, read by its grammar: "The author of X is Y", "X was written by Y", "Y wrote X"."""

import re
from itertools import takewhile

from m2a.agents.offline.clauses import AUXILIARIES, DETERMINERS, PREPOSITIONS, PRONOUNS
from m2a.agents.offline.relations.words import (
    ENDS,
    FUNCTION_WORDS,
    MARKS,
    RELATIVE,
    Span,
    Words,
    is_name,
    is_verbal,
    key_of,
    keys_of,
    name_runs,
    spans_of,
)

_OWNER = re.compile(r"(?P<name>[A-Z\d].*?)(?:['’]s|(?<=s)['’]) (?P<thing>[a-z][a-z -]*)$")
_HAVING = frozenset("has have had hold holds held got".split())
_LOOKAHEAD = 4  # words of a noun phrase before its preposition: "the head office of"

Reading = tuple[str, str, bool]  # relation, value, and whether the relation is one of the subject


def is_in_a_name(words: Words, span: Span) -> bool:
    """Returns whether the words of the span are part of a longer name."""
    start, end = span
    owns = _owns(words, end)
    before, after = words[:start], words[end:]
    if after and not owns and is_name(after[0]) and words[end - 1][-1] not in ENDS:
        return True
    if len(after) > 1 and not owns and after[0] == "of" and is_name(after[1]):  # "United Kingdom" of Great Britain
        return True
    if not before or before[-1][-1] in ENDS:
        return False
    if is_name(before[-1]) and (start > 1 or key_of(before[0]) not in FUNCTION_WORDS):
        return True
    within = start > 2 and key_of(before[-1]) in ("of", "the", "and") and is_name(before[-2])
    return within and not before[-2].isupper()  # "the University of X", unlike "the CEO of X"


def _owns(words: Words, end: int) -> bool:
    """Returns whether the words before `end` have a possessive ending."""
    return bool(re.search(r"(?:['’]s|s['’])$", words[end - 1]))


def read(words: Words, subject: Span) -> Reading | None:
    """Returns what a sentence states about its subject, None if it cannot be read."""
    start, end = subject
    owns = _owns(words, end)
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


def value_span_of(reading: Reading | None, keys: Words, subject: Span) -> Span | None:
    """Returns where the value of a reading is in the sentence with these keys, None if it is not there in one piece."""
    value = () if reading is None else keys_of(reading[1].split())
    for start, end in spans_of(value, keys):
        if value and (end <= subject[0] or start >= subject[1]):
            return start, end
    return None


def read_with_value(words: Words, subject: Span, value: Span) -> Reading:
    """Returns what a sentence states about its subject if its value is known."""
    first, last = value
    text = " ".join(words[first:last]).strip(' ,;:()"“”–—?!')
    if last < len(words):
        text = re.sub(r"['’]s$", "", text)
    rest = [word for place, word in enumerate(words) if not (subject[0] <= place < subject[1] or first <= place < last)]
    between = words[last : subject[0]] if last <= subject[0] else ()
    return _joined(tuple(rest), ()), text, _belongs(between, words[subject[1] :])


def _forward(before: Words, after: Words, owns: bool) -> Reading | None:
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
    first = _end_of_relation(after, verb)
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
    """Returns whether the words after a name are its predicate."""
    first = key_of(after[0])
    if is_verbal(after[0]) or (len(after) > 1 and first.endswith("ly") and is_verbal(after[1])):
        return True
    if not before:  # an unknown verb
        return after[0].islower() and len(first) > 2 and first not in FUNCTION_WORDS
    return key_of(before[0]) in PRONOUNS and first in PREPOSITIONS  # "you find X in Y"


def _inverse(before: Words, after: Words, owns: bool) -> Reading | None:
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
    if not value or key_of(value) in FUNCTION_WORDS:
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
    """Returns whether the whole value is one name, unlike "The map" or "Petra Voss you could"."""
    words = tuple(value.split())
    first = 1 if words and key_of(words[0]) in DETERMINERS else 0
    runs = name_runs(words)
    return len(runs) == 1 and runs[0][0] == first and _with_its_noun(words, runs[0][1]) == len(words)


def _with_its_noun(words: Words, last: int) -> int:
    """Returns the end of a name with its lower-case noun: "Gaelic football". The noun counts only if nothing follows it."""
    for index in range(last, len(words)):
        if words[index - 1][-1] in ",;:":
            return index
        if key_of(words[index]) in FUNCTION_WORDS or is_name(words[index]) or is_verbal(words[index]):
            return last
    return len(words)


def _belongs(before: Words, after: Words) -> bool:
    """Returns whether the words between value and subject state a relation of the subject: "wrote X", "is the author of X"."""
    if after or not before:
        return True
    keys = keys_of(before)
    if keys[-1] not in PREPOSITIONS:
        return keys[0] not in AUXILIARIES
    return _names_role(keys)


def _names_role(keys: Words) -> bool:
    """Returns whether the words name a role: "is the author of", "is where", unlike "is a citizen of" and "was made by"."""
    if len(keys) < 2 or keys[0] not in AUXILIARIES:
        return False
    return keys[1] in RELATIVE or (len(keys) > 2 and keys[1] == "the")


def _joined(before: Words, after: Words) -> str:
    return " ".join(word.strip(MARKS).lower() for word in (*before, *after)).strip()


def _end_of_relation(words: Words, start: int) -> int:
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
            key_of(words[index + 1]) in FUNCTION_WORDS or is_name(words[index + 1]) or index == start
        )
        is_verb_here = is_verbal(word) and continues and not behind_noun_words
        if index == start or key in FUNCTION_WORDS or is_verb_here or key.endswith("ly"):
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
    small = [index for index in range(start, len(words) - 1) if key_of(words[index]) in FUNCTION_WORDS]
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
