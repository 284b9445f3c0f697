"""How the rankings of the three paths become one. Pure functions."""

from collections.abc import Collection, Hashable, Iterable, Sequence
from math import fsum
from typing import TypeVar

T = TypeVar("T", bound=Hashable)

# Of 1, 1.5, 2, 3 and 5 the best on half of a visual set, for questions about photos and for all others (RETRIEVAL.md).
_PHOTO_STEP = 5


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


def with_photos(
    ranked: Sequence[T], photos: Sequence[T], *, as_equals: bool, near: Collection[T] = (), k: int = 60
) -> list[tuple[T, float]]:
    """A ranking of text that stands for two paths, with the third, of photos.

    As equals: reciprocal rank fusion. Else a photo's rank counts five times: after every fourth or fifth of the text comes
    one of the photos. An item of both that is among the `near` gets the sum of the two; any other stands where the better of
    the two puts it, since in a small memory every item is ranked, and whatever has a photo would come first. Equal scores
    keep text first.
    """
    if not ranked or as_equals:
        return reciprocal_rank_fusion([ranked, photos], k=k)
    shares = {item: 1 / (k + rank) for rank, item in enumerate(ranked, start=1)}
    for rank, item in enumerate(photos, start=1):
        of_photo = 1 / (k + _PHOTO_STEP * rank)
        shares[item] = shares.get(item, 0) + of_photo if item in near else max(shares.get(item, 0), of_photo)
    return sorted(shares.items(), key=lambda scored: scored[1], reverse=True)
