"""How well the offline rules keep, correct, answer and decline, and the training of what they learned.

`python -m tests.bench offline [--cases FILE] [--verbose]` plays one set. `--leave-one-out` plays every set with the
decisions learned of the others; `--train` writes those learned of all of them into the package.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from m2a.agents.offline import OfflineRules
from m2a.agents.offline.learned import LEARNED, learned
from m2a.agents.offline.sense import Sense, as_decisions
from m2a.wiring import cache_dir
from models.load import load_text_encoder
from models.text_encoder import MINILM
from tests.bench.offline_training import examples_of, train, write
from tests.offline_cases import BEHAVIOURS, Played, Score, false_quotations, play_file, read_stories, score, told

DATA = Path(__file__).parents[1] / "data"
_TEXTS = 200_000  # more than the examples hold: each is encoded once
SETS = ("build", "unseen", "final", *"defghijklmnopqrstuvw")


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench offline", description=__doc__)
    parser.add_argument("--cases", type=Path, default=cases("build"), help="the stories to play (default: the first)")
    parser.add_argument("--verbose", action="store_true", help="print every turn that went wrong")
    parser.add_argument("--train", action="store_true", help="learn the decisions of all sets and keep them")
    parser.add_argument("--leave-one-out", action="store_true", help="judge each set by what the others teach")
    options = parser.parse_args(list(arguments))
    if options.train or options.leave_one_out:
        learn(keep=options.train, verbose=options.verbose)
        return 0
    report(play_file(options.cases), options.cases.name, verbose=options.verbose)
    return 0


def cases(name: str) -> Path:
    return DATA / f"offline_{name}.json"


def learn(*, keep: bool, verbose: bool) -> None:
    """Read once with the decisions as they are, so that the examples hold the memories that there would be."""
    encoder = load_text_encoder(MINILM, cache_dir())
    sense = Sense(encoder, learned(encoder), remembered=_TEXTS)
    examples = examples_of({name: told(read_stories(cases(name)), sense) for name in SETS}, sense)
    if keep:
        write(LEARNED, train(examples))
        return
    together: list[Played] = []
    for name in SETS:
        played = play_file(cases(name), OfflineRules(encoder, as_decisions(train(examples, without=name))))
        report(played, cases(name).name, verbose=verbose)
        together += played
    report(together, "all, each left out")


def report(played: Sequence[Played], name: str, *, verbose: bool = False) -> None:
    print(table(score(played), name))
    print(f"{'false quotations':<22}{len(false := false_quotations(played)):>16}")
    if verbose:
        print("\n".join([*(failure(one) for one in played if one.wrong), *false]))


def table(result: Score, name: str) -> str:
    lines = [f"{name:<22}{'precision':>16}{'recall':>16}"]
    lines += [
        f"{behaviour:<22}{result.precision[behaviour]!s:>16}{result.recall[behaviour]!s:>16}"
        for behaviour in BEHAVIOURS
    ]
    return "\n".join([*lines, f"{'invented answers':<22}{result.invented:>16}"])


def failure(one: Played) -> str:
    lines = [f"\n{one.turn.id} {one.turn.kind}: {one.wrong}", f"  said  {one.turn.text}", f"  reply {one.reply}"]
    lines += [f"  kept  {entry.text}" for entry in one.added]
    if one.turn.kind != "chit_chat":
        lines += [f"  known {entry.text}" for entry in one.before]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
