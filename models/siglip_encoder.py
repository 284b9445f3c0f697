"""SigLIP and SigLIP 2 through transformers, without torchvision: photos and words in one space."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL.Image import Image

from models.availability import ModelUnavailableError, PackageMissingError
from models.text_encoder import well_formed
from models.weights import module_hash

_BATCH = 8


class SiglipEncoder:
    """Loads a model from a folder or the local cache, without contacting a model hub. Thread-safe."""

    word_dimensions: int | None = None

    def __init__(self, name_or_folder: str) -> None:
        import torch
        from transformers import AutoTokenizer, SiglipImageProcessorPil, SiglipModel

        try:
            self._processor = SiglipImageProcessorPil.from_pretrained(name_or_folder, local_files_only=True)
            self._tokenizer = AutoTokenizer.from_pretrained(name_or_folder, local_files_only=True)
            model: Any = SiglipModel.from_pretrained(name_or_folder, local_files_only=True, dtype=torch.float32)
        except ImportError as error:
            raise PackageMissingError(f"image_encoder 'siglip:{name_or_folder}' lacks a package: {error}") from error
        except (OSError, ValueError) as error:
            raise ModelUnavailableError(
                f"image_encoder 'siglip:{name_or_folder}' is not on this machine or is not a SigLIP model with a "
                "fixed image size: fetch it once with `hf download`, name a folder, or use efficientnet-lite0."
            ) from error
        self._model = model.eval().to("cuda" if torch.cuda.is_available() else "cpu")
        self._text_length = model.text_model.config.max_position_embeddings
        self._tokenizing = threading.Lock()  # the tokenizer's padding is shared state
        self.dimensions: int = model.vision_model.config.hidden_size
        self.encoder_id = f"siglip:{name_or_folder}@{module_hash(model)}"

    def encode(self, photos: Sequence[Image]) -> np.ndarray:
        import torch

        vectors = np.empty((len(photos), self.dimensions), dtype=np.float32)
        for start in range(0, len(photos), _BATCH):
            batch = [photo.convert("RGB") for photo in photos[start : start + _BATCH]]
            pixels = self._processor(batch, return_tensors="pt")["pixel_values"].to(self._model.device)
            with torch.inference_mode():
                pooled = self._model.get_image_features(pixel_values=pixels).pooler_output
                vectors[start : start + _BATCH] = torch.nn.functional.normalize(pooled, dim=1).cpu().numpy()
        return vectors

    def encode_for_words(self, photos: Sequence[Image]) -> np.ndarray:
        return self.encode(photos)

    def encode_words(self, texts: Sequence[str]) -> np.ndarray:
        import torch

        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for start in range(0, len(texts), _BATCH):
            batch = [well_formed(text) for text in texts[start : start + _BATCH]]
            with self._tokenizing:
                # SigLIP was trained on texts padded to the full length, without an attention mask.
                tokens = self._tokenizer(
                    batch, padding="max_length", truncation=True, max_length=self._text_length, return_tensors="pt"
                )["input_ids"].to(self._model.device)
            with torch.inference_mode():
                pooled = self._model.get_text_features(input_ids=tokens).pooler_output
                vectors[start : start + _BATCH] = torch.nn.functional.normalize(pooled, dim=1).cpu().numpy()
        return vectors
