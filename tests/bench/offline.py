"""How well the offline rules keep, correct, answer and decline, and the training of their decisions.

`python -m tests.bench offline [--sets NAME…] [--verbose]` plays the sets that nothing is learned from, or those named.
`--leave-one-out` plays every set of the train split with the decisions learned from the others; `--train NAME…` learns the
named decisions, such as `answers`, from all of them and writes them into the package.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any

from m2a.agents.offline import OfflineRules
from m2a.agents.offline.learned import LEARNED
from m2a.agents.offline.sense import Sense, as_decisions
from m2a.wiring import cache_dir
from models.load import load_text_encoder
from models.text_encoder import MINILM
from tests.bench.offline_training import examples_of, train, write
from tests.offline_cases import BEHAVIOURS, Played, Score, StorySet, false_quotations, play, read_sets, score, simulate

_TEXTS = 200_000  # more than in the examples: each is encoded once


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench offline", description=__doc__)
    sets = read_sets()
    test_sets = [name for name, story_set in sets.items() if story_set.split == "test"]
    parser.add_argument("--sets", nargs="+", choices=list(sets), default=test_sets, metavar="NAME", help="sets to play")
    parser.add_argument("--verbose", action="store_true", help="print every turn that went wrong")
    parser.add_argument("--train", nargs="+", metavar="NAME", help="learn these decisions of all sets and keep them")
    parser.add_argument("--leave-one-out", action="store_true", help="judge each set by what the others teach")
    options = parser.parse_args(list(arguments))
    if options.train or options.leave_one_out:
        learn(options.train or (), verbose=options.verbose)
        return 0
    play_sets([sets[name] for name in options.sets], verbose=options.verbose)
    return 0


def play_sets(sets: Sequence[StorySet], *, verbose: bool) -> None:
    played = [asyncio.run(play(story_set.stories)) for story_set in sets]
    for story_set, turns in zip(sets, played, strict=True):
        report(turns, story_set.name, verbose=verbose)
    if len(sets) > 1:
        report([turn for turns in played for turn in turns], "all")


def learn(names: Sequence[str], *, verbose: bool) -> None:
    """Learns the named decisions and keeps them, or without names judges each set by what the others teach.

    Reads the sets once with the present decisions, so that the examples contain realistic memories. The names of their features
    are not checked, since they may be new.
    """
    encoder = load_text_encoder(MINILM, cache_dir())
    present: dict[str, Any] = json.loads(LEARNED.read_text(encoding="utf-8"))
    sense = Sense(
        encoder, as_decisions({name: present[name] for name in present if name != "encoder"}), cache_size=_TEXTS
    )
    sets = read_sets(split="train")
    examples = examples_of({name: simulate(story_set.stories, sense) for name, story_set in sets.items()}, sense)
    if names:
        write(LEARNED, present | {name: model for name, model in train(examples).items() if name in names})
        return
    together: list[Played] = []
    for name, story_set in sets.items():
        rules = OfflineRules(encoder, as_decisions(train(examples, without=name)))
        played = asyncio.run(play(story_set.stories, rules))
        report(played, name, verbose=verbose)
        together += played
    report(together, "all, each left out")


def report(played: Sequence[Played], name: str, *, verbose: bool = False) -> None:
    print(table(score(played), name))
    print(f"{'false quotations':<22}{len(false := false_quotations(played)):>16}")
    if verbose:
        print("\n".join([*(failure(case) for case in played if case.wrong), *false]))


def table(result: Score, name: str) -> str:
    lines = [f"{name:<22}{'precision':>16}{'recall':>16}"]
    lines += [
        f"{behaviour:<22}{result.precision[behaviour]!s:>16}{result.recall[behaviour]!s:>16}"
        for behaviour in BEHAVIOURS
    ]
    lines.append(f"{'answered outright':<22}{'':>16}{result.outright!s:>16}")
    return "\n".join([*lines, f"{'invented answers':<22}{result.invented:>16}"])


def failure(case: Played) -> str:
    lines = [f"\n{case.turn.id} {case.turn.kind}: {case.wrong}", f"  said  {case.turn.text}", f"  reply {case.reply}"]
    lines += [f"  kept  {entry.text}" for entry in case.added]
    if case.turn.kind != "chit_chat":
        lines += [f"  known {entry.text}" for entry in case.before]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
