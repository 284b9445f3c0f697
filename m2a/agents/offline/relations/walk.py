"""From a question to the facts that answer it, one by one: "the capital of the country where the author of X was born".

The question is taken apart into what it asks last, what comes before that, and the subject at its end. From the subject every
fact that holds now is a step to another subject; of the ways through the facts that way is taken whose steps say best what
the parts of the question ask, all of them and nothing else. A step that no part of the question names is allowed ("the sport
played by X", where it is told which position X plays, and to which sport that belongs), and counts against the way.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from m2a.agents.offline.relations.frames import many
from m2a.agents.offline.relations.likeness import (
    LIGHT,
    SMALL,
    SPLITS,
    Asked,
    answering_features,
    frame_of,
    of_kind,
    same_relation,
    values_of,
)
from m2a.agents.offline.relations.told import Statements, Told
from m2a.agents.offline.relations.words import Words, is_name, is_verbal, keys_of
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.text import stem

_SUBJECT_WORDS = 10
_STEPS = 5
_WAYS = 24  # that are followed on
_SURE = 0.5  # a way that says less of the question leads to no answer
_SURE_OF_ONE = 0.15  # the chance from which a fact answers, where none does so better
_ENOUGH = (
    0.3  # the mean of its chance, and of that to tell the same relation as a better one, from which it answers, too
)
_AFTER_KIND = 0.8  # what the part after the kind of what is asked is worth
_SAME_WORD = 0.85  # what a part is worth that shares its telling word with a step
_OF_ANOTHER_KIND = 0.05  # what a way loses that ends at another kind than what is asked for
_SURE_ALONE = (0.9, 0.3)  # the chance of one fact, and how far it is of the kind asked for, from which no way beats it
_MANY = 3  # values of one subject in the same words
_SAME_RELATION = 0.6  # the chance from which two facts are taken for old and new

_EITHER = re.compile(r"(?<=[a-z])/(?=[a-z])")  # "the director/manager"
_DOING = frozenset("do does did has have had is are was were will would can could".split())
_STANDS_FOR = {**dict.fromkeys(("who", "whom", "whose"), "name of a person"), "where": "where", "when": "date"}
_ASKING = frozenset("what which who whom whose where when how".split())


@dataclass(frozen=True, slots=True)
class Followed:
    """The facts that lead from a question's subject to its answer, in order; `score` is from 0 to about 1."""

    facts: tuple[Told, ...]
    score: float

    @property
    def answer(self) -> str:
        return self.facts[-1].value


def follow(question: str, statements: Statements, sense: Sense) -> Followed | None:
    """The way that answers the question best; None where its subject is not told of, or no way says what it asks."""
    words = tuple(_EITHER.sub(" ", question).split())
    statements.look_for(question)
    best: Followed | None = None
    for start, end in _subjects(words, statements):
        if end - start == len(words):
            continue
        asked = _Parts.of(words, start, end)
        found = _ways(keys_of(words[start:end]), asked, statements, sense)
        if found is not None and (best is None or found.score > best.score):
            best = found
    return best


def _subjects(words: Words, statements: Statements) -> list[tuple[int, int]]:
    """Where the question names what is told of: names, the longest only of those that overlap; where there is none, what is
    written small and opens a statement."""
    keys = keys_of(words)
    names: list[tuple[int, int]] = []
    others: list[tuple[int, int]] = []
    for size in range(min(_SUBJECT_WORDS, len(words)), 0, -1):
        for start in range(len(words) - size, -1, -1):
            end = start + size
            taken = [*names, *others]
            if any(start < last and first < end for first, last in taken) or set(keys[start:end]) <= SMALL:
                continue
            if is_name(words[start]) and start > 0:
                if statements.about(keys[start:end]):
                    names.append((start, end))
                continue
            is_noun = not any(map(is_name, words[start:end])) and not {keys[start], keys[end - 1]} & SMALL
            is_noun = is_noun and not (size == 1 and is_verbal(words[start]))
            is_kind = keys[start - 1 : start] in (("which",), ("what",))  # "which country"
            if is_noun and not is_kind and any(map(_opens, statements.about(keys[start:end]))):
                others.append((start, end))
    return names or others


def _opens(told: Told) -> bool:
    return told.belongs and keys_of(told.sentence.split())[0] in (keys_of(told.subject.split())[0], "the")


@dataclass(frozen=True, slots=True)
class _Parts:
    """`parts` are what is asked, in the order of the question; `last` is the part that is asked last, `whole` all of it.

    `names_kind`: it begins with the kind of what is asked, "which city".
    """

    parts: Words
    last: int
    whole: Asked
    names_kind: bool

    def said_last(self, said: np.ndarray) -> float:
        """How far a fact says what is asked last: "which city is the capital of" names the kind first, and then the relation."""
        kind = float(said[self.last])
        after = said[self.last + 1 : self.last + 2]
        return max(kind, _AFTER_KIND * float(after[0])) if self.names_kind and len(after) else kind

    @classmethod
    def of(cls, words: Words, start: int, end: int) -> "_Parts":
        left, right = _parts(words[:start]), _parts(words[end:])
        keys = keys_of((*words[:start], *words[end:]))
        asking = next((i for i, key in enumerate(keys) if key in _ASKING), 0)
        before = len(_parts(keys[:asking])) if asking > 2 else 0
        if left and right and keys_of(words[start - 1 : start])[0] in _DOING:  # "which position does X play"
            left, right = (*left[:-1], f"{left[-1]} {right[0]}"), right[1:]
        parts = (*left, *right) or (" ".join((*words[:start], *words[end:])).strip("?").lower(),)
        names_kind = keys[asking] in ("which", "what") and len(keys) > asking + 1 and keys[asking + 1] not in SMALL
        whole = Asked(
            " ".join(words),
            " ".join((*words[:start], "it", *words[end:])),
            " ".join(key for key in keys if key),
            frozenset(keys[asking : asking + 3]),
            _kind(keys[asking:]),
            names_kind,
        )
        last = min(before, len(parts) - 1)
        return cls(parts, last, whole, names_kind)


def asked_of(question: str, subject: Words) -> Asked | None:
    """What the question asks of the subject; None where it does not name it."""
    words = tuple(question.split())
    for start in range(len(words) - len(subject) + 1):
        if keys_of(words[start : start + len(subject)]) == subject:
            return _Parts.of(words, start, start + len(subject)).whole
    return None


def _parts(words: Sequence[str]) -> Words:
    parts: list[list[str]] = [[]]
    for word in words:
        key = keys_of([word])[0]
        if key in SPLITS or not re.search(r"\w", key):
            parts.append([])
        elif key not in LIGHT:
            parts[-1].append(key)
        if re.search(r"(?:['’]s|s['’]|[,;:])$", word):
            parts.append([])
    return tuple(" ".join(part) for part in parts if part)


def _kind(keys: Words) -> str:
    """The noun that names what is asked for, or what the word that asks stands for."""
    if keys and keys[0] in ("where", "when"):
        return _STANDS_FOR[keys[0]]
    noun: list[str] = []
    for key in keys[1:]:
        if key in SMALL or not re.search(r"\w", key):
            if noun:
                break
        elif noun and is_verbal(key):
            break
        elif not is_verbal(key):
            noun.append(key)
    return " ".join(noun) or _STANDS_FOR.get(keys[0] if keys else "", "thing")


@dataclass(frozen=True, slots=True)
class _Way:
    facts: tuple[Told, ...]
    said: tuple[np.ndarray, ...]  # how far each fact says each part
    is_of_kind: float = 0.0  # how far the last is of the kind that is asked for

    def score(self, asked: _Parts) -> float:
        """How far its facts say all parts, how far a part of its own stands behind each fact, and whether the last says what is
        asked last."""
        said = np.array(self.said)
        told = (float(said.max(axis=0).mean()) + _supported(said) + asked.said_last(said[-1])) / 3
        return told - _OF_ANOTHER_KIND * (1 - self.is_of_kind)

    @property
    def promise(self) -> float:
        said = np.array(self.said)
        return float(said.max(axis=0).mean()) + _supported(said)


def _supported(said: np.ndarray) -> float:
    """The mean of what each fact says of a part that no other fact has taken, the best pairs first."""
    left = said.copy()
    total = 0.0
    for _ in range(min(left.shape)):
        row, column = np.unravel_index(int(left.argmax()), left.shape)
        total += max(0.0, float(left[row, column]))
        left[row], left[:, column] = -1.0, -1.0
    return total / len(said)


def _ways(subject: Words, asked: _Parts, statements: Statements, sense: Sense) -> Followed | None:
    best, is_sure = _alone(statements.about(subject), asked, sense)
    if is_sure:
        return best
    ways = [_Way((), ())]
    for _ in range(_STEPS if len(asked.parts) > 1 else 0):
        longer = []
        for way in ways:
            here = keys_of(way.facts[-1].value.split()) if way.facts else subject
            if here in {keys_of(fact.subject.split()) for fact in way.facts}:  # in a circle
                continue
            if way.facts:
                statements.look_for(way.facts[-1].value)
            for fact, said, is_of_kind in _current(here, asked, statements, sense):
                more = _Way((*way.facts, fact), (*way.said, said), is_of_kind)
                longer.append(more)
                score = more.score(asked)
                if score >= _SURE and (best is None or score > best.score):
                    best = Followed(more.facts, score)
        ways = sorted(longer, key=lambda way: way.promise, reverse=True)[:_WAYS]
    return best


def _alone(told: Sequence[Told], asked: _Parts, sense: Sense) -> tuple[Followed | None, bool]:
    """The newest of the facts that tell what the whole question asks, in whatever words, and whether it surely does; None where
    none does."""
    told = [one for one in told if one.relation]
    if not told:
        return None, False
    features = answering_features(asked.whole, told, sense)
    likely = [sense.models["tells what is asked"].probability(one) for one in features]
    if max(likely) < _SURE_OF_ONE:
        return None, False
    best = likely.index(max(likely))
    same = same_relation(told, sense)[best]
    answers = [n for n, chance in enumerate(likely) if n == best or (chance + same[n]) / 2 >= _ENOUGH]
    newest = max((told[number] for number in answers), key=_when)
    found = Followed((newest,), max(_nearness(features[number]) for number in answers))
    chance, kind = _SURE_ALONE
    return found, likely[best] >= chance and features[told.index(newest)]["of the kind"] >= kind


def _nearness(features: Mapping[str, float]) -> float:
    """How near a fact is to the whole question, to be compared with how near a way is."""
    near = (features["relation"] + features["relation and value"]) / 4 + features["sentence"] / 2
    return near - _OF_ANOTHER_KIND * (1 - features["of the kind"])


def _current(
    subject: Words, asked: _Parts, statements: Statements, sense: Sense
) -> list[tuple[Told, np.ndarray, float]]:
    """Of each relation that is told of the subject the newest fact, how far it says each part of the question, and how far it
    is of the kind that is asked for."""
    told = [one for one in statements.about(subject) if one.belongs and one.relation and not _is_of_many(one)]
    told = [one for one in told if keys_of(one.value.split()) != subject]
    if not told:
        return []
    relations = sense.vectors([one.relation for one in told])
    parts = sense.vectors(asked.parts).T
    said = np.maximum(relations @ parts, sense.vectors([frame_of(one) for one in told]) @ parts)
    for row, one in enumerate(told):
        stems = {stem(word) for word in one.relation.split() if word not in SMALL}
        for column, part in enumerate(asked.parts):
            words = [stem(word) for word in part.split()]
            shared = sum(word in stems for word in words) / len(words)
            said[row, column] = max(said[row, column], shared * _SAME_WORD)
    same = same_relation(told, sense) >= _SAME_RELATION
    found: dict[Told, np.ndarray] = {}
    for row in range(len(told)):
        newest = max((told[other] for other in range(len(told)) if same[row, other]), key=_when)
        found[newest] = np.maximum(found.get(newest, said[row]), said[row])
    is_of_kind = of_kind(asked.whole.kind, values_of(list(found), sense), sense)
    return [(*one, float(chance)) for one, chance in zip(found.items(), is_of_kind, strict=True)]


def _is_of_many(told: Told) -> bool:
    """Whether what is told so is told of the value: a country has many citizens, of whom each has one."""
    values, subjects = many(told.alike)
    return values >= _MANY and values > subjects


def _when(told: Told) -> tuple[int, int]:
    return told.place
