"""Photos to vectors, and words into the space where they find photos: the protocol, and the adapter of a name."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from PIL.Image import Image

from models.availability import ModelUnavailableError
from models.text_encoder import TextEncoder

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


def load_image_encoder(name: str, text_encoder: TextEncoder, cache_dir: Path) -> ImageEncoder:
    """`efficientnet-lite0`, `siglip:NAME_OR_FOLDER` or `open-clip:NAME`; the text encoder serves the first alone.

    Raises `ModelUnavailableError` for an unknown name or a model that is not on this machine and `PackageMissingError`
    for a missing extra, each with the remedy.
    """
    kind, _, model = name.partition(":")
    if name == EFFICIENTNET:
        from models.conse_encoder import ConseEncoder
        from models.efficientnet import EfficientNet

        return ConseEncoder(EfficientNet.load(cache_dir), text_encoder, cache_dir)
    if kind == "siglip" and model:
        from models.siglip_encoder import SiglipEncoder

        return SiglipEncoder(model)
    if kind == "open-clip" and model:
        from models.open_clip_encoder import OpenClipEncoder

        return OpenClipEncoder(model)
    raise ModelUnavailableError(
        f"Unknown image_encoder {name!r}: use {EFFICIENTNET}, siglip:NAME_OR_FOLDER (such as "
        "siglip:google/siglip-base-patch16-384) or open-clip:NAME (such as open-clip:ViT-B-16-SigLIP-384)."
    )
