"""Likeness vectors, by which the same thing is recognised in different photos."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from PIL.Image import Image

from models.conse_encoder import ConseEncoder
from models.efficientnet import EfficientNet
from models.image_encoder import ImageEncoder


class LikenessEncoder(Protocol):
    encoder_id: str
    dimensions: int

    def encode(self, photos: Sequence[Image]) -> np.ndarray:
        """Returns float32 rows of unit length, in order, that are closer for photos of one thing than of two similar things."""
        ...


class EfficientNetLikeness:
    """The likeness vectors of the embedded network. Thread-safe."""

    dimensions = 1280

    def __init__(self, network: EfficientNet) -> None:
        self.encoder_id = f"likeness of {network.network_id}"
        self._network = network

    def encode(self, photos: Sequence[Image]) -> np.ndarray:
        rows = np.empty((len(photos), self.dimensions), dtype=np.float32)
        for row, photo in enumerate(photos):
            rows[row] = self._network.likeness(photo)
        return rows


def likeness_of(image_encoder: ImageEncoder) -> LikenessEncoder:
    """Returns the likeness encoder that belongs to an image encoder, which may be the image encoder itself."""
    return EfficientNetLikeness(image_encoder.network) if isinstance(image_encoder, ConseEncoder) else image_encoder
