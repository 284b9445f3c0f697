"""Learns decisions on named features: logistic regression, also on the vector of a text, and trees."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from m2a.agents.offline.sense import as_decisions

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
    """Ridge-penalised logistic regression; the weights fit the raw features.

    Features are `standardised` first, except where each is a word: a rare word would be as cheap as any other. The dimensions of
    vectors always are.
    """
    names = sorted({name for example in examples for name in example.features})
    rows = np.array([[example.features.get(name, 0.0) for name in names] for example in examples])
    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    scale[scale == 0] = 1.0
    if not standardised:
        mean, scale = np.zeros_like(mean), np.ones_like(scale)
    # A column divided by the root of its penalty is penalised as the classifier penalises all columns.
    of_features = scale * np.sqrt(penalty)
    columns = [(rows - mean) / of_features]
    vectors = np.array([example.vector for example in examples if example.vector is not None])
    if len(vectors):
        centre = vectors.mean(axis=0)
        of_vectors = (vectors.std(axis=0) + _LEAST_SPREAD) * np.sqrt(vectors.shape[1] * vector_penalty)
        columns.append((vectors - centre) / of_vectors)
    classifier = LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-8, max_iter=_STEPS).fit(
        np.hstack(columns), [e.label for e in examples], sample_weight=[e.weight for e in examples]
    )
    [weights], [bias] = classifier.coef_, classifier.intercept_
    raw = weights[: len(names)] / of_features
    bias = float(bias - raw @ mean)
    if len(vectors):
        of_vector = weights[len(names) :] / of_vectors
        bias -= float(of_vector @ centre)
    model: dict[str, object] = {
        "bias": round(bias, 4),
        "features": {name: round(float(value), 4) for name, value in zip(names, raw, strict=True)},
    }
    if len(vectors):
        model["vector"] = [round(float(value), 4) for value in of_vector]
    return model


def fit_trees(examples: Sequence[Example], *, trees: int = 300, rate: float = 0.1) -> dict[str, object]:
    """Gradient boosting of trees of four levels, which weigh what a feature says by what others say."""
    names = sorted({name for example in examples for name in example.features})
    rows = np.array([[example.features.get(name, 0.0) for name in names] for example in examples])
    model = GradientBoostingClassifier(
        n_estimators=trees,
        learning_rate=rate,
        max_depth=4,
        min_samples_leaf=20,
        subsample=0.5,
        max_features=0.3,
        random_state=0,
    ).fit(rows, [example.label for example in examples], sample_weight=[example.weight for example in examples])
    grown = [_tree(each.tree_, rate) for each in model.estimators_[:, 0]]
    scores = model.decision_function(rows[:1])
    decision = as_decisions({"": {"bias": 0.0, "names": names, "trees": grown}})[""]
    bias = float(scores[0]) - decision.score(dict(zip(names, rows[0], strict=True)))
    return {"bias": round(bias, 4), "names": names, "trees": grown}


def _tree(tree: Any, rate: float, node: int = 0) -> float | list[object]:
    """Returns the tree below a node as nested lists."""
    if tree.children_left[node] == tree.children_right[node]:
        return round(float(tree.value[node, 0, 0]) * rate, 4)
    below, above = (_tree(tree, rate, child[node]) for child in (tree.children_left, tree.children_right))
    return [int(tree.feature[node]), round(float(tree.threshold[node]), 4), below, above]
