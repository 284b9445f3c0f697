"""How well the rules follow facts: `python -m tests.bench facts --data FOLDER [--restated FILE --templates FOLDER] [--show 5]`.

FOLDER is the output of `python -m m2a.benchmarks.compose --mquake …`. Every chunk is a message, and all messages are available:
`m2a evaluate` measures how well a search finds them, this bench only how they are used. An answer counts if it is a gold answer
and nothing else.

FILE has the same relations in a writer's own words, as `corpus/restated.txt` does, and the folder of templates MQuAKE's
`cloze_templates.json` and `question_templates.json`, which identify the relation of a fact: each fact
is then restated in a random wording of its relation, and so are questions of one fact.
"""

import argparse
import json
import random
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from m2a.agents.offline.learned import learned
from m2a.agents.offline.relations import facts_that_lead
from m2a.agents.offline.sense import Sense
from m2a.benchmarks.compose.fact_consolidation import compose_fact_consolidation
from m2a.benchmarks.memoryagentbench import chunks_of
from m2a.evaluation.word_measures import is_strictly_right
from m2a.types import Message
from m2a.wiring import cache_dir
from models.load import load_text_encoder
from models.text_encoder import MINILM
from tests.bench.corpus import RESTATED
from tests.bench.relation_training import read_restated, train

CHUNK_TOKENS = 512
_FACT = re.compile(r"(\d+)\. (.+)\.$")
NOW = datetime(2025, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Wordings:
    """The relations of a context, and other wordings of their statements and questions."""

    facts: Mapping[str, re.Pattern[str]]
    questions: Mapping[str, re.Pattern[str]]
    restated: Mapping[str, Mapping[str, Sequence[str]]]

    @classmethod
    def read(cls, restated: Path, templates: Path) -> "Wordings":
        facts, questions = (
            json.loads((templates / f"{kind}_templates.json").read_text()) for kind in ("cloze", "question")
        )
        return cls(_patterns(facts), _patterns(questions), read_restated(restated))

    def parsed(self, line: str) -> tuple[str, str, str] | None:
        """Returns relation, subject and value of a numbered fact; None for any other line."""
        numbered = _FACT.match(line)
        match = None if numbered is None else _matching(numbered[2], self.facts, self.restated)
        return None if match is None else (match[0], match[1][0], match[1][1])

    def fact(self, text: str, draw: random.Random) -> str:
        match = _matching(text, self.facts, self.restated)
        if match is None:
            return text
        relation, (subject, value) = match
        words = draw.choice(self.restated[relation]["statements"]).rstrip(".")
        sentence = words.replace("[X]", subject).replace("[Y]", value)
        return sentence[0].upper() + sentence[1:]

    def question(self, text: str, draw: random.Random) -> str:
        match = _matching(text, self.questions, self.restated)
        if match is None:
            return text
        relation, (subject,) = match
        return draw.choice(self.restated[relation]["questions"]).replace("[X]", subject)


def _patterns(templates: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
    """Returns a pattern for each relation, except relations whose template also matches facts of others."""
    patterns = {}
    for relation, template in templates.items():
        escaped = re.escape(template).replace(r"\[X\]", "(.+?)").replace("__", "(.+)")
        patterns[relation] = re.compile(f"^{escaped}$")
    return {relation: pattern for relation, pattern in patterns.items() if relation not in ("P131", "P276", "P1308")}


def _matching(
    text: str, patterns: Mapping[str, re.Pattern[str]], restated: Mapping[str, object]
) -> tuple[str, tuple[str, ...]] | None:
    for relation, pattern in patterns.items():
        if relation in restated and (match := pattern.match(text)):
            return relation, match.groups()
    return None


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench facts", description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--train", type=Path, help="Folder of MQuAKE, to learn the weights of relations from.")
    parser.add_argument("--restated", type=Path)
    parser.add_argument("--templates", type=Path)
    parser.add_argument("--show", type=int, default=0, help="So many wrong answers of each context.")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(arguments)
    encoder = load_text_encoder(MINILM, cache_dir())
    if args.train is not None:
        mquake, train_wordings = args.train, Wordings.read(RESTATED, args.train)
        context = compose_fact_consolidation(mquake, ["all"])[0]["context"]
        facts = [fact for line in context.splitlines() if (fact := train_wordings.parsed(line)) is not None]
        train(facts, mquake, Sense(encoder, {}, cache_size=200_000), encoder.encoder_id.partition("@")[0])
        return
    sense = Sense(encoder, learned(encoder))
    wordings = Wordings.read(args.restated, args.templates) if args.restated else None
    for file in sorted(args.data.glob("*factconsolidation*.json")):
        for row in json.loads(file.read_text()):
            name = row["metadata"]["source"]
            _measure(name, row["context"], row["questions"], row["answers"], sense, args.show)
            if wordings is not None:
                draw = random.Random(args.seed)
                context = "\n".join(_line(line, wordings, draw) for line in row["context"].splitlines())
                _measure(f"{name}, facts restated", context, row["questions"], row["answers"], sense, args.show)
                questions = [wordings.question(question, draw) for question in row["questions"]]
                if questions != row["questions"]:
                    _measure(f"{name}, questions restated", row["context"], questions, row["answers"], sense, args.show)
                    _measure(f"{name}, both restated", context, questions, row["answers"], sense, args.show)


def _line(line: str, wordings: Wordings, draw: random.Random) -> str:
    fact = _FACT.match(line)
    return line if fact is None else f"{fact[1]}. {wordings.fact(fact[2], draw)}."


def _measure(
    name: str, context: str, questions: Sequence[str], answers: Sequence[Any], sense: Sense, show: int
) -> None:
    messages = [
        Message(number, "owner", "c", "user", "user", chunk, (), NOW)
        for number, chunk in enumerate(chunks_of(context, CHUNK_TOKENS), start=1)
    ]
    right = silent = 0
    began = time.perf_counter()
    for question, golds in zip(questions, answers, strict=True):
        facts = facts_that_lead(question, lambda _: messages, sense)
        is_right = bool(facts) and is_strictly_right("contains", facts[-1].value, golds)
        right += is_right
        silent += not facts
        if not is_right and show > 0:
            show -= 1
            print(f"  {question}\n    gold {golds[0]}; {' → '.join(fact.sentence for fact in facts) or 'no facts'}")
    seconds = (time.perf_counter() - began) / len(questions)
    print(
        f"{name}: strictly right {right} of {len(questions)}, no answer {silent}; {1000 * seconds:.0f} ms a question",
        flush=True,
    )
