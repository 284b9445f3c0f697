"""The learned decisions of the offline rules: logistic regressions and trees on the train split of the stories."""

import json
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from m2a.agents.offline.acts import LEARNED_ACTS
from m2a.agents.offline.acts import features as act_features
from m2a.agents.offline.clauses import sentences
from m2a.agents.offline.languages import is_english
from m2a.agents.offline.memory_requests import forget_request_features
from m2a.agents.offline.questions import Question, content_words, parse, questions_of
from m2a.agents.offline.relevance import as_one, correction_groups, features_of
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.text import plain
from m2a.types import EvidenceRange, MemoryEntry
from models.text_encoder import MINILM
from tests.bench.corpus import INTEGRITY, LEARNED_CASES, PAIRS, SHORT
from tests.bench.correction_training import corrects_examples, learn_takes_back, situations, takes_back_examples
from tests.bench.forget_training import forgotten_examples, requests
from tests.bench.learning import Example, fit, fit_trees
from tests.integrity_cases import read_cases
from tests.offline_cases import Played, holds_any

_GROUP = "cases"  # the cases are all used for training together, or left out
_TODAY = datetime(2026, 5, 4, 12, tzinfo=UTC)
_OF_PAIR = 0.5
_OF_PAIR_NEVER_TOLD = 1.0
_OF_FEW = 0.5  # a question of a pair, asked to fewer of its memories
_OF_FEW_NEVER_TOLD = 1.0
_OF_FEW_LEFT_OUT = 0.5
_OF_SENTENCE = 0.3
_OF_CROWDED = 0.15
_OF_ANOTHER = 0.2  # a memory beside the one that answers
_OF_ANOTHER_CROWDED = 0.06
_OF_NEVER_TOLD = 3.0
_OF_LEFT_OUT = 0.2  # a question whose answers were left out
_OF_LEFT_OUT_CROWDED = 0.15
_FOUND = 25  # memories that the searches for a question return
_OF_A_WORD = 0.15  # weight of a shared word next to the cosine in the search
_OF_SHORT = 1.0
_OF_A_CASE = 0.3
_OF_IDLE = 1.5
_OF_ASKED = 2.0
_OF_ANYTHING = 0.3
_OFTEN = 4  # requests that hold a run of words by which others may be known
Cases = Mapping[str, Sequence[Sequence[str]]]

_ACTS = {"statement": "tell", "correction": "tell", "question": "ask", "never_said": "ask", "chit_chat": "chat"}


def write(path: Path, models: Mapping[str, Mapping[str, object]]) -> None:
    """Writes the models, one part a line, so that a diff can be read."""
    content = {"encoder": MINILM, **models}
    text = json.dumps(content, indent=1).replace(",\n   ", ", ")
    text = re.sub(r", +", ", ", re.sub(r"\n {4,}|\n {3}(?=\])", "", text))  # the limits and values of a feature
    path.write_text(text + "\n", encoding="utf-8")


def act_examples(played: Sequence[Played], group: str, sense: Sense) -> dict[str, list[Example]]:
    """Every message and, with a lower weight, the sentences of longer ones, since the rules judge them too."""
    examples: dict[str, list[Example]] = {act: [] for act in LEARNED_ACTS}
    for outcome in played:
        texts = [(outcome.turn.text, 1.0)]
        parts = sentences(outcome.turn.text)
        if len(parts) > 1:
            texts += [
                (part, _OF_SENTENCE)
                for part in parts
                if len(part.split()) > 3 and ("?" in part) == (_ACTS[outcome.turn.kind] == "ask")
            ]
        for text, weight in texts:
            features, vector = act_features(text), sense.wording(text)
            for act in LEARNED_ACTS:
                examples[act].append(Example(features, _ACTS[outcome.turn.kind] == act, group, vector, weight))
    return examples


def short_examples(path: Path, sense: Sense) -> dict[str, list[Example]]:
    """Messages of a few words, which are rare in the stories: `{"tell": [...], "ask": [...], "chat": [...]}`."""
    texts = json.loads(path.read_text(encoding="utf-8"))
    return {
        act: [
            Example(act_features(text), label == act, path.stem, sense.wording(text), _OF_SHORT)
            for label in LEARNED_ACTS
            for text in texts[label]
        ]
        for act in LEARNED_ACTS
    }


def answer_examples(played: Sequence[Played], group: str, sense: Sense) -> list[Example]:
    """Pairs every question with every memory: the answer is in those that contain what the story accepts.

    Each question is also asked to the memories that do not answer it, which are as near to it as what was never told can be.
    """
    examples = []
    for outcome in played:
        if outcome.turn.kind not in ("question", "never_said"):
            continue
        question = first_question(outcome, sense)
        if question is None:
            continue
        groups = correction_groups(outcome.before)
        labels = [bool(outcome.turn.accept) and any(_answers(outcome, entry) for entry in group) for group in groups]
        if outcome.turn.kind == "question" and not any(labels):
            continue
        memories = [as_one(each) for each in groups]
        others = [memory for memory, label in zip(memories, labels, strict=True) if not label]
        for features, label in zip(features_of(question, memories, outcome.concepts, sense), labels, strict=True):
            weight = 1 / sum(labels) if label else _OF_ANOTHER if any(labels) else _OF_NEVER_TOLD
            examples.append(Example(features, label, group, weight=weight))
        if any(labels):
            rows = features_of(question, others, outcome.concepts, sense)
            examples += [Example(features, False, group, weight=_OF_LEFT_OUT) for features in rows]
    return examples


def pair_examples(path: Path, sense: Sense) -> list[Example]:
    """Short, plain questions about a few memories each, many of them about what was never told.

    Each is also asked to fewer of its memories, since somebody who has told little asks, too: to one that answers with up to two
    others, and to the one to three nearest of those that do not.
    """
    examples, choose = [], random.Random(0)
    for number, case in enumerate(map(json.loads, path.read_text(encoding="utf-8").splitlines())):
        memories, group = _memories(case["memories"]), f"{path.stem} {number}"
        for text, answering in case["asked"]:
            question = parse(text, _TODAY.date())
            asked = partial(_asked, question, memories, answering, group=group, sense=sense)
            of_all = asked(range(len(memories)), _OF_PAIR, _OF_PAIR_NEVER_TOLD)
            examples += of_all
            others = [place for place in range(len(memories)) if place not in answering]
            if answering:
                few = choose.sample(others, min(len(others), choose.choice((0, 1, 2))))
                examples += asked(sorted([choose.choice(answering), *few]), _OF_FEW)
            nearest = sorted(others, key=lambda place: -of_all[place].features["cosine of a part"])
            examples += asked(
                nearest[: choose.choice((1, 2, 3))], never_told=_OF_FEW_LEFT_OUT if answering else _OF_FEW_NEVER_TOLD
            )
    return examples


def _asked(
    question: Question,
    memories: Sequence[MemoryEntry],
    answering: Sequence[int],
    places: Sequence[int],
    answered: float = 0.0,
    never_told: float = 0.0,
    *,
    group: str,
    sense: Sense,
) -> list[Example]:
    """Asks the memories at these places. Those that answer share the weight `answered`; each has `never_told` if none does."""
    told = [place for place in places if place in answering]
    rows = features_of(question, [memories[place] for place in places], (), sense)
    return [
        Example(
            features,
            place in told,
            group,
            weight=answered / len(told) if place in told else _OF_ANOTHER * answered if told else never_told,
        )
        for place, features in zip(places, rows, strict=True)
    ]


def forget_examples(cases: Cases, spoken: Mapping[str, Sequence[str]], sense: Sense) -> list[Example]:
    """Requests to forget, near misses, and the texts `spoken` by set; other texts with a lower weight."""
    requests, near = ([text for (text,) in cases[name]] for name in ("forget", "not_forget"))
    near += [case[1] for case in cases["corrections"]] + [case[2] for case in cases["lookalikes"]]
    near += [text for (talk,) in cases["talk"] for text in (talk, *sentences(plain(talk)))]
    statements = [text for case in cases["pairs"] for text in case[:3]] + [text for (text,) in cases["nothing"]]
    statements += [text for case in cases["corrections"] for text in (case[0], case[2])]
    weighed = [
        (plain(text), label, group, weight)
        for texts, label, group, weight in (
            (requests, True, _GROUP, 1.0),
            (near, False, _GROUP, 1.0),
            (statements, False, _GROUP, _OF_ANYTHING),
            *((texts, False, group, 1.0) for group, texts in spoken.items()),
        )
        for text in dict.fromkeys(texts)
        if is_english(plain(text))
    ]
    runs = [(forget_request_features(text), label) for text, label, _group, _weight in weighed]
    requesting = Counter(run for run_set, label in runs if label for run in run_set)
    others = Counter(run for run_set, label in runs if not label for run in run_set)
    used = {run for run in requesting if requesting[run] >= _OFTEN or others[run] >= 4 * _OFTEN}
    return [
        Example({run: 1.0 for run in run_set if run in used}, label, group, sense.vector(text), weight)
        for (text, label, group, weight), (run_set, _) in zip(weighed, runs, strict=True)
    ]


def case_examples(cases: Cases, sense: Sense) -> dict[str, list[Example]]:
    """Single messages that tell something, ask for it, or hold nothing to keep."""
    statements = [text for case in (*cases["pairs"], *cases["corrections"]) for text in case[:2]]
    statements += [case[2] for case in cases["lookalikes"]]
    statements += [text for (row,) in cases["told"] for text in row.split(" // ")]
    questions = [case[2] for case in (*cases["pairs"], *cases["corrections"])]
    idle = [text for (text,) in cases["nothing"] if not text.endswith("?")]
    weighed = [(statements, "tell", _OF_A_CASE), (questions, "ask", _OF_A_CASE), (idle, "chat", _OF_IDLE)]
    return {
        act: [
            Example(act_features(text), label == act, _GROUP, sense.wording(text), weight)
            for texts, label, weight in weighed
            for text in _as_typed(texts)
            if is_english(text)
        ]
        for act in LEARNED_ACTS
    }


def asked_examples(cases: Cases, sense: Sense) -> list[Example]:
    """Messages that ask without a question mark, and statements that resemble them, for the decision "ask" alone.

    As counterexamples of telling they would make remarks about oneself look like talk.
    """
    asked = [text for case in (*cases["asked"], *cases["scenes"]) for text in case]
    return [
        Example(act_features(text), asks, _GROUP, sense.wording(text), _OF_ASKED)
        for texts, asks in ((asked, True), ([text for (text,) in cases["noted"]], False))
        for text in _as_typed(texts)
        if is_english(text)
    ]


def _as_typed(texts: Sequence[str]) -> list[str]:
    """Returns each text, and each as typed in a hurry: no capitals, and no full stop."""
    return [typed for text in texts for typed in dict.fromkeys((text, text.lower().rstrip(".")))]


def crowded_examples(cases: Cases, sense: Sense) -> list[Example]:
    """Questions to one memory of all pairs, with their answers and without: the hits are closer to each other than in a story."""
    pairs = [case for case in cases["pairs"] if all(map(is_english, case[:3]))]
    texts = [text for first, second, _, _ in pairs for text in (first, second)]
    facts = _memories(texts)
    vectors, words_of = sense.vectors(texts), [set(content_words(text)) for text in texts]
    examples = []
    for number, (_first, _second, query, keys) in enumerate(pairs):
        words = set(content_words(query))
        near = [
            float(cosine) + _OF_A_WORD * len(words & text_words)
            for cosine, text_words in zip(vectors @ sense.vector(query), words_of, strict=True)
        ]
        order = sorted(range(len(texts)), key=lambda index: near[index], reverse=True)
        own = (2 * number, 2 * number + 1)
        parsed = parse(query, _TODAY.date(), context=query)
        for found, is_left_out in (
            (order[:_FOUND], False),
            ([index for index in order if index not in own][:_FOUND], True),
        ):
            labels = [
                index in own and any(key.strip().casefold() in texts[index].casefold() for key in keys.split(";"))
                for index in found
            ]
            weight = _OF_LEFT_OUT_CROWDED if is_left_out else _OF_ANOTHER_CROWDED
            rows = features_of(parsed, [facts[index] for index in found], (), sense)
            examples += [
                Example(row, label, _GROUP, weight=_OF_CROWDED / sum(labels) if label else weight)
                for row, label in zip(rows, labels, strict=True)
            ]
    return examples


def _memories(texts: Sequence[str]) -> list[MemoryEntry]:
    """Returns memories of facts, each told in a message of its own."""
    return [
        MemoryEntry(number, "owner", 1, "fact", text, "", (), (EvidenceRange(number, number),), (), _TODAY, None)
        for number, text in enumerate(texts, start=1)
    ]


def first_question(outcome: Played, sense: Sense) -> Question | None:
    questions = questions_of(outcome.message, outcome.recent, outcome.concepts, sense)
    return questions[0] if questions else parse(outcome.turn.text, outcome.turn.said_at.date())


def _answers(outcome: Played, entry: MemoryEntry) -> bool:
    accepted = [holds_any(entry.text, group) for group in outcome.turn.accept]
    return all(accepted) if not re.search(r"how (?:many|long|old)", outcome.turn.text, re.I) else any(accepted)


def examples_of(sets: Mapping[str, Sequence[Played]], sense: Sense) -> dict[str, list[Example]]:
    """Returns the training examples of each decision."""
    result: dict[str, list[Example]] = {name: [] for name in (*LEARNED_ACTS, "answers")}
    cases = _cases()
    for act, examples in short_examples(SHORT, sense).items():
        result[act] += examples
    for act, examples in case_examples(cases, sense).items():
        result[act] += examples
    result["ask"] += asked_examples(cases, sense)
    result["answers"] += pair_examples(PAIRS, sense) + crowded_examples(cases, sense)
    for group, played in sets.items():
        for act, examples in act_examples(played, group, sense).items():
            result[act] += examples
        result["answers"] += answer_examples(played, group, sense)
    result["forgets"] = forget_examples(cases, _spoken(sets), sense)
    result["forgotten"] = forgotten_examples(requests(cases, sense), sense)
    corrections = situations(cases, sets, sense)
    result["takes back"] = takes_back_examples(corrections, sense)
    result["corrects"] = corrects_examples(corrections, sense)
    return result


def _cases() -> dict[str, list[list[str]]]:
    """Returns the cases of all files, by section."""
    result: dict[str, list[list[str]]] = {}
    for path in (INTEGRITY, LEARNED_CASES):
        for name, cases in read_cases(path).items():
            result.setdefault(name, []).extend(cases)
    return result


def _spoken(sets: Mapping[str, Sequence[Played]]) -> dict[str, list[str]]:
    """Returns the messages of each set, and their sentences."""
    return {
        name: [text for outcome in played for text in (outcome.turn.text, *sentences(outcome.turn.text))]
        for name, played in sets.items()
    }


def train(examples: Mapping[str, Sequence[Example]], *, without: str = "") -> dict[str, dict[str, object]]:
    """Returns the decisions learned from all sets but the one left out."""
    used = {name: [example for example in rows if example.group != without] for name, rows in examples.items()}
    models = {act: fit(used[act], penalty=3.0, vector_penalty=0.1) for act in LEARNED_ACTS}
    models["answers"] = fit_trees(used["answers"], trees=200, rate=0.05)
    models["forgets"] = fit(used["forgets"], penalty=0.5, vector_penalty=0.3, standardised=False)
    models["forgotten"] = fit(used["forgotten"], penalty=3.0)
    models["takes back"] = learn_takes_back(used["takes back"])
    models["corrects"] = fit_trees(used["corrects"])
    return models
