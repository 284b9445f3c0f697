"""A stored photo."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Photo:
    """`photo_id` is the SHA-256 (hex) of the stored, re-encoded bytes; `width` and `height` are pixels after rotation."""

    photo_id: str
    owner: str
    media_type: str
    width: int
    height: int
    size: int
    added_at: datetime
