"""FactConsolidation-style contexts from MQuAKE (Zhong et al., 2023): a fact, later another value of the same, and what holds.

The recipe of MemoryAgentBench: facts are numbered from 0; of an edit the old value has the smaller number; questions of one
fact are MQuAKE's, questions of several are MQuAKE's chains over the edited facts; both kinds share a context.
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
_WITHOUT_CONFLICT = 26  # of the questions of one fact, as counted in the published 6K context
_HEADING = "Here is a list of facts:\n"

Row = dict[str, Any]


@dataclass(slots=True)
class _Statement:
    """What is said of one subject in one relation: `begins` is the sentence without its value; the newest value is last."""

    begins: str
    question: str
    values: list[str] = field(default_factory=list)
    aliases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    is_filler: bool = False

    def tell(self, value: str, aliases: Iterable[str] = ()) -> None:
        if value not in self.values:
            self.values.append(value)
        self.aliases[value] = tuple(dict.fromkeys((*self.aliases.get(value, ()), *aliases)))


@dataclass(frozen=True, slots=True)
class _Chain:
    """A question of several hops: by the sentence's beginning and the value of each."""

    questions: tuple[str, ...]
    hops: tuple[tuple[str, str], ...]
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Source:
    statements: dict[str, _Statement]
    chains: tuple[_Chain, ...]
    filler: tuple[_Statement, ...]


def compose_fact_consolidation(mquake: Path, sizes: Sequence[str], *, seed: int = 1) -> list[Row]:
    """Two rows a size, of one hop and of several, in MemoryAgentBench's layout; the size `all` takes in all that is there.

    `mquake` is a folder with files in MQuAKE-CF's layout, and perhaps PokeMQA's edits: these have no older value, so they
    are filler, and the rows count it. Raises BenchmarkError where the folder holds no MQuAKE file.
    """
    source = _read(mquake)
    return [row for size in sizes for row in _rows(source, size, random.Random(f"{seed}/{size}"))]


def _rows(source: _Source, size: str, draw: random.Random) -> list[Row]:
    chains, statements = _chosen(source, SIZES.get(size), draw)
    facts = _in_order(statements, draw)
    serials = {fact: serial for serial, fact in enumerate(facts)}
    newest = {one.begins: serials[one.begins, one.values[-1]] for one in statements}
    context = _HEADING + "\n".join(f"{serial}. {begins} {value}." for serial, (begins, value) in enumerate(facts))
    about = {
        "facts": len(facts),
        "filler_facts": sum(len(one.values) for one in statements if one.is_filler),
        "conflicts": sum(len(one.values) > 1 for one in statements),
        "characters": len(context),
    }

    def row(kind: str, asked: list[tuple[str, tuple[str, ...], list[int]]]) -> Row:
        source_name = f"{OWN}factconsolidation_{kind}_{size}"
        return {
            "context": context,
            "questions": [question for question, _, _ in asked],
            "answers": [list(answers) for _, answers, _ in asked],
            "metadata": {
                "source": source_name,
                "qa_pair_ids": [f"{source_name}_no{number}" for number in range(len(asked))],
                "hops": [hops for _, _, hops in asked],
                **about,
            },
        }

    single = [
        (one.question, (one.values[-1], *one.aliases[one.values[-1]]), [newest[one.begins]])
        for one in _asked(statements, draw)
    ]
    several = [
        (draw.choice(chain.questions), chain.answers, [newest[begins] for begins, _ in chain.hops])
        for chain in chains[:QUESTIONS]
    ]
    return [row("sh", single), row("mh", several)]


def _asked(statements: Sequence[_Statement], draw: random.Random) -> list[_Statement]:
    """Those that are asked of by themselves: as in the published data a quarter of them has but one value."""
    own = [one for one in statements if not one.is_filler]
    changed = [one for one in own if len(one.values) > 1]
    unchanged = [one for one in own if len(one.values) == 1]
    without = draw.sample(unchanged, min(_WITHOUT_CONFLICT, len(unchanged)))
    asked = without + draw.sample(changed, min(QUESTIONS - len(without), len(changed)))
    draw.shuffle(asked)
    return asked


def _chosen(source: _Source, size: int | None, draw: random.Random) -> tuple[list[_Chain], list[_Statement]]:
    """Chains, those that need fewest new facts first, then whatever else there is, up to so many characters."""
    left = size - len(_HEADING) if size else math.inf
    chosen: dict[str, _Statement] = {}
    waiting = [chain for chain in source.chains if _holds(chain, source)]
    draw.shuffle(waiting)
    chains: list[_Chain] = []

    def length(one: _Statement) -> int:
        return sum(len(one.begins) + len(value) + len("\n1000.  .") for value in one.values)

    def new(chain: _Chain) -> list[_Statement]:
        return [source.statements[begins] for begins, _ in chain.hops if begins not in chosen]

    unchanged = [one for one in source.statements.values() if len(one.values) == 1]
    kept_back = draw.sample(unchanged, min(_WITHOUT_CONFLICT, len(unchanged)))
    for one in kept_back:
        chosen[one.begins] = one
    left -= sum(map(length, kept_back))
    while waiting and len(chains) < QUESTIONS:
        chain = min(waiting, key=lambda one: len(new(one)))
        waiting.remove(chain)
        takes = sum(map(length, new(chain)))
        if takes > left:
            break
        left -= takes
        chosen |= {one.begins: one for one in new(chain)}
        chains.append(chain)
    others = [one for one in source.statements.values() if one.begins not in chosen]
    filler = [one for one in source.filler if one.begins not in source.statements]
    draw.shuffle(others)
    draw.shuffle(filler)
    for one in [*others, *filler]:
        if length(one) <= left:
            left -= length(one)
            chosen[one.begins] = one
    return chains, list(chosen.values())


def _holds(chain: _Chain, source: _Source) -> bool:
    """Whether its values are those that hold at the end: another chain may have edited the same otherwise."""
    return all(source.statements[begins].values[-1] == value for begins, value in chain.hops)


def _in_order(statements: Sequence[_Statement], draw: random.Random) -> list[tuple[str, str]]:
    """All facts in an order by chance, in which the values of one statement keep theirs."""
    slots = [one for one in statements for _ in one.values]
    draw.shuffle(slots)
    told: dict[str, int] = {}
    facts = []
    for one in slots:
        told[one.begins] = told.get(one.begins, -1) + 1
        facts.append((one.begins, one.values[told[one.begins]]))
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
                chains.append(_take(record, statements))
        elif "edit" in records[0]:
            edits += records
    if not chains:
        raise BenchmarkError(
            f"{folder} holds no file in MQuAKE-CF's layout, a list of records with 'requested_rewrite'."
        )
    return _Source(statements, tuple(chains), tuple(_filler(edits, statements)))


def _take(record: dict[str, Any], statements: dict[str, _Statement]) -> _Chain:
    """Keep what a record says, old values before new ones; its chain."""
    for hop in record["single_hops"]:
        _statement(statements, hop).tell(hop["answer"], hop["answer_alias"])
    for edit in record["requested_rewrite"]:
        begins = edit["prompt"].format(edit["subject"])
        one = statements.setdefault(begins, _Statement(begins, edit["question"]))
        old = edit["target_true"]["str"]
        if old not in one.values:
            one.values.insert(0, old)
            one.aliases.setdefault(old, ())
        one.tell(edit["target_new"]["str"])
    hops = []
    for hop in record["new_single_hops"]:
        _statement(statements, hop).tell(hop["answer"], hop["answer_alias"])
        hops.append((hop["cloze"], hop["answer"]))
    answers = (record["new_answer"], *record["new_answer_alias"])
    return _Chain(tuple(record["questions"]), tuple(hops), answers)


def _statement(statements: dict[str, _Statement], hop: dict[str, Any]) -> _Statement:
    return statements.setdefault(hop["cloze"], _Statement(hop["cloze"], hop["question"]))


def _filler(edits: Sequence[dict[str, Any]], statements: dict[str, _Statement]) -> list[_Statement]:
    """Statements of one value each, that no question asks of."""
    texts = dict.fromkeys(edit["edit"].strip() for edit in edits)
    known = tuple(f"{begins} " for begins in statements)
    return [
        _Statement(" ".join(words[:-1]), "", [words[-1]], {words[-1]: ()}, is_filler=True)
        for text in texts
        if not text.startswith(known) and len(words := text.split()) > 2
    ]
