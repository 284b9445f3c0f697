"""Whether the evidence was found."""

from collections.abc import Collection, Sequence

CUTOFFS = (5, 10, 25)


def recall_at(retrieved: Sequence[str], evidence: Collection[str], k: int) -> float:
    """The part of the evidence among the first k. The evidence must not be empty."""
    return len(set(retrieved[:k]) & set(evidence)) / len(set(evidence))


def hit_at(retrieved: Sequence[str], evidence: Collection[str], k: int) -> bool:
    """Whether any of the evidence is among the first k."""
    return not set(retrieved[:k]).isdisjoint(evidence)
