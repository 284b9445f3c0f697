"""The settings of ENGRAM and of its ablations (its table 4), one row each."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from m2a.systems.published_system import PublishedVariant

MemoryType = Literal["episodic", "semantic", "procedural"]
TYPES: tuple[MemoryType, ...] = ("episodic", "semantic", "procedural")


@dataclass(frozen=True, slots=True)
class EngramVariant(PublishedVariant):
    """`types` are the stores that are written and read. Without types, one store holds the messages as they are. Each store
    returns the `k` records nearest to a question, and the prompt has `k` records per speaker."""

    types: tuple[MemoryType, ...] = TYPES
    k: int = 25

    @property
    def takes_in_by_model(self) -> bool:
        return bool(self.types) and not self.by_rules

    @property
    def calls_per_message(self) -> float:
        """One call to the router, and for most messages one to an extractor, as observed with a capable model."""
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
    "engram-offline-photos": replace(FULL, by_rules=True, photo_path=True),
}
