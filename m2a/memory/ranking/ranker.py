"""A linear ranker over `features.FEATURES`. `m2a tune --out` writes its file; ranking only needs numpy."""

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
    """The weights of the features. `made_by` is the command that trained them, `trained_on` the fingerprints of its sessions."""

    weights: np.ndarray
    made_by: str
    trained_on: frozenset[str] = frozenset()

    def scores(self, table: np.ndarray) -> np.ndarray:
        """Returns a score for each row of a table of features; higher is better."""
        return np.asarray(table @ self.weights)

    def save(self, path: Path) -> None:
        weights = dict(zip(FEATURES, self.weights.round(5).tolist(), strict=True))
        content = {"made_by": self.made_by, "weights": weights, "trained_on": sorted(self.trained_on)}
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Ranker":
        """Raises `UserError` if the file was trained on other features."""
        content = json.loads(path.read_text(encoding="utf-8"))
        if tuple(content["weights"]) != FEATURES:
            raise UserError(f"{path} was trained on other features; make it again with `m2a tune --out`.")
        return cls(np.array(list(content["weights"].values())), content["made_by"], frozenset(content["trained_on"]))


def fingerprint(texts: Iterable[str]) -> str:
    """Returns a hash of a session, given the texts of its turns in order; spacing does not matter."""
    session = "\n".join(" ".join(text.split()) for text in texts)
    return hashlib.sha256(session.encode()).hexdigest()[:16]


@cache
def shipped_ranker() -> Ranker:
    """Returns the ranker that `fusion = best` uses."""
    with as_file(files("m2a.memory.ranking") / "ranker.json") as path:
        return Ranker.load(path)
