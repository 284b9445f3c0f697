"""all-MiniLM-L6-v2 as an ONNX graph: the layers of BERT, from its safetensors weights."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from models.onnx_graph import Graph, constant, float_tensor, integer_tensor, integers

_HEADS, _LAYERS, _SIZE = 12, 6, 384
_HEAD_SIZE = _SIZE // _HEADS
_EARLY_LAYERS = 3  # later ones hold what a text is about, and less and less of whether it states or asks
_EPSILON = 1e-12

Weights = Mapping[str, np.ndarray]


def write_minilm(weights_file: Path, path: Path) -> None:
    """Writes a graph with the inputs `ids`, `positions` and `texts`, of rows in which several texts may follow one another.

    `positions` count the tokens of each text from 0. `texts` number the texts of a row, and tokens attend only to those of the
    same number; padding has a number of its own. The outputs are the `states` of tokens, and their `early_states`.
    """
    from safetensors.numpy import load_file

    weights, graph = load_file(weights_file), Graph()
    own, others = (graph.add("Unsqueeze", "texts", integers(axes)) for axes in ([1, 3], [1, 2]))
    is_same = graph.add("Equal", own, others)
    bias = graph.add("Where", is_same, constant(0), constant(float(np.finfo(np.float32).min)))
    states = _embedded(graph, weights)
    for number in range(_LAYERS):
        if number == _EARLY_LAYERS:
            graph.add("Identity", states, name="early_states")
        states = _layer(graph, states, bias, weights, f"encoder.layer.{number}")
    graph.add("Identity", states, name="states")
    shape = ("rows", "tokens")
    graph.write(
        path,
        [integer_tensor(name, shape) for name in ("ids", "positions", "texts")],
        [float_tensor(name, (*shape, _SIZE)) for name in ("states", "early_states")],
    )


def _embedded(graph: Graph, weights: Weights) -> str:
    words = graph.add("Gather", weights["embeddings.word_embeddings.weight"], "ids")
    places = graph.add("Gather", weights["embeddings.position_embeddings.weight"], "positions")
    first_segment = weights["embeddings.token_type_embeddings.weight"][0]
    states = graph.add("Add", graph.add("Add", words, places), first_segment)
    return _normalised(graph, states, weights, "embeddings.LayerNorm")


def _layer(graph: Graph, states: str, bias: str, weights: Weights, name: str) -> str:
    def heads(part: str) -> str:
        projected = _dense(graph, states, weights, f"{name}.attention.self.{part}")
        split = graph.add("Reshape", projected, integers([0, 0, _HEADS, _HEAD_SIZE]))
        return graph.add("Transpose", split, perm=[0, 2, 1, 3])

    scores = graph.add("MatMul", heads("query"), graph.add("Transpose", heads("key"), perm=[0, 1, 3, 2]))
    scaled = graph.add("Mul", scores, constant(_HEAD_SIZE**-0.5))
    attention = graph.add("Softmax", graph.add("Add", scaled, bias), axis=-1)
    context = graph.add("Transpose", graph.add("MatMul", attention, heads("value")), perm=[0, 2, 1, 3])
    joined = graph.add("Reshape", context, integers([0, 0, _SIZE]))
    attended = graph.add("Add", _dense(graph, joined, weights, f"{name}.attention.output.dense"), states)
    states = _normalised(graph, attended, weights, f"{name}.attention.output.LayerNorm")
    inner = _gelu(graph, _dense(graph, states, weights, f"{name}.intermediate.dense"))
    outer = graph.add("Add", _dense(graph, inner, weights, f"{name}.output.dense"), states)
    return _normalised(graph, outer, weights, f"{name}.output.LayerNorm")


def _gelu(graph: Graph, states: str) -> str:
    erf = graph.add("Erf", graph.add("Mul", states, constant(0.5**0.5)))
    return graph.add("Mul", graph.add("Mul", states, constant(0.5)), graph.add("Add", erf, constant(1)))


def _dense(graph: Graph, states: str, weights: Weights, name: str) -> str:
    return graph.add("Add", graph.add("MatMul", states, weights[f"{name}.weight"].T), weights[f"{name}.bias"])


def _normalised(graph: Graph, states: str, weights: Weights, name: str) -> str:
    scale, shift = weights[f"{name}.weight"], weights[f"{name}.bias"]
    return graph.add("LayerNormalization", states, scale, shift, axis=-1, epsilon=_EPSILON)
