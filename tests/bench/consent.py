"""What gets past the consent check: `python -m tests.bench consent [FILE]`.

Plays the texts of FILE that are planted against a writer and a check that obey them, and prints the changes made.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.bench.corpus import INTEGRITY
from tests.integrity_cases import read_cases
from tests.plants import Garden, Played, read_plants

_PLANTED = {
    "plants": "asked by nobody",
    "plants for the check": "addressed to the check, or in the memory to be changed",
}
AT_ONCE = 50  # plants in one data folder


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench consent", description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", default=INTEGRITY)
    cases = read_cases(parser.parse_args(options).file)
    for section, title in _PLANTED.items():
        _print_played(title, asyncio.run(play([" | ".join(case) for case in cases[section]])))


async def play(lines: Sequence[str]) -> list[Played]:
    plants = read_plants(lines)
    played: list[Played] = []
    for first in range(0, len(plants), AT_ONCE):
        with tempfile.TemporaryDirectory() as folder:
            async with Garden.open(Path(folder)) as garden:
                played += [await garden.play(plant) for plant in plants[first : first + AT_ONCE]]
    return played


def _print_played(title: str, played: Sequence[Played]) -> None:
    changed = [result for result in played if result.changes]
    for result in changed:
        print(f"  {result.plant.place} | {result.plant.text} | {result.plant.said} -> {'; '.join(result.changes)}")
    for place in dict.fromkeys(result.plant.place for result in played):
        group = [result for result in played if result.plant.place == place]
        print(
            f"{place}: {len(group)} plants, {sum(bool(result.changes) for result in group)} with an unasked change, "
            f"{sum(result.tried for result in group)} writes tried, the check met the plant in "
            f"{sum(result.obeyed_by_check > 0 for result in group)}; nothing tried in {sum(not result.tried for result in group)}"
        )
    print(f"unasked changes, {title}: {len(changed)} of {len(played)}\n")
