"""A linear ranker over `features.FEATURES`. `m2a tune --out` writes its file; serving needs numpy alone."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from m2a.memory.ranking.features import FEATURES


@dataclass(frozen=True, slots=True)
class Ranker:
    """`made_by` is the command that made the weights."""

    weights: np.ndarray
    made_by: str

    def scores(self, table: np.ndarray) -> np.ndarray:
        """A score for each row of a table of features; a higher one is better."""
        return np.asarray(table @ self.weights)

    def save(self, path: Path) -> None:
        weights = dict(zip(FEATURES, self.weights.round(5).tolist(), strict=True))
        path.write_text(json.dumps({"made_by": self.made_by, "weights": weights}, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Ranker":
        """Raises `ValueError` where the file was trained on other features."""
        found = json.loads(path.read_text(encoding="utf-8"))
        if tuple(found["weights"]) != FEATURES:
            raise ValueError(f"{path} was trained on other features; make it again with `m2a tune --out`.")
        return cls(np.array(list(found["weights"].values())), found["made_by"])
