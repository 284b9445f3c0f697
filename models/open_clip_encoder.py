"""SigLIP and other two-tower models through open_clip, which needs a torchvision that matches torch."""

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL.Image import Image

from models.availability import VISION, ModelUnavailableError, PackageMissingError, install_command
from models.text_encoder import well_formed
from models.weights import module_hash

_BATCH = 8


class OpenClipEncoder:
    """`name` is a folder, a hub repository (`timm/ViT-B-16-SigLIP-384`), or open_clip's own name of a model.

    Weights come from the folder or the local model cache; no model hub is contacted. Thread-safe.
    """

    word_dimensions: int | None = None

    def __init__(self, name: str) -> None:
        try:
            import open_clip
            import torch
        except Exception as error:  # a torchvision of a different build raises RuntimeError on import
            raise PackageMissingError(
                f"image_encoder 'open-clip:{name}' needs open_clip with a torchvision that matches torch: "
                f"{install_command(VISION)} in the folder of M2A, or use siglip:NAME_OR_FOLDER."
            ) from error
        model_name = f"local-dir:{_folder(name, open_clip)}"
        model, self._prepare = open_clip.create_model_from_pretrained(model_name)
        self._tokenizer = open_clip.get_tokenizer(model_name)
        self._tokenizing = threading.Lock()  # the tokenizer's padding is shared state
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._model = model.float().eval().to(self._device)
        self.encoder_id = f"open-clip:{name}@{module_hash(model)}"
        self.dimensions = int(self._encode_text([""]).shape[1])

    def encode(self, photos: Sequence[Image]) -> np.ndarray:
        import torch

        vectors = np.empty((len(photos), self.dimensions), dtype=np.float32)
        for start in range(0, len(photos), _BATCH):
            batch = photos[start : start + _BATCH]
            pixels = torch.stack([self._prepare(photo.convert("RGB")) for photo in batch]).to(self._device)
            with torch.inference_mode():
                vectors[start : start + _BATCH] = self._model.encode_image(pixels, normalize=True).cpu().numpy()
        return vectors

    def encode_for_words(self, photos: Sequence[Image]) -> np.ndarray:
        return self.encode(photos)

    def encode_words(self, texts: Sequence[str]) -> np.ndarray:
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for start in range(0, len(texts), _BATCH):
            vectors[start : start + _BATCH] = self._encode_text(texts[start : start + _BATCH])
        return vectors

    def _encode_text(self, texts: Sequence[str]) -> np.ndarray:
        import torch

        with self._tokenizing:
            tokens = self._tokenizer([well_formed(text) for text in texts]).to(self._device)
        with torch.inference_mode():
            vectors: np.ndarray = self._model.encode_text(tokens, normalize=True).cpu().numpy()
        return vectors


def _folder(name: str, open_clip) -> Path:  # type: ignore[no-untyped-def]
    """Returns the folder of the weights on this machine. Raises `ModelUnavailableError` if there is none."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    if Path(name).is_dir():
        return Path(name)
    repository = name
    if "/" not in name:
        tags = open_clip.list_pretrained_tags_by_model(name)
        hubs = [open_clip.get_pretrained_cfg(name, tag).get("hf_hub", "").strip("/") for tag in tags]
        repository = next((hub for hub in hubs if hub.count("/") == 1), "")
        if not repository:
            raise ModelUnavailableError(
                f"open_clip knows no weights for {name!r}: use a name such as ViT-B-16-SigLIP-384."
            )
    try:
        return Path(snapshot_download(repository, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError) as error:
        raise ModelUnavailableError(
            f"image_encoder 'open-clip:{name}' is not on this machine: fetch it once with `hf download {repository}`."
        ) from error
