"""Photos to vectors, and words into the space where they find photos: the protocol."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from PIL.Image import Image

EFFICIENTNET = "efficientnet-lite0"


class ImageEncoder(Protocol):
    """All vectors are unit float32 rows in the order of the input.

    `word_dimensions` is the size of the separate space in which words find photos, or None where words are
    compared with the photo vectors themselves (SigLIP).
    """

    encoder_id: str
    dimensions: int
    word_dimensions: int | None

    def encode(self, photos: Sequence[Image]) -> np.ndarray:
        """Shape (n, dimensions): photos of the same thing lie close."""
        ...

    def encode_for_words(self, photos: Sequence[Image]) -> np.ndarray:
        """Shape (n, word_dimensions); called only where `word_dimensions` is not None."""
        ...

    def encode_words(self, texts: Sequence[str]) -> np.ndarray:
        """Words in the space that finds photos: (n, word_dimensions), or (n, dimensions) where that is None."""
        ...
