"""A text encoder that counts texts and measures the time per text."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from models.text_encoder import TextEncoder, TokenStates

_MIN_BATCH = 8  # smaller batches are queries, which take longer per text


class TimedEncoder:
    """A text encoder that passes every call on to another. `encoded` is the number of texts so far."""

    def __init__(self, encoder: "TextEncoder") -> None:
        self.encoder_id = encoder.encoder_id
        self.dimensions = encoder.dimensions
        self.encoded = 0
        self._encoder = encoder
        self._timed = 0
        self._seconds = 0.0

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        began = time.perf_counter()
        vectors = self._encoder.encode(texts)
        self.encoded += len(texts)
        if len(texts) >= _MIN_BATCH:
            self._timed += len(texts)
            self._seconds += time.perf_counter() - began
        return vectors

    def encode_tokens(self, texts: Sequence[str]) -> "list[TokenStates]":
        """Raises `AttributeError` if the encoder has no token states. The learned ranking checks the encoder's id before."""
        states: list[TokenStates] = self._encoder.encode_tokens(texts)  # type: ignore[attr-defined]
        return states

    def seconds_per_text(self, examples: Sequence[str]) -> float:
        """Returns the time per text as measured so far, or else as measured on the examples now."""
        if not self._timed:
            self.encode([*examples, *[""] * (_MIN_BATCH - len(examples))])
        return self._seconds / self._timed
