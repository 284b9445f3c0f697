"""Compresses token states for late interaction (Khattab and Zaharia, 2020), to 64 bytes a token instead of 1,536.

A learned projection keeps the part of each token that matters for matching a question, and a learned weight says how much each
token of the question matters.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class TokenHead:
    """The learned weights. `projection` has a column for each kept dimension, `token_weight` an item for each of the encoder."""

    projection: np.ndarray
    token_weight: np.ndarray

    def of_record(self, states: np.ndarray) -> np.ndarray:
        """Returns the projections, each of unit length, as int8; for a record without tokens, one of only zeros."""
        return np.round(self.of_question(states)[0] * 127).astype(np.int8)

    def of_question(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the projections, each of unit length, and their weights."""
        if not len(states):
            return np.zeros((1, self.projection.shape[1]), dtype=np.float32), np.ones(1, dtype=np.float32)
        tokens = unit(states)
        return unit(tokens @ self.projection), np.logaddexp(0, tokens @ self.token_weight)

    @cached_property
    def fingerprint(self) -> str:
        """Changes whenever the results of `of_record` do."""
        return hashlib.sha256(self.projection.astype("<f4").tobytes()).hexdigest()[:8]

    def save(self, path: Path) -> None:
        np.savez(path, projection=self.projection.astype(np.float16), token_weight=self.token_weight.astype(np.float16))

    @classmethod
    def load(cls, path: Path) -> "TokenHead":
        with np.load(path) as arrays:
            return cls(arrays["projection"].astype(np.float32), arrays["token_weight"].astype(np.float32))


def unit(rows: np.ndarray) -> np.ndarray:
    """Returns the rows scaled to unit length, as float32; rows of zeros stay zero."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9), dtype=np.float32)
