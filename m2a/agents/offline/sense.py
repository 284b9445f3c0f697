"""Vectors of the meaning and wording of texts, and the small learned decisions that use them.

The committed decisions (`learned`) fit only the vectors of the embedded all-MiniLM-L6-v2.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from models.text_encoder import MINILM, TextEncoder, TokenEncoder, TokenStates, WordingEncoder

T = TypeVar("T")

_CACHED_VECTORS = 16_384
_CACHED_READINGS = 2_048
_CACHED_STATES = 512  # texts, of some twenty tokens each


class LearnedDecision(Protocol):
    """A probability from named features, and for some decisions a vector of the text. A missing feature is 0."""

    @property
    def names(self) -> Collection[str]:
        """The names of its features."""

    def score(self, features: Mapping[str, float], vector: np.ndarray | None = None) -> float:
        """Returns the logarithm of the odds."""

    def probability(self, features: Mapping[str, float], vector: np.ndarray | None = None) -> float: ...


@dataclass(frozen=True)
class Logistic:
    """A decision that weighs each feature and each dimension of the vector."""

    bias: float
    features: Mapping[str, float]
    vector: tuple[float, ...] = ()

    @property
    def names(self) -> Collection[str]:
        return self.features.keys()

    @cached_property
    def _weights(self) -> np.ndarray:
        return np.array(self.vector)

    def score(self, features: Mapping[str, float], vector: np.ndarray | None = None) -> float:
        weight_of = self.features.get
        total = self.bias + sum([weight_of(name, 0.0) * value for name, value in features.items()])
        return total + float(np.dot(self._weights, vector)) if self.vector and vector is not None else total

    def probability(self, features: Mapping[str, float], vector: np.ndarray | None = None) -> float:
        return _sigmoid(self.score(features, vector))


@dataclass(frozen=True)
class Trees:
    """A decision that adds the values of small trees (gradient boosting; Friedman, 2001).

    A tree is a value, or the position of a feature among the names, a limit, and the trees for values up to the limit and
    above it.
    """

    bias: float
    names: Sequence[str]
    trees: Sequence[Any]

    def score(self, features: Mapping[str, float], vector: np.ndarray | None = None) -> float:
        row = [features.get(name, 0.0) for name in self.names]
        total = self.bias
        for tree in self.trees:
            while not isinstance(tree, float):
                feature, limit, below, above = tree
                tree = below if row[feature] <= limit else above
            total += tree
        return total

    def probability(self, features: Mapping[str, float], vector: np.ndarray | None = None) -> float:
        return _sigmoid(self.score(features))


def _sigmoid(score: float) -> float:
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, score))))


def as_decisions(models: Mapping[str, Mapping[str, Any]]) -> Mapping[str, LearnedDecision]:
    """Returns the decisions of a file: those with "trees" add these, the others weigh."""
    return {name: _decision(model) for name, model in models.items()}


def _decision(model: Mapping[str, Any]) -> LearnedDecision:
    if "trees" in model:
        return Trees(model["bias"], model["names"], model["trees"])
    return Logistic(model["bias"], model["features"], tuple(model.get("vector", ())))


def _of_unit_length(tokens: TokenStates) -> TokenStates:
    lengths = np.linalg.norm(tokens.states, axis=1, keepdims=True)
    return replace(tokens, states=tokens.states / np.maximum(lengths, 1e-12))


def leads(values: Sequence[float]) -> list[float]:
    """Returns the difference of each value and the best other one; a single value is its own lead."""
    best, second, *_ = [*sorted(values, reverse=True), 0.0, 0.0]
    return [value - (second if value == best else best) for value in values]


class _Cache(Generic[T]):
    """Results by text. A full cache is replaced by a new one, so that a thread may go on reading the one that it has."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._results: dict[str, T] = {}

    def of(self, texts: Sequence[str], encode: Callable[[list[str]], Iterable[T]]) -> list[T]:
        """Returns the result for each text, and encodes those that are not cached."""
        cached = self._results
        results = {text: cached[text] for text in texts if text in cached}
        if new := list(dict.fromkeys(text for text in texts if text not in results)):
            results.update(zip(new, encode(new), strict=True))
            self.add(results)
        return [results[text] for text in texts]

    def add(self, results: Mapping[str, T]) -> None:
        """Caches the results. If they do not fit, they replace all others."""
        if len(self._results) + len(results) > self._limit:
            self._results = dict(results)
        else:
            self._results.update(results)


class Sense:
    """The vectors of meaning and wording of texts, and the decisions that use them."""

    def __init__(
        self, encoder: TextEncoder, models: Mapping[str, LearnedDecision], *, cache_size: int = _CACHED_VECTORS
    ) -> None:
        """Raises `ValueError` for an encoder without vectors of wordings or states of tokens."""
        if not isinstance(encoder, WordingEncoder) or not isinstance(encoder, TokenEncoder):
            raise ValueError(f"The offline rules need an encoder that shows how texts are worded, as {MINILM} does.")
        self._encoder = encoder
        self.models = models
        self._meanings, self._wordings = _Cache[np.ndarray](cache_size), _Cache[np.ndarray](cache_size)
        self._states = _Cache[TokenStates](_CACHED_STATES)
        self._read = lru_cache(maxsize=_CACHED_READINGS)(lambda read, text: read(text, self))

    def read(self, read: Callable[[str, "Sense"], T], text: str) -> T:
        """Returns `read(text, self)`, from a cache if it was read lately, as the stages of a turn read the same sentences.

        The result must follow from the text and this object alone, and nobody may change it.
        """
        result: T = self._read(read, text)
        return result

    def with_models(self, models: Mapping[str, LearnedDecision]) -> "Sense":
        """Returns a copy with these decisions added. Both share what is cached of texts."""
        other = Sense(self._encoder, {**self.models, **models})
        other._meanings, other._wordings, other._states = self._meanings, self._wordings, self._states
        return other

    def vectors(self, texts: Iterable[str]) -> np.ndarray:
        """Returns unit vectors of the meaning of each text."""
        return np.array(self._meanings.of(list(texts), self._encoder.encode))

    def wordings(self, texts: Iterable[str]) -> np.ndarray:
        """Returns vectors of the wording of each text, for the decisions about sentences."""
        return np.array(self._wordings.of(list(texts), self._encode_wordings))

    def _encode_wordings(self, texts: list[str]) -> np.ndarray:
        vectors, wordings = self._encoder.encode_wordings(texts)
        self._meanings.add(dict(zip(texts, vectors, strict=True)))
        return wordings

    def token_states(self, texts: Sequence[str]) -> list[TokenStates]:
        """Returns the states of each text's tokens, of unit length."""
        return self._states.of(texts, self._encode_tokens)

    def _encode_tokens(self, texts: list[str]) -> list[TokenStates]:
        encoded = self._encoder.encode_tokens(texts)
        self._meanings.add({text: tokens.vector for text, tokens in zip(texts, encoded, strict=True)})
        return [_of_unit_length(tokens) for tokens in encoded]

    def wording(self, text: str) -> np.ndarray:
        wording: np.ndarray = self.wordings([text])[0]
        return wording

    def vector(self, text: str) -> np.ndarray:
        vector: np.ndarray = self.vectors([text])[0]
        return vector

    def cosine(self, left: str, right: str) -> float:
        first, second = self.vectors([left, right])
        return float(first @ second)

    def nearest(self, left: Iterable[str], right: Iterable[str]) -> list[float]:
        """Returns for each text on the left the cosine of the nearest on the right, 0 if there is none."""
        texts, others = list(left), list(right)
        if not texts or not others:
            return [0.0] * len(texts)
        return [float(value) for value in (self.vectors(texts) @ self.vectors(others).T).max(axis=1)]
