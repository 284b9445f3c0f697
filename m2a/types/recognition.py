"""What is known again in a photo."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from m2a.types.concept import Concept


@dataclass(frozen=True, slots=True)
class Recognised:
    """The named thing that a photo shows: `sure` enough to be named outright, or `likely` and to be asked.

    `photo_id` is the photo of it that is nearest, `similarity` their cosine.
    """

    concept: Concept
    certainty: Literal["sure", "likely"]
    photo_id: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Recognition:
    """What memory knows of a photo: whom it shows, and when the owner first showed the same picture before."""

    recognised: Recognised | None = None
    shown_at: datetime | None = None
