"""The settings of HyMem and of its ablations (its table 2), one row each."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from m2a.systems.published_system import PublishedVariant


@dataclass(frozen=True, slots=True)
class HymemVariant(PublishedVariant):
    """The settings of one system. `light`, `deep` and `reflection` are its modules. `summaries` is Level 1; without it, the light
    module reads the units of Level 2, and there is no deep module.

    The light module sees `k` summaries. The deep module chooses among `candidates` summaries in parallel batches of `batch`.
    There are at most `rounds` rounds.
    """

    summaries: bool = True
    light: bool = True
    deep: bool = True
    reflection: bool = True
    k: int = 10
    candidates: int = 30
    batch: int = 10
    rounds: int = 3

    def __post_init__(self) -> None:
        if not (self.light or self.deep) or (self.deep and not self.summaries):
            raise ValueError("HyMem needs the light module or the deep one, and the deep one chooses among summaries.")

    @property
    def calls_per_message(self) -> float:
        """For a session of twenty messages, one call to divide it and one for each of about four units."""
        return 0.0 if self.by_rules else (1 + 4 * self.summaries) / 20

    @property
    def calls_per_question(self) -> float:
        """One and a half rounds, with the deep module for every third question, or for all of them without the light module."""
        deep = self.deep * (1 + self.candidates / self.batch) * (0.3 if self.light else 1.0)
        return 1.5 * (self.light + deep + self.reflection)


FULL = HymemVariant()
RAW = replace(FULL, summaries=False, deep=False)

HYMEM: Mapping[str, HymemVariant] = {
    "hymem": FULL,
    "hymem-no-deep": replace(FULL, deep=False),
    "hymem-no-light": replace(FULL, light=False),
    "hymem-no-reflection": replace(FULL, reflection=False),
    "hymem-light-only": replace(FULL, deep=False, reflection=False),
    "hymem-deep-only": replace(FULL, light=False, reflection=False),
    "hymem-raw": RAW,
    "hymem-raw-no-reflection": replace(RAW, reflection=False),
    "hymem-photos": replace(FULL, photo_path=True),
    "hymem-offline": replace(FULL, by_rules=True),
    "hymem-offline-photos": replace(FULL, by_rules=True, photo_path=True),
}
