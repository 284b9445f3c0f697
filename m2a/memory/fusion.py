"""Fuses the rankings of the three retrieval paths into one. Pure functions."""

from collections.abc import Collection, Hashable, Iterable, Sequence
from math import fsum
from typing import TypeVar

T = TypeVar("T", bound=Hashable)

# The best of 1, 1.5, 2, 3 and 5 on half of a visual data set, for questions about photos and for all others (RETRIEVAL.md).
_PHOTO_STEP = 5
_K = 60


def reciprocal_rank_fusion(rankings: Iterable[Sequence[T]], *, k: int = _K) -> list[tuple[T, float]]:
    """Fuses rankings without repetitions, all with equal weight (Cormack et al., 2009; M2A, equation 6).

    Returns the items best first; ties keep the order in which the items first appear, ranking by ranking.
    """
    shares: dict[T, list[float]] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, start=1):
            shares.setdefault(item, []).append(1 / (k + rank))
    # fsum is independent of the order, so that the same ranks give the same score whichever path they come from.
    scores = [(item, fsum(item_shares)) for item, item_shares in shares.items()]
    return sorted(scores, key=lambda scored: scored[1], reverse=True)


def with_photos(
    ranked: Sequence[T], photos: Sequence[T], *, as_equals: bool, near: Collection[T] = ()
) -> list[tuple[T, float]]:
    """Fuses a ranking of the two text paths with a ranking of the photo path.

    With `as_equals`, photos and text take turns, starting with the first photo, so that the best of either is not pushed out
    by items in the middle of both. Otherwise a photo's rank counts five times: one photo follows every fourth or fifth text
    item. An item takes the better of its two ranks. Without `as_equals`, an item in `near` ranks higher still, at
    1 / (1 / text + 1 / photo), so a photo lifts an item at most to half its better rank, and never above the first text item.
    Ties keep text first. A score is 1 / (60 + rank).
    """
    if as_equals:
        turns: dict[T, int] = {item: 2 * rank for rank, item in enumerate(ranked, start=1)}
        for rank, item in enumerate(photos, start=1):
            turns[item] = min(2 * rank - 1, turns.get(item, 2 * rank))
        in_turn = sorted(turns, key=turns.__getitem__)
        return [(item, 1 / (_K + rank)) for rank, item in enumerate(in_turn, start=1)]
    if not ranked:
        return reciprocal_rank_fusion([photos])
    ranks: dict[T, float] = {item: rank for rank, item in enumerate(ranked, start=1)}
    for rank, item in enumerate(photos, start=1):
        photo_rank = _PHOTO_STEP * rank
        text_rank = ranks.get(item)
        if text_rank is None:
            ranks[item] = photo_rank
        else:
            ranks[item] = 1 / (1 / text_rank + 1 / photo_rank) if item in near else min(text_rank, photo_rank)
    return [(item, 1 / (_K + rank)) for item, rank in sorted(ranks.items(), key=lambda ranked: ranked[1])]
