"""What texts mean and how they are put, by the encoder, and the small learned decisions that rest on it.

The decisions that ship (`learned`) fit the vectors of the embedded all-MiniLM-L6-v2 only.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.text_encoder import MINILM, TextEncoder, WordingEncoder

_REMEMBERED = 16_384


@dataclass(frozen=True)
class Logistic:
    """A probability from named features and, for some, the vector of a text's wording. A feature that is left out is 0."""

    bias: float
    features: Mapping[str, float]
    vector: tuple[float, ...] = ()

    def score(self, features: Mapping[str, float], vector: np.ndarray | None = None) -> float:
        """The logarithm of the odds."""
        total = self.bias + sum(self.features.get(name, 0.0) * value for name, value in features.items())
        return total + float(np.dot(self.vector, vector)) if self.vector and vector is not None else total

    def probability(self, features: Mapping[str, float], vector: np.ndarray | None = None) -> float:
        return 1 / (1 + math.exp(-max(-60.0, min(60.0, self.score(features, vector)))))


def as_decisions(models: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Logistic]:
    return {
        name: Logistic(model["bias"], model["features"], tuple(model.get("vector", ())))
        for name, model in models.items()
    }


def leads(values: Sequence[float]) -> list[float]:
    """How far each value is above the best of the others; one alone leads by all of it."""
    ordered = sorted(values, reverse=True)
    others = [ordered[1:2] if value == ordered[0] else ordered[:1] for value in values]
    return [value - other[0] if other else value for value, other in zip(values, others, strict=True)]


class _Known:
    """Vectors by text, each computed once while no more than `limit` are known. Safe to use from threads."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._vectors: dict[str, np.ndarray] = {}

    def of(self, texts: Sequence[str], encode: Callable[[list[str]], np.ndarray]) -> np.ndarray:
        known = self._vectors
        new = list(dict.fromkeys(text for text in texts if text not in known))
        if new:
            known = self.add(new, encode(new), texts)
        return np.array([known[text] for text in texts])

    def add(self, new: Sequence[str], vectors: np.ndarray, asked_for: Sequence[str] = ()) -> dict[str, np.ndarray]:
        """All that is known after it: where there is too much, only these and what is `asked_for` beside them."""
        known, encoded = self._vectors, dict(zip(new, vectors, strict=True))
        if len(known) + len(encoded) > self._limit:
            self._vectors = known = {**{text: known[text] for text in asked_for if text in known}, **encoded}
        else:
            known.update(encoded)
        return known


class Sense:
    """What the encoder makes of texts: their meaning and their wording, and the decisions that rest on either."""

    def __init__(self, encoder: TextEncoder, models: Mapping[str, Logistic], *, remembered: int = _REMEMBERED) -> None:
        """Raises `ValueError` for an encoder that shows no wordings."""
        if not isinstance(encoder, WordingEncoder):
            raise ValueError(f"The offline rules need an encoder that shows how texts are worded, as {MINILM} does.")
        self._encoder = encoder
        self._remembered = remembered
        self.models = models
        self._meanings, self._wordings = _Known(remembered), _Known(remembered)

    def with_models(self, models: Mapping[str, Logistic]) -> "Sense":
        """The same, with these decisions beside its own; what was encoded is not encoded again."""
        other = Sense(self._encoder, {**self.models, **models}, remembered=self._remembered)
        other._meanings, other._wordings = self._meanings, self._wordings
        return other

    def vectors(self, texts: Iterable[str]) -> np.ndarray:
        """Unit vectors of what each text is about."""
        return self._meanings.of(list(texts), self._encoder.encode)

    def wordings(self, texts: Iterable[str]) -> np.ndarray:
        """Vectors of how each text is put, which the decisions about sentences rest on."""
        return self._wordings.of(list(texts), self._encode_wordings)

    def _encode_wordings(self, texts: list[str]) -> np.ndarray:
        vectors, wordings = self._encoder.encode_wordings(texts)
        self._meanings.add(texts, vectors)
        return wordings

    def wording(self, text: str) -> np.ndarray:
        wording: np.ndarray = self.wordings([text])[0]
        return wording

    def vector(self, text: str) -> np.ndarray:
        vector: np.ndarray = self.vectors([text])[0]
        return vector

    def cosine(self, left: str, right: str) -> float:
        one, other = self.vectors([left, right])
        return float(one @ other)

    def nearest(self, left: Iterable[str], right: Iterable[str]) -> list[float]:
        """For each text on the left the cosine of the nearest on the right; 0 where there is none."""
        ours, theirs = list(left), list(right)
        if not ours or not theirs:
            return [0.0] * len(ours)
        return [float(one) for one in (self.vectors(ours) @ self.vectors(theirs).T).max(axis=1)]
