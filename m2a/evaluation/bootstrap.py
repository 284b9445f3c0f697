"""Confidence intervals by resampling (Efron, 1979), the same on every machine."""

from collections.abc import Sequence

import numpy as np

RESAMPLES = 2000
_Z = 1.96


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Returns the 95 % percentile interval of the mean, by drawing with replacement. Needs at least one value."""
    found = np.asarray(values, dtype=float)
    if found.size == 0:
        raise ValueError("An interval needs at least one value.")
    if np.all(found == found[0]):
        return float(found[0]), float(found[0])
    draws = np.random.default_rng(0).integers(0, found.size, size=(RESAMPLES, found.size))
    low, high = np.percentile(found[draws].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def rate_interval(values: Sequence[float]) -> tuple[float, float]:
    """Returns the interval of values from 0 to 1; by Wilson (1927) if all are 0 or all are 1, where drawing says nothing."""
    if values and set(values) in ({0.0}, {1.0}):
        doubt = _Z**2 / (len(values) + _Z**2)
        return (0.0, doubt) if values[0] == 0 else (1 - doubt, 1.0)
    return interval(values)


def paired_interval(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Returns the interval of the mean difference second - first, over pairs of answers to the same question."""
    return interval([after - before for before, after in zip(first, second, strict=True)])
