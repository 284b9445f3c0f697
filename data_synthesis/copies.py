"""Finding copies of a picture: the same bytes, or the same picture saved again, smaller, or mirrored."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from PIL import Image

# Mean difference of two thumbnails, on a scale to 255. Photos of one DreamBooth subject differ by 6 or more, even with the
# same background; a picture and its mirror image by 0.1.
_LIMIT = 3.0
_SIDE = 16


def copies_among(photos: Iterable[Path], others: Iterable[Path]) -> dict[Path, Path]:
    """Returns the photos that are copies of one of the others, each with that one. One that cannot be decoded is no copy."""
    thumbnails = [(other, small) for other in others if (small := _thumbnail(other)) is not None]
    copies = {}
    for photo in photos:
        small = _thumbnail(photo)
        same = (other for other, thumbnail in thumbnails if small is not None and _alike(small, thumbnail))
        if (original := next(same, None)) is not None:
            copies[photo] = original
    return copies


def _alike(first: np.ndarray, second: np.ndarray) -> bool:
    return bool(min(np.abs(first - view).mean() for view in (second, second[:, ::-1])) < _LIMIT)


def _thumbnail(photo: Path) -> np.ndarray | None:
    try:
        with Image.open(photo) as picture:
            picture.draft("RGB", (256, 256))
            small = picture.convert("RGB").resize((_SIDE, _SIDE), Image.Resampling.BOX)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None
    return np.asarray(small, dtype=np.float32)
