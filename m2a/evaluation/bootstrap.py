"""Confidence intervals by resampling (Efron, 1979), the same on every machine."""

from collections.abc import Sequence

import numpy as np

RESAMPLES = 2000
_Z = 1.96


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Returns the 95 % percentile interval of the mean, by drawing with replacement. Needs at least one value."""
    sample = np.asarray(values, dtype=float)
    if sample.size == 0:
        raise ValueError("An interval needs at least one value.")
    if np.all(sample == sample[0]):
        return float(sample[0]), float(sample[0])
    draws = np.random.default_rng(0).integers(0, sample.size, size=(RESAMPLES, sample.size))
    low, high = np.percentile(sample[draws].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def rate_interval(values: Sequence[float]) -> tuple[float, float]:
    """Returns the interval of values from 0 to 1: Wilson's (1927) if all are 0 or all are 1, where resampling says nothing."""
    if values and set(values) in ({0.0}, {1.0}):
        width = _Z**2 / (len(values) + _Z**2)
        return (0.0, width) if values[0] == 0 else (1 - width, 1.0)
    return interval(values)


def paired_interval(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Returns the interval of the mean difference second - first, over pairs of values for the same question."""
    return interval([after - before for before, after in zip(first, second, strict=True)])
