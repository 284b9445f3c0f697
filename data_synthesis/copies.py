"""Whether two photos are one picture: the same bytes, or the same scene saved again, smaller, or mirrored."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from PIL import Image

# The mean difference of two thumbnails, of 255. Photos of one DreamBooth subject differ by 6 and more, also before one
# backdrop; the one that is another mirrored, by 0.1.
_LIMIT = 3.0
_SIDE = 16


def copies_among(photos: Iterable[Path], others: Iterable[Path]) -> dict[Path, Path]:
    """For each of the photos that is the same picture as one of the others, that one. Who cannot be decoded is no copy."""
    known = [(other, small) for other in others if (small := _thumbnail(other)) is not None]
    found = {}
    for photo in photos:
        small = _thumbnail(photo)
        same = (other for other, seen in known if small is not None and _alike(small, seen))
        if (copy := next(same, None)) is not None:
            found[photo] = copy
    return found


def _alike(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(min(np.abs(one - seen).mean() for seen in (other, other[:, ::-1])) < _LIMIT)


def _thumbnail(photo: Path) -> np.ndarray | None:
    try:
        with Image.open(photo) as picture:
            picture.draft("RGB", (256, 256))
            small = picture.convert("RGB").resize((_SIDE, _SIDE), Image.Resampling.BOX)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None
    return np.asarray(small, dtype=np.float32)
