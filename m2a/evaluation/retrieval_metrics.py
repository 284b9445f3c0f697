"""Metrics of retrieval: how much of the evidence was found."""

from collections.abc import Collection, Iterable, Sequence

CUTOFFS = (5, 10, 25)


def recall_at(retrieved: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Returns the share of the evidence among the first k. The evidence must not be empty."""
    return len(set(retrieved[:k]) & set(evidence)) / len(set(evidence))


def sessions_of(references: Iterable[str]) -> list[str]:
    """Returns the sessions of the turns (`D5` of `D5:3`) in order, each once."""
    return list(dict.fromkeys(reference.rpartition(":")[0] for reference in references))


def hit_at(retrieved: Sequence[str], evidence: Collection[str], k: int) -> bool:
    """Returns whether any of the evidence is among the first k."""
    return not set(retrieved[:k]).isdisjoint(evidence)
