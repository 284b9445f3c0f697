"""Who or what a photo shows, of the things that the owner named: one rule for every model, and for none.

The bars come from `python -m tests.bench recognition`, which chooses them on half of the subjects and shows them on the other
half. They hold for the embedded encoder; another encoder's similarities mean something else, and name nobody outright.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from m2a.types import Concept, Recognised


@dataclass(frozen=True, slots=True)
class Bars:
    """The least cosine to name outright and to ask, and how far ahead of the next thing one that is named has to be."""

    sure: float
    likely: float
    lead: float


UNKNOWN_ENCODER = Bars(sure=2.0, likely=0.75, lead=0.05)
_BARS = {"likeness of efficientnet-lite0@": Bars(sure=0.70, likely=0.61, lead=0.05)}


def bars_of(encoder_id: str) -> Bars:
    return next((bars for name, bars in _BARS.items() if encoder_id.startswith(name)), UNKNOWN_ENCODER)


def recognise(
    photo_id: str, vectors: Mapping[str, np.ndarray], concepts: Sequence[Concept], bars: Bars
) -> Recognised | None:
    """The concept whose photos come nearest, or None where none is near enough.

    `vectors` holds the likeness of the photo and of the concepts' photos, by photo id; what is missing is passed over. A
    concept is never named of a photo that the owner said does not show it, nor of one that is nearer to such a photo than to
    all that show it. A photo that shows a concept by the owner's word shows it.
    """
    found = []
    for concept in concepts:
        nearest = _nearest(photo_id, concept.photo_ids, vectors)
        denied = _nearest(photo_id, concept.denied_photo_ids, vectors)
        if nearest is not None and (denied is None or denied[0] < nearest[0]):
            found.append((*nearest, concept))
    found.sort(key=lambda one: one[0], reverse=True)
    if not found:
        return None
    similarity, nearest_id, concept = found[0]
    lead = similarity - (found[1][0] if len(found) > 1 else -1.0)
    if nearest_id == photo_id or (similarity >= bars.sure and lead >= bars.lead):
        return Recognised(concept, "sure", nearest_id, similarity)
    return Recognised(concept, "likely", nearest_id, similarity) if similarity >= bars.likely else None


def _nearest(photo_id: str, among: Sequence[str], vectors: Mapping[str, np.ndarray]) -> tuple[float, str] | None:
    """The photo that is nearest, with its cosine; the photo itself is nearer than any."""
    if photo_id in among:
        return 2.0, photo_id
    if photo_id not in vectors:
        return None
    cosines = [(float(vectors[other] @ vectors[photo_id]), other) for other in among if other in vectors]
    return max(cosines, default=None)
