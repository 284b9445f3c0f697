"""Any text encoder of the sentence-transformers library, from a folder or the local model cache."""

import threading
from collections.abc import Sequence

import numpy as np

from models.availability import ModelUnavailableError, PackageMissingError, install_command
from models.text_encoder import MINILM, well_formed
from models.weights import module_hash


class SentenceTransformersEncoder:
    """Loads a model from this machine, without contacting a model hub. Calls from several threads run one after another.

    Adds no prompt before a text, so models that expect "query:" and "passage:" lose some quality.
    """

    def __init__(self, name: str) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise PackageMissingError(
                f"text_encoder {name!r} needs the extra sentence-transformers: "
                f"{install_command('sentence-transformers')}."
            ) from error
        try:
            self._model = SentenceTransformer(name, local_files_only=True)
        except (OSError, ValueError) as error:
            raise ModelUnavailableError(
                f"text_encoder {name!r} is not on this machine: fetch it once with `hf download`, name a folder, "
                f"or use {MINILM}."
            ) from error
        self._lock = threading.Lock()  # the tokenizer's padding is shared state
        self.dimensions = self._model.get_embedding_dimension() or self.encode([""]).shape[1]
        self.encoder_id = f"sentence-transformers:{name}@{module_hash(self._model)}"

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        with self._lock:
            vectors = self._model.encode(
                [well_formed(text) for text in texts], normalize_embeddings=True, show_progress_bar=False
            )
        return np.asarray(vectors, dtype=np.float32)
