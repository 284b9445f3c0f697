"""Sentences to vectors: the protocols."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

MINILM = "all-MiniLM-L6-v2"


class TextEncoder(Protocol):
    """`encoder_id` changes whenever the vectors would; an index refuses to mix two of them."""

    encoder_id: str
    dimensions: int

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors, float32, shape (len(texts), dimensions), in the order of the texts."""
        ...


@dataclass(frozen=True, slots=True)
class TokenStates:
    """A text's tokens, each in the light of the whole text.

    `vector` is what `encode` gives for the text. `states` has a row for each token of the text, float32, not of unit
    length; `spans` holds, row by row, where the token begins in the text and where it ends. What a model puts around a
    text (as [CLS]) has no row. A text without tokens has no rows, and what is past the model's length has none either.
    """

    vector: np.ndarray
    states: np.ndarray
    spans: np.ndarray


@runtime_checkable
class TokenEncoder(TextEncoder, Protocol):
    """A text encoder that also shows the tokens behind its vectors."""

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenStates]:
        """In the order of the texts."""
        ...


@runtime_checkable
class WordingEncoder(TextEncoder, Protocol):
    """A text encoder that also shows how a text is put: whether it tells, asks or bids, more than what it is about."""

    def encode_wordings(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """What `encode` gives, and beside it the vectors of the wording, float32, not of unit length, in the same order."""
        ...


def well_formed(text: str) -> str:
    """The text with lone surrogates, which no tokenizer takes, as question marks. Its length stays."""
    return text.encode("utf-8", "replace").decode()
