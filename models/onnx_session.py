"""Runs the embedded models with onnxruntime. Their graphs are written once, from the weights in their packages."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from m2a.types.errors import UserError
from models.cached_file import write_atomically

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

_writing = threading.Lock()  # several threads that need a graph write it once


class ModelFileError(UserError):
    """A model cannot be loaded from its file. The message says why and what to do."""


def open_session(path: Path, write: Callable[[Path], None]) -> "InferenceSession":
    """Returns a single-threaded session for the graph at `path`, which `write` creates first if it is missing or damaged.

    Raises `ModelFileError` if it cannot be loaded for another reason, such as too little memory.
    """
    session = _session_or_none(path)
    if session is not None:
        return session
    with _writing:
        session = _session_or_none(path)  # another thread may have created it meanwhile
        if session is None:
            write_atomically(path, write)
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
            "or delete the file; M2A makes it again."
        ) from error


def _session(path: Path) -> "InferenceSession":
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    # One thread per call is faster than two on a busy machine, and several callers still run in parallel.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # Fused with the sum before it, a layer normalization takes three times as long on a CPU (onnxruntime 1.31).
    return InferenceSession(
        str(path), options, providers=["CPUExecutionProvider"], disabled_optimizers=["SkipLayerNormFusion"]
    )
