"""Composes contexts like FactConsolidation's from MQuAKE (Zhong et al., 2023): facts, of which some get a new value later.

The recipe is that of MemoryAgentBench. Facts are numbered from 0, and the old value of an edit has the smaller number. Questions
about one fact are MQuAKE's own, and questions about several are its chains over the edited facts. Both kinds share a context.
"""

import json
import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from m2a.benchmarks.dialogue import BenchmarkError
from m2a.benchmarks.memoryagentbench import OWN

SIZES = {"6k": 26_157, "32k": 136_565, "64k": 273_473}
"""Characters of the published contexts."""

QUESTIONS = 100
_WITHOUT_CONFLICT = 26  # of the questions about one fact, as counted in the published 6K context
_HEADING = "Here is a list of facts:\n"

Row = dict[str, Any]


@dataclass(slots=True)
class _Statement:
    """The values of one relation of one subject, newest last. `beginning` is the sentence without its value."""

    beginning: str
    question: str
    values: list[str] = field(default_factory=list)
    aliases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    is_filler: bool = False

    @property
    def answers(self) -> tuple[str, ...]:
        return self.values[-1], *self.aliases[self.values[-1]]

    def add(self, value: str, aliases: Iterable[str] = ()) -> None:
        if value not in self.values:
            self.values.append(value)
        self.aliases[value] = tuple(dict.fromkeys((*self.aliases.get(value, ()), *aliases)))


@dataclass(frozen=True, slots=True)
class _Chain:
    """A question of several hops in several wordings. A hop is the beginning of a statement and its value."""

    questions: tuple[str, ...]
    hops: tuple[tuple[str, str], ...]
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Source:
    statements: dict[str, _Statement]
    chains: tuple[_Chain, ...]
    filler: tuple[_Statement, ...]


def compose_fact_consolidation(mquake: Path, sizes: Sequence[str], *, seed: int = 1) -> list[Row]:
    """Returns two rows for each size, of one hop and of several, in MemoryAgentBench's layout. The size `all` uses all data.

    `mquake` is a folder with files in MQuAKE-CF's layout, and perhaps PokeMQA's edits. Those have no older value, so they are
    filler, which the rows count. Raises `BenchmarkError` if the folder holds no MQuAKE file.
    """
    source = _read(mquake)
    return [row for size in sizes for row in _rows(source, size, random.Random(f"{seed}/{size}"))]


def _rows(source: _Source, size: str, rng: random.Random) -> list[Row]:
    chains, statements = _choose(source, SIZES.get(size), rng)
    facts = _shuffled(statements, rng)
    serials = {fact: serial for serial, fact in enumerate(facts)}
    newest = {statement.beginning: serials[statement.beginning, statement.values[-1]] for statement in statements}
    context = _HEADING + "\n".join(f"{serial}. {beginning} {value}." for serial, (beginning, value) in enumerate(facts))
    counts = {
        "facts": len(facts),
        "filler_facts": sum(len(statement.values) for statement in statements if statement.is_filler),
        "conflicts": sum(len(statement.values) > 1 for statement in statements),
        "characters": len(context),
    }

    def row(kind: str, items: list[tuple[str, tuple[str, ...], list[int]]]) -> Row:
        source_name = f"{OWN}factconsolidation_{kind}_{size}"
        return {
            "context": context,
            "questions": [question for question, _, _ in items],
            "answers": [list(answers) for _, answers, _ in items],
            "metadata": {
                "source": source_name,
                "qa_pair_ids": [f"{source_name}_no{number}" for number in range(len(items))],
                "hops": [hops for _, _, hops in items],
                **counts,
            },
        }

    one_hop = [
        (statement.question, statement.answers, [newest[statement.beginning]])
        for statement in _asked_statements(statements, rng)
    ]
    several_hops = [
        (rng.choice(chain.questions), chain.answers, [newest[beginning] for beginning, _ in chain.hops])
        for chain in chains[:QUESTIONS]
    ]
    return [row("sh", one_hop), row("mh", several_hops)]


def _asked_statements(statements: Sequence[_Statement], rng: random.Random) -> list[_Statement]:
    """Returns the statements of the one-hop questions. A quarter of them has a single value, as in the published data."""
    candidates = [statement for statement in statements if not statement.is_filler]
    changed = [statement for statement in candidates if len(statement.values) > 1]
    unchanged = [statement for statement in candidates if len(statement.values) == 1]
    without_conflict = rng.sample(unchanged, min(_WITHOUT_CONFLICT, len(unchanged)))
    selected = without_conflict + rng.sample(changed, min(QUESTIONS - len(without_conflict), len(changed)))
    rng.shuffle(selected)
    return selected


def _choose(source: _Source, size: int | None, rng: random.Random) -> tuple[list[_Chain], list[_Statement]]:
    """Returns chains, taken in order of the fewest new facts, and the statements of a context of at most `size` characters.

    Room that the chains leave is filled with other statements, and then with filler.
    """
    room = size - len(_HEADING) if size else math.inf
    chosen: dict[str, _Statement] = {}
    remaining = [chain for chain in source.chains if _is_current(chain, source)]
    rng.shuffle(remaining)
    chains: list[_Chain] = []

    def length(statement: _Statement) -> int:
        return sum(len(statement.beginning) + len(value) + len("\n1000.  .") for value in statement.values)

    def missing(chain: _Chain) -> list[_Statement]:
        return [source.statements[beginning] for beginning, _ in chain.hops if beginning not in chosen]

    unchanged = [statement for statement in source.statements.values() if len(statement.values) == 1]
    reserved = rng.sample(unchanged, min(_WITHOUT_CONFLICT, len(unchanged)))
    for statement in reserved:
        chosen[statement.beginning] = statement
    room -= sum(map(length, reserved))
    while remaining and len(chains) < QUESTIONS:
        chain = min(remaining, key=lambda chain: len(missing(chain)))
        remaining.remove(chain)
        cost = sum(map(length, missing(chain)))
        if cost > room:
            break
        room -= cost
        chosen |= {statement.beginning: statement for statement in missing(chain)}
        chains.append(chain)
    others = [statement for statement in source.statements.values() if statement.beginning not in chosen]
    filler = [statement for statement in source.filler if statement.beginning not in source.statements]
    rng.shuffle(others)
    rng.shuffle(filler)
    for statement in [*others, *filler]:
        if length(statement) <= room:
            room -= length(statement)
            chosen[statement.beginning] = statement
    return chains, list(chosen.values())


def _is_current(chain: _Chain, source: _Source) -> bool:
    """Returns whether the values of the chain are still the newest: another chain may have edited the same statement."""
    return all(source.statements[beginning].values[-1] == value for beginning, value in chain.hops)


def _shuffled(statements: Sequence[_Statement], rng: random.Random) -> list[tuple[str, str]]:
    """Returns all facts in random order, except that the values of a statement keep theirs."""
    slots = [statement for statement in statements for _ in statement.values]
    rng.shuffle(slots)
    positions: dict[str, int] = {}
    facts = []
    for statement in slots:
        positions[statement.beginning] = positions.get(statement.beginning, -1) + 1
        facts.append((statement.beginning, statement.values[positions[statement.beginning]]))
    return facts


def _read(folder: Path) -> _Source:
    statements: dict[str, _Statement] = {}
    chains: list[_Chain] = []
    edits: list[dict[str, Any]] = []
    for file in sorted(folder.glob("*.json")):
        records = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(records, list) or not records:
            continue
        if "requested_rewrite" in records[0]:
            for record in records:
                chains.append(_add_record(record, statements))
        elif "edit" in records[0]:
            edits += records
    if not chains:
        raise BenchmarkError(
            f"{folder} holds no file in MQuAKE-CF's layout, a list of records with 'requested_rewrite'."
        )
    return _Source(statements, tuple(chains), tuple(_filler(edits, statements)))


def _add_record(record: dict[str, Any], statements: dict[str, _Statement]) -> _Chain:
    """Adds the values in a record to the statements, old ones before new ones, and returns its chain."""
    for hop in record["single_hops"]:
        _statement(statements, hop).add(hop["answer"], hop["answer_alias"])
    for edit in record["requested_rewrite"]:
        beginning = edit["prompt"].format(edit["subject"])
        statement = statements.setdefault(beginning, _Statement(beginning, edit["question"]))
        old = edit["target_true"]["str"]
        if old not in statement.values:
            statement.values.insert(0, old)
            statement.aliases.setdefault(old, ())
        statement.add(edit["target_new"]["str"])
    hops = []
    for hop in record["new_single_hops"]:
        _statement(statements, hop).add(hop["answer"], hop["answer_alias"])
        hops.append((hop["cloze"], hop["answer"]))
    answers = (record["new_answer"], *record["new_answer_alias"])
    return _Chain(tuple(record["questions"]), tuple(hops), answers)


def _statement(statements: dict[str, _Statement], hop: dict[str, Any]) -> _Statement:
    return statements.setdefault(hop["cloze"], _Statement(hop["cloze"], hop["question"]))


def _filler(edits: Sequence[dict[str, Any]], statements: dict[str, _Statement]) -> list[_Statement]:
    """Returns statements of one value each, which no question is about."""
    texts = dict.fromkeys(edit["edit"].strip() for edit in edits)
    beginnings = tuple(f"{beginning} " for beginning in statements)
    return [
        _Statement(" ".join(words[:-1]), "", [words[-1]], {words[-1]: ()}, is_filler=True)
        for text in texts
        if not text.startswith(beginnings) and len(words := text.split()) > 2
    ]
