"""The frozen settings of ENGRAM and of its ablations (its table 4), one row each."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from m2a.systems.published_system import PublishedVariant

MemoryType = Literal["episodic", "semantic", "procedural"]
TYPES: tuple[MemoryType, ...] = ("episodic", "semantic", "procedural")


@dataclass(frozen=True, slots=True)
class EngramVariant(PublishedVariant):
    """`types` are the stores that are written and read; without any there is one store of messages as they are, and nobody
    routes or extracts. Each store gives its `k` nearest to a question, and `k` of all go into a prompt for each speaker."""

    types: tuple[MemoryType, ...] = TYPES
    k: int = 25

    @property
    def takes_in_by_model(self) -> bool:
        return bool(self.types) and not self.by_rules

    @property
    def calls_per_message(self) -> float:
        """As played with a capable model: one to route, and an extractor for most messages."""
        return 2.0 if self.takes_in_by_model else 0.0


FULL = EngramVariant()

ENGRAM: Mapping[str, EngramVariant] = {
    "engram": FULL,
    "engram-episodic-only": replace(FULL, types=("episodic",)),
    "engram-semantic-only": replace(FULL, types=("semantic",)),
    "engram-procedural-only": replace(FULL, types=("procedural",)),
    "engram-single-store": replace(FULL, types=()),
    "engram-photos": replace(FULL, photo_path=True),
    "engram-offline": replace(FULL, by_rules=True),
}
