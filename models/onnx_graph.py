"""Builds ONNX graphs node by node."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

_OPSET, _IR_VERSION = 17, 8

Shape = Sequence[int | str]
"""A string names an axis of variable length."""


class Graph:
    """A graph under construction."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []

    def add(self, operator: str, *inputs: str | np.ndarray, name: str = "", **attributes: Any) -> str:
        """Adds a node. Its inputs are names of graph inputs or of other nodes' outputs, or constants. Returns its output."""
        output = name or f"{operator}_{len(self._nodes)}"
        names = [value if isinstance(value, str) else self._constant(value) for value in inputs]
        self._nodes.append(helper.make_node(operator, names, [output], **attributes))
        return output

    def write(self, path: Path, inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[onnx.ValueInfoProto]) -> None:
        graph = helper.make_graph(self._nodes, "model", inputs, outputs, self._weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)
        onnx.checker.check_model(model)
        onnx.save(model, str(path))

    def _constant(self, value: np.ndarray) -> str:
        name = f"constant_{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.asarray(value, order="C"), name))
        return name


def float_tensor(name: str, shape: Shape) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def integer_tensor(name: str, shape: Shape) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.INT64, shape)


def constant(value: float | Sequence[float]) -> np.ndarray:
    """Returns float32 values for an input of a node."""
    return np.asarray(value, np.float32)


def integers(value: int | Sequence[int]) -> np.ndarray:
    """Returns int64 values for an input of a node."""
    return np.asarray(value, np.int64)
