"""Logistic regression on named features, and on the vector of a text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

_STEPS = 50
_LEAST_SPREAD = 1e-3  # of a dimension of the vectors; some dimensions are constant


@dataclass(frozen=True)
class Example:
    """The features of a decision, and whether it should say yes. `group` is the set of the example."""

    features: Mapping[str, float]
    label: bool
    group: str
    vector: np.ndarray | None = None
    weight: float = 1.0


def fit(
    examples: Sequence[Example], *, penalty: float, vector_penalty: float = 0.0, standardised: bool = True
) -> dict[str, object]:
    """Ridge-penalised logistic regression by Newton's method; the weights fit the raw features.

    Features are `standardised` first, except where each is a word: a rare word would be as cheap as any other. The dimensions of
    vectors always are.
    """
    names = sorted({name for example in examples for name in example.features})
    rows = np.array([[example.features.get(name, 0.0) for name in names] for example in examples])
    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    scale[scale == 0] = 1.0
    if not standardised:
        mean, scale = np.zeros_like(mean), np.ones_like(scale)
    columns = [(rows - mean) / scale, np.ones((len(examples), 1))]
    penalties = [penalty] * len(names) + [1e-6]
    vectors = np.array([example.vector for example in examples if example.vector is not None])
    if len(vectors):
        centre, spread = vectors.mean(axis=0), (vectors.std(axis=0) + _LEAST_SPREAD) * np.sqrt(vectors.shape[1])
        columns.append((vectors - centre) / spread)
        penalties += [vector_penalty] * vectors.shape[1]
    design = np.hstack(columns)
    labels = np.array([example.label for example in examples], dtype=float)
    weights = np.array([example.weight for example in examples])
    ridge = np.diag(penalties)
    beta = np.zeros(design.shape[1])
    for _step in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(design @ beta, -30, 30)))
        gradient = design.T @ (weights * (labels - chance)) - ridge @ beta
        curvature = (design * (weights * chance * (1 - chance))[:, None]).T @ design + ridge
        change = np.linalg.solve(curvature, gradient)
        beta += change
        if np.abs(change).max() < 1e-6:
            break
    raw = beta[: len(names)] / scale
    bias = float(beta[len(names)] - raw @ mean)
    if len(vectors):
        of_vector = beta[len(names) + 1 :] / spread
        bias -= float(of_vector @ centre)
    model: dict[str, object] = {
        "bias": round(bias, 4),
        "features": {name: round(float(value), 4) for name, value in zip(names, raw, strict=True)},
    }
    if len(vectors):
        model["vector"] = [round(float(value), 4) for value in of_vector]
    return model
