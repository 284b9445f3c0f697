"""Training data for the decision which memory is corrected, and for what it knows of the wording of corrections."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from zlib import crc32

import numpy as np

from m2a.agents.offline.change_words import says_what_stays
from m2a.agents.offline.correction_features import (
    Memory,
    correcting_claim,
    correction_features,
    needs_context,
)
from m2a.agents.offline.languages import is_english
from m2a.agents.offline.observations import Observation
from m2a.agents.offline.sense import Sense, as_decisions
from m2a.agents.offline.statements import read
from m2a.agents.offline.text import content
from m2a.types import Message
from tests.bench.learning import Example, fit
from tests.offline_cases import Played

_NEAREST = 5  # memories of other people next to the one that is meant
_OF_A_STORY = 10  # memories of a story to consider, nearest first
_TODAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
_PLAIN = 2.0  # weight of a statement of a story: people correct less often than those of the stories do
_OF_ANOTHER = 0.3  # weight of a memory that is not meant, unless it is the last and nothing is corrected
_NO_STORY = 0.5
_PARTS = 5
_WORDING_PENALTY = 1.3


@dataclass(frozen=True)
class Situation:
    """An observation and the memories at that time. `meant` are the positions of those that it corrects, possibly none."""

    kind: str
    group: str
    observation: Observation
    memories: tuple[Memory, ...]
    meant: frozenset[int]


def situations(
    cases: Mapping[str, Sequence[Sequence[str]]], sets: Mapping[str, Sequence[Played]], sense: Sense
) -> list[Situation]:
    """Returns all training data: the cases by section, in both orders, and the stories."""
    strangers = _Strangers([case[0] for case in (*cases["corrections"], *cases["pairs"])], sense)
    result = [
        *_of_corrections(cases["corrections"], strangers, sense),
        *_of_lookalikes(cases["lookalikes"], sense),
        *_of_pairs(cases["pairs"], strangers, sense),
        *_of_monologues(cases.get("told", ()), sense),
    ]
    for name, played in sets.items():
        result += _of_stories(name, played, sense)
    return [situation for situation in result if situation.memories and not says_what_stays(situation.observation.said)]


def takes_back_examples(cases: Sequence[Situation], sense: Sense) -> list[Example]:
    """The wording of what corrects a memory, and of what corrects none."""
    return [
        Example(
            {}, bool(case.meant), case.group, sense.vector(case.observation.said), _NO_STORY if _is_plain(case) else 1.0
        )
        for case in cases
    ]


def corrects_examples(cases: Sequence[Situation], sense: Sense) -> list[Example]:
    """Each correction or other statement with each of the memories. What its wording says is judged by the wordings of the
    other parts, since what is learned from a text fits it too well."""
    parts = [crc32(case.group.encode()) % _PARTS for case in cases]
    judges = {}
    for part in set(parts):
        others = [case for case, its_part in zip(cases, parts, strict=True) if its_part != part]
        wording = learn_takes_back(takes_back_examples(others, sense))
        judges[part] = sense.with_models(as_decisions({"takes back": wording}))
    return [
        example
        for case, part in zip(cases, parts, strict=True)
        for each in (case, _alone(case))
        if each.memories
        for example in _choices(each, judges[part])
    ]


def _alone(case: Situation) -> Situation:
    """Returns the situation with the memories only that are meant or come last: a new user has told little else."""
    kept = [place for place, memory in enumerate(case.memories) if place in case.meant or memory.is_last]
    meant = frozenset(number for number, place in enumerate(kept) if place in case.meant)
    return replace(case, memories=tuple(case.memories[place] for place in kept), meant=meant)


def _choices(case: Situation, sense: Sense) -> Iterator[Example]:
    """Yields an example for each memory."""
    sentence, text = case.observation.said, case.observation.text
    rows = correction_features(correcting_claim(text, sentence), text, sentence, case.memories, sense)
    for place, (features, memory) in enumerate(zip(rows, case.memories, strict=True)):
        is_meant = place in case.meant
        weight = (_PLAIN if _is_plain(case) else 1.0) / (len(case.meant) if is_meant else 1)
        if not is_meant and (case.meant or not memory.is_last):
            weight *= _OF_ANOTHER
        yield Example(features, is_meant, case.group, weight=weight)


def learn_takes_back(examples: Sequence[Example]) -> dict[str, object]:
    return fit(examples, penalty=1.0, vector_penalty=_WORDING_PENALTY)


def _is_plain(case: Situation) -> bool:
    return case.kind == "story" and not case.meant


class _Strangers:
    """Statements of other people; the nearest ones are put next to the memory that is meant."""

    def __init__(self, statements: Sequence[str], sense: Sense) -> None:
        self._sense = sense
        self._texts = [
            (statement, observation.text)
            for statement in dict.fromkeys(statements)
            for observation in _observations([statement], sense)
        ]
        self._vectors = sense.vectors(text for _, text in self._texts)

    def near(self, text: str, skipped: Sequence[str]) -> list[str]:
        order = np.argsort(self._vectors @ self._sense.vector(text))[::-1]
        near = (self._texts[place] for place in order)
        return [other for _, (statement, other) in zip(range(_NEAREST), near, strict=False) if statement not in skipped]


def _observations(texts: Sequence[str], sense: Sense) -> Sequence[Observation]:
    """Returns the observations in the last of these messages of one conversation."""
    messages = [
        Message(number, "owner", "conversation", "user", "You", text, (), _TODAY)
        for number, text in enumerate(texts, start=1)
    ]
    return read(messages[-1], messages[:-1], (), sense).observations


def _memories(texts: Sequence[tuple[str, bool]], observation: Observation) -> tuple[tuple[Memory, ...], list[int]]:
    """Returns the memories of the texts (each with whether it came last) and the positions of the texts that are left."""
    rest = [place for place, (text, _) in enumerate(texts) if content(text) != content(observation.text)]
    return tuple(Memory.of(*texts[place]) for place in rest), rest


def _of_corrections(cases: Sequence[Sequence[str]], strangers: _Strangers, sense: Sense) -> Iterator[Situation]:
    for number, (statement, correction, _question, _new, old) in enumerate(cases):
        texts = [observed.text for observed in _observations([statement], sense)]
        matches = [text for text in texts if old.casefold() in text.casefold()] or texts
        others = [(text, False) for text in strangers.near(correction, [statement])]
        for observation in _observations([statement, correction], sense):
            for is_last in (True, False):
                if not is_last and needs_context(observation.said, observation.text):
                    continue
                memories, rest = _memories([*((text, is_last) for text in texts), *others], observation)
                meant = frozenset(i for i, place in enumerate(rest) if place < len(texts) and texts[place] in matches)
                if meant:
                    yield Situation(
                        "correction" if is_last else "later", f"corrections {number}", observation, memories, meant
                    )


def _of_lookalikes(cases: Sequence[Sequence[str]], sense: Sense) -> Iterator[Situation]:
    for number, (statement, others, correction, _new, _old) in enumerate(cases):
        similar = others.split(" // ")
        for messages in ([statement, *similar], [*similar, statement]):
            texts = [(observed.text, text) for text in messages for observed in _observations([text], sense)]
            for observation in _observations([*messages, correction], sense):
                memories, rest = _memories([(text, source == messages[-1]) for text, source in texts], observation)
                meant = frozenset(i for i, place in enumerate(rest) if texts[place][1] == statement)
                if meant:
                    yield Situation("lookalike", f"lookalikes {number}", observation, memories, meant)
            yield from _told_in_turn(messages, f"lookalikes {number}", sense)


def _of_pairs(cases: Sequence[Sequence[str]], strangers: _Strangers, sense: Sense) -> Iterator[Situation]:
    for number, (first, second, _question, _keys) in enumerate(cases):
        if not (is_english(first) and is_english(second)):
            continue
        for earlier, later in ((first, second), (second, first)):
            texts = [(observed.text, True) for observed in _observations([earlier], sense)]
            others = [(text, False) for text in strangers.near(later, [earlier, later])]
            for observation in _observations([earlier, later], sense):
                memories, _ = _memories([*texts, *others], observation)
                yield Situation("pair", f"pairs {number}", observation, memories, frozenset())


def _of_monologues(cases: Sequence[Sequence[str]], sense: Sense) -> Iterator[Situation]:
    """Statements that one person makes in a row about different things: none corrects another."""
    for number, (row,) in enumerate(cases):
        yield from _told_in_turn(row.split(" // "), f"told {number}", sense)


def _told_in_turn(texts: Sequence[str], group: str, sense: Sense) -> Iterator[Situation]:
    """Yields each statement but the first with those before it, of which it corrects none."""
    for last, text in enumerate(texts[:-1]):
        before = [(o.text, line == text) for line in texts[: last + 1] for o in _observations([line], sense)]
        for observation in _observations(texts[: last + 2], sense):
            memories, _ = _memories(before, observation)
            yield Situation("pair", group, observation, memories, frozenset())


def _of_stories(name: str, played: Sequence[Played], sense: Sense) -> Iterator[Situation]:
    for case in played:
        if case.turn.kind not in ("statement", "correction") or not case.before:
            continue
        last = case.recent[-1].message_id if case.recent else None
        obsolete = case.turn.gone if case.turn.kind == "correction" else ()
        for observation in read(case.message, case.recent, case.concepts, sense).observations:
            near = np.argsort(sense.vectors(e.text for e in case.before) @ sense.vector(observation.text))[::-1]
            wrong = {
                place
                for place, entry in enumerate(case.before)
                if any(word.casefold() in entry.text.casefold() for word in obsolete)
            }
            if case.turn.kind == "correction" and not wrong:
                continue
            places = list(dict.fromkeys([*near[:_OF_A_STORY].tolist(), *wrong]))
            texts = [
                (case.before[place].text, any(first <= last <= end for first, end in case.before[place].evidence_ids))
                if last is not None
                else (case.before[place].text, False)
                for place in places
            ]
            memories, rest = _memories(texts, observation)
            meant = frozenset(i for i, place in enumerate(rest) if places[place] in wrong)
            if meant or case.turn.kind == "statement":
                yield Situation("story", name, observation, memories, meant)
