"""Chains of facts from the subject of a question to its answer: "the capital of the country where the author of X was born".

The question is split into its final part, the parts before that, and its subject. Every current fact about a subject leads to
another subject, its value. The best chain is the one whose facts match all parts of the question and nothing else. A fact that
matches no part is allowed ("the sport played by X", if X has a position and the position belongs to a sport) but lowers the
score. The chains are found by beam search.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from m2a.agents.offline.relations.fact_features import (
    FILLERS,
    SEPARATORS,
    STOP_WORDS,
    ParsedQuestion,
    answering_features,
    masked_sentence,
    of_kind,
    same_relation,
    values_of,
)
from m2a.agents.offline.relations.facts import Statement, Statements
from m2a.agents.offline.relations.frames import most_values_and_subjects
from m2a.agents.offline.relations.words import Words, is_name, is_verbal, key_of, keys_of, spans_of
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.text import stem

_MAX_SUBJECT_WORDS = 10
_MAX_FACTS = 5  # of a chain
_BEAM_WIDTH = 24
_MIN_SCORE = 0.5  # of a chain that gives an answer
_MIN_PROBABILITY = 0.15  # of a single fact that gives an answer
# Another fact answers too if the mean of its own probability and that of stating the same relation as the best reaches this.
_MIN_MEAN_PROBABILITY = 0.3
_AFTER_KIND = 0.8  # weight of the part after the kind of the answer
_SAME_WORD = 0.85  # highest score of a part for words that it shares with the relation of a fact
_OF_ANOTHER_KIND = 0.05  # penalty for a chain that ends at another kind than the question asks for
# A single fact is final from this probability and this value of its feature "of the kind" on.
_CERTAIN, _CERTAINLY_OF_KIND = 0.9, 0.3
_MIN_MANY = 3  # values of one subject with the same frame
_SAME_RELATION = 0.6  # the probability from which two facts count as old and new

_EITHER = re.compile(r"(?<=[a-z])/(?=[a-z])")  # "the director/manager"
_AUXILIARIES = frozenset("do does did has have had is are was were will would can could".split())
_ASKS_FOR = {**dict.fromkeys(("who", "whom", "whose"), "name of a person"), "where": "where", "when": "date"}
_QUESTION_WORDS = frozenset("what which who whom whose where when how".split())


@dataclass(frozen=True, slots=True)
class FactChain:
    """The facts that lead from a question's subject to its answer, in order. `score` is from 0 to about 1."""

    facts: tuple[Statement, ...]
    score: float


def follow(question: str, statements: Statements, sense: Sense) -> FactChain | None:
    """Returns the best chain to an answer, None if there are no facts about the subject or no chain matches the question."""
    words = tuple(_EITHER.sub(" ", question).split())
    statements.look_for(question)
    best: FactChain | None = None
    for start, end in _subjects(words, statements):
        if end - start == len(words):
            continue
        parsed = _QuestionParts.of(words, start, end)
        chain = _best_chain(keys_of(words[start:end]), parsed, statements, sense)
        if chain is not None and (best is None or chain.score > best.score):
            best = chain
    return best


def _subjects(words: Words, statements: Statements) -> list[tuple[int, int]]:
    """Returns where the question mentions subjects of statements: the longest names, else nouns that open a statement."""
    keys = keys_of(words)
    names: list[tuple[int, int]] = []
    nouns: list[tuple[int, int]] = []
    for size in range(min(_MAX_SUBJECT_WORDS, len(words)), 0, -1):
        for start in range(len(words) - size, -1, -1):
            end = start + size
            taken = [*names, *nouns]
            if any(start < last and first < end for first, last in taken) or set(keys[start:end]) <= STOP_WORDS:
                continue
            if is_name(words[start]) and start > 0:
                if statements.about(keys[start:end]):
                    names.append((start, end))
                continue
            is_noun = not any(map(is_name, words[start:end])) and not {keys[start], keys[end - 1]} & STOP_WORDS
            is_noun = is_noun and not (size == 1 and is_verbal(words[start]))
            is_kind = keys[start - 1 : start] in (("which",), ("what",))  # "which country"
            if is_noun and not is_kind and any(map(_opens, statements.about(keys[start:end]))):
                nouns.append((start, end))
    return names or nouns


def _opens(fact: Statement) -> bool:
    return fact.belongs and keys_of(fact.sentence.split())[0] in (keys_of(fact.subject.split())[0], "the")


@dataclass(frozen=True, slots=True)
class _QuestionParts:
    """`parts` are in the order of the question, `last` is the index of the final step, `question` is all of it."""

    parts: Words
    last: int
    question: ParsedQuestion

    def last_part_score(self, scores: np.ndarray) -> float:
        """Returns the score for the final part: "which city is the capital of" names the kind first, and then the relation."""
        kind = float(scores[self.last])
        after = scores[self.last + 1 : self.last + 2]
        return max(kind, _AFTER_KIND * float(after[0])) if self.question.names_kind and len(after) else kind

    @classmethod
    def of(cls, words: Words, start: int, end: int) -> "_QuestionParts":
        left, right = _parts(words[:start]), _parts(words[end:])
        keys = keys_of((*words[:start], *words[end:]))
        asking = next((i for i, key in enumerate(keys) if key in _QUESTION_WORDS), 0)
        before = len(_parts(keys[:asking])) if asking > 2 else 0
        if left and right and key_of(words[start - 1]) in _AUXILIARIES:  # "which position does X play"
            left, right = (*left[:-1], f"{left[-1]} {right[0]}"), right[1:]
        parts = (*left, *right) or (" ".join((*words[:start], *words[end:])).strip("?").lower(),)
        names_kind = keys[asking] in ("which", "what") and len(keys) > asking + 1 and keys[asking + 1] not in STOP_WORDS
        whole = ParsedQuestion(
            " ".join(words),
            " ".join((*words[:start], "it", *words[end:])),
            " ".join(key for key in keys if key),
            frozenset(keys[asking : asking + 3]),
            _kind(keys[asking:]),
            names_kind,
        )
        last = min(before, len(parts) - 1)
        return cls(parts, last, whole)


def parse_question(question: str, subject: Words) -> ParsedQuestion | None:
    """Returns the question parsed for the subject, None if the subject is not in it."""
    words = tuple(question.split())
    span = next(spans_of(subject, keys_of(words)), None)
    return _QuestionParts.of(words, *span).question if span is not None else None


def _parts(words: Sequence[str]) -> Words:
    parts: list[list[str]] = [[]]
    for word in words:
        key = key_of(word)
        if key in SEPARATORS or not re.search(r"\w", key):
            parts.append([])
        elif key not in FILLERS:
            parts[-1].append(key)
        if re.search(r"(?:['’]s|s['’]|[,;:])$", word):
            parts.append([])
    return tuple(" ".join(part) for part in parts if part)


def _kind(keys: Words) -> str:
    """Returns the noun for what is asked, or the kind that the question word stands for."""
    if keys and keys[0] in ("where", "when"):
        return _ASKS_FOR[keys[0]]
    noun: list[str] = []
    for key in keys[1:]:
        if key in STOP_WORDS or not re.search(r"\w", key):
            if noun:
                break
        elif noun and is_verbal(key):
            break
        elif not is_verbal(key):
            noun.append(key)
    return " ".join(noun) or _ASKS_FOR.get(keys[0] if keys else "", "thing")


@dataclass(frozen=True, slots=True)
class _PartialChain:
    """A chain that may be extended."""

    facts: tuple[Statement, ...]
    scores: tuple[np.ndarray, ...]  # how well each fact matches each part
    is_of_kind: float = 0.0  # how well the last fact has the kind that the question asks for

    def score(self, parsed: _QuestionParts) -> float:
        """Returns how well the chain answers the question: the potential and the score of the last fact for the final part,
        less the penalty for the kind."""
        agreement = (self.potential + parsed.last_part_score(self.scores[-1])) / 3
        return agreement - _OF_ANOTHER_KIND * (1 - self.is_of_kind)

    @property
    def potential(self) -> float:
        """How promising it is to extend the chain: how well all parts are matched, and whether each fact has its own part."""
        scores = np.array(self.scores)
        return float(scores.max(axis=0).mean()) + _mean_of_best_pairs(scores)


def _mean_of_best_pairs(scores: np.ndarray) -> float:
    """Returns the mean score of the facts, each with a part of its own, the best pairs first."""
    remaining = scores.copy()
    total = 0.0
    for _ in range(min(remaining.shape)):
        row, column = np.unravel_index(int(remaining.argmax()), remaining.shape)
        total += max(0.0, float(remaining[row, column]))
        remaining[row], remaining[:, column] = -1.0, -1.0
    return total / len(scores)


def _best_chain(subject: Words, parsed: _QuestionParts, statements: Statements, sense: Sense) -> FactChain | None:
    best, is_sure = _single_fact(statements.about(subject), parsed, sense)
    if is_sure:
        return best
    chains = [_PartialChain((), ())]
    for _ in range(_MAX_FACTS if len(parsed.parts) > 1 else 0):
        longer = []
        for chain in chains:
            current = keys_of(chain.facts[-1].value.split()) if chain.facts else subject
            if current in {keys_of(fact.subject.split()) for fact in chain.facts}:  # a circle
                continue
            if chain.facts:
                statements.look_for(chain.facts[-1].value)
            for fact, scores, is_of_kind in _current_facts(current, parsed, statements, sense):
                extended = _PartialChain((*chain.facts, fact), (*chain.scores, scores), is_of_kind)
                longer.append(extended)
                score = extended.score(parsed)
                if score >= _MIN_SCORE and (best is None or score > best.score):
                    best = FactChain(extended.facts, score)
        chains = sorted(longer, key=lambda chain: chain.potential, reverse=True)[:_BEAM_WIDTH]
    return best


def _single_fact(facts: Sequence[Statement], parsed: _QuestionParts, sense: Sense) -> tuple[FactChain | None, bool]:
    """Returns the newest fact that answers the whole question, None if there is none, and whether it is final."""
    facts = [each for each in facts if each.relation]
    if not facts:
        return None, False
    features = answering_features(parsed.question, facts, sense)
    probabilities = [sense.models["tells what is asked"].probability(each) for each in features]
    if max(probabilities) < _MIN_PROBABILITY:
        return None, False
    best = probabilities.index(max(probabilities))
    same = same_relation(facts, sense)[best]
    answers = [
        row
        for row, probability in enumerate(probabilities)
        if row == best or (probability + same[row]) / 2 >= _MIN_MEAN_PROBABILITY
    ]
    newest = max(answers, key=lambda number: facts[number].place)
    chain = FactChain((facts[newest],), max(_nearness(features[number]) for number in answers))
    is_final = probabilities[best] >= _CERTAIN and features[newest]["of the kind"] >= _CERTAINLY_OF_KIND
    return chain, is_final


def _nearness(features: Mapping[str, float]) -> float:
    """Returns how near a fact is to the whole question, on the scale of the score of a chain."""
    near = (features["relation"] + features["relation and value"]) / 4 + features["sentence"] / 2
    return near - _OF_ANOTHER_KIND * (1 - features["of the kind"])


def _current_facts(
    subject: Words, parsed: _QuestionParts, statements: Statements, sense: Sense
) -> list[tuple[Statement, np.ndarray, float]]:
    """Returns the newest fact of each relation of the subject, its score for each part, and how well its kind fits."""
    facts = [each for each in statements.about(subject) if each.belongs and each.relation and not _is_of_many(each)]
    facts = [each for each in facts if keys_of(each.value.split()) != subject]
    if not facts:
        return []
    relations = sense.vectors([each.relation for each in facts])
    parts = sense.vectors(parsed.parts).T
    scores = np.maximum(relations @ parts, sense.vectors([masked_sentence(each) for each in facts]) @ parts)
    for row, each in enumerate(facts):
        stems = {stem(word) for word in each.relation.split() if word not in STOP_WORDS}
        for column, part in enumerate(parsed.parts):
            words = [stem(word) for word in part.split()]
            shared = sum(word in stems for word in words) / len(words)
            scores[row, column] = max(scores[row, column], shared * _SAME_WORD)
    same = same_relation(facts, sense) >= _SAME_RELATION
    newest_facts: dict[Statement, np.ndarray] = {}
    for row in range(len(facts)):
        newest = max((facts[other] for other in range(len(facts)) if same[row, other]), key=attrgetter("place"))
        newest_facts[newest] = np.maximum(newest_facts.get(newest, scores[row]), scores[row])
    is_of_kind = of_kind(parsed.question.kind, values_of(list(newest_facts), sense), sense)
    return [(*each, float(probability)) for each, probability in zip(newest_facts.items(), is_of_kind, strict=True)]


def _is_of_many(statement: Statement) -> bool:
    """Returns whether the relation is one of the value: a country has many citizens, a citizen has one country."""
    values, subjects = most_values_and_subjects(statement.frame_pairs)
    return values >= _MIN_MANY and values > subjects
