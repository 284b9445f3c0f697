"""How the rankings of the three paths become one. Pure functions."""

from collections.abc import Collection, Hashable, Iterable, Sequence
from math import fsum
from typing import TypeVar

T = TypeVar("T", bound=Hashable)

# Of 1, 1.5, 2, 3 and 5 the best on half of a visual set, for questions about photos and for all others (RETRIEVAL.md).
_PHOTO_STEP = 5
_K = 60


def reciprocal_rank_fusion(rankings: Iterable[Sequence[T]], *, k: int = _K) -> list[tuple[T, float]]:
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


def with_photos(
    ranked: Sequence[T], photos: Sequence[T], *, as_equals: bool, near: Collection[T] = ()
) -> list[tuple[T, float]]:
    """A ranking of text that stands for two paths, with the third, of photos.

    As equals photos and text take turns, the first photo first: neither's best is pushed out by what is in the middle of both.
    Else a photo's rank counts five times: after every fourth or fifth of the text comes one of the photos. An item stands where
    the better of its two ranks puts it; without `as_equals` one that is among the `near` stands higher, at
    1 / (1 / text + 1 / photo). So a photo lifts an item to half its better rank at most, and never above the first of the
    text. Equal ranks keep text first. A score is 1 / (60 + rank).
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
        of_photo = _PHOTO_STEP * rank
        of_text = ranks.get(item)
        if of_text is None:
            ranks[item] = of_photo
        else:
            ranks[item] = 1 / (1 / of_text + 1 / of_photo) if item in near else min(of_text, of_photo)
    return [(item, 1 / (_K + rank)) for item, rank in sorted(ranks.items(), key=lambda ranked: ranked[1])]
