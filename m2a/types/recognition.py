"""What is recognised in a photo."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from m2a.types.concept import Concept


@dataclass(frozen=True, slots=True)
class Recognised:
    """A named thing that a photo shows: `sure`, so that it can be named, or only `likely`, so that the user should be asked.

    `photo_id` is the most similar photo of the thing.
    """

    concept: Concept
    certainty: Literal["sure", "likely"]
    photo_id: str


@dataclass(frozen=True, slots=True)
class Recognition:
    """What is recognised in a photo: the named thing that it shows, and when the owner first showed the same picture."""

    recognised: Recognised | None = None
    shown_at: datetime | None = None
