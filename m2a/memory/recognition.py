"""Decides which of the things that the owner has named a photo shows, by the same rule with and without a chat model.

The thresholds come from `python -m tests.bench recognition`, which chooses them on half of the subjects and evaluates them on
the other half. They hold only for the embedded encoder. The similarities of another encoder mean something else, so with it
nothing is recognised for sure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from m2a.types import Concept, Recognised


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The lowest cosines to name a thing for sure and to suggest it, and the required lead over the next thing."""

    sure: float
    likely: float
    lead: float


UNKNOWN_ENCODER = Thresholds(sure=2.0, likely=0.75, lead=0.05)
_THRESHOLDS = {"likeness of efficientnet-lite0@": Thresholds(sure=0.70, likely=0.61, lead=0.05)}


def thresholds_for(encoder_id: str) -> Thresholds:
    return next(
        (thresholds for name, thresholds in _THRESHOLDS.items() if encoder_id.startswith(name)), UNKNOWN_ENCODER
    )


def recognise(
    photo_id: str, vectors: Mapping[str, np.ndarray], concepts: Sequence[Concept], thresholds: Thresholds
) -> Recognised | None:
    """Returns the concept whose photos are most similar, or None if none is similar enough.

    `vectors` holds the likeness vectors of the photo and of the concepts' photos, by photo id; missing ones are skipped. A
    concept is never recognised in a photo that the owner said does not show it, nor in one that is more similar to such a
    photo than to all that show it. If the owner said that the photo shows a concept, that is certain.
    """
    matches = []
    for concept in concepts:
        nearest = _nearest(photo_id, concept.photo_ids, vectors)
        denied = _nearest(photo_id, concept.denied_photo_ids, vectors)
        if nearest is not None and (denied is None or denied[0] < nearest[0]):
            matches.append((*nearest, concept))
    matches.sort(key=lambda match: match[0], reverse=True)
    if not matches:
        return None
    similarity, nearest_id, concept = matches[0]
    lead = similarity - (matches[1][0] if len(matches) > 1 else -1.0)
    if nearest_id == photo_id or (similarity >= thresholds.sure and lead >= thresholds.lead):
        return Recognised(concept, "sure", nearest_id)
    return Recognised(concept, "likely", nearest_id) if similarity >= thresholds.likely else None


def _nearest(photo_id: str, among: Sequence[str], vectors: Mapping[str, np.ndarray]) -> tuple[float, str] | None:
    """Returns the most similar photo with its cosine; the photo itself counts as more similar than any other."""
    if photo_id in among:
        return 2.0, photo_id
    if photo_id not in vectors:
        return None
    cosines = [(float(vectors[other] @ vectors[photo_id]), other) for other in among if other in vectors]
    return max(cosines, default=None)
