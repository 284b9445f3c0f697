"""The protocols of text encoders."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

MINILM = "all-MiniLM-L6-v2"


class TextEncoder(Protocol):
    """Encodes texts as vectors. `encoder_id` changes whenever the vectors change, and an index refuses to mix two encoders."""

    encoder_id: str
    dimensions: int

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Returns float32 vectors of unit length, in the shape (len(texts), dimensions), in the order of the texts."""
        ...


@dataclass(frozen=True, slots=True)
class TokenStates:
    """The contextual states of a text's tokens.

    `vector` is the result of `encode`. `states` has a float32 row for each token, not of unit length, and `spans` holds the start
    and the end of each token in the text. The tokens that a model adds (such as [CLS]) have no row, and neither does text
    beyond the model's maximum length.
    """

    vector: np.ndarray
    states: np.ndarray
    spans: np.ndarray


@runtime_checkable
class TokenEncoder(TextEncoder, Protocol):
    """A text encoder that also returns the states of single tokens."""

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenStates]:
        """Returns the token states of each text, in order."""
        ...


@runtime_checkable
class WordingEncoder(TextEncoder, Protocol):
    """A text encoder that also encodes the wording of a text: whether it states, asks or requests, more than what it is about."""

    def encode_wordings(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Returns the result of `encode`, and in the same order the vectors of the wording, float32, not of unit length."""
        ...


def well_formed(text: str) -> str:
    """Returns the text with question marks for lone surrogates, which no tokenizer accepts. Its length stays the same."""
    return text.encode("utf-8", "replace").decode()
