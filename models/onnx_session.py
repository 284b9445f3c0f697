"""Runs the embedded models with onnxruntime. They are exported once from the weights in their packages.

Only the export needs torch, which takes seconds to import. It uses the legacy exporter (`dynamo=False`), because the new one
requires onnxscript.
"""

import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from m2a.types.errors import UserError
from models.cached_file import write_atomically

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from torch import Tensor
    from torch.nn import Module

_exporting = threading.Lock()  # torch.onnx.export keeps global state


class ModelFileError(UserError):
    """A model cannot be loaded from its file. The message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Export:
    """A module, the names of its inputs and outputs, and two sets of inputs with different shapes.

    The first set is traced; the second verifies the trace for other shapes. `dynamic_axes` names the variable axes in the form
    of `torch.onnx.export`.
    """

    module: "Module"
    inputs: Sequence[str]
    outputs: Sequence[str]
    dynamic_axes: Mapping[str, Mapping[int, str]]
    traced: "tuple[Tensor, ...]"
    checked: "tuple[Tensor, ...]"


def open_session(path: Path, prepare: Callable[[], Export]) -> "InferenceSession":
    """Returns a single-threaded session for the file at `path`, which is created first if it is missing or damaged.

    Raises `ModelFileError` if it cannot be loaded for another reason, such as too little memory.
    """
    session = _session_or_none(path)
    if session is not None:
        return session
    with _exporting:
        session = _session_or_none(path)  # another thread may have created it meanwhile
        if session is None:
            exported = prepare()
            write_atomically(path, lambda temporary: _export(exported, temporary))
            session = _session(path)
        return session


def _session_or_none(path: Path) -> "InferenceSession | None":
    if not path.exists():
        return None
    from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument, InvalidGraph, InvalidProtobuf, NoSuchFile

    try:
        return _session(path)
    except (InvalidArgument, InvalidGraph, InvalidProtobuf, NoSuchFile):  # the file is damaged and is created again
        return None
    except Exception as error:
        # onnxruntime's error types have no common base; most likely memory is short and the file is intact.
        raise ModelFileError(
            f"The model file {path} cannot be loaded ({' '.join(str(error).split())}); free some memory and try again, "
            "or remove the file, which is then made again."
        ) from error


def _session(path: Path) -> "InferenceSession":
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    # One thread per call is faster than two on a busy machine, and several callers still run in parallel.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _export(export: Export, path: Path) -> None:
    """Writes the graph, then compares it with the module. Raises `RuntimeError` if they differ."""
    import torch

    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            export.module,
            export.traced,
            str(path),
            input_names=list(export.inputs),
            output_names=list(export.outputs),
            dynamic_axes={name: dict(axes) for name, axes in export.dynamic_axes.items()},
            opset_version=17,
            dynamo=False,
        )
        expected = export.module(*export.checked)
    feeds = {name: tensor.numpy() for name, tensor in zip(export.inputs, export.checked, strict=True)}
    results = _session(path).run(list(export.outputs), feeds)
    for name, result, reference in zip(export.outputs, results, expected, strict=True):
        if not np.allclose(result, reference.numpy(), atol=1e-4, rtol=1e-3):
            raise RuntimeError(
                f"The ONNX export of {path.stem!r} differs from the model in {name!r}; please report it."
            )
