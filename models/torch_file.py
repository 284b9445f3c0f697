"""Reads tensors from a file in torch's old format, without torch and without executing anything in the file."""

import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

_TYPES = {"FloatStorage": np.dtype("<f4"), "LongStorage": np.dtype("<i8")}


class _View(NamedTuple):
    """A tensor as a view of a storage: its offset, shape and strides, counted in elements."""

    storage: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def read_tensors(path: Path) -> dict[str, np.ndarray]:
    """Returns the tensors of a state dictionary, by name. Raises `pickle.UnpicklingError` for any other content.

    The file consists of pickles (three headers, the dictionary, the keys of the storages) followed by the storages.
    """
    with path.open("rb") as file:
        for _header in ("magic number", "version", "system"):
            _Unpickler(file).load()
        dictionary = _Unpickler(file)
        views: dict[str, _View] = dictionary.load()
        storages = {}
        for key in _Unpickler(file).load():
            count, dtype = int.from_bytes(file.read(8), "little"), dictionary.types[key]
            storages[key] = np.frombuffer(file.read(count * dtype.itemsize), dtype)
    return {name: _array(storages[view.storage], view) for name, view in views.items()}


def _array(storage: np.ndarray, view: _View) -> np.ndarray:
    strides = [step * storage.itemsize for step in view.strides]
    return np.lib.stride_tricks.as_strided(storage[view.offset :], view.shape, strides, writeable=False)


class _Unpickler(pickle.Unpickler):
    """Loads only plain values and tensors, which become views. `types` are the types of the storages that it has met."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        self.types: dict[str, np.dtype[Any]] = {}

    def persistent_load(self, storage: Any) -> str:
        _kind, dtype, key, *_location = storage
        self.types[key] = dtype
        return str(key)

    def find_class(self, module: str, name: str) -> Any:
        if module == "torch" and name in _TYPES:
            return _TYPES[name]
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda storage, offset, shape, strides, *_gradient: _View(storage, offset, shape, strides)
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        raise pickle.UnpicklingError(f"The file contains {module}.{name}, which is not a tensor.")
