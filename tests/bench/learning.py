"""Learns decisions on named features: logistic regression, also on the vector of a text, step functions, and trees."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from m2a.agents.offline.sense import as_decisions

_STEPS = 50
_ROUNDS = 300  # of boosting
_TREES = 300
_MAX_LIMITS = 63  # of a feature
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


def fit_steps(examples: Sequence[Example]) -> dict[str, object]:
    """Boosted step functions, one per feature: gradient boosting with trees of a single split (Friedman, 2001)."""
    names = sorted({name for example in examples for name in example.features})
    rows = np.array([[example.features.get(name, 0.0) for name in names] for example in examples])
    limits = [_limits(column) for column in rows.T]
    steps = np.stack([np.searchsorted(limit, column) for limit, column in zip(limits, rows.T, strict=True)], axis=1)
    model = HistGradientBoostingClassifier(
        max_depth=1, max_iter=_ROUNDS, min_samples_leaf=8, l2_regularization=5.0, early_stopping=False
    ).fit(steps, [example.label for example in examples], sample_weight=[example.weight for example in examples])
    nothing = np.zeros((1, len(names)))
    bias = float(model.decision_function(nothing)[0])
    of_features = {}
    for column, (name, limit) in enumerate(zip(names, limits, strict=True)):
        values = model.decision_function(np.eye(1, len(names), column) * np.arange(len(limit) + 1)[:, None]) - bias
        changes = np.flatnonzero(np.abs(np.diff(values)) > 1e-9)  # steps that change nothing are left out
        kept = np.concatenate([values[:1], values[changes + 1]])
        of_features[name] = [*limit[changes].round(4).tolist()], [*kept.round(4).tolist()]
    return {"bias": round(bias, 4), "steps": of_features}


def fit_trees(examples: Sequence[Example]) -> dict[str, object]:
    """Gradient boosting of trees of four levels, which weigh what a feature says by what others say."""
    names = sorted({name for example in examples for name in example.features})
    rows = np.array([[example.features.get(name, 0.0) for name in names] for example in examples])
    model = GradientBoostingClassifier(
        n_estimators=_TREES, max_depth=4, min_samples_leaf=20, subsample=0.5, max_features=0.3, random_state=0
    ).fit(rows, [example.label for example in examples], sample_weight=[example.weight for example in examples])
    trees = [_tree(each.tree_, model.learning_rate) for each in model.estimators_[:, 0]]
    scores = model.decision_function(rows[:1])
    decision = as_decisions({"": {"bias": 0.0, "names": names, "trees": trees}})[""]
    bias = float(scores[0]) - decision.score(dict(zip(names, rows[0], strict=True)))
    return {"bias": round(bias, 4), "names": names, "trees": trees}


def _tree(tree: Any, rate: float, node: int = 0) -> float | list[object]:
    """Returns the tree below a node as nested lists."""
    if tree.children_left[node] == tree.children_right[node]:
        return round(float(tree.value[node, 0, 0]) * rate, 4)
    below, above = (_tree(tree, rate, child[node]) for child in (tree.children_left, tree.children_right))
    return [int(tree.feature[node]), round(float(tree.threshold[node]), 4), below, above]


def _limits(column: np.ndarray) -> np.ndarray:
    """Returns the limits between the steps of a feature: between all its values, or quantiles if they are many."""
    values = np.unique(column)
    if len(values) <= _MAX_LIMITS:
        return np.asarray((values[1:] + values[:-1]) / 2)
    return np.unique(np.quantile(column, np.linspace(0, 1, _MAX_LIMITS + 2)[1:-1]).round(4))
