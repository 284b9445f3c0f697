"""Vectors by which one and the same thing is known again."""

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
        """Unit float32 rows in the order of the input, closer for photos of one thing than for those of two alike."""
        ...


class EfficientNetLikeness:
    """The embedded network's; safe to call from threads."""

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
    """The image encoder's likeness; its own vectors where it has no better."""
    return EfficientNetLikeness(image_encoder.network) if isinstance(image_encoder, ConseEncoder) else image_encoder
