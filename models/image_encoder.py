"""The protocol of image encoders: vectors of photos, and vectors of words for finding photos."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from PIL.Image import Image

EFFICIENTNET = "efficientnet-lite0"


class ImageEncoder(Protocol):
    """An image encoder. All vectors are float32 rows of unit length, in the order of the input.

    `word_dimensions` is the size of the separate space in which words and photos are compared, or None if words are compared
    with the photo vectors themselves (SigLIP).
    """

    encoder_id: str
    dimensions: int
    word_dimensions: int | None

    def encode(self, photos: Sequence[Image]) -> np.ndarray:
        """Returns vectors of shape (n, dimensions), which are close for photos of the same thing."""
        ...

    def encode_for_words(self, photos: Sequence[Image]) -> np.ndarray:
        """Returns vectors of shape (n, word_dimensions). Only called if `word_dimensions` is not None."""
        ...

    def encode_words(self, texts: Sequence[str]) -> np.ndarray:
        """Returns vectors of words for finding photos: (n, word_dimensions), or (n, dimensions) if that is None."""
        ...
