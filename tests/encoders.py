"""Encoders for tests: deterministic, legible, without weights. Texts that share words, photos that share a colour, are close."""

import re
import zlib
from collections.abc import Sequence

import numpy as np
from PIL.Image import Image

from m2a.memory.words import finished_words
from models.text_encoder import TokenStates, WordingEncoder


def _unit(rows: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(norms == 0, 1, norms)).astype(np.float32)


class HashingTextEncoder:
    """A bag of finished words: each word is a fixed random direction. `texts` records what was encoded."""

    def __init__(self, encoder_id: str = "hashing-text", dimensions: int = 64) -> None:
        self.encoder_id = encoder_id
        self.dimensions = dimensions
        self.texts: list[str] = []

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.texts += texts
        rows = np.zeros((len(texts), self.dimensions))
        for row, text in enumerate(texts):
            for word in finished_words(text) or [""]:
                rows[row] += self._direction(word)
        return _unit(rows)

    def _direction(self, word: str) -> np.ndarray:
        seed = zlib.crc32(f"{self.encoder_id} {word}".encode())
        return np.random.default_rng(seed).normal(size=self.dimensions)


COLOURS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255), "yellow": (255, 255, 0)}


class ColourImageEncoder:
    """A photo is its mean colour; for words, the colour's name. `photos` counts the encoded photos."""

    dimensions = 3

    def __init__(self, encoder_id: str = "colour", *, own_word_space: bool = True) -> None:
        self.encoder_id = encoder_id
        self._words = HashingTextEncoder(f"{encoder_id} words", 32)
        self.word_dimensions = self._words.dimensions if own_word_space else None
        self.photos = 0

    def encode(self, photos: Sequence[Image]) -> np.ndarray:
        self.photos += len(photos)
        return _unit(np.array([np.asarray(photo, dtype=float).mean(axis=(0, 1)) + 1 for photo in photos]))

    def encode_for_words(self, photos: Sequence[Image]) -> np.ndarray:
        return self._words.encode([self._colour_name(vector) for vector in self.encode(photos)])

    def encode_words(self, texts: Sequence[str]) -> np.ndarray:
        if self.word_dimensions is not None:
            return self._words.encode(texts)
        colours = [
            np.sum([COLOURS[word] for word in text.split() if word in COLOURS] or [(1, 1, 1)], axis=0) for text in texts
        ]
        return _unit(np.array(colours, dtype=float) + 1)

    def _colour_name(self, vector: np.ndarray) -> str:
        names = list(COLOURS)
        return names[int(np.argmax(_unit(np.array(list(COLOURS.values()), dtype=float) + 1) @ vector))]


class HashingTokenEncoder(HashingTextEncoder):
    """The same with tokens: the token of a word is its direction, regardless of its position."""

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenStates]:
        result = []
        for text, vector in zip(texts, self.encode(texts), strict=True):
            words = [(match, finished_words(match[0])) for match in re.finditer(r"\w+", text)]
            spans = [match.span() for match, stems in words if stems]
            states = [self._direction(stems[0]) for _, stems in words if stems]
            result.append(
                TokenStates(
                    vector,
                    np.array(states, dtype=np.float32).reshape(-1, self.dimensions),
                    np.array(spans, dtype=np.int32).reshape(-1, 2),
                )
            )
        return result


class RecordingEncoder:
    """Passes every call on to another encoder, and keeps its texts."""

    def __init__(self, encoder: WordingEncoder) -> None:
        self.encoder_id, self.dimensions = encoder.encoder_id, encoder.dimensions
        self.calls: list[list[str]] = []
        self._encoder = encoder

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.calls.append(list(texts))
        return self._encoder.encode(texts)

    def encode_wordings(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        self.calls.append(list(texts))
        return self._encoder.encode_wordings(texts)

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenStates]:
        self.calls.append(list(texts))
        return self._encoder.encode_tokens(texts)
