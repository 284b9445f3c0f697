"""EfficientNet-Lite0 as an ONNX graph, from its weights. The batch normalisations are folded into the convolutions."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from models.onnx_graph import Graph, constant, float_tensor
from models.torch_file import read_tensors

_BLOCKS = 16
_HALVING_BLOCKS = (1, 3, 5, 11)
_EPSILON = 1e-3
_LIKENESS_POWER = 3

Weights = Mapping[str, np.ndarray]


def write_efficientnet(weights_file: Path, path: Path) -> None:
    """Writes a graph with the input `photos`, and with the outputs `features`, `probabilities` and `likeness`.

    The sides of the photos must be multiples of 32.
    """
    weights, graph = read_tensors(weights_file), Graph()
    maps = _convolution(graph, "photos", weights, "_conv_stem", "_bn0", stride=2)
    for number in range(_BLOCKS):
        maps = _block(graph, maps, weights, f"_blocks.{number}", stride=2 if number in _HALVING_BLOCKS else 1)
    maps = _convolution(graph, maps, weights, "_conv_head", "_bn1")
    features = graph.add("ReduceMean", maps, axes=[2, 3], keepdims=0, name="features")
    scores = graph.add("Gemm", features, weights["_fc.weight"], weights["_fc.bias"], transB=1)
    graph.add("Softmax", scores, axis=1, name="probabilities")
    powers = graph.add("Pow", graph.add("Max", maps, constant(1e-6)), constant(_LIKENESS_POWER))
    mean = graph.add("ReduceMean", powers, axes=[2, 3], keepdims=0)
    graph.add("Pow", mean, constant(1 / _LIKENESS_POWER), name="likeness")
    class_count, size = weights["_fc.weight"].shape
    sizes = {"features": size, "probabilities": class_count, "likeness": size}
    graph.write(
        path,
        [float_tensor("photos", ("photos", 3, "height", "width"))],
        [float_tensor(name, ("photos", length)) for name, length in sizes.items()],
    )


def _block(graph: Graph, maps: str, weights: Weights, name: str, stride: int) -> str:
    """Adds an inverted bottleneck, with a skip connection if the output has the shape of the input."""
    inputs = maps
    channels = weights[f"{name}._depthwise_conv.weight"].shape[0]
    channels_in, channels_out = channels, weights[f"{name}._project_conv.weight"].shape[0]
    if f"{name}._expand_conv.weight" in weights:
        channels_in = weights[f"{name}._expand_conv.weight"].shape[1]
        maps = _convolution(graph, maps, weights, f"{name}._expand_conv", f"{name}._bn0")
    maps = _convolution(graph, maps, weights, f"{name}._depthwise_conv", f"{name}._bn1", stride, groups=channels)
    maps = _convolution(graph, maps, weights, f"{name}._project_conv", f"{name}._bn2", is_linear=True)
    return graph.add("Add", maps, inputs) if stride == 1 and channels_in == channels_out else maps


def _convolution(
    graph: Graph,
    maps: str,
    weights: Weights,
    convolution: str,
    normalisation: str,
    stride: int = 1,
    *,
    groups: int = 1,
    is_linear: bool = False,
) -> str:
    """Adds a convolution and its batch normalisation, followed by ReLU6 unless it `is_linear`."""
    scale = weights[f"{normalisation}.weight"] / np.sqrt(weights[f"{normalisation}.running_var"] + _EPSILON)
    kernel = weights[f"{convolution}.weight"] * scale[:, None, None, None]
    shift = weights[f"{normalisation}.bias"] - weights[f"{normalisation}.running_mean"] * scale
    padding = kernel.shape[2] - stride  # "same" padding for even sides
    before, after = padding // 2, padding - padding // 2
    pads = [before, before, after, after]
    maps = graph.add("Conv", maps, kernel, shift, pads=pads, strides=[stride, stride], group=groups)
    return maps if is_linear else graph.add("Clip", maps, constant(0), constant(6))
