"""What the two decisions about corrections are learned from: which memory is meant, and whether it is corrected at all."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from m2a.agents.offline.change_words import says_what_stays
from m2a.agents.offline.corrections import Memory, correcting_claim, correction_features, needs_context, with_cosine
from m2a.agents.offline.languages import is_english
from m2a.agents.offline.meant import meant_features, rate
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.statements import Observation, read
from m2a.agents.offline.text import content
from m2a.types import Message
from tests.bench.learning import Example
from tests.offline_cases import Played

_NEAREST = 5  # memories of other people that lie beside the one that is meant
_OF_A_STORY = 10  # memories of a story that are looked at, the nearest first
_TODAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
# What an example counts: of look-alikes it is to be learned which one is meant, of the stories there are many.
_WHICH = {"lookalike": 1.5, "story": 0.3}
_WHETHER = {"lookalike": 0.5, "story": 0.5, "later": 0.6}
_NO_STORY = 0.4


@dataclass(frozen=True)
class Situation:
    """An observation and the memories that there were. `meant` are the places of those that it corrects: none, or some."""

    kind: str
    group: str
    observation: Observation
    known: tuple[Memory, ...]
    meant: frozenset[int]


def situations(
    cases: Mapping[str, Sequence[Sequence[str]]], sets: Mapping[str, Sequence[Played]], sense: Sense
) -> list[Situation]:
    """All that there is to learn from: the cases by section, in the order told and the other, and the stories."""
    strangers = _Strangers([case[0] for case in (*cases["corrections"], *cases["pairs"])], sense)
    found = [
        *_of_corrections(cases["corrections"], strangers, sense),
        *_of_lookalikes(cases["lookalikes"], sense),
        *_of_pairs(cases["pairs"], strangers, sense),
        *_of_told(cases.get("told", ()), sense),
    ]
    for name, played in sets.items():
        found += _of_stories(name, played, sense)
    return [one for one in found if one.known and not says_what_stays(one.observation.said)]


def meant_examples(found: Sequence[Situation], sense: Sense) -> list[Example]:
    """The difference between the memory that is meant and another, and the same turned round."""
    examples = []
    for one in found:
        others = set(range(len(one.known))) - one.meant
        leaning = needs_context(one.observation.said, one.observation.text)
        if not one.meant or not others or (leaning and one.kind == "correction"):
            continue
        new = correcting_claim(one.observation.text, one.observation.said)
        features = meant_features(new, [known.claim for known in one.known], sense)
        weight = _WHICH.get(one.kind, 0.4) / (len(one.meant) * len(others)) / 2
        for place in one.meant:
            for other in others:
                ahead = {name: value - features[other][name] for name, value in features[place].items()}
                behind = {name: -value for name, value in ahead.items()}
                examples.append(Example(ahead, True, one.group, weight=weight))
                examples.append(Example(behind, False, one.group, weight=weight))
    return examples


def corrects_examples(found: Sequence[Situation], sense: Sense) -> list[Example]:
    """A correction with the memory that it corrects; what corrects nothing, with the last memory and the likeliest."""
    examples = []
    for one in found:
        said, text = one.observation.said, one.observation.text
        new, leaning, vector = correcting_claim(text, said), needs_context(said, text), sense.vector(said)
        rated = rate(new, [known.claim for known in one.known], sense)
        if one.meant:
            places, weight = sorted(one.meant), _WHETHER.get(one.kind, 1.0) / len(one.meant)
        else:
            likeliest = max(rated, key=lambda candidate: candidate.score).position
            last = [candidate for candidate in rated if one.known[candidate.position].is_last]
            places = sorted({likeliest, *(c.position for c in sorted(last, key=lambda c: -c.score)[:1])})
            weight = _NO_STORY if one.kind == "story" else 1.0
        for place in places:
            old = one.known[place]
            features = correction_features(new, said, old, rated[place].lead, leaning)
            features = with_cosine(features, sense.cosine(new.text, old.text))
            examples.append(Example(features, bool(one.meant), one.group, vector, weight))
    return examples


class _Strangers:
    """What others told, of which the nearest lie beside the memory that is meant."""

    def __init__(self, statements: Sequence[str], sense: Sense) -> None:
        self._sense = sense
        self._of = [
            (statement, one.text)
            for statement in dict.fromkeys(statements)
            for one in _observations([statement], sense)
        ]
        self._vectors = sense.vectors(text for _, text in self._of)

    def near(self, text: str, without: Sequence[str]) -> list[str]:
        order = np.argsort(self._vectors @ self._sense.vector(text))[::-1]
        near = (self._of[place] for place in order)
        return [found for _, (statement, found) in zip(range(_NEAREST), near, strict=False) if statement not in without]


def _observations(told: Sequence[str], sense: Sense) -> Sequence[Observation]:
    """What is read from the last of these messages of one conversation."""
    messages = [
        Message(number, "owner", "conversation", "user", "You", text, (), _TODAY)
        for number, text in enumerate(told, start=1)
    ]
    return read(messages[-1], messages[:-1], (), sense).observations


def _known(texts: Sequence[tuple[str, bool]], observation: Observation) -> tuple[tuple[Memory, ...], list[int]]:
    """The memories of these texts, each with whether it was told last, and the places of those texts that they are."""
    kept = [place for place, (text, _) in enumerate(texts) if content(text) != content(observation.text)]
    return tuple(Memory.of(place, *texts[place]) for place in kept), kept


def _of_corrections(cases: Sequence[Sequence[str]], strangers: _Strangers, sense: Sense) -> Iterator[Situation]:
    for number, (statement, correction, _question, _new, old) in enumerate(cases):
        told = [one.text for one in _observations([statement], sense)]
        holding = [text for text in told if old.casefold() in text.casefold()] or told
        others = [(text, False) for text in strangers.near(correction, [statement])]
        for observation in _observations([statement, correction], sense):
            for is_last in (True, False):
                if not is_last and needs_context(observation.said, observation.text):
                    continue
                known, kept = _known([*((text, is_last) for text in told), *others], observation)
                meant = frozenset(i for i, place in enumerate(kept) if place < len(told) and told[place] in holding)
                if meant:
                    yield Situation(
                        "correction" if is_last else "later", f"corrections {number}", observation, known, meant
                    )


def _of_lookalikes(cases: Sequence[Sequence[str]], sense: Sense) -> Iterator[Situation]:
    for number, (statement, others, correction, _new, _old) in enumerate(cases):
        alike = others.split(" // ")
        for told in ([statement, *alike], [*alike, statement]):
            texts = [(one.text, text) for text in told for one in _observations([text], sense)]
            for observation in _observations([*told, correction], sense):
                known, kept = _known([(text, of == told[-1]) for text, of in texts], observation)
                meant = frozenset(i for i, place in enumerate(kept) if texts[place][1] == statement)
                if meant:
                    yield Situation("lookalike", f"lookalikes {number}", observation, known, meant)


def _of_pairs(cases: Sequence[Sequence[str]], strangers: _Strangers, sense: Sense) -> Iterator[Situation]:
    for number, (first, second, _question, _keys) in enumerate(cases):
        if not (is_english(first) and is_english(second)):
            continue
        for one, other in ((first, second), (second, first)):
            told = [(found.text, True) for found in _observations([one], sense)]
            others = [(text, False) for text in strangers.near(other, [one, other])]
            for observation in _observations([one, other], sense):
                known, _ = _known([*told, *others], observation)
                yield Situation("pair", f"pairs {number}", observation, known, frozenset())


def _of_told(cases: Sequence[Sequence[str]], sense: Sense) -> Iterator[Situation]:
    """What one person tells in a row, of one thing and another: nothing of it corrects anything."""
    for number, (told,) in enumerate(cases):
        texts = told.split(" // ")
        for last, text in enumerate(texts[:-1]):
            before = [(one.text, said == text) for said in texts[: last + 1] for one in _observations([said], sense)]
            for observation in _observations(texts[: last + 2], sense):
                known, _ = _known(before, observation)
                yield Situation("pair", f"told {number}", observation, known, frozenset())


def _of_stories(name: str, played: Sequence[Played], sense: Sense) -> Iterator[Situation]:
    for one in played:
        if one.turn.kind not in ("statement", "correction") or not one.before:
            continue
        last = one.recent[-1].message_id if one.recent else None
        gone = one.turn.gone if one.turn.kind == "correction" else ()
        for observation in read(one.message, one.recent, one.concepts, sense).observations:
            near = np.argsort(sense.vectors(e.text for e in one.before) @ sense.vector(observation.text))[::-1]
            wrong = {
                place
                for place, entry in enumerate(one.before)
                if any(word.casefold() in entry.text.casefold() for word in gone)
            }
            if one.turn.kind == "correction" and not wrong:
                continue
            places = list(dict.fromkeys([*near[:_OF_A_STORY].tolist(), *wrong]))
            texts = [
                (one.before[place].text, any(first <= last <= end for first, end in one.before[place].evidence_ids))
                if last is not None
                else (one.before[place].text, False)
                for place in places
            ]
            known, kept = _known(texts, observation)
            meant = frozenset(i for i, place in enumerate(kept) if places[place] in wrong)
            if meant or one.turn.kind == "statement":
                yield Situation("story", name, observation, known, meant)
