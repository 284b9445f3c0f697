"""The learned decisions of relations: from facts of MQuAKE in the wordings of `tests/data/restated.txt`, and questions of them.

Of a subject each relation is told of an old and a new value, each in a wording by chance, or both in one. A question is
of one of its relations, or of one that is not told of it. Beside them stand statements of which the subject is the value.
"""

import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from m2a.agents.offline.learned import OF_RELATIONS
from m2a.agents.offline.relations.likeness import Asked, answering_features, relation_features
from m2a.agents.offline.relations.told import Statements, Told, keys_of
from m2a.agents.offline.relations.walk import asked_of
from m2a.agents.offline.sense import Sense, as_decisions
from m2a.types import Message
from tests.bench.learning import Example, fit

RESTATED = Path(__file__).parents[1] / "data" / "restated.txt"
_PENALTY = 3.0
_SUBJECTS = 700
_OF_OTHERS = 3  # statements of others that have the subject for their value
_IN_ONE_WORDING = 0.5  # of the subjects, whose relations are told in the same words each time
_AROUND = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
_NOW = datetime(2025, 1, 1, tzinfo=UTC)

Restated = Mapping[str, Mapping[str, Sequence[str]]]


def read_restated(path: Path = RESTATED) -> dict[str, dict[str, list[str]]]:
    """By relation its wordings: a line `P…` for each relation, then statements with their style, questions after `?`."""
    restated: dict[str, dict[str, list[str]]] = {}
    wordings: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        style, _, wording = line.partition(" ")
        if not wording:
            wordings = restated.setdefault(line, {"statements": [], "questions": []})
        else:
            wordings["questions" if style == "?" else "statements"].append(wording)
    return restated


@dataclass(frozen=True)
class Situation:
    """Statements of one subject with the relation of each, and a question of a relation that may be among them."""

    asked: Asked
    relation: str
    statements: tuple[Told, ...]
    relations: tuple[str, ...]


def situations(facts: Sequence[tuple[str, str, str]], restated: Restated, *, seed: int = 1) -> list[Situation]:
    """`facts` are relation, subject and value, those of one subject and relation in the order in which they hold."""
    draw = random.Random(seed)
    by_subject: dict[str, list[tuple[str, str]]] = defaultdict(list)
    by_value: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for relation, subject, value in facts:
        if relation in restated:
            by_subject[subject].append((relation, value))
            by_value[value].append((relation, subject))
    chosen = [subject for subject in sorted(by_subject) if len(by_subject[subject]) > 1]
    draw.shuffle(chosen)
    found = []
    for subject in chosen[:_SUBJECTS]:
        statements, relations = [], []
        own = {relation: draw.choice(restated[relation]["statements"]) for relation, _ in by_subject[subject]}
        is_in_one_wording = draw.random() < _IN_ONE_WORDING
        for place, (relation, value) in enumerate(by_subject[subject]):
            wording = own[relation] if is_in_one_wording else draw.choice(restated[relation]["statements"])
            for one in _read(wording, subject, value, place):
                statements.append(one)
                relations.append(relation)
        others_of_it = by_value.get(subject, [])
        for relation, other in draw.sample(others_of_it, min(_OF_OTHERS, len(others_of_it))):
            for one in _read(draw.choice(restated[relation]["statements"]), other, subject, 0, of=subject):
                statements.append(replace(one, place=(draw.randint(1, len(by_subject[subject])), len(statements))))
                relations.append(f"{relation} of another")
        told = [relation for relation in dict.fromkeys(relations) if relation in restated]
        if not told:
            continue
        others = sorted(set(restated) - set(told))
        for relation in (*told, draw.choice(others)):
            question = draw.choice(restated[relation]["questions"]).replace("[X]", subject)
            asked = asked_of(question, keys_of(subject.split()))
            if asked is not None:
                found.append(Situation(asked, relation, tuple(statements), tuple(relations)))
    return found


def train(facts: Sequence[tuple[str, str, str]], restated: Restated, sense: Sense, encoder: str) -> None:
    """Write the weights, and print how well weights from other relations do on those left out."""
    found = situations(facts, restated)
    answering, same = list(_answering(found, sense)), list(_same(found, sense))
    _print_left_out(found, answering, same)
    weights = {
        "encoder": encoder,
        "tells what is asked": fit([row for rows in answering for row in rows], penalty=_PENALTY),
        "the same relation": fit(same, penalty=_PENALTY),
    }
    OF_RELATIONS.write_text(json.dumps(weights, indent=1) + "\n", encoding="utf-8")


def _read(wording: str, subject: str, value: str, place: int, *, of: str = "") -> list[Told]:
    """What the sentence says of its subject, or of another of its names."""
    text = wording.replace("[X]", subject).replace("[Y]", value)
    message = Message(place + 1, "owner", "c", "user", "user", f"{text[0].upper()}{text[1:]}.", (), _NOW)
    statements = Statements(lambda _: [message])
    statements.look_for("")
    return [one for one in statements.about(keys_of((of or subject).split())) if one.relation]


def _answering(found: Sequence[Situation], sense: Sense) -> Iterator[list[Example]]:
    for one in found:
        rows = answering_features(one.asked, one.statements, sense)
        yield [
            Example(row, relation == one.relation, one.relation)
            for row, relation in zip(rows, one.relations, strict=True)
        ]


def _same(found: Sequence[Situation], sense: Sense) -> Iterator[Example]:
    for one in {situation.statements: situation for situation in found}.values():
        for first, second, features in relation_features(one.statements, sense):
            relations = one.relations[first], one.relations[second]
            if one.statements[first].place != one.statements[second].place:
                yield Example(features, relations[0] == relations[1], relations[0])


def _print_left_out(
    found: Sequence[Situation], answering: Sequence[Sequence[Example]], same: Sequence[Example]
) -> None:
    relations = sorted({one.relation for one in found})
    folds = [set(relations[start::5]) for start in range(5)]
    chances: dict[int, np.ndarray] = {}
    pairs: list[tuple[float, bool]] = []
    for left_out in folds:
        rows = [row for one in answering for row in one if row.group not in left_out]
        decision = _decision(rows)
        for number, one in enumerate(answering):
            if found[number].relation in left_out:
                chances[number] = np.array([decision(row) for row in one])
        decision = _decision([row for row in same if row.group not in left_out])
        pairs += [(decision(row), row.label) for row in same if row.group in left_out]
    for enough in _AROUND:
        told = silent = right = 0
        for number, chance in chances.items():
            one = found[number]
            if one.relation not in one.relations:
                silent += chance.max() < enough
                continue
            told += 1
            likely = [i for i in range(len(chance)) if chance[i] >= min(enough, chance.max())]
            newest = max(likely, key=lambda i: one.statements[i].place)
            own = max(one.statements[i].place for i, relation in enumerate(one.relations) if relation == one.relation)
            right += one.statements[newest].place == own
        alike = [chance >= enough for chance, label in pairs if label]
        unlike = [chance >= enough for chance, label in pairs if not label]
        print(
            f"{enough}: the newest of the relation asked of {right / told:.3f} of {told}; silent where it is not told "
            f"{silent / (len(chances) - told):.2f}; pairs of one relation {np.mean(alike):.3f}, of two {np.mean(unlike):.3f}"
        )


def _decision(rows: Sequence[Example]) -> Callable[[Example], float]:
    decision = as_decisions({"": fit(rows, penalty=_PENALTY)})[""]
    return lambda row: decision.probability(row.features)
