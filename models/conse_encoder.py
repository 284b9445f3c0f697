"""Finds photos by words without a joint model: ConSE (Norouzi et al., 2013, "Zero-Shot Learning by Convex Combination of
Semantic Embeddings", https://arxiv.org/abs/1312.5650)."""

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL.Image import Image

from models.cached_file import write_atomically
from models.efficientnet import EfficientNet, class_names
from models.text_encoder import TextEncoder

_TOP_CLASSES = 10


class ConseEncoder:
    """Encodes photos as the network's features, and for search by words as the mean of the vectors of the ten likeliest class
    names, weighted by their probability. Bare names work as well as "a photo of a NAME" (tests/bench/encoders.py).

    The vectors of the class names take seconds to compute, so they are made on demand and kept in the cache folder.
    Thread-safe.
    """

    dimensions = 1280

    def __init__(self, network: EfficientNet, text_encoder: TextEncoder, cache_dir: Path) -> None:
        names_hash = hashlib.sha256("\n".join(class_names()).encode()).hexdigest()[:12]
        self.network = network
        self.encoder_id = f"{network.network_id}+conse-{names_hash}+{text_encoder.encoder_id}"
        self.word_dimensions: int | None = text_encoder.dimensions
        self._text_encoder = text_encoder
        key = hashlib.sha256(f"{names_hash} {text_encoder.encoder_id}".encode()).hexdigest()[:12]
        self._names_file = cache_dir / f"imagenet-classes-{key}.npy"
        self._name_vectors: np.ndarray | None = None
        self._lock = threading.Lock()

    def encode(self, photos: Sequence[Image]) -> np.ndarray:
        vectors = np.empty((len(photos), self.dimensions), dtype=np.float32)
        for row, photo in enumerate(photos):
            vectors[row] = self.network.run(photo).features
        return vectors

    def encode_for_words(self, photos: Sequence[Image]) -> np.ndarray:
        names = self._class_name_vectors()
        vectors = np.empty((len(photos), names.shape[1]), dtype=np.float32)
        for row, photo in enumerate(photos):
            vectors[row] = convex_combination(self.network.run(photo).probabilities, names)
        return vectors

    def encode_words(self, texts: Sequence[str]) -> np.ndarray:
        return self._text_encoder.encode(texts)

    def _class_name_vectors(self) -> np.ndarray:
        with self._lock:
            if self._name_vectors is None:
                self._name_vectors = self._read_names()
            if self._name_vectors is None:
                made = self._text_encoder.encode(class_names())
                write_atomically(self._names_file, lambda temporary: np.save(temporary, made))
                self._name_vectors = made
            return self._name_vectors

    def _read_names(self) -> np.ndarray | None:
        try:
            vectors: np.ndarray = np.load(self._names_file)
        except (OSError, EOFError, ValueError):
            return None  # missing or damaged, so they are made again
        return vectors if vectors.shape == (len(class_names()), self.word_dimensions) else None


def convex_combination(probabilities: np.ndarray, class_vectors: np.ndarray, top: int = _TOP_CLASSES) -> np.ndarray:
    """Returns the unit mean of the vectors of the `top` likeliest classes, weighted by probability (ConSE, equation 3)."""
    likeliest = np.argsort(-probabilities, kind="stable")[:top]
    mean = probabilities[likeliest] @ class_vectors[likeliest]
    unit: np.ndarray = mean / max(float(np.linalg.norm(mean)), 1e-9)
    return unit
