"""The learned decisions of relations: from facts of MQuAKE in the wordings of `corpus/restated.txt`, and questions of them.

Each relation of a subject is stated with an old and a new value, each in a random wording, or both in the same one. A question
is about one of its relations, or about one that is not stated. Other statements have the subject as their value. Which words are
the value is learned first, from contexts of many sentences and of few.
"""

import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from m2a.agents.offline.learned import LEARNED_RELATIONS
from m2a.agents.offline.relations.chains import parse_question
from m2a.agents.offline.relations.fact_features import ParsedQuestion, answering_features, relation_features
from m2a.agents.offline.relations.facts import Statement, Statements
from m2a.agents.offline.relations.words import keys_of
from m2a.agents.offline.sense import LearnedDecision, Logistic, Sense, as_decisions
from m2a.types import Message
from tests.bench.corpus import RESTATED
from tests.bench.learning import Example, fit

_PENALTY = 3.0
# Of each context: the number of subjects asked about, of other statements, and of wordings of a relation.
_IN_CONTEXTS = ((120, 0, 3), (120, 100, 4), (120, 2000, 3), (60, 4000, 4), (60, 0, 100), (30, 0, 4))
_OF_OTHERS = 3  # statements about others that have the subject as their value
_IN_ONE_WORDING = 0.5  # of the subjects, whose relations are told in the same words each time
_CONTEXTS = (400, 400, *[30] * 4, *[8] * 8, *[2] * 16)  # facts of each, from which values are learned
_AROUND = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
_WRITERS = ("abc", "defg", "hijk", "l")  # their styles
_PUBLISHED = 0.5  # of the questions, where PokeMQA has some of the relation
_ROLE = re.compile(r"(?:Who|What|Which \w+) (?:is|was) (?P<role>the [^\[]+ of \[X\])\?$")
_NOW = datetime(2025, 1, 1, tzinfo=UTC)

Facts = Sequence[tuple[str, str, str]]  # relation, subject and value
Restated = Mapping[str, Mapping[str, Sequence[str]]]


def read_restated(path: Path = RESTATED, styles: Collection[str] = ()) -> dict[str, dict[str, list[str]]]:
    """Returns the wordings by relation: a line `P…` for each relation, then statements with their style, questions after `?`.

    With `styles` those alone; questions may have one too (`?d`), and are style `a` without.
    """
    restated: dict[str, dict[str, list[str]]] = {}
    wordings: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        style, _, wording = line.partition(" ")
        if not wording:
            wordings = restated.setdefault(line, {"statements": [], "questions": []})
        elif not styles or (style.strip("?") or "a") in styles:
            wordings["questions" if style.startswith("?") else "statements"].append(wording)
    return restated


def with_published(restated: Restated, mquake: Path) -> Restated:
    """Adds PokeMQA's questions of each relation to the restated ones, except those that MQuAKE itself asks."""
    templates, own = (json.loads((mquake / f"{kind}_templates.json").read_text()) for kind in ("cloze", "question"))
    patterns = {
        relation: re.compile(re.escape(template).replace(r"\[X\]", "(.+?)").replace("__", ".+"))
        for relation, template in templates.items()
    }
    extra: dict[str, dict[str, None]] = defaultdict(dict)
    for row in json.loads((mquake / "PokeMQA-edit-questions.json").read_text(encoding="utf-8")):
        for relation, pattern in patterns.items():
            if (match := pattern.fullmatch(row["edit"])) is not None:
                questions = [question.replace(match[1], "[X]") for question in row["questions"] if match[1] in question]
                extra[relation] |= dict.fromkeys(question for question in questions if question != own[relation])
    return {
        relation: {**wordings, "published": list(extra.get(relation, ()))} for relation, wordings in restated.items()
    }


@dataclass(frozen=True)
class Situation:
    """Statements of one subject with the relation of each, and a question of a relation that may be among them."""

    question: ParsedQuestion
    relation: str
    statements: tuple[Statement, ...]
    relations: tuple[str, ...]


def train(facts: Facts, mquake: Path, sense: Sense, encoder: str) -> None:
    """Write the weights, and print how well weights from other writers and other relations do on the ones left out."""
    for left_out in _WRITERS:
        others = read_restated(styles=set("".join(_WRITERS)) - set(left_out))
        _print_values(left_out, _values(facts, others), facts, read_restated(styles=left_out))
    weights = learn(facts, with_published(read_restated(), mquake), sense, prints=True)
    LEARNED_RELATIONS.write_text(json.dumps({"encoder": encoder, **weights}, indent=1) + "\n", encoding="utf-8")


def learn(facts: Facts, restated: Restated, sense: Sense, *, prints: bool = False) -> dict[str, Any]:
    values = _values(facts, restated)
    cases = situations(facts, restated, as_decisions({"": values})[""])
    answering, same = list(_answering(cases, sense)), list(_same(cases, sense))
    if prints:
        _print_left_out(cases, answering, same)
    return {
        "is the value": values,
        "tells what is asked": fit([row for rows in answering for row in rows], penalty=_PENALTY),
        "the same relation": fit(same, penalty=_PENALTY),
    }


def _values(facts: Facts, restated: Restated) -> dict[str, object]:
    return fit([row for rows in value_examples(facts, restated) for row in rows], penalty=_PENALTY)


def value_examples(facts: Facts, restated: Restated, *, seed: int = 1) -> Iterator[list[Example]]:
    """Yields the candidates of the value for each mention of a fact's subject."""
    draw = random.Random(seed)
    eligible = [fact for fact in facts if restated.get(fact[0], {}).get("statements")]
    for size in _CONTEXTS:
        chosen = draw.sample(eligible, min(size, len(eligible)))
        messages = [_message(n, draw.choice(restated[fact[0]]["statements"]), fact) for n, fact in enumerate(chosen, 1)]
        statements = _statements(messages, Logistic(0.0, {}))
        for number, (relation, subject, value) in enumerate(chosen, 1):
            for place, keys, rows in statements.candidates(keys_of(subject.split())):
                if place[0] == number and any(keys[slice(*span)] == keys_of(value.split()) for span in rows):
                    gold = keys_of(value.split())
                    yield [Example(row, keys[slice(*span)] == gold, relation) for span, row in rows.items()]


def situations(facts: Facts, restated: Restated, chooses: LearnedDecision, *, seed: int = 1) -> list[Situation]:
    """`facts` of one subject and relation stand in the order in which they hold."""
    draw = random.Random(seed)
    by_subject: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for fact in facts:
        if restated.get(fact[0], {}).get("statements"):
            by_subject[fact[1]].append(fact)
    subjects = [subject for subject in sorted(by_subject) if len(by_subject[subject]) > 1]
    others = [fact for subject in sorted(by_subject) if len(by_subject[subject]) == 1 for fact in by_subject[subject]]
    result = []
    for subject_count, filler_count, most in _IN_CONTEXTS:
        sampled = {
            relation: {**forms, "statements": draw.sample(forms["statements"], min(most, len(forms["statements"])))}
            for relation, forms in restated.items()
        }
        chosen = draw.sample(subjects, min(subject_count, len(subjects)))
        filler = draw.sample(others, min(filler_count, len(others)))
        result += _in_context({subject: by_subject[subject] for subject in chosen}, filler, sampled, chooses, draw)
    return result


def _in_context(
    by_subject: Mapping[str, Facts], filler: Facts, restated: Restated, chooses: LearnedDecision, draw: random.Random
) -> list[Situation]:
    by_place: list[tuple[str, str, str]] = []
    messages = []
    for facts in (*by_subject.values(), filler):
        own = {relation: draw.choice(restated[relation]["statements"]) for relation, _, _ in facts}
        is_in_one_wording = facts is not filler and draw.random() < _IN_ONE_WORDING
        for fact in facts:
            wording = own[fact[0]] if is_in_one_wording else draw.choice(restated[fact[0]]["statements"])
            by_place.append(fact)
            messages.append(_message(len(by_place), wording, fact))
    statements = _statements(messages, chooses)
    result = []
    for subject in by_subject:
        about = [(by_place[s.place[0] - 1], s) for s in statements.about(keys_of(subject.split())) if s.relation]
        of_it = [(fact[0], s) for fact, s in about if fact[1] == subject]
        others = [(f"{fact[0]} of another", s) for fact, s in about if fact[1] != subject]
        rows = [*of_it, *draw.sample(others, min(_OF_OTHERS, len(others)))]
        relations = list(dict.fromkeys(relation for relation, _ in of_it))
        if not relations:
            continue
        not_told = draw.choice(sorted(set(restated) - set(relations)))
        questions = [(relation, _question(restated[relation], draw)) for relation in (*relations, not_told)]
        questions += _of_two_steps(relations, restated, draw)
        for relation, question in questions:
            parsed = parse_question(question.replace("[X]", subject), keys_of(subject.split()))
            if parsed is not None:
                result.append(Situation(parsed, relation, tuple(s for _, s in rows), tuple(name for name, _ in rows)))
    return result


def _question(wordings: Mapping[str, Sequence[str]], draw: random.Random) -> str:
    published = wordings.get("published", ())
    return draw.choice(published if published and draw.random() < _PUBLISHED else wordings["questions"])


def _of_two_steps(relations: Sequence[str], restated: Restated, draw: random.Random) -> Iterator[tuple[str, str]]:
    """A question that none of these relations answers alone: "who founded the employer of X"."""
    own = [_ROLE.match(question) for relation in relations for question in restated[relation]["questions"]]
    roles = [match["role"] for match in own if match is not None]
    if roles:
        last = draw.choice(sorted(restated))
        yield f"{last} of another", _question(restated[last], draw).replace("[X]", draw.choice(roles))


def _print_values(name: str, weights: Mapping[str, Any], facts: Facts, restated: Restated) -> None:
    decision = as_decisions({"": weights})[""]
    examples = list(value_examples(facts, restated, seed=2))
    right = [max(rows, key=lambda row: decision.score(row.features)).label for rows in examples]
    many = sum(size for size in _CONTEXTS if size > 100)
    print(
        f"values in styles {name}, left out: {np.mean(right[:many]):.3f} among many, {np.mean(right[many:]):.3f} among few"
    )


def _message(number: int, wording: str, fact: tuple[str, str, str]) -> Message:
    text = wording.rstrip(".").replace("[X]", fact[1]).replace("[Y]", fact[2])
    return Message(number, "owner", "c", "user", "user", f"{text[0].upper()}{text[1:]}.", (), _NOW)


def _statements(messages: Sequence[Message], chooses: LearnedDecision) -> Statements:
    statements = Statements(lambda _: messages, chooses)
    statements.look_for("")
    return statements


def _answering(cases: Sequence[Situation], sense: Sense) -> Iterator[list[Example]]:
    for case in cases:
        rows = answering_features(case.question, case.statements, sense)
        yield [
            Example(row, relation == case.relation, case.relation)
            for row, relation in zip(rows, case.relations, strict=True)
        ]


def _same(cases: Sequence[Situation], sense: Sense) -> Iterator[Example]:
    for case in {situation.statements: situation for situation in cases}.values():
        for first, second, features in relation_features(case.statements, sense):
            relations = case.relations[first], case.relations[second]
            if case.statements[first].place != case.statements[second].place:
                yield Example(features, relations[0] == relations[1], relations[0])


def _print_left_out(
    cases: Sequence[Situation], answering: Sequence[Sequence[Example]], same: Sequence[Example]
) -> None:
    relations = sorted({case.relation for case in cases})
    folds = [set(relations[start::5]) for start in range(5)]
    chances: dict[int, np.ndarray] = {}
    pairs: list[tuple[float, bool]] = []
    for left_out in folds:
        rows = [row for examples in answering for row in examples if row.group not in left_out]
        decision = _decision(rows)
        for number, examples in enumerate(answering):
            if cases[number].relation in left_out:
                chances[number] = np.array([decision(row) for row in examples])
        decision = _decision([row for row in same if row.group not in left_out])
        pairs += [(decision(row), row.label) for row in same if row.group in left_out]
    for enough in _AROUND:
        total = silent = right = 0
        for number, chance in chances.items():
            case = cases[number]
            if case.relation not in case.relations:
                silent += chance.max() < enough
                continue
            total += 1
            likely = [i for i in range(len(chance)) if chance[i] >= min(enough, chance.max())]
            newest = max(likely, key=lambda i: case.statements[i].place)
            own = max(case.statements[i].place for i, name in enumerate(case.relations) if name == case.relation)
            right += case.statements[newest].place == own
        within = [chance >= enough for chance, label in pairs if label]
        across = [chance >= enough for chance, label in pairs if not label]
        print(
            f"{enough}: the newest of the relation asked of {right / total:.3f} of {total}; silent where it is not told "
            f"{silent / (len(chances) - total):.2f}; pairs of one relation {np.mean(within):.3f}, of two {np.mean(across):.3f}"
        )


def _decision(rows: Sequence[Example]) -> Callable[[Example], float]:
    decision = as_decisions({"": fit(rows, penalty=_PENALTY)})[""]
    return lambda row: decision.probability(row.features)
