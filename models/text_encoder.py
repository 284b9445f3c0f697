"""Sentences to vectors: the protocol, and the adapter that a name stands for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

MINILM = "all-MiniLM-L6-v2"


class TextEncoder(Protocol):
    """`encoder_id` changes whenever the vectors would; an index refuses to mix two of them."""

    encoder_id: str
    dimensions: int

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors, float32, shape (len(texts), dimensions), in the order of the texts."""
        ...


def load_text_encoder(name: str, cache_dir: Path) -> TextEncoder:
    """The embedded all-MiniLM-L6-v2, or any other name through sentence-transformers.

    Raises `ValueError` for a model that is not on this machine and `ImportError` for a missing extra, each with the
    remedy.
    """
    if name == MINILM:
        from models.minilm_encoder import MiniLMEncoder

        return MiniLMEncoder.load(cache_dir)
    from models.sentence_transformers_encoder import SentenceTransformersEncoder

    return SentenceTransformersEncoder(name)


def well_formed(text: str) -> str:
    """The text with lone surrogates, which no tokenizer takes, as question marks."""
    return text.encode("utf-8", "replace").decode()
