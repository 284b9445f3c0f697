"""A stored photo."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Photo:
    """A stored photo. `photo_id` is the SHA-256 (hex) of the stored, re-encoded bytes; the size is in pixels after rotation."""

    photo_id: str
    owner: str
    media_type: str
    width: int
    height: int
    size: int
    added_at: datetime
