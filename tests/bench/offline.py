"""How well the offline rules keep, correct, answer and decline.

`python -m tests.bench offline [--cases FILE] [--verbose]`
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.offline_cases import BEHAVIOURS, Played, Score, play_file, score

BUILD_CASES = Path(__file__).parents[1] / "data" / "offline_build.json"


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench offline", description=__doc__)
    parser.add_argument("--cases", type=Path, default=BUILD_CASES, help="the stories to play (default: the build half)")
    parser.add_argument("--verbose", action="store_true", help="print every turn that went wrong")
    options = parser.parse_args(list(arguments))
    played = play_file(options.cases)
    print(table(score(played), options.cases.name))
    if options.verbose:
        print("\n".join(failure(one) for one in played if one.wrong))
    return 0


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
