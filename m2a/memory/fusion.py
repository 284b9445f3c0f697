"""How the rankings of the three paths become one. Pure functions."""

from collections.abc import Hashable, Iterable, Sequence
from math import fsum
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def reciprocal_rank_fusion(rankings: Iterable[Sequence[T]], *, k: int = 60) -> list[tuple[T, float]]:
    """Fuse rankings, each without repetitions, as equals (Cormack et al., 2009; M2A, equation 6).

    Best first; equal scores keep the order in which the items are first seen, ranking by ranking.
    """
    shares: dict[T, list[float]] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, start=1):
            shares.setdefault(item, []).append(1 / (k + rank))
    # fsum: the same ranks give the same score, whichever path they come from.
    scores = [(item, fsum(of_item)) for item, of_item in shares.items()]
    return sorted(scores, key=lambda scored: scored[1], reverse=True)


def with_photos(ranked: Sequence[T], photos: Sequence[T], *, k: int = 60) -> list[tuple[T, float]]:
    """A ranking of text that stands for two paths, with the third, of photos: two places of the one to one of the other.

    As reciprocal rank fusion otherwise; equal scores keep text first.
    """
    if not ranked:
        return reciprocal_rank_fusion([photos], k=k)
    shares = {item: 1 / (k + rank) for rank, item in enumerate(ranked, start=1)}
    for rank, item in enumerate(photos, start=1):
        shares[item] = shares.get(item, 0) + 1 / (k + 2 * rank)
    return sorted(shares.items(), key=lambda scored: scored[1], reverse=True)
