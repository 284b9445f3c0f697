"""A linear ranker over `features.FEATURES`. `m2a tune --out` writes its file; serving needs numpy alone."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np

from m2a.memory.ranking.features import FEATURES
from m2a.types.errors import UserError


@dataclass(frozen=True, slots=True)
class Ranker:
    """`made_by` is the command that made the weights, `trained_on` the fingerprints of the sessions that they are from."""

    weights: np.ndarray
    made_by: str
    trained_on: frozenset[str] = frozenset()

    def scores(self, table: np.ndarray) -> np.ndarray:
        """A score for each row of a table of features; a higher one is better."""
        return np.asarray(table @ self.weights)

    def save(self, path: Path) -> None:
        weights = dict(zip(FEATURES, self.weights.round(5).tolist(), strict=True))
        told = {"made_by": self.made_by, "weights": weights, "trained_on": sorted(self.trained_on)}
        path.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Ranker":
        """Raises `UserError` if the file was trained on other features."""
        found = json.loads(path.read_text(encoding="utf-8"))
        if tuple(found["weights"]) != FEATURES:
            raise UserError(f"{path} was trained on other features; make it again with `m2a tune --out`.")
        return cls(np.array(list(found["weights"].values())), found["made_by"], frozenset(found["trained_on"]))


def fingerprint(texts: Iterable[str]) -> str:
    """Of a session, by the words of its turns in their order; how they are spaced does not matter."""
    said = "\n".join(" ".join(text.split()) for text in texts)
    return hashlib.sha256(said.encode()).hexdigest()[:16]


@cache
def shipped_ranker() -> Ranker:
    """The one that `fusion = best` uses."""
    with as_file(files("m2a.memory.ranking") / "ranker.json") as path:
        return Ranker.load(path)
